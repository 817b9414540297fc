"""Paths between held-out texts: does each method lead evenly from one to the other, in sentences that can be read?"""

import time
from collections.abc import Iterator

import torch

from playground.denoisers.zoo import Model
from playground.interpolation import Blend, Path, heard_by
from playground.quality import Judge, perplexity, unique
from playground.samplers.paths import METHODS
from playground.similarity import embedders
from playground.text import Tokenizer
from playground.training.data import Document

PAIRS = 50
LONGEST = 48  # tokens of a text, in whole sentences


def pairs(documents: list[Document], tokenizer: Tokenizer, count: int = PAIRS) -> list[tuple[str, str]]:
    """Two by two, the openings of documents: as many whole sentences as LONGEST holds. Those that begin with a longer
    sentence are left out."""
    found = [text for text in (_opening(document, tokenizer) for document in documents) if text]
    return list(zip(found[::2], found[1::2], strict=False))[:count]


def _opening(document: Document, tokenizer: Tokenizer) -> str:
    ids: list[int] = []
    for sentence in document:
        if len(ids) + len(sentence) > LONGEST:
            break
        ids += sentence
    return tokenizer.decode(ids)


def compare(model: Model, seed: int, texts: list[tuple[str, str]], judge: Judge, **fields) -> Iterator[dict]:
    """For each method the figures of its paths between the pairs; pair i uses seed + i.

    distinct: different texts over points; correlation: Spearman's rank correlation of a point's similarity to B with
    its place on the path, mean over the pairs, for each embedder; between_over_ends: perplexity of the texts between
    over that of A and B; ends: share of the ends that are A or B exactly.
    """
    ends = perplexity(judge, [text for pair in texts for text in pair])
    for method in (method for method in METHODS if "c" not in heard_by(method)):
        started, paths = time.perf_counter(), []
        for i, (a, b) in enumerate(texts):
            path = Path(Blend.parse({"model": model.name, "a": a, "b": b, "method": method, "seed": seed + i} | fields))
            *_, last = path.steps()
            paths.append([model.tokenizer.decode(row) for row in last.tokens.tolist()])
        seconds = (time.perf_counter() - started) / len(texts)
        between = perplexity(judge, [text for path in paths for text in path[1:-1]])
        exact = [path[0] == a for path, (a, _) in zip(paths, texts, strict=True)]
        exact += [path[-1] == b for path, (_, b) in zip(paths, texts, strict=True)]
        yield {
            "method": method,
            "level": path.blend.level if "level" in path.blend.knobs else None,
            "distinct": _mean([unique(path) for path in paths]),
            "correlation": {
                e.name: _mean([_follows(e, path, b) for path, (_, b) in zip(paths, texts, strict=True)])
                for e in embedders(model)
            },
            "between_over_ends": between / ends if between and ends else None,
            "ends": _mean(exact),
            "seconds_per_path": seconds,
        }


def _follows(embedder, path: list[str], b: str) -> float:
    similarity = embedder.embed(path) @ embedder.embed([b])[0]
    return spearman(similarity.tolist(), list(range(len(path))))


def spearman(x: list[float], y: list[float]) -> float:
    """Rank correlation, -1 to 1, equal values sharing their mean rank; 0 where all of x or of y are equal."""
    a, b = (ranks - ranks.mean() for ranks in map(_ranks, (x, y)))
    scale = a.norm() * b.norm()
    return float(a @ b / scale) if scale else 0.0


def _ranks(values: list[float]) -> torch.Tensor:
    found = torch.tensor(values, dtype=torch.float64)
    return ((found[:, None] > found).sum(1) + (found[:, None] >= found).sum(1) + 1) / 2.0


def _mean(values: list) -> float:
    return sum(values) / len(values)
