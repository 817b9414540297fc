"""Figures of single texts, and their means."""

import math

import pytest

from playground.studies import figures
from playground.studies.figures import Figures, Spread

PROMPT, TEXT = "Once upon a time", "Once upon a time, there was a cat. The cat was a cat."


class Counting:
    """A judge whose every character costs a nat and is a token."""

    def nll(self, texts):
        return float(sum(map(len, texts))), sum(map(len, texts))


def test_a_prompt_is_no_part_of_the_figures():
    assert Figures.of(TEXT, PROMPT, None) == Figures.of(TEXT.removeprefix(PROMPT), "", None)
    assert Figures.of(PROMPT, PROMPT, Counting()).perplexity is None


def test_the_perplexity_is_that_of_what_was_written_after_the_prompt():
    assert Figures.of(TEXT, PROMPT, Counting()).perplexity == pytest.approx(math.e)
    judge = figures.judge("bundled")
    (nats, tokens), (given, known) = judge.nll([TEXT]), judge.nll([PROMPT])
    assert Figures.of(TEXT, PROMPT, judge).perplexity == pytest.approx(math.exp((nats - given) / (tokens - known)))


def test_a_prompt_that_ends_within_a_word_is_read_without_that_word():
    judge = figures.judge("bundled")
    whole = Figures.of("Once upon a time there was", "Once upon a", judge).perplexity
    assert Figures.of("Once upon a time there was", "Once upon a ti", judge).perplexity == pytest.approx(whole)
    assert Figures.of("Once upon a time there was", "Once upon a ", judge).perplexity == pytest.approx(whole)


def test_a_spread_is_a_mean_and_one_standard_deviation_around_it():
    assert Spread.of([1.0, 2.0, 3.0]) == Spread(2.0, 1.0, 3.0, 3)
    assert Spread.of([4.0, None]) == Spread(4.0, None, None, 1)
    assert Spread.of([None]) is None and Spread.of([]) is None


def test_perplexities_are_averaged_by_their_logarithms():
    found = Spread.of([1.0, 100.0], geometric=True)
    deviation = math.log(100) / math.sqrt(2)
    assert Spread.of([0.0, 4.0], geometric=True) == Spread(4.0, None, None, 1)
    assert found.mean == pytest.approx(10) and found.high == pytest.approx(10 * math.exp(deviation))
