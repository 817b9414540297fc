"""How alike are two texts? Their embeddings compared, and the words that one would have to change to get the other."""

from functools import cache
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from playground.denoisers import minilm
from playground.denoisers.zoo import Model
from playground.quality import words

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
