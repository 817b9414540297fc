# The page on a CPU: docker build -t diffusion-lm-playground . && docker run -p 7860:7860 diffusion-lm-playground
FROM python:3.11-slim

RUN useradd --create-home --uid 1000 visitor
WORKDIR /home/visitor/app

# The extra index has torch built for CPUs alone, which pip prefers to the larger default.
COPY requirements.txt .
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu --requirement requirements.txt

COPY app.py LICENSE NOTICE README.md ./
COPY assets assets
COPY playground playground

USER visitor
ENV GRADIO_SERVER_NAME=0.0.0.0 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
EXPOSE 7860
# Python ends itself on SIGINT; as the first process of a container it would not hear SIGTERM.
STOPSIGNAL SIGINT
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s \
    CMD ["python", "-c", "import os, urllib.request as web; web.urlopen('http://127.0.0.1:' + os.environ.get('GRADIO_SERVER_PORT', '7860') + '/health')"]
CMD ["python", "app.py"]
