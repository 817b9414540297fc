"""How good are these texts? Counts over words, and the perplexity under a judge, a language model that reads them.

A perplexity alone lies: printing only "!" scores about 1, and one good story written over and over scores like a good
writer. So each figure stands beside the others, and beside the same figures for as many real texts.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from playground.text import BOS, PAD

WORD = re.compile(r"\w+|[^\w\s]")
BUDGET = 2048  # cells a judge reads at once: with a vocabulary of 50,000 their logits take 0.4 GB


def words(text: str) -> list[str]:
    """Lower-cased words and punctuation marks: "It's 5!" -> it ' s 5 !"""
    return WORD.findall(text.lower())


def word_entropy(text: str) -> float:
    """H = -sum p ln p over the words of one text, in nats; p is a word's share of the text. At most ln(number of
    words); 0 for a text without words. The sample entropy of MDLM and Duo (arXiv 2406.07524, 2506.10892), over words
    instead of token ids, so that models with different tokenizers compare."""
    counts = Counter(words(text))
    total = sum(counts.values())
    return sum(n / total * math.log(total / n) for n in counts.values())


def distinct(texts: Iterable[str], n: int) -> float:
    """Different word n-grams over all word n-grams of all the texts together (arXiv 1510.03055, which divides by the
    number of words); 0 where there are none. It falls as texts are added: compare equal numbers of texts."""
    grams = [gram for text in texts for gram in _grams(words(text), n)]
    return len(set(grams)) / len(grams) if grams else 0.0


def repetition(texts: Iterable[str], n: int = 4) -> float:
    """Share of the word n-grams that occurred before in the same text (seq-rep-n, arXiv 1908.04319, over the n-grams
    of all texts together); 0 where there are none."""
    counts = [Counter(_grams(words(text), n)) for text in texts]
    total = sum(count.total() for count in counts)
    return 1 - sum(map(len, counts)) / total if total else 0.0


def ngrams(texts: Iterable[str], n: int = 4) -> set[tuple[str, ...]]:
    """The word n-grams of all the texts."""
    return {gram for text in texts for gram in _grams([sys.intern(word) for word in words(text)], n)}


def memorised(texts: Iterable[str], grams: set[tuple[str, ...]], n: int = 4) -> float:
    """Share of the word n-grams found in `grams`, those of the training text (arXiv 2212.09462); 0 where there are
    none. Real texts have a high share as well: it means something only beside theirs."""
    found = [gram in grams for text in texts for gram in _grams(words(text), n)]
    return sum(found) / len(found) if found else 0.0


def unique(texts: list[str]) -> float:
    """Different texts over texts, 0 of none: what the entropy of single texts cannot see."""
    return len(set(texts)) / len(texts) if texts else 0.0


def _grams(words: list[str], n: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[i:] for i in range(n)), strict=False)


class Judge(Protocol):
    """A language model that reads texts. `skipped`: texts so far that held no token to score; `cut`: texts so far
    that were longer than the judge can read, of which it read the beginning."""

    name: str
    skipped: int
    cut: int

    def nll(self, texts: list[str]) -> tuple[float, int]:
        """(-ln p summed over all scored tokens of all texts, in nats; the number of these tokens)."""


def perplexity(judge: Judge, texts: list[str]) -> float | None:
    """exp(nats / tokens) over the tokens of all texts together, not the mean of each text's own (as MDLM and Duo
    have it). The tokens are the judge's: perplexities of different judges do not compare. None without a token."""
    nats, tokens = judge.nll(texts)
    return math.exp(nats / tokens) if tokens else None


@dataclass(frozen=True)
class Quality:
    """What the texts of one setting come to. `empty` of the `texts` hold no word; they count as entropy 0."""

    texts: int
    empty: int
    perplexity: float | None  # per judge token; None without a judge or without a token
    entropy: float  # nats, mean over the texts
    distinct_1: float
    distinct_2: float
    repetition: float  # of word 4-grams
    memorised: float | None  # of word 4-grams; None without a training text
    unique: float


def measure(texts: list[str], judge: Judge | None = None, grams: set[tuple[str, ...]] | None = None) -> Quality:
    """All figures of `texts`; `grams`: the word 4-grams of the training text, from `ngrams`."""
    return Quality(
        texts=len(texts),
        empty=sum(not words(text) for text in texts),
        perplexity=perplexity(judge, texts) if judge else None,
        entropy=sum(map(word_entropy, texts)) / len(texts) if texts else 0.0,
        distinct_1=distinct(texts, 1),
        distinct_2=distinct(texts, 2),
        repetition=repetition(texts),
        memorised=None if grams is None else memorised(texts, grams),
        unique=unique(texts),
    )


@torch.inference_mode()
def score(model, texts: list[str]) -> list[Tensor]:
    """ln p of each token of each text, [tokens] float32 on the CPU, under an autoregressive zoo.Model, the start mark
    before the text; empty for an empty text. Of a text longer than `longest(model)` its beginning is scored."""
    ids = [[BOS, *model.tokenizer.encode(text)[: longest(model)]] for text in texts]
    scores = [torch.zeros(0)] * len(texts)
    for batch in batches(ids):
        rows = pad_sequence([torch.tensor(ids[i]) for i in batch], batch_first=True, padding_value=PAD)
        rows = rows.to(model.device)
        logits = model.denoiser(rows)  # those of cell i come from the cells before it, so padding changes nothing
        found = logits.float().log_softmax(-1).gather(-1, rows[..., None]).squeeze(-1).cpu()
        for i, row in zip(batch, found, strict=True):
            scores[i] = row[1 : len(ids[i])].clone()
    return scores


def batches(rows: list[list[int]]) -> Iterator[list[int]]:
    """The places of all rows of two ids or more, those of similar length together, at most BUDGET cells a batch."""
    batch: list[int] = []
    for i in sorted((i for i, row in enumerate(rows) if len(row) > 1), key=lambda i: len(rows[i])):
        if batch and (len(batch) + 1) * len(rows[i]) > BUDGET:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def longest(model) -> int:
    """How many tokens of text an autoregressive model reads: the trunk has no cell for its position 0, and one cell
    holds the start mark."""
    return model.card["shape"]["max_length"] - 2


class BundledJudge:
    """An autoregressive model of the zoo as the judge: quick, but trained on the same text as those it judges."""

    def __init__(self, model):
        self.model, self.name = model, model.name
        self.skipped = self.cut = 0

    def nll(self, texts: list[str]) -> tuple[float, int]:
        scores = score(self.model, texts)
        tokens = sum(map(len, scores))
        self.skipped += sum(len(found) == 0 for found in scores)
        self.cut += sum(len(self.model.tokenizer.encode(text)) > longest(self.model) for text in texts)
        return -sum(float(found.double().sum()) for found in scores), tokens
