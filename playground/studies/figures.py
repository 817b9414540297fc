"""What a single text comes to, and what several come to together: means with their spread."""

import math
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from playground import judges
from playground.quality import Judge, distinct, repetition, word_entropy
from playground.recipe import RecipeError


@dataclass(frozen=True)
class Figures:
    """One text without its prompt, so that a shared prompt hides no difference."""

    perplexity: float | None  # of what was written, read after the prompt; None without a judge or without a token
    entropy: float  # of its words, nats
    distinct_2: float
    repetition: float  # of word 4-grams

    @classmethod
    def of(cls, text: str, prompt: str, judge: Judge | None) -> "Figures":
        """The figures of `text`, which begins with `prompt`. By the chain rule, the surprise of what was written is
        that of the whole less that of the prompt."""
        written = text.removeprefix(prompt)
        return cls(
            perplexity=_perplexity(text, prompt, judge) if judge else None,
            entropy=word_entropy(written),
            distinct_2=distinct([written], 2),
            repetition=repetition([written]),
        )


def _perplexity(text: str, prompt: str, judge: Judge) -> float | None:
    (nats, tokens), (given_nats, given) = judge.nll([text]), judge.nll([_read_first(text, prompt)])
    return math.exp((nats - given_nats) / (tokens - given)) if tokens > given and nats >= given_nats else None


def _read_first(text: str, prompt: str) -> str:
    """The prompt as far as its tokens are those of the text as well: without its last word where the text goes on with
    it, and without the space that belongs to the next one."""
    goes_on = prompt[-1:].isalnum() and text[len(prompt) : len(prompt) + 1].isalnum()
    return (re.sub(r"\w+$", "", prompt) if goes_on else prompt).rstrip()


@dataclass(frozen=True)
class Spread:
    """The mean of `count` values, and one standard deviation below and above it; None of a single value, which has no
    spread."""

    mean: float
    low: float | None
    high: float | None
    count: int

    @classmethod
    def of(cls, values: Iterable[float | None], geometric: bool = False) -> "Spread | None":
        """Of the values that there are, None without any. `geometric`: of their logarithms, as a perplexity asks for,
        which is one of a mean log probability."""
        known = [value for value in values if value is not None and (value > 0 or not geometric)]
        if not known:
            return None
        there, back = (math.log, math.exp) if geometric else (float, float)
        mean = statistics.fmean(map(there, known))
        if len(known) == 1:
            return cls(back(mean), None, None, 1)
        deviation = statistics.stdev(map(there, known))
        return cls(back(mean), back(mean - deviation), back(mean + deviation), len(known))


@cache
def judge(name: str = "bundled") -> Judge | None:
    """The named judge, loaded once. None where the bundled one is asked for and there is no autoregressive model.
    Raises RecipeError."""
    try:
        return judges.judge(name)
    except judges.JudgeError as error:
        if name == "bundled":
            return None
        raise RecipeError("judge", str(error)) from None
