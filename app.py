"""Diffusion LM Playground: `python app.py` serves the page; Hugging Face Spaces runs this file."""

from playground.denoisers import zoo
from playground.engine import RunError, time_limit
from playground.recipe import RecipeError
from playground.ui.page import build, launch

try:
    time_limit()
    for name in zoo.catalogue():
        zoo.load(name)  # before the first visitor comes
    demo = build()
except (zoo.ModelError, RecipeError, RunError) as error:
    raise SystemExit(f"app: {error}") from None

if __name__ == "__main__":
    launch(demo)
