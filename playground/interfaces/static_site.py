"""A folder of plain files that replays recorded runs: from any file server, from a static Space, or opened as it is."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from playground.interfaces import player
from playground.recipe import RecipeError
from playground.studies import race
from playground.trace import Trace, TraceError

EXAMPLES = player.ASSETS / "examples"
LISTING, FORMAT, VERSION = "site.json", "diffusion-lm-playground/site", 1
README = """---
title: Diffusion LM Playground, recorded runs
emoji: 🌫️
colorFrom: gray
colorTo: yellow
sdk: static
app_file: index.html
short_description: Recorded runs of small text diffusion models, to replay
---

Recorded runs of small text diffusion models. Open index.html in a browser: nothing is loaded from elsewhere.
Written by `python -m playground export --site`, which replaces these files when it is run again.
"""


@dataclass(frozen=True)
class Recorded:
    """A recorded run, and what its page is called after."""

    stem: str
    trace: Trace

    @property
    def title(self) -> str:
        """What was asked for."""
        head = self.trace.head
        blend = head.get("blend")
        if isinstance(blend, dict):
            return f"{blend.get('a', '')} → {blend.get('b', '')}"
        return str(head["recipe"].get("text") or head["recipe"].get("prompt") or "Nothing given")

    @property
    def about(self) -> str:
        """By which model, and how."""
        head, last = self.trace.head, self.trace.frames[-1]
        how = [str(value) for value in (head["model"].get("name"), head["recipe"].get("sampler")) if value]
        rows = len(last["rows"])
        counted = [f"{last['s']} steps", f"{len(last['rows'][0]['id'])} tokens", f"seed {head['recipe'].get('seed')}"]
        return " · ".join([*how, *counted, *([f"{rows} texts"] if rows > 1 else [])])


def examples() -> list[Recorded]:
    """The runs that come with the app."""
    found = []
    for path in sorted(EXAMPLES.glob("*.json")):
        if json.loads(path.read_text(encoding="utf-8")).get("format") in (race.FORMAT, "diffusion-lm-playground/trace"):
            found += recorded(path)
    return found


def from_file(name: str, path: Path, parse: Callable):
    """What `parse` makes of a trace file's text. Raises RecipeError of the field `name`."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(name, f"{str(path)!r} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise RecipeError(name, f"{str(path)!r} is not UTF-8 text, so it is not a trace file.") from None
    except TraceError as error:
        raise RecipeError(name, f"{str(path)!r}: {error}") from None


def recorded(path: Path) -> list[Recorded]:
    """The run of a trace file, or the lanes of a race's. Raises RecipeError."""
    traces = from_file("traces", path, lambda text: list(_lanes(text)) or [Trace.from_json(text)])
    names = [path.stem]
    if len(traces) > 1:
        names = [f"{path.stem} {trace.head['model'].get('name')}" for trace in traces]
    return [Recorded(name, trace) for name, trace in zip(names, traces, strict=True)]


def _lanes(text: str) -> Iterator[Trace]:
    """The lanes of a race file, each with the vocabulary they share; none where it is no race."""
    try:
        data = json.loads(text)
        if data["format"] != race.FORMAT:
            return
        whole = [{**lane, "head": {"vocabulary": data["vocabulary"]} | lane["head"]} for lane in data["lanes"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    for lane in whole:
        yield Trace.from_json(json.dumps(lane))


def pages(runs: list[Recorded]) -> dict[str, str]:
    """File name -> content of the whole site. Raises RecipeError."""
    files, listed, css = {}, [], (player.ASSETS / "site" / "site.css").read_text(encoding="utf-8")
    script = (player.ASSETS / "site" / "site.js").read_text(encoding="utf-8")
    start = f"{player.PLAY};\n{script}\nstartRunPage(document)"
    for run in runs:
        name = _free_name(run.stem, files)
        shown = {"title": run.title, "about": run.about}
        recipe = [[knob, as_text(value)] for knob, value in run.trace.head["recipe"].items()]
        data = {"trace": run.trace.to_dict(), "labels": {}, "site": shown | {"recipe": recipe, "css": css}}
        files[name] = page(data, run.stem, f"{run.title[:80]} · Diffusion LM Playground", start=start)
        listed.append(shown | {"href": name, "text": run.trace.text})
    dom = (player.ASSETS / "player" / "dom.js").read_text(encoding="utf-8")
    index = {"sections": [{"title": "Recorded runs", "runs": listed}]}
    sources = {"css": css, "js": f"{dom}\n{script}"}
    files["index.html"] = player.page(index, "Diffusion LM Playground: recorded runs", sources, "startIndex(document)")
    return files | {"README.md": README}


def page(data: dict, name: str, title: str = player.TITLE, start: str = player.PLAY) -> str:
    """A page that plays `data`'s trace. Raises RecipeError where it holds what JSON cannot."""
    try:
        return player.page(data, title, start=start)
    except ValueError:
        raise RecipeError("trace", f"{name} holds numbers that are not finite (NaN or Infinity).") from None


def as_text(value) -> str:
    """A value of a recipe for readers."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _free_name(stem: str, taken: dict) -> str:
    """A file name of plain letters that is still free."""
    plain = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:60] or "run"
    names = (f"{plain}{suffix}.html" for suffix in ("", *(f"-{i}" for i in range(2, len(taken) + 3))))
    return next(name for name in names if name not in {"index.html", *taken})


def write(files: dict[str, str], folder: Path) -> None:
    """Write the site; an earlier one there is replaced. Raises RecipeError where the folder holds anything else."""
    earlier = _earlier(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in earlier - files.keys():
        (folder / name).unlink(missing_ok=True)
    listing = {"format": FORMAT, "version": VERSION, "files": sorted(files)}
    for name, content in {LISTING: json.dumps(listing, indent=1), **files}.items():
        (folder / name).write_text(well_formed(content), encoding="utf-8", newline="")


def _earlier(folder: Path) -> set[str]:
    """The files of an earlier export. Raises RecipeError."""
    if folder.exists() and not folder.is_dir():
        raise RecipeError("site", f"{str(folder)!r} is a file; allowed: a new or empty folder, or an earlier export.")
    found = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if not found:
        return set()
    try:
        listing = json.loads((folder / LISTING).read_text(encoding="utf-8"))
        names = set(listing["files"]) if listing["format"] == FORMAT else set()
    except (OSError, ValueError, KeyError, TypeError):
        names = set()
    strangers = sorted(found - names - {LISTING})
    if not names or strangers:
        raise RecipeError(
            "site", f"{str(folder)!r} holds {(strangers or sorted(found))[0]!r}, which no export wrote; "
            "allowed: a new or empty folder, or an earlier export.",
        )  # fmt: skip
    return names & found


def well_formed(text: str) -> str:
    """Text whose lone surrogates, which UTF-8 cannot hold, are U+FFFD, as a browser writes them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
