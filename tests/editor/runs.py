"""Made-up documents and made-up runs over their holes, for tests and for looking at the editor."""

import functools
import json
import random
import re
from pathlib import Path

ASSETS = Path(__file__).parents[2] / "assets"
MASK, START, END = 3, 1, 2
STORY = (
    "Once upon a time there was a little girl named Lily. She loved to play in the garden with her red ball. "
    "One day, the ball rolled under a big tree. A kind bird came down to help."
)
FILLS = ["a brave small boy called Tom went out", "my old blue cat with a hat", "two happy dogs that sang all night"]
MOUNT = """([js, css, options]) => {
  document.body.innerHTML = "<div id=root style='max-width:880px'></div>";
  const build = new Function(js + "\\nreturn createEditor;")();
  window.changes = [];
  window.documents = [];
  window.editor = build(document.getElementById("root"), {
    css, source: { js, css }, storage: "dlm-editor", onLive: (live) => (window.live = live),
    onChange: (summary) => changes.push(summary), onDocument: (doc) => documents.push(doc), ...options,
  });
}"""


@functools.cache
def source():
    names = [path for room in ("player", "editor") for path in _files(room)]
    return "\n".join(path.read_text(encoding="utf-8") for path in names)


@functools.cache
def style():
    return "\n".join((ASSETS / room / f"{room}.css").read_text(encoding="utf-8") for room in ("player", "editor"))


def _files(room):
    return [ASSETS / room / name for name in (ASSETS / room / "order.txt").read_text().split()]


def split(text):
    """Words with the space before them, marks apart."""
    return re.findall(r"\s?\w+|\s?_+|[^\w\s]|\s", text)


def document(pieces):
    pieces = split(pieces) if isinstance(pieces, str) else list(pieces)
    return {"ids": [100 + place for place in range(len(pieces))], "pieces": pieces}


def fill(doc, holes, words):
    """The row of cells with its holes filled: [(id, piece, state), ...], start and end marks included."""
    words = iter(words)
    row, at = [(START, START, "f")], 0
    for start, end, cells in holes:
        row += [(doc["ids"][i], doc["pieces"][i], "f") for i in range(at, start)]
        count = cells if isinstance(cells, int) else max(1, end - start)
        row += [(5000 + i, " " + next(words, "word"), "c") for i in range(count)]
        at = end
    row += [(doc["ids"][i], doc["pieces"][i], "f") for i in range(at, len(doc["ids"]))]
    return [*row, (END, END, "f"), (0, 0, "f")]


def make_run(doc, holes, rows=1, steps=6, status="finished", scores=True, fills=FILLS, **end):
    """A run of the masked family that fills the holes of a document step by step."""
    finals = [fill(doc, holes, fills[row % len(fills)].split()) for row in range(rows)]
    frames = [_frame(finals, step, steps) for step in range(steps + 1)]
    if status == "stopped":
        frames = frames[: steps // 2]
    texts = ["".join(piece for piece in row["p"] if isinstance(piece, str)) for row in frames[-1]["rows"]]
    end = {"status": status, "message": "", "texts": texts, "seconds": 0.09 * steps, **end}
    if scores:
        best = rows - 1
        end["scores"] = [{"nats": -1.23 + row / 10, "tokens": 10, "best": row == best} for row in range(rows)]
    head = {
        "recipe": {"model": "stories-masked", "steps": steps, "seed": 7},
        "model": {"name": "stories-masked", "family": "masked", "parameters": 13600000},
        "rows": [{"seed": 7 + row} for row in range(rows)],
        "given": 0, "note": "", "vocabulary": [0, 1, 2, 3, 4], "landmarks": None, "max_entropy": 8.3,
    }  # fmt: skip
    return {"format": "diffusion-lm-playground/trace", "version": 1, "head": head, "frames": frames, "end": end}


def messages(trace, run="a"):
    last = len(trace["frames"]) - 1
    for seq, frame in enumerate(trace["frames"]):
        message = {"run": run, "seq": seq, "frame": frame, "head": trace["head"]}
        yield json.dumps(message | ({"end": trace["end"]} if seq == last else {}))


def _frame(finals, step, steps):
    rows = []
    for final in finals:
        rng = random.Random(5)
        settle = [0 if state == "f" else rng.randint(1, steps) for _, _, state in final]
        cells = [cell if step >= at else (MASK, MASK, "n") for cell, at in zip(final, settle, strict=True)]
        done = [state != "n" for _, _, state in cells]
        rows.append(
            {
                "id": [i for i, _, _ in cells], "p": [piece for _, piece, _ in cells],
                "st": "".join(state for _, _, state in cells), "c": [90 if ok else 10 for ok in done],
                "h": [20 if ok else 700 for ok in done], "k": [0] * len(cells),
            }
        )  # fmt: skip
    return {"s": step, "n": steps, "u": round(1 - step / steps, 3), "e": step, "t": round(0.08 * step, 3), "rows": rows}
