"""Whole edits by the models that come with the app: what is not marked stays, and the best is the answer."""

import dataclasses
import random
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import playground
from playground import marks
from playground.canvas import Canvas
from playground.denoisers import zoo
from playground.editing import QUESTIONS, fit, verdict
from playground.engine import Run, complete
from playground.marks import Hole, Marked
from playground.recipe import Recipe, RecipeError
from playground.text import EOS

MODELS = list(zoo.catalogue())
DIFFUSION = [name for name, family in zoo.catalogue().items() if family != "autoregressive"]
TEXT = "Tom had a  [[red]] ball. 🎈 你好\n\nHe [[+4]] the park and went [[home]]."
every = pytest.mark.parametrize("model", MODELS)
diffusion = pytest.mark.parametrize("model", DIFFUSION)


def refused(field: str, **fields) -> str:
    with pytest.raises(RecipeError) as error:
        playground.infill(**fields)
    assert error.value.field == field
    return str(error.value)


def kept(text: str, marked: str) -> bool:
    """Whether `text` is `marked` with something for each hole."""
    stays = re.split(r" ?\[\[.*?\]\]", marked)
    return re.fullmatch(".*".join(map(re.escape, stays)), text, re.DOTALL) is not None


@every
def test_what_is_not_marked_is_byte_for_byte_the_same(model):
    trace = playground.infill(text=TEXT, model=model, steps=4, seed=3, samples=3, temperature=1.0)
    assert trace.end["unchanged"] and trace.end["checked"] == 3 * trace.head["given"]
    assert all(kept(text, TEXT) for text in trace.texts) and len(set(trace.texts)) > 1
    assert [len(written) for written in trace.written] == [3, 3, 3]


@every
def test_no_hole_ends_the_text_that_follows_it(model):
    text = "The end. [[+12]] But then Tom came home and all were happy."
    for seed in range(0, 24, 8):
        trace = playground.infill(text=text, model=model, steps=2, seed=seed, samples=8, temperature=1.5)
        assert all(t.endswith(" But then Tom came home and all were happy.") for t in trace.texts)
        assert all(row["id"].index(EOS) == len(row["id"]) - 1 for row in trace.frames[-1]["rows"])


def test_nearest_rounding_writes_no_end_mark_either():
    trace = playground.infill(text="A [[+9]] b", rounding="nearest", steps=1, seed=2, samples=8, temperature=2.0)
    assert all(row["id"].index(EOS) == len(row["id"]) - 1 for row in trace.frames[-1]["rows"])


@diffusion
def test_the_same_seed_gives_the_same_edit_alone_and_among_others(model):
    fields = {"text": "The [[big dog]] ran to the [[park]].", "model": model, "steps": 4, "strength": 0.7}
    together = playground.infill(**fields, seed=9, samples=3)
    assert [playground.infill(**fields, seed=9 + i).text for i in range(3)] == together.texts


@diffusion
def test_strength_goes_from_the_words_themselves_to_new_ones(model):
    text = "Once upon a time there was [[a little girl who liked to play outside with her big dog]] in the sun."
    same = []
    for strength in (0.0, 0.4, 1.0):
        trace = playground.infill(text=text, model=model, strength=strength, steps=8, seed=1, samples=4)
        before = Canvas.from_recipe(trace.recipe, zoo.load(model).tokenizer)
        after = torch.tensor([row["id"] for row in trace.frames[-1]["rows"]])
        same.append(float((after == before.ids)[~before.fixed].float().mean()))
    assert same[0] == 1.0 and same[0] > same[1] > same[2]


@pytest.mark.parametrize("model", ["stories-continuous", "stories-masked", "stories-uniform", "stories-autoregressive"])
def test_at_strength_0_every_word_stays(model):
    text = "The 🐶 [[dog🇩🇪 ran \u2000 far]] away."
    trace = playground.infill(text=text, model=model, strength=0, steps=2, seed=1, temperature=2)
    assert trace.text == text.replace("[[", "").replace("]]", "") and trace.end["unchanged"]


def test_a_masked_row_keeps_the_share_that_strength_leaves():
    text = "[[one two three four five six seven eight nine ten]] eleven"
    trace = playground.infill(text=text, model="stories-masked", strength=0.3, steps=4, seed=1)
    cells = trace.recipe.marked().holes[0].cells
    shown = trace.frames[1]["rows"][0]["st"]
    assert shown.count("f") + cells == len(shown)
    first = playground.infill(text=text, model="stories-masked", strength=0.3, steps=1, seed=1)
    written = [letter for letter in first.frames[1]["rows"][0]["st"] if letter != "f"]
    assert written == ["c"] * cells


def test_an_open_hole_is_answered_by_the_length_that_fits_best():
    trace = playground.infill(text="Tom was sad. [[?8]] Then Tom was happy.", seed=7, steps=8)
    scores = trace.end["scores"]
    assert [score["tokens"] for score in scores] == [4, 6, 10, 16]
    best = max(scores, key=lambda score: score["nats"])
    assert best["best"] and [score["best"] for score in scores].count(True) == 1
    assert trace.text == trace.texts[scores.index(best)]


@every
def test_a_fit_is_the_models_own_log_probability_of_each_token(model):
    loaded = zoo.load(model)
    ids = torch.tensor([1, *loaded.tokenizer.encode("The dog ran to the park and the dog was happy."), EOS])
    cells = torch.zeros(len(ids), dtype=torch.bool)
    cells[3:6] = True
    found = fit(loaded, ids, cells)
    assert found.shape == (3,) and (found < 0).all()
    odd = ids.clone()
    odd[4] = loaded.tokenizer.encode(" xylophone")[0]
    assert fit(loaded, odd, cells)[1] < found[1]
    if loaded.family != "autoregressive":  # alone, from all others: what the row holds there does not matter
        alone = torch.zeros_like(cells)
        alone[4] = True
        assert fit(loaded, ids, alone)[0] == pytest.approx(float(found[1]), abs=0.05)


