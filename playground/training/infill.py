"""Filling a hole in real text: the middle of a held-out document is hidden, filled, and read beside the real one."""

import math
import random
import time
from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from playground.denoisers.zoo import Model
from playground.engine import complete
from playground.quality import Judge
from playground.recipe import Recipe
from playground.text import BOS, EOS, PAD, Tokenizer
from playground.training.data import Document, opening

WIDTHS = range(6, 17)  # cells in a hole
MARGIN = 8  # cells of text left on either side of it


@dataclass(frozen=True)
class Holes:
    """Real rows ids [N, L], the cells outside the holes fixed [N, L], each hole from cell `start` to before `end`;
    `skipped`: rows that were too short for a hole."""

    ids: Tensor
    fixed: Tensor
    spans: list[tuple[int, int]]
    skipped: int

    @classmethod
    def cut(cls, documents: list[Document], length: int, tokenizer: Tokenizer, seed: int) -> "Holes":
        """One hole a document, in its opening of `length` cells, at a place drawn from seed + its index: from the
        start of a word to the start of another, where the text has words parted by spaces."""
        rows, spans = [], []
        for i, document in enumerate(documents):
            row = opening(document, length)
            places = _places(row, tokenizer)
            if places:
                rows.append(row)
                spans.append(random.Random(seed + i).choice(places))
        ids = torch.tensor(rows).reshape(len(rows), length)
        fixed = torch.ones_like(ids, dtype=torch.bool)
        for cells, (start, end) in zip(fixed, spans, strict=True):
            cells[start:end] = False
        return cls(ids, fixed, spans, len(documents) - len(rows))


def _places(row: list[int], tokenizer: Tokenizer) -> list[tuple[int, int]]:
    """Every (start, end) a hole of the row may have."""
    pieces = tokenizer.pieces(row)
    text = [cell for cell, piece in enumerate(pieces) if isinstance(piece, str) and piece]
    inner = [cell for cell in text if text[0] + MARGIN <= cell <= text[-1] + 1 - MARGIN]
    words = [cell for cell in inner if pieces[cell].startswith(" ")]
    for cells in (words, inner):
        found = [(start, end) for start in cells for end in cells if end - start in WIDTHS]
        if found:
            return found
    return []


class Readings:
    """What a judge makes of filled rows, in nats a token of the judge: of the hole, read after its left side, and of
    the text after it, read after both. The text after is the same for all, so it alone tells how well a hole fits
    what follows: a judge that reads from left to right cannot see that in the hole.

    nats(hole) = nll(left + hole) - nll(left); nats(after) = nll(all) - nll(left + hole). `text_perplexity` is that of
    the whole texts: exp(nll(all) / tokens)."""

    def __init__(self, judge: Judge, tokenizer: Tokenizer, holes: Holes):
        self.judge, self.tokenizer, self.holes = judge, tokenizer, holes
        self.left = judge.nll([self._text(row[:start]) for row, (start, _) in self._rows(holes.ids)])
        self.real = self.of(holes.ids)

    def of(self, filled: Tensor) -> dict:
        to_hole = self.judge.nll([self._text(row[:end]) for row, (_, end) in self._rows(filled)])
        whole = self.judge.nll([self._text(row) for row, _ in self._rows(filled)])
        hole, after = _per_token(self.left, to_hole), _per_token(to_hole, whole)
        return {
            "hole_nats": hole,
            "hole_perplexity": None if hole is None else math.exp(hole),
            "after_nats": after,
            "text_perplexity": math.exp(whole[0] / whole[1]) if whole[1] else None,
        }

    def _rows(self, rows: Tensor):
        return zip(rows.tolist(), self.holes.spans, strict=True)

    def _text(self, ids: list[int]) -> str:
        """Read past an end mark inside a hole, so that the text after it is always read."""
        return self.tokenizer.decode(i for i in ids if i not in (PAD, BOS, EOS))


def _per_token(before: tuple[float, int], after: tuple[float, int]) -> float | None:
    tokens = after[1] - before[1]
    return (after[0] - before[0]) / tokens if tokens > 0 else None


def fill(recipe: Recipe, model: Model, holes: Holes, readings: Readings) -> dict:
    """The holes filled by `model`, and how that compares with the real middles: shares of 1, nats a judge token."""
    started = time.perf_counter()
    filled = torch.cat(list(complete(recipe, model, holes.ids, holes.fixed)))
    seconds = (time.perf_counter() - started) / len(filled)
    found, real = readings.of(filled), readings.real
    over = {
        "hole_over_real": _ratio(found["hole_perplexity"], real["hole_perplexity"]),
        "text_over_real": _ratio(found["text_perplexity"], real["text_perplexity"]),
    }
    return found | over | compare(holes, filled) | {"seconds_per_sample": seconds}


def _ratio(perplexity: float | None, real: float | None) -> float | None:
    return perplexity / real if perplexity and real else None


def compare(holes: Holes, filled: Tensor) -> dict:
    """exact: holes with every token the real one; overlap: tokens of the real middle that are in the hole, in any
    order, over its width, mean over the holes; unchanged: given cells that kept their token; ended: holes with an end
    mark or padding in them, although text follows."""
    pairs = [
        (real[start:end], made[start:end])
        for real, made, (start, end) in zip(holes.ids.tolist(), filled.tolist(), holes.spans, strict=True)
    ]
    return {
        "exact": sum(real == made for real, made in pairs) / len(pairs),
        "overlap": sum((Counter(real) & Counter(made)).total() / len(real) for real, made in pairs) / len(pairs),
        "unchanged": float((filled == holes.ids)[holes.fixed].double().mean()),
        "ended": sum(bool({PAD, EOS} & set(made)) for _, made in pairs) / len(pairs),
    }
