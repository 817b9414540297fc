"""A run written down: its recipe and all its steps, as JSON that a player draws and Python loads back.

Schema (version 1), also of the live stream, whose messages are {run, seq, head?, frame, end?}:

    {"format": "diffusion-lm-playground/trace", "version": 1, "head": head, "frames": [frame, ...], "end": end}
    head   recipe (resolved); model {name, family, parameters, dtype}; rows [{seed}]; given: fixed cells;
           note: a sentence or ""; vocabulary: the piece of each token id; landmarks [[id, x, y]] or null,
           frequent words in the plane of "xy"; max_entropy: ln V, nats
    frame  s evaluated steps, n planned, u noise level (1 noise, 0 text), e forward passes, t compute seconds;
           rows: one object a sample, each a list over cells:
             id token ids; p pieces (see text.py: text, or a number for a special cell); st one letter each:
             n noise, d draft, c committed, f fixed, p pinned; c percent of confidence; h entropy in hundredths
             of a nat; k the best five as [id, permille, ...], 0 on fixed cells; xy (embedding families) x, y of
             the estimated embedding on its two principal axes, in hundredths, flat
    end    status finished | stopped | error; message: a sentence or ""; texts; seconds; of an edit also
           checked: given tokens compared with the text's, unchanged: whether all are the same, scores: for each
           row {nats: mean ln p of a new token under the model itself, tokens: how many, best, joined?: a pinned word
           was gone on with by the token after it}
"""

import json
import math
import uuid
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from playground.canvas import Canvas
from playground.denoisers.zoo import Model
from playground.recipe import Recipe
from playground.samplers import own_knobs
from playground.samplers.step import CANDIDATES, State, Step

FORMAT, VERSION = "diffusion-lm-playground/trace", 1
LETTERS = {State.NOISE: "n", State.DRAFT: "d", State.COMMITTED: "c", State.FIXED: "f"}
STATES = {letter: state for state, letter in LETTERS.items()} | {"p": State.FIXED}
LANDMARKS = 60


class TraceError(ValueError):
    """A file that is not a trace, said in one sentence."""


