"""Paths between two texts: what is accepted, what comes back, what is measured."""

from itertools import pairwise

import pytest

import playground
from playground import interpolation
from playground.interpolation import Blend, heard_by, own_level, record
from playground.quality import BundledJudge
from playground.recipe import RecipeError
from playground.samplers.paths import METHODS
from playground.trace import Trace

A, B = "The dog ran to the park.", "Once there was a big red dragon."
SHORT = {"points": 5, "steps": 3, "seed": 4}


def refused(**fields) -> str:
    with pytest.raises(RecipeError) as error:
        interpolation.Path(Blend.parse({"a": A, "b": B} | fields))
    return str(error.value)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"a": ""}, "a: is empty; a path needs two texts."),
        ({"b": " \n"}, "b: is empty; a path needs two texts."),
        ({"b": A}, "b: is the same text as a; a path needs two different ones."),
        ({"a": "word " * 300}, "a: is 302 tokens; allowed: 254. Shorten it."),
        ({"a": "x" * 20_001}, "a: has 20,001 characters; allowed: 20,000."),
        ({"a": "half \ud800"}, "a: character 6 is half of a surrogate pair, which is not text."),
        ({"a": 3}, "a: 3 is not text."),
        ({"points": 4}, "points: 4 is out of range; allowed: whole numbers from 5 to 21."),
        ({"points": 5.5}, "points: 5.5 is not allowed; allowed: whole numbers from 5 to 21."),
        ({"level": 1.5}, "level: 1.5 is out of range; allowed: numbers from 0.05 to 1.0."),
        ({"method": "magic"}, "method: 'magic' is unknown; allowed: shared-noise, semantic-code, noise-slerp, naive, "),
        ({"model": "stories-masked"}, "model: stories-masked is masked; a path needs a continuous one."),
        ({"steps": 0}, "steps: 0 is out of range; allowed: whole numbers from 1 to 256."),
        ({"prompt": "x"}, "prompt: there is no such field; the fields are a, b, c, method, points, level, model"),
        ({"c": "x"}, "c: is only for method arithmetic, and the method is shared-noise; leave it out."),
        ({"method": "arithmetic"}, "c: is empty; arithmetic needs three texts."),
        ({"recipe": {}}, "recipe: there is no such field"),
    ],
)
def test_what_cannot_be_blended_is_refused_with_a_sentence(fields, sentence):
    assert refused(**fields).startswith(sentence)


def test_sentences_that_are_long_by_turns_may_not_fit_the_row(monkeypatch):
    monkeypatch.setattr(interpolation, "LONGEST", 500)
    long, short = "word " * 280 + "end.", "Hi."
    assert refused(a=f"{long} {short}", b=f"{short} {long}").startswith("b: its sentences and those of a")
    assert refused(a=f"{long} {short}", b=f"{short} {long}").endswith("allowed: 510. Shorten one of the texts.")


def test_a_method_has_a_level_of_its_own_unless_one_is_given():
    for method in METHODS:
        c = "x" if method == "arithmetic" else ""
        assert Blend.parse({"a": A, "b": B, "c": c, "method": method}).level == own_level(method)
    assert own_level("shared-noise") != own_level("noise-slerp")
    assert Blend.parse({"a": A, "b": B, "method": "noise-slerp", "level": 0.3}).level == 0.3


def test_a_blend_is_given_again_by_its_fields():
    blend = Blend.parse({"a": A, "b": B, "method": "noise-slerp", "points": 7, "churn": 0.5, "seed": 9})
    assert Blend.parse(blend.to_dict()) == blend
    assert set(blend.knobs) == set(heard_by("noise-slerp")) - {"schedule"} | {"level", "schedule"}
    assert set(Blend.parse({"a": A, "b": B, "method": "naive"}).knobs) == {"schedule"}