@diffusion
def test_a_long_hole_is_asked_about_in_a_bounded_number_of_evaluations(model, monkeypatch):
    loaded, rows = zoo.load(model), []
    blanks = type(loaded.denoiser).blanks
    monkeypatch.setattr(
        type(loaded.denoiser), "blanks", lambda self, ids, hidden: rows.append(len(ids)) or blanks(self, ids, hidden)
    )
    cells = torch.ones(100, dtype=torch.bool)
    assert fit(loaded, torch.full((100,), 50), cells).shape == (100,)
    assert sum(rows) == QUESTIONS


def test_a_changed_cell_would_be_reported():
    prepared = Run(Recipe.parse({"text": "The [[dog]] ran", "steps": 2, "seed": 1}))
    *_, last = prepared.steps()
    wrong = last.tokens.clone()
    wrong[0, 1] += 1
    found = verdict(prepared.model, prepared.canvas, dataclasses.replace(last, tokens=wrong))
    assert not found["unchanged"] and found["checked"] == int(prepared.canvas.fixed.sum())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_random_edits_never_touch_an_unselected_token(seed):
    """40 edits at a time, in one batch of rows of different models' tokens; 1,000 in all."""
    luck = random.Random(seed)
    model = zoo.load(luck.choice(["stories-masked", "stories-continuous"]))
    rows, given_cells = [], []
    for _ in range(40):
        ids = [luck.randrange(3, 4096) for _ in range(14)]
        start = luck.randrange(0, 13)
        end = luck.randrange(start + 1, 15)
        marked = Marked(ids, [Hole(start, end, end - start)])
        assert marks.parse(marks.write(marked, model.tokenizer), model.tokenizer) == marked
        cells, fixed = marked.cells([end - start])
        rows.append(cells)
        given_cells.append(fixed)
    ids, fixed = torch.tensor(rows), torch.tensor(given_cells)
    recipe = Recipe.parse({"model": model.name, "steps": 1, "seed": seed})
    done = next(iter(complete(recipe, model, ids, fixed, rows=40)))
    assert torch.equal(done[fixed], ids[fixed])
    assert not (done[~fixed] <= EOS).any()


@pytest.mark.parametrize(
    ("field", "fields", "sentence"),
    [
        ("text", {"text": ""}, "text: is empty; write one, with what is to be rewritten in [[...]]."),
        ("text", {"text": "The dog ran."}, "has no hole, so there is nothing to write; mark words as in [[park]]."),
        ("text", {"text": "[[The dog ran.]]"}, "is marked from end to end, so nothing of it is kept"),
        ("text", {"text": "a [[b"}, "the hole at character 3 is not closed"),
        ("text", {"text": "a [[+300]] b [[+300]]"}, "makes a row of 604 tokens, start and"),
        ("text", {"text": "[[a]] " + "word " * 3000}, "tokens, start and end mark included; allowed: 512."),
        ("text", {"text": "[[a]]" + "x" * 3_000_000}, "has 3,000,005 characters; allowed: 20,000."),
        ("text", {"text": "a \ud800 [[b]]"}, "half of a surrogate pair"),
        ("text", {"text": 7}, "text: 7 is not text."),
        ("prompt", {"text": "a [[b]]", "prompt": "c"}, "is given together with text"),
        ("length", {"text": "a [[b]]", "length": 64}, "is 64, but text makes a row of 8 tokens; leave length out."),
        ("block", {"text": "a [[b]]", "block": 8}, "is 8, and a text with holes is written as a whole"),
        ("samples", {"text": "a [[?]]", "samples": 1}, "1 is too few for [[?]]"),
        ("pins", {"text": "a [[?]] b", "pins": {2: "dog"}}, "need cells that stay where they are"),
        ("pins", {"text": "a [[+2]] b", "pins": {1: "dog"}}, "run into what is given or another pinned word."),
        ("strength", {"text": "a [[+2]] b", "strength": 0.5}, "so their holes must keep their length."),
        ("strength", {"text": "a [[b]]", "strength": 1.5}, "1.5 is out of range; allowed: numbers from 0.0 to 1.0."),
    ],
)  # fmt: skip
def test_what_cannot_be_edited_is_refused_with_a_sentence(field, fields, sentence):
    assert sentence in refused(field, **fields)


def test_pinned_words_stand_in_the_hole():
    trace = playground.infill(text="Tom saw [[+5]] and ran.", pins={4: "dragon"}, seed=1, steps=4, samples=4)
    cell = trace.recipe.marked().holes[0].start + 1
    assert cell == 3 and all(" dragon" in text for text in trace.texts)
    assert trace.end["unchanged"]


def test_strength_without_a_text_is_refused():
    with pytest.raises(RecipeError, match="strength: below 1 starts from the marked words of a text"):
        Recipe.parse({"strength": 0.5})


def test_the_recipe_of_an_edit_gives_it_again_from_json_and_from_a_link():
    trace = playground.infill(text=TEXT, seed=5, steps=4)
    for recipe in (Recipe.from_json(trace.recipe.to_json()), Recipe.from_query(trace.recipe.to_query())):
        assert recipe == trace.recipe
        assert playground.generate(**recipe.to_dict()).text == trace.text
