"""The player's sources, and the page of one file that it exports, filled in from Python."""

import html
import json
import re
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets"
TITLE = "Diffusion LM Playground: recorded run"
PLAY = "startStandalonePage(document)"


@cache
def source(part: str) -> dict[str, str]:
    """JavaScript and CSS of the player or what is around it: its files joined in order.txt's order."""
    folder = ASSETS / part
    order = (folder / "order.txt").read_text(encoding="utf-8").split()
    return {
        "js": "\n".join((folder / name).read_text(encoding="utf-8") for name in order),
        "css": (folder / f"{part}.css").read_text(encoding="utf-8"),
    }


def page(data: dict, title: str = TITLE, sources: dict[str, str] | None = None, start: str = PLAY) -> str:
    """The player's own standalone page (assets/player/page.js) around `data`, which is {trace, labels} where the player
    starts. Raises ValueError on numbers that are not finite, which JSON does not have."""
    sources = sources or source("player")
    parts = {
        "language": "en",
        "title": html.escape(title),
        "css": re.sub(r"<(?=/style)", r"\\3c ", sources["css"], flags=re.I),
        "data": json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        "js": as_script(sources["js"]),
        "start": as_script(start),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], _template())


def as_script(script: str) -> str:
    """JavaScript as it may stand in a script element."""
    return re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.I)


@cache
def _template() -> str:
    _, template, _ = (ASSETS / "player" / "page.js").read_text(encoding="utf-8").split("`")
    return template
