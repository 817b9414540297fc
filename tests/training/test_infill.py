"""Holes in real text: where they are, what they are compared with, and what a judge reads."""

import math
import random

import pytest
import torch

from playground.text import BOS, EOS, PAD
from playground.training.data import encode
from playground.training.infill import MARGIN, WIDTHS, Holes, Readings, compare

TEXT = "The little dog ran to the park. He saw a big red ball on the green grass. He was happy and took it home. "


class Letters:
    """A judge to whom a letter costs half a nat and a word is a token."""

    name, skipped, cut = "letters", 0, 0

    def nll(self, texts):
        self.read = texts
        return sum(0.5 * len(text) for text in texts), sum(len(text.split()) for text in texts)


def cut(tokenizer, texts, seed=5):
    return Holes.cut([encode(text, tokenizer) for text in texts], 64, tokenizer, seed)


def test_a_hole_is_words_in_the_middle_of_the_text(tokenizer):
    holes = cut(tokenizer, [TEXT * 3] * 20)
    assert holes.skipped == 0 and len(set(holes.spans)) > 10
    for row, fixed, (start, end) in zip(holes.ids.tolist(), holes.fixed, holes.spans, strict=True):
        assert end - start in WIDTHS and (~fixed).nonzero().flatten().tolist() == list(range(start, end))
        last = row.index(EOS) if EOS in row else 64
        assert row[0] == BOS and start >= 1 + MARGIN and end <= last - MARGIN
        pieces = tokenizer.pieces(row)
        assert pieces[start].startswith(" ") and pieces[end].startswith(" ")


def test_a_hole_depends_on_its_own_seed_alone(tokenizer):
    assert cut(tokenizer, [TEXT * 3] * 3, seed=7).spans[0] == cut(tokenizer, [TEXT * 3] * 9, seed=5).spans[2]


def test_text_without_spaces_is_cut_between_characters_and_short_text_is_skipped(tokenizer):
    holes = cut(tokenizer, ["", "Hi.", "é" * 40, TEXT * 3])
    assert (holes.skipped, len(holes.spans)) == (2, 2)
    none = cut(tokenizer, ["Hi."])
    assert none.ids.shape == (0, 64) and none.spans == []


def test_compare_against_hand_counts():
    ids = torch.arange(40).reshape(2, 20) + 10
    fixed = torch.ones_like(ids, dtype=torch.bool)
    fixed[0, 4:10] = fixed[1, 4:12] = False
    holes, filled = Holes(ids, fixed, [(4, 10), (4, 12)], 0), ids.clone()
    assert compare(holes, filled) == {"exact": 1, "overlap": 1, "unchanged": 1, "ended": 0}
    filled[0, 4:10] = filled[0, 4:10].flip(0)  # the same tokens in another order
    filled[1, 4:8] = torch.tensor([EOS, PAD, int(ids[1, 8]), int(ids[1, 8])])
    assert compare(holes, filled) == {"exact": 0, "overlap": (1 + 4 / 8) / 2, "unchanged": 1, "ended": 0.5}
    filled[0, 0] = 3
    assert compare(holes, filled)["unchanged"] == pytest.approx(25 / 26)


def test_the_judge_reads_the_hole_after_its_left_and_the_rest_after_both(tokenizer):
    holes, judge = cut(tokenizer, [TEXT * 3]), Letters()
    (start, end), row = holes.spans[0], holes.ids[0].tolist()
    hole, after = tokenizer.decode(row[start:end]), tokenizer.decode(row[end:])
    readings = Readings(judge, tokenizer, holes)
    assert readings.real["hole_nats"] == pytest.approx(0.5 * len(hole) / len(hole.split()))
    assert readings.real["after_nats"] == pytest.approx(0.5 * len(after) / len(after.split()))
    whole = tokenizer.decode(row[1:])
    assert readings.real["text_perplexity"] == pytest.approx(math.exp(0.5 * len(whole) / len(whole.split())))
    assert readings.real["hole_perplexity"] == pytest.approx(math.exp(readings.real["hole_nats"]))


def test_the_text_after_an_end_mark_in_a_hole_is_still_read(tokenizer):
    holes, judge = cut(tokenizer, [TEXT * 3]), Letters()
    readings, filled = Readings(judge, tokenizer, holes), holes.ids.clone()
    start, end = holes.spans[0]
    filled[0, start:end] = torch.tensor(random.Random(1).choices([EOS, PAD, BOS], k=end - start))
    found = readings.of(filled)
    assert found["hole_nats"] is None and found["after_nats"] == readings.real["after_nats"]
    row = holes.ids[0].tolist()
    assert judge.read == [tokenizer.decode(row[1:start] + row[end:])]
