"""Texts beside one that the visitor gives."""

import pytest

import playground
from playground.denoisers import zoo
from playground.studies.reference import Reference
from playground.studies.sentences import said

CAT = "The cat sat on the mat and it was happy."


@pytest.mark.parametrize("model", ["stories-continuous", "stories-masked"])
def test_a_text_is_like_itself_and_less_like_another(model):
    reference = Reference.of(CAT, zoo.load(model))
    same, other = reference.compare(CAT), reference.compare("Dogs bark!")
    assert same["bleu"] == pytest.approx(100) and same["rouge_l"] == 1 and same["similarity"] == pytest.approx(1)
    assert other["bleu"] < 5 and other["rouge_l"] == 0 and other["similarity"] < 0.6
    assert Reference.of("猫 坐 在", zoo.load(model)).compare("猫 走 在")["rouge_l"] == pytest.approx(2 / 3)


def test_a_reference_in_another_language_is_said_to_share_no_word():
    short = {"length": 16, "seed": 1, "seeds": 2, "steps": [2, 3]}
    found = playground.compare(reference="猫坐在垫子上。", **short)
    assert [row["rouge_l"] for row in found.rows] == [0] * 4
    assert said(found)[-1].startswith("No text shares a word with the reference")
    assert not said(playground.compare(reference=found.rows[0]["text"], **short))[-1].startswith("No text shares")