@pytest.mark.parametrize("method", [method for method in METHODS if method != "arithmetic"])
def test_a_path_is_a_trace_with_a_row_for_each_point(method, tmp_path):
    trace = playground.interpolate(A, B, method=method, **SHORT)
    assert [row["weight"] for row in trace.head["rows"]] == [0, 0.25, 0.5, 0.75, 1]
    assert len(trace.texts) == 5 and trace.end["status"] == "finished"
    assert trace.head["blend"] == Blend.parse({"a": A, "b": B, "method": method} | SHORT).to_dict()
    path = trace.end["path"]
    assert path["exact"] == [trace.texts[0] == A, trace.texts[-1] == B]
    if method in ("naive", "shared-noise"):
        assert path["exact"] == [True, True]
        assert path["similarity"][0]["a"][0] == pytest.approx(1, abs=1e-4) == path["similarity"][0]["b"][-1]
        assert path["edits"]["a"][0] == path["edits"]["b"][-1] == 0 < path["edits"]["a"][-1]
    assert all(figure > 1 for figure in path["perplexity"])
    trace.save(tmp_path / "path.json")
    assert Trace.load(tmp_path / "path.json").to_json() == trace.to_json()


def test_the_same_seed_gives_the_same_path_and_a_drawn_one_is_reported():
    once, again = (playground.interpolate(A, B, **SHORT) for _ in range(2))
    assert once.texts == again.texts
    drawn = playground.interpolate(A, B, points=5, steps=2)
    assert drawn.recipe.seed >= 0
    assert playground.interpolate(A, B, points=5, steps=2, seed=drawn.recipe.seed).texts == drawn.texts


def test_the_middle_is_the_same_among_five_points_and_nine():
    five, nine = (playground.interpolate(A, B, **SHORT | {"points": points}) for points in (5, 9))
    assert five.texts == nine.texts[::2]


def test_any_text_may_be_blended():
    odd = ["[[x]] <b>{y}</b> ${z}", "你好！🎈 e\u0301\u0000 end", "ا ب\n\nline  two"]
    for a, b in pairwise(odd):
        trace = playground.interpolate(a, b, **SHORT)
        assert trace.texts[0] == a and trace.texts[-1] == b


def test_texts_of_very_different_lengths_are_said_to_be():
    trace = playground.interpolate("Hi.", "word " * 20, **SHORT)
    assert trace.head["note"].startswith("B is 11 times as long as the other text")
    assert playground.interpolate(A, B, **SHORT).head["note"] == ""


def test_a_path_past_the_time_limit_keeps_what_it_has(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_TIME_LIMIT", "0")
    *_, trace = record(Blend.parse({"a": A, "b": B} | SHORT))
    assert trace.end["status"] == "error" and len(trace.frames) == 2 and "path" not in trace.end
    with pytest.raises(playground.engine.RunError, match="passed the time limit of 0 seconds"):
        playground.interpolate(A, B, **SHORT)


def test_without_a_reader_there_is_no_perplexity(monkeypatch):
    def nobody(model):
        raise interpolation.zoo.ModelError("none")

    monkeypatch.setattr(interpolation.zoo, "reader", nobody)
    assert playground.interpolate(A, B, **SHORT).end["path"]["perplexity"] is None


def test_perplexities_are_the_judges():
    trace = playground.interpolate(A, B, **SHORT)
    nats, tokens = BundledJudge(interpolation.zoo.load("stories-autoregressive")).nll([A])
    assert trace.end["path"]["perplexity"][0] == pytest.approx(2.718281828 ** (nats / tokens), abs=0.01)


def test_arithmetic_leads_from_one_thing_to_another():
    """The dog of the one text, less the dog, plus a cat: most of the time, and for words the model knows well."""
    fields = {"a": "The dog ran to the park. The dog was happy.", "b": "The dog. The dog.", "c": "The cat. The cat."}
    traces = [playground.interpolate(**fields, method="arithmetic", points=5, steps=24, seed=s) for s in range(4)]
    assert sum("cat" in trace.texts[-1] for trace in traces) >= 2
    (alike, *_) = traces[0].end["path"]["similarity"]
    assert set(alike) == {"name", "a", "b", "c"} and alike["c"][-1] > alike["c"][0]
    assert len({len(row["id"]) for row in traces[0].frames[-1]["rows"]}) == 1
