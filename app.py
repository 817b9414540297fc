"""Diffusion LM Playground: `python app.py` serves the page; Hugging Face Spaces runs this file."""

from playground.interfaces import zerogpu  # noqa: F401  first: on ZeroGPU it has to come before torch
from playground.ui import serve
from playground.ui.page import launch

if __name__ == "__main__":
    options = serve.options()
demo = serve.ready()  # by this name Gradio finds it when it reloads
if __name__ == "__main__":
    launch(demo, options.port, options.host)
