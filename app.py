"""Diffusion LM Playground: `python app.py` serves the page; Hugging Face Spaces runs this file."""

from playground.denoisers import zoo
from playground.ui.page import build, launch

try:
    for name in zoo.catalogue():
        zoo.load(name)  # before the first visitor comes
except zoo.ModelError as error:
    raise SystemExit(f"app: {error}") from None
demo = build()

if __name__ == "__main__":
    launch(demo)
