"""Figures from a run: the numbers drawn are the run's, and nothing in a label is markup."""

import pytest

import playground
from playground.ui.plots import map_figure, path_figure

HOSTILE = "<b>bold</b> &amp; <a href='javascript:alert(1)'>x</a>"


@pytest.fixture(scope="module")
def trace():
    return playground.interpolate("The dog ran to the park.", HOSTILE, points=5, steps=2, seed=1)


def test_a_path_has_its_figures_over_the_way(trace):
    drawn = {line.name: line for line in path_figure(trace).data}
    path = trace.end["path"]
    assert list(drawn["like B (word embeddings)"].x) == [0, 25, 50, 75, 100]
    assert list(drawn["like B (word embeddings)"].y) == path["similarity"][0]["b"]
    assert list(drawn["words changed from A"].y) == path["edits"]["a"]
    assert list(drawn["perplexity"].y) == path["perplexity"]


def test_a_text_is_text_on_the_map(trace):
    others, path, *ends = map_figure(trace).data
    assert len(others.x) == 240 and len(path.x) == 5 and [end.text[0] for end in ends] == ["<b>A</b>", "<b>B</b>"]
    label = path.text[-1].replace("<br>", " ")
    assert "<" not in label and label.startswith("&lt;b&gt;bold&lt;/b&gt; &amp;amp;")
