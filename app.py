"""Diffusion LM Playground: `python app.py` serves the page; Hugging Face Spaces runs this file."""

import os

os.environ.setdefault("MKL_DISABLE_FAST_MM", "1")  # before torch: MKL keeps what it freed for every thread, some 70 MB

from playground.interfaces import zerogpu  # noqa: F401  first: on ZeroGPU it has to come before torch
from playground.ui import serve
from playground.ui.page import launch

if __name__ == "__main__":
    options = serve.options()
demo = serve.ready()  # by this name Gradio finds it when it reloads
if __name__ == "__main__":
    launch(demo, options.port, options.host)
