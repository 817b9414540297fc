"""What is tried again, on engines that compute nothing."""

import pytest

from playground.batches import items
from playground.batches.compute import Failure
from playground.batches.filters import Filters
from playground.batches.runner import Batch, Rows
from playground.recipe import RecipeError
from playground.studies import speed

OUTCOME = {"text": "t", "texts": ["t"], "tokens": 3, "seconds": 0.1, "perplexity": 2.0, "entropy": 1.0,
           "distinct_2": 1.0, "repetition": 0.5}  # fmt: skip
PASSING, LASTING = Failure("RunError", "Busy.", True), Failure("TypeError", "TypeError: wrong", False)


class Scripted:
    """An engine whose attempts fail where `fails(prompts, how often begun)` says so."""

    def __init__(self, fails=lambda prompts, times: None, slots: int = 1):
        self.fails, self.slots, self.running, self.began, self.closed = fails, slots, [], [], False

    @property
    def room(self):
        return len(self.running) < self.slots

    @property
    def busy(self):
        return bool(self.running)

    def start(self, attempt):
        self.running.append(attempt)

    def finished(self):
        attempt = self.running.pop(0)
        prompts = [recipe.prompt for recipe in attempt.recipes]
        self.began.append(prompts)
        return attempt, self.fails(prompts, self.began.count(prompts)) or [dict(OUTCOME) for _ in prompts]

    def close(self):
        self.closed = True


def batch(given, engine, clock=None, **options):
    base = {"model": "stories-masked", "length": 12, "steps": 3, "seed": 5}
    clock = [] if clock is None else clock
    return Batch(items.listed(given, base), engine=engine, sleep=clock.append, **options)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("playground.batches.runner.PAUSES", (0.0, 0.0))


def test_rows_and_samples_are_packed():
    engine = Scripted()
    given = ["a", "b", {"prompt": "c", "samples": 3}, "d", {"prompt": "e", "samples": 8}, {"prompt": "f", "steps": 4}]
    list(batch(given, engine, rows=4).run())
    assert engine.began == [["a", "b"], ["c", "d"], ["e"], ["f"]] and engine.closed


def test_one_bad_item_takes_no_other_with_it():
    engine = Scripted(lambda prompts, times: LASTING if "b" in prompts else None)
    found = {r.recipe["prompt"]: r for r in batch(["a", "b", "c"], engine).run()}
    assert engine.began == [["a", "b", "c"], ["a"], ["b"], ["c"]]
    assert {name: r.status for name, r in found.items()} == {"a": "done", "b": "failed", "c": "done"}
    assert found["b"].error == "item 2: TypeError: wrong" and found["b"].tries == 2


def test_what_may_pass_is_tried_three_times():
    engine = Scripted(lambda prompts, times: PASSING if prompts == ["a"] and times < 3 else None)
    assert [(r.status, r.tries) for r in batch(["a"], engine).run()] == [("done", 3)]
    engine = Scripted(lambda prompts, times: PASSING)
    found = list(batch(["a", "b"], engine).run())
    assert [(r.status, r.tries, r.error) for r in found] == [
        ("failed", 3, "item 1: Busy."), ("failed", 3, "item 2: Busy."),
    ]  # fmt: skip
    assert engine.began == [["a", "b"], ["a"], ["b"], ["a"], ["b"]]


def test_pauses_grow(monkeypatch):
    now, slept = [100.0], []
    monkeypatch.setattr("playground.batches.runner.PAUSES", (1.0, 4.0))
    monkeypatch.setattr("playground.batches.runner.time.monotonic", lambda: now[0])

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    found = items.listed(["a"], {"model": "stories-masked", "length": 12, "steps": 3, "seed": 5})
    list(Batch(found, engine=Scripted(lambda prompts, times: PASSING), sleep=sleep).run())
    assert slept == [1.0, 4.0]


def test_a_recipe_that_does_not_fit_is_not_tried():
    engine = Scripted()
    found = list(batch([{"prompt": "a b c d e f g h i j k l m n"}, {"steps": 0}, "ok"], engine).run())
    assert [(r.index, r.status, r.tries) for r in found] == [(0, "failed", 0), (1, "failed", 0), (2, "done", 1)]
    assert found[0].error.startswith("item 1: prompt: is 15 tokens") and found[0].kind == "field prompt"
    assert found[1].recipe == {"steps": 0} and engine.began == [["ok"]]


def test_progress_and_marks():
    running = batch(["a", "b", {"steps": 0}], Scripted(), rows=1, filters=Filters.parse({"highest_repetition": 0.3}))
    assert (running.done, running.failed, running.total, running.left) == (0, 0, 3, None)
    seen = [(running.done, running.failed, running.left is None, result.marks) for result in running.run()]
    mark = ["repetition 0.5 > 0.3"]
    assert seen == [(0, 1, True, []), (1, 1, False, mark), (2, 1, False, mark)] and running.left == 0


def test_several_at_once_end_in_any_order():
    engine = Scripted(slots=3)
    assert sorted(r.index for r in batch(list("abcde"), engine, rows=1).run()) == [0, 1, 2, 3, 4]


def test_closing_lets_go_of_the_engine():
    engine = Scripted()
    running = batch(["a", "b"], engine, rows=1).run()
    next(running)
    running.close()
    assert engine.closed and engine.began == [["a"]]


def test_rows():
    assert (Rows.parse(None), Rows.parse("4")) == (16, 4)
    for value in (0, 257, "many"):
        with pytest.raises(RecipeError, match=r"^rows: "):
            Rows.parse(value)


def test_in_this_process_there_is_a_look_around_after_each_step():
    running = batch(["a", "b"], None)
    seen = [(result and result.index, round(running.share, 3), len(running.running)) for result in running.live()]
    assert seen[:3] == [(None, 0.333, 1), (None, 0.667, 1), (None, 1.0, 1)]
    assert seen[3:] == [(0, 0.5, 0), (1, 1.0, 0)]


def test_stopping_between_two_steps_computes_nothing_more():
    running = batch(["a"], None)
    live = running.live()
    assert next(live) is None and running.engine.busy
    live.close()
    assert not running.engine.busy and running.done == running.failed == 0


def test_what_would_take_too_long_is_refused_before_it_begins(monkeypatch):
    monkeypatch.setattr(speed, "pace", lambda model: speed.Pace(1.0, 0.0))
    found = batch(["a", "b", "c", {"steps": 0}], Scripted(), rows=2, limit=5)
    assert found.expected == 2 * 3  # two attempts of 3 steps
    with pytest.raises(RecipeError) as caught:
        found.checked()
    assert str(caught.value) == (
        "items: would take about 6 s here; allowed: 5 s. Take fewer of them, fewer steps or a shorter length."
    )
    assert batch(["a", "b"], Scripted(), rows=2, limit=5).checked().total == 2


def test_what_takes_twice_as_long_as_allowed_keeps_what_is_done(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("playground.batches.runner.time.monotonic", lambda: now[0])
    engine = Scripted(lambda prompts, times: now.__setitem__(0, now[0] + 6.0))
    found = list(batch(["a", "b", "c", "d"], engine, rows=1, limit=5).run())
    assert [r.status for r in found] == ["done", "done", "failed", "failed"] and engine.closed
    assert found[2].error == "item 3: not finished: all together passed 10 s." and found[2].kind == "time"
