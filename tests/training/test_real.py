"""Real text measured as the page's comparisons measure theirs."""

import pytest

from playground.quality import word_entropy
from playground.studies import figures
from playground.training.data import Corpus
from playground.training.real import measured


def test_each_length_has_every_figure_of_the_held_out_openings(tmp_path):
    stories = [f"Tom had {n} red balls. He gave one ball to the dog number {n}." for n in range(300)]
    (tmp_path / "stories.txt").write_text("\n\n".join(stories), encoding="utf-8")
    judge = figures.judge("bundled")
    corpus = Corpus.read(tmp_path, judge.model.tokenizer)
    found = measured(corpus, 2, judge, lengths=(16, 32))
    assert set(found) == {"16", "32"} and found["32"]["perplexity"]["count"] == 2
    texts = [corpus.tokenizer.decode(row) for row in corpus.validation_rows(2, 32).tolist()]
    assert found["32"]["entropy"]["mean"] == pytest.approx(sum(map(word_entropy, texts)) / 2)
