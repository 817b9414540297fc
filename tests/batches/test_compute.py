"""Each item's text is that of its recipe alone."""

import pytest

import playground
from playground.batches import items
from playground.batches.compute import Failure, attempt, failure, group, shown
from playground.batches.runner import run
from playground.engine import RunError
from playground.recipe import Recipe, RecipeError

PROMPTS = ["Once upon a time", "The dog", "", "Lily had a red ball"]
FAMILIES = ["continuous", "masked", "uniform", "autoregressive"]
EDITS = [
    {"text": "Tom was [[very sad]] and ran home.", "pins": {4: "not"}},
    {"text": "Sue was [[very big]] and ran away."},
    {"text": "Tom was sad. [[?]] Then he ran.", "samples": 3},
    {"text": "[[A]] cat sat on the [[old mat]] and slept.", "strength": 0.5},
]


def batch(given: list, **base) -> list:
    found = items.listed(given, items.checked({"length": 12, "steps": 3, "seed": 5} | base))
    return sorted(run(found), key=lambda result: result.index)


def check(given: list, **base) -> None:
    for result in batch(given, **base):
        assert result.status == "done", result.error
        alone = playground.generate(**result.recipe)
        assert (result.text, result.texts) == (alone.text, alone.texts), result
        assert result.tokens == alone.written_tokens[alone.best]


@pytest.mark.parametrize("family", FAMILIES)
def test_prompts_together_are_those_alone(family):
    several = [{"prompt": "Tom", "samples": 3}, {"prompt": "Sue", "seed": 9, "pins": {6: "dragon"}}]
    check(PROMPTS + several, model=f"stories-{family}")


@pytest.mark.parametrize("family", FAMILIES)
def test_edits_together_are_those_alone(family):
    check(EDITS[:3] if family == "autoregressive" else EDITS, model=f"stories-{family}")


@pytest.mark.parametrize("fields", [
    {"model": "stories-masked", "guidance": 1.5}, {"model": "stories-continuous", "guidance": 1.5, "sampler": "ode"},
    {"model": "stories-masked", "sampler": "threshold", "threshold": 0.3},
    {"model": "stories-masked", "sampler": "ancestral", "refine": 1, "length": 16},
    {"model": "stories-masked", "refine": 1, "length": 16}, {"model": "stories-continuous", "refine": 1, "length": 16},
    {"model": "stories-uniform", "sampler": "entropy_bound", "bound": 9.0, "steps": 6},
    {"model": "stories-uniform", "sampler": "entropy_bound", "bound": 9.0, "steps": 4, "refine": 1},
    {"model": "stories-masked", "sampler": "threshold", "block": 4},
])  # fmt: skip
def test_other_knobs_together_are_those_alone(fields):
    check(PROMPTS, **fields)


def test_what_runs_together():
    def key(**fields):
        return group(Recipe.parse({"model": "stories-masked", "steps": 3, "seed": 1} | fields))

    assert key(prompt="Tom") == key(prompt="A dog ran", seed=2, samples=3, pins={9: "x"})
    assert len({key(prompt="Tom"), key(steps=4), key(length=65), key(text="A [[dog]] ran")}) == 4
    assert key(block=4) is None and key(refine=1, sampler="threshold") is None and key(refine=1) is not None
    assert key(guidance=1.0) != key(guidance=1.0, prompt="Tom")
    baseline = {"model": "stories-autoregressive"}
    assert key(prompt="A dog", **baseline) == key(prompt="A cat", **baseline) != key(prompt="A big dog", **baseline)


@pytest.mark.parametrize("fields", [
    {"prompt": "Tom"}, {"prompt": "Tom", "pins": {5: "a"}, "samples": 2, "guidance": 2.0, "length": 40},
    {"model": "stories-uniform", "text": "Tom [[?]] ran.", "self_conditioning": False},
    {"model": "stories-masked", "text": "Tom [[sat]] down.", "steps": 5, "samples": 4},
])  # fmt: skip
def test_the_fields_shown_give_the_recipe_again(fields):
    recipe = Recipe.parse(fields | {"seed": 3})
    assert Recipe.parse(shown(recipe)) == recipe and "churn" not in shown(recipe)


def test_a_failure_says_whether_it_may_pass():
    assert failure(RunError("Stopped.")) == Failure("RunError", "Stopped.", True)
    assert failure(RecipeError("steps", "are 0.")) == Failure("field steps", "steps: are 0.", False)
    assert failure(MemoryError()) == Failure("MemoryError", "MemoryError.", True)
    assert failure(OSError("no\nroom")) == Failure("OSError", "OSError: no room", True)
    assert not failure(TypeError("x")).may_pass


def test_the_time_limit_is_held(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_TIME_LIMIT", "0")
    found = attempt([Recipe.parse({"prompt": "Tom", "length": 8, "steps": 4, "seed": 1})])
    assert found.may_pass and "the run passed the time limit of 0 seconds" in found.reason


def test_from_python():
    found = playground.batch(
        ["Tom", {"steps": 0}], model="stories-masked", length=8, steps=2, seed=3, minimum_tokens=99
    )
    assert [result["status"] for result in found] == ["done", "failed"]
    assert found[0]["text"] == playground.generate(**found[0]["recipe"]).text and "< 99" in found[0]["marks"][0]
    with pytest.raises(RecipeError, match=r"^rows: 0 is out of range"):
        playground.batch(["Tom"], rows=0)
