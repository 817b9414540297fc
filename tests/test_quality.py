"""The metrics of texts, against values counted by hand."""

import math
from types import SimpleNamespace

import pytest
import torch

from playground import quality
from playground.quality import (
    BundledJudge,
    batches,
    distinct,
    longest,
    measure,
    memorised,
    ngrams,
    perplexity,
    repetition,
    score,
    unique,
    word_entropy,
    words,
)  # fmt: skip
from playground.text import BOS, PAD

HOSTILE = ["", " ", "\n\t", "!", "one", "👩‍👩‍👧‍👦 🇫🇷", "北京很大", "é" * 3, "\u200b", "_"]


class Counter:
    """A judge to whom a letter costs half a nat and a word is a token."""

    name, skipped, cut = "counter", 0, 0

    def nll(self, texts):
        return sum(0.5 * len(text) for text in texts), sum(len(text.split()) for text in texts)


def fake(tokenizer, max_length=300, seed=0):
    """A bigram model in the shape of a zoo.Model: the logits of cell i come from the id before it alone."""
    table = torch.randn(tokenizer.vocab_size + 1, tokenizer.vocab_size, generator=torch.Generator().manual_seed(seed))

    def denoiser(ids):
        assert ids.shape[1] <= max_length - 1
        seen.append(ids)
        before = torch.cat([torch.full_like(ids[:, :1], tokenizer.vocab_size), ids[:, :-1]], 1)
        return table[before]

    seen = []
    card = {"shape": {"max_length": max_length}}
    return SimpleNamespace(
        name="bigrams", tokenizer=tokenizer, denoiser=denoiser, device="cpu", card=card, table=table, seen=seen
    )


def test_words_are_lower_case_and_marks_stand_alone():
    assert words("It's 5, Tom!") == ["it", "'", "s", "5", ",", "tom", "!"]
    assert words("Él comió 北京.") == ["él", "comió", "北京", "."]
    assert words(" \n") == []


def test_entropy_in_nats():
    assert word_entropy("a A b") == pytest.approx(2 / 3 * math.log(3 / 2) + 1 / 3 * math.log(3))
    assert word_entropy("a b c d") == pytest.approx(math.log(4))
    assert word_entropy("no no no no") == 0


def test_distinct_is_counted_over_all_texts_together():
    texts = ["a b a b", "a b"]  # words a b a b a b; pairs ab ba ab ab
    assert distinct(texts, 1) == pytest.approx(2 / 6)
    assert distinct(texts, 2) == pytest.approx(2 / 4)
    assert distinct(texts, 5) == 0


def test_repetition_is_counted_within_each_text():
    assert repetition(["a b c d a b c d"]) == pytest.approx(1 / 5)  # abcd bcda cdab dabc abcd
    assert repetition(["a b c d", "a b c d"]) == 0
    assert repetition(["a b c d a b c d", "e f g h i"]) == pytest.approx(1 / 7)
    assert repetition(["no no no"], n=1) == pytest.approx(2 / 3)


def test_memorised_is_the_share_found_in_the_training_text():
    grams = ngrams(["The cat sat down. The end."], 4)  # the cat sat down . the end . -> 5
    assert len(grams) == 5 and ("sat", "down", ".", "the") in grams
    assert memorised(["the CAT sat down there"], grams) == pytest.approx(1 / 2)
    assert memorised(["too short here"], grams) == 0


def test_unique():
    assert unique(["a", "a", "b", "A"]) == 3 / 4
    assert unique([]) == 0


def test_perplexity_pools_the_tokens_of_all_texts():
    texts = ["aa", "bb bb bb"]  # 1 and 4 nats over 1 and 3 tokens
    assert perplexity(Counter(), texts) == pytest.approx(math.exp(5 / 4))
    assert perplexity(Counter(), []) is None and perplexity(Counter(), ["", " "]) is None


def test_measure_puts_all_figures_beside_each_other():
    texts = ["a b a b", "a b", ""]
    found = measure(texts, Counter(), ngrams(["b a b a b"], 4))
    assert (found.texts, found.empty, found.repetition, found.memorised) == (3, 1, 0, 1)
    assert found.entropy == pytest.approx(2 * math.log(2) / 3)
    assert (found.distinct_1, found.distinct_2, found.unique) == (pytest.approx(1 / 3), 0.5, 1)
    assert found.perplexity == pytest.approx(math.exp(5 / 6))
    alone = measure(texts)
    assert alone.perplexity is None and alone.memorised is None


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["one"], HOSTILE], ids=repr)
def test_hostile_texts_give_finite_figures(texts, tokenizer):
    found = measure(texts, BundledJudge(fake(tokenizer)), ngrams(texts))
    for name, value in vars(found).items():
        assert name == "perplexity" or math.isfinite(value), name
    assert found.empty == sum(not words(text) for text in texts)
    assert (found.perplexity is None) == (not any(texts))


def test_score_is_the_log_probability_of_each_token_after_the_start_mark(tokenizer):
    model, text = fake(tokenizer), "Once upon a time"
    ids = tokenizer.encode(text)
    logp = model.table.log_softmax(-1)
    expected = torch.stack([logp[a, b] for a, b in zip([BOS, *ids[:-1]], ids, strict=True)])
    (found,) = score(model, [text])
    assert torch.allclose(found, expected) and model.seen[0][0].tolist() == [BOS, *ids]


def test_a_score_does_not_depend_on_what_it_is_read_with(tokenizer):
    texts = ["A dog.", "", "Once upon a time there was a very big and hungry bear", "Hi", "A dog."]
    model = fake(tokenizer)
    together, alone = score(model, texts), [score(model, [text])[0] for text in texts]
    assert all(torch.equal(a, b) for a, b in zip(together, alone, strict=True))
    assert len(together[1]) == 0 and (model.seen[0][0] == PAD).any()


def test_every_text_is_in_one_batch_of_limited_size(monkeypatch):
    monkeypatch.setattr(quality, "BUDGET", 12)
    rows = [[1] * n for n in (5, 1, 2, 20, 0, 3, 4, 2)]
    found = list(batches(rows))
    assert sorted(i for batch in found for i in batch) == [0, 2, 3, 5, 6, 7]
    assert all(len(batch) == 1 or len(batch) * max(len(rows[i]) for i in batch) <= 12 for batch in found)
    assert list(batches([[1], []])) == []


def test_the_bundled_judge_counts_what_it_skips_and_cuts(tokenizer):
    model = fake(tokenizer, max_length=12)
    judge, long = BundledJudge(model), "the cat and " * 20
    nats, tokens = judge.nll([long, "", "the cat"])
    assert (judge.skipped, judge.cut, tokens) == (1, 1, longest(model) + len(tokenizer.encode("the cat")))
    assert nats == pytest.approx(-sum(float(s.sum()) for s in score(model, [long, "the cat"])), rel=1e-6)
    assert judge.nll([""]) == (0, 0) and judge.skipped == 2 and judge.name == "bigrams"
