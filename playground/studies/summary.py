"""Cells of a grid in numbers: what is measured, each metric's mean and spread, and the same of real texts."""

import json
import math
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from playground.studies.figures import Spread
from playground.studies.grid import Cell, Study

REAL = Path(__file__).resolve().parents[2] / "assets" / "examples" / "real.json"


@dataclass(frozen=True)
class Metric:
    """A column of the rows. `geometric`: averaged and drawn by its logarithm."""

    label: str
    geometric: bool = False
    about: str = ""


METRICS = {
    "perplexity": Metric("perplexity", True, "How surprising the judge finds the text; lower reads more easily."),
    "entropy": Metric("word entropy, nats", about="How varied the words of one text are."),
    "distinct_2": Metric("distinct-2", about="Different word pairs over all word pairs of a text."),
    "repetition": Metric("repetition", about="Share of the word 4-grams that occurred before in the same text."),
    "seconds": Metric("seconds a text", True),
    "tokens_per_second": Metric("tokens a second", True),
    "bleu": Metric("BLEU", about="Overlap with the reference, 0 to 100."),
    "rouge_l": Metric("ROUGE-L", about="Longest common subsequence with the reference, 0 to 1."),
    "similarity": Metric("similarity", about="Cosine of the embeddings of text and reference."),
}
QUALITY = ("perplexity", "entropy", "distinct_2", "repetition")  # what real texts have as well


def summary(rows: list[dict]) -> dict[str, Spread]:
    """Each metric there is in the rows of a cell; nothing of a cell without rows."""
    found = {name: Spread.of((row.get(name) for row in rows), metric.geometric) for name, metric in METRICS.items()}
    return {name: spread for name, spread in found.items() if spread}


def table(study: Study) -> list[dict]:
    """For each cell of the grid that is done: its place, its metrics, and those of the left-to-right run beside it."""
    return [
        {"place": cell.place, "metrics": _plain(cell), "baseline": _plain(baseline) if baseline else None}
        for cell, baseline in zip(study.cells, study.baselines, strict=True)
        if cell.rows
    ]


def _plain(cell: Cell) -> dict:
    return {name: asdict(spread) for name, spread in summary(cell.rows).items()}


@cache
def _measured() -> dict:
    return json.loads(REAL.read_text(encoding="utf-8"))


def real(length: int, judge: str) -> tuple[int, dict[str, Spread]]:
    """(the measured length nearest to `length`, by ratio; the QUALITY of held-out real texts cut at that length), as
    training/real.py measured them. Without the perplexity where another judge reads."""
    lengths = _measured()["lengths"]
    nearest = min(lengths, key=lambda known: abs(math.log(int(known) / length)))
    found = {name: Spread(**spread) for name, spread in lengths[nearest].items()}
    if judge != "bundled":
        found.pop("perplexity", None)
    return int(nearest), found
