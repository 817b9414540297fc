"""How alike are two texts? Their embeddings compared, and the words that one would have to change to get the other."""

from functools import cache
from pathlib import Path
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from playground.denoisers import minilm
from playground.denoisers.zoo import Model
from playground.quality import words

SENTENCES = Path(__file__).resolve().parents[1] / "assets" / "examples" / "sentences.txt"
RARE = 1e-3  # words more frequent than this share of all words count less


class Embedder(Protocol):
    """Texts -> embeddings [n, d], rows of length 1, or 0 for a text without words."""

    name: str

    def embed(self, texts: list[str]) -> Tensor: ...


class WordMeans:
    """The mean of the continuous denoiser's token embeddings, each weighed by a / (a + its frequency), from which the
    mean over the language is taken (SIF: Arora et al., ICLR 2017, without its last step). Word order does not count."""

    name = "word embeddings"

    def __init__(self, model: Model):
        table, frequency = model.denoiser.table().cpu(), model.denoiser.prior.float().softmax(-1).cpu()
        self.tokenizer, self.vectors = model.tokenizer, table - frequency @ table
        self.weights = RARE / (RARE + frequency)

    def embed(self, texts: list[str]) -> Tensor:
        found = torch.zeros(len(texts), self.vectors.shape[1])
        for row, text in enumerate(texts):
            ids = torch.tensor(self.tokenizer.encode(text), dtype=torch.long)
            found[row] = self.weights[ids] @ self.vectors[ids]
        return F.normalize(found, dim=-1)


@cache
def embedders(model: Model) -> tuple[Embedder, ...]:
    """The embedders there are: the continuous model's own and, where its package is installed, MiniLM."""
    return (WordMeans(model), *([minilm.MiniLM()] if minilm.installed() else []))


def edits(a: str, b: str) -> int:
    """Words to insert, delete or replace to make b of a (Levenshtein distance over lower-cased words and marks)."""
    from_, to = words(a), words(b)
    row = list(range(len(to) + 1))
    for i, word in enumerate(from_, 1):
        before, row = row, [i]
        for j, other in enumerate(to, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (word != other)))
    return row[-1]


@cache
def plane(model: Model) -> tuple[list[str], Tensor, Tensor]:
    """(sentences [n] of a map, written by our own models; where they lie on it [n, 2]; its axes [d, 2]): the two
    directions in which their `WordMeans` differ most (PCA)."""
    sentences = SENTENCES.read_text(encoding="utf-8").split("\n")[:-1]
    found = embedders(model)[0].embed(sentences)
    axes = torch.linalg.eigh(torch.cov(found.T)).eigenvectors[:, -2:].flip(1)
    axes = axes * axes[axes.abs().argmax(0), torch.arange(2)].sign()  # an eigenvector's sign is arbitrary: fix it
    return sentences, found @ axes, axes