@dataclass
class Trace:
    """A run so far. `begin`, then `add` each Step, then `close`; or `load` one that was saved."""

    head: dict
    frames: list[dict]
    end: dict | None = None
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _pieces: object = None
    _canvas: Canvas | None = None
    _plane: Tensor | None = None

    @classmethod
    def begin(cls, recipe: Recipe, model: Model, canvas: Canvas) -> "Trace":
        """An empty trace whose only frame is the row before the first evaluation."""
        plane = landmarks = None
        if hasattr(model.denoiser, "table"):
            plane, landmarks = _plane(model)
        head = {
            "recipe": recipe.to_dict(),
            "model": {
                "name": model.name, "family": model.family, "parameters": model.parameters, "dtype": model.dtype,
            },
            "rows": [{"seed": seed} for seed in recipe.seeds],
            "given": canvas.given,
            "note": _note(recipe, canvas),
            "vocabulary": _vocabulary(model),
            "landmarks": landmarks,
            "max_entropy": round(math.log(model.denoiser.vocab_size), 4),
        }  # fmt: skip
        trace = cls(head, [], _pieces=model.tokenizer.pieces, _canvas=canvas, _plane=plane)
        chosen = "steps" in own_knobs(model.family, recipe.sampler)
        planned = recipe.steps if chosen else int((~canvas.fixed).any(0).sum())  # from left to right: one a cell
        trace.frames.append(trace._frame(_blank(recipe, canvas, model.denoiser.vocab_size, planned)))
        return trace

    def add(self, step: Step) -> None:
        self.frames.append(self._frame(step))

    def close(self, status: str, message: str = "", **verdict) -> None:
        """`finished`, `stopped` or `error`, with a sentence to show; of an edit also `editing.verdict`."""
        end = {"status": status, "message": message, "texts": self.texts, "seconds": self.frames[-1]["t"]}
        self.end = end | verdict

    @property
    def recipe(self) -> Recipe:
        return Recipe.parse(self.head["recipe"])

    @property
    def texts(self) -> list[str]:
        """The text of each row as it stands, up to its end mark."""
        return [_text(row["p"]) for row in self.frames[-1]["rows"]]

    @property
    def best(self) -> int:
        """The row whose new words fit best, of an edit; else the first."""
        scores = (self.end or {}).get("scores", [])
        return next((row for row, score in enumerate(scores) if score.get("best")), 0)

    @property
    def text(self) -> str:
        return self.texts[self.best]

    @property
    def written(self) -> list[list[str]]:
        """For each row, the new text of each stretch of cells that were not given."""
        return [_written(row) for row in self.frames[-1]["rows"]]

    @property
    def written_tokens(self) -> list[int]:
        """For each row, how many tokens of its text were generated: no given cell and no padding."""
        return [_made(row) for row in self.frames[-1]["rows"]]

    @property
    def seconds(self) -> float:
        return self.frames[-1]["t"]

    @property
    def tokens_per_second(self) -> float:
        """Generated tokens, without given cells and padding, over compute time."""
        return sum(self.written_tokens) / self.seconds if self.seconds else 0.0

    @property
    def steps(self) -> list[Step]:
        """The run as Steps, to the rounding of the file; without x_hat."""
        return [_step(frame, k) for k, frame in enumerate(self.frames[1:])]

    def message(self) -> str:
        """`news` as one line of JSON for the player."""
        return dumps(self.news())

    def news(self) -> dict:
        """The newest frame; the first and the last carry the head."""
        first, last = len(self.frames) == 1, self.end is not None
        message = {"run": self.run, "seq": len(self.frames) - 1 + last}
        message |= {"head": self.head} if first or last else {}
        return message | {"frame": self.frames[-1]} | ({"end": self.end} if last else {})

    def to_dict(self) -> dict:
        return {"format": FORMAT, "version": VERSION, "head": self.head, "frames": self.frames, "end": self.end}

    def to_json(self) -> str:
        return dumps(self.to_dict())

    def save(self, path: Path | str) -> None:
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def from_json(cls, text: str) -> "Trace":
        try:
            data = json.loads(text)
            head, frames = data["head"], data["frames"]
            if not (_is_head(head) and isinstance(frames, list) and frames and all(map(_is_frame, frames))):
                raise TypeError
            if not (data["end"] is None or _is_end(data["end"], len(frames[-1]["rows"]))):
                raise TypeError
            if (data["format"], data["version"]) != (FORMAT, VERSION):
                raise TraceError(f"This trace is {data['format']} version {data['version']}; this app reads {VERSION}.")
            return cls(head, frames, data["end"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            if isinstance(error, TraceError):
                raise
            raise TraceError("This file is not a trace of the Diffusion LM Playground.") from None

    @classmethod
    def load(cls, path: Path | str) -> "Trace":
        return cls.from_json(Path(path).read_text(encoding="utf-8", errors="replace"))

    def _frame(self, step: Step) -> dict:
        xy = None
        if step.estimate is not None and self._plane is not None:
            xy = (step.estimate.float() @ self._plane * 100).round().int().flatten(1).tolist()
        confidence = (step.probability * 100).round().int().tolist()
        entropy = (step.entropy * 100).round().int().tolist()
        chances = (step.candidate_probability * 1000).round().long()
        candidates = torch.stack([step.candidates, chances], dim=-1).flatten(-2).tolist()
        rows, pinned = [], self._canvas.pinned.tolist()
        for b, ids in enumerate(step.tokens.tolist()):
            letters = [LETTERS[s] for s in step.state[b].tolist()]
            letters = ["p" if p else s for s, p in zip(letters, pinned[b], strict=True)]
            row = {
                "id": ids, "p": self._pieces(ids), "st": "".join(letters), "c": confidence[b], "h": entropy[b],
                "k": [0 if s in "fp" else k for s, k in zip(letters, candidates[b], strict=True)],
            }  # fmt: skip
            rows.append(row | ({"xy": xy[b]} if xy else {}))
        return {
            "s": step.index + 1, "n": step.total, "u": round(step.level, 4), "e": step.evaluations,
            "t": round(step.seconds, 5), "rows": rows,
        }  # fmt: skip


def _blank(recipe: Recipe, canvas: Canvas, mask: int, planned: int) -> Step:
    """The row before the first evaluation: what is given, and nothing else."""
    ids, fixed = canvas.ids, canvas.fixed
    shape = (*ids.shape, CANDIDATES)
    return Step(
        index=-1, total=planned, level=1.0, tokens=torch.where(fixed, ids, mask),
        state=torch.where(fixed, State.FIXED, State.NOISE), probability=fixed.float(),
        entropy=torch.where(fixed, 0.0, math.log(mask)), candidates=torch.zeros(shape, dtype=torch.long),
        candidate_probability=torch.zeros(shape),
    )  # fmt: skip


def _step(frame: dict, index: int) -> Step:
    rows = frame["rows"]
    best = torch.tensor([[k or [0] * 2 * CANDIDATES for k in row["k"]] for row in rows]).unflatten(-1, (CANDIDATES, 2))
    return Step(
        index=index, total=frame["n"], level=frame["u"], tokens=torch.tensor([row["id"] for row in rows]),
        state=torch.tensor([[STATES[letter] for letter in row["st"]] for row in rows]),
        probability=torch.tensor([row["c"] for row in rows]) / 100,
        entropy=torch.tensor([row["h"] for row in rows]) / 100,
        candidates=best[..., 0], candidate_probability=best[..., 1] / 1000,
        evaluations=frame["e"], seconds=frame["t"],
    )  # fmt: skip


def _is_head(head) -> bool:
    return isinstance(head, dict) and all(isinstance(head.get(key), dict) for key in ("recipe", "model"))


def _is_end(end, rows: int) -> bool:
    """Whether an end is one, with a score for each row where there are scores."""
    scores = end.get("scores", [{}] * rows) if isinstance(end, dict) else None
    return isinstance(scores, list) and len(scores) == rows and all(isinstance(score, dict) for score in scores)


def _is_frame(frame) -> bool:
    """Whether a frame has rows of equally many cells in every list that a view reads."""
    if not (isinstance(frame, dict) and isinstance(frame.get("rows"), list) and frame["rows"]):
        return False
    if not all(isinstance(frame.get(key), int | float) for key in ("s", "n", "u", "e", "t")):
        return False
    keys = ("id", "p", "st", "c", "h", "k")
    return all(
        isinstance(row, dict)
        and all(isinstance(row.get(key), str if key == "st" else list) for key in keys)
        and len({len(row[key]) for key in keys}) == 1
        for row in frame["rows"]
    )


def _note(recipe: Recipe, canvas: Canvas) -> str:
    if canvas.given == 0:
        lost = " Guidance has nothing to follow." if recipe.guidance else ""
        return f"Unconditional: nothing is given.{lost}"
    return ""


def _before_end(pieces: list) -> list:
    return pieces[: pieces.index(2)] if 2 in pieces else pieces


def _text(pieces: list) -> str:
    return "".join(piece for piece in _before_end(pieces) if isinstance(piece, str))


def _written(row: dict) -> list[str]:
    stretches, before = [], "f"
    for piece, letter in zip(row["p"], row["st"], strict=True):
        if letter != "f":
            stretches += [""] if before == "f" else []
            stretches[-1] += piece if isinstance(piece, str) else ""
        before = letter
    return stretches


def _made(row: dict) -> int:
    return sum(letter not in "fp" for letter in row["st"][: len(_before_end(row["p"]))])


def dumps(data) -> str:
    """Compact JSON without a literal '<', which a page could take for a tag."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _vocabulary(model: Model) -> list:
    return [model.tokenizer.pieces([i])[0] for i in range(model.tokenizer.vocab_size)]


@cache
def _plane(model: Model) -> tuple[Tensor, list]:
    """Two principal axes [De, 2] of the diffused embeddings, and where the most frequent words lie on them."""
    table = model.denoiser.table().cpu()
    axes = torch.linalg.eigh(torch.cov(table.t())).eigenvectors[:, -2:].flip(1)
    axes = axes * axes[axes.abs().argmax(0), torch.arange(2)].sign()  # an eigenvector's sign is arbitrary: fix it
    points = (table @ axes * 100).round().int().tolist()
    pieces = _vocabulary(model)
    frequent = model.denoiser.prior.cpu().argsort(descending=True).tolist()
    words = [i for i in frequent if isinstance(pieces[i], str) and len(pieces[i]) > 3 and pieces[i][1:].isalpha()]
    return axes, [[i, *points[i]] for i in words[:LANDMARKS]]
