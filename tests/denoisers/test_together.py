"""Runs at the same time: the same texts as alone, in fewer forward passes, each stopped on its own."""

import threading
import time

import pytest
import torch

import playground
from playground.denoisers import zoo
from playground.denoisers.backbone import Past
from playground.denoisers.together import LINGER, MOST_CELLS, Passes, Question, Turns
from playground.engine import Run
from playground.recipe import Recipe

FAMILIES = ["continuous", "masked", "uniform", "autoregressive"]


class Slow:
    """Doubles its inputs and takes its time; says how many rows each pass had. Refuses rows that hold a 13."""

    def __init__(self):
        self.passes = []

    def __call__(self, ids, hint=None):
        self.passes.append(len(ids))
        time.sleep(0.05)
        if (ids == 13).any():
            raise RuntimeError("13 is unlucky.")
        return ids * 2 + (0 if hint is None else hint)


def at_once(*calls) -> list:
    """What each call returns, or the exception it raised; all start together."""
    found, gate = [None] * len(calls), threading.Barrier(len(calls))

    def run(i):
        gate.wait()
        try:
            found[i] = calls[i]()
        except Exception as error:
            found[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return found


def asking(slow, passes, ids, *more, alone=False):
    return lambda: Turns(alone, passes).of(slow)(ids, *more)


def test_questions_that_agree_share_a_pass_and_each_gets_its_own_rows():
    slow, passes = Slow(), Passes()
    rows = [torch.full((i + 1, 4), i) for i in range(6)]
    found = at_once(*(asking(slow, passes, row) for row in rows))
    assert all(torch.equal(answer, row * 2) for answer, row in zip(found, rows, strict=True))
    assert len(slow.passes) < 6 and sum(slow.passes) == 21 and (passes.answered, passes.made) == (6, len(slow.passes))


def test_other_lengths_other_inputs_and_timed_runs_keep_to_themselves():
    slow, passes = Slow(), Passes()
    short, long = torch.ones(1, 4, dtype=torch.long), torch.ones(1, 8, dtype=torch.long)
    calls = [(short,), (long,), (short, None), (short, short)]
    found = at_once(*(asking(slow, passes, *call) for call in calls), asking(slow, passes, short, alone=True))
    assert [answer.sum().item() for answer in found] == [8, 16, 8, 12, 8]
    assert slow.passes == [1] * 5


def test_a_pass_holds_no_more_cells_than_it_may():
    slow, passes = Slow(), Passes()
    row = torch.ones(3, MOST_CELLS // 6, dtype=torch.long)
    at_once(*(asking(slow, passes, row) for _ in range(5)))
    assert sum(slow.passes) == 15 and max(slow.passes) == 6


def test_a_failure_is_the_run_s_that_caused_it():
    slow, passes = Slow(), Passes()
    rows = [torch.full((1, 4), i) for i in (1, 13, 2, 3)]
    found = at_once(*(asking(slow, passes, row) for row in rows))
    assert isinstance(found[1], RuntimeError) and str(found[1]) == "13 is unlucky."
    assert [found[i].sum().item() for i in (0, 2, 3)] == [8, 16, 24]


def test_a_run_that_waits_says_how_long():
    slow, passes = Slow(), Passes()
    turns = [Turns(True, passes) for _ in range(3)]
    at_once(*(lambda t=t: t.of(slow)(torch.ones(1, 2)) for t in turns))
    waits = sorted(t.waited for t in turns)
    assert waits[1] > 0.04 and waits[2] > 0.09 and waits[0] < waits[1] - 0.02 < waits[2] - 0.04  # a pass takes 0.05 s


def asking_on(slow, passes, times):
    """A run that asks so often, one question after the other, and says how long it waited for others."""

    def run():
        turns = Turns(passes=passes)
        for _ in range(times):
            turns.of(slow)(torch.ones(1, 4))
        return turns.waited

    return run


def test_runs_that_go_on_at_the_same_time_do_not_take_turns_but_passes_together():
    slow, passes = Slow(), Passes()
    at_once(*(asking_on(slow, passes, 8) for _ in range(3)))
    assert passes.answered == 24 and passes.made <= 12 and slow.passes.count(3) >= 5


def test_who_has_ended_is_waited_for_once_at_most():
    slow, passes = Slow(), Passes()
    waited = at_once(asking_on(slow, passes, 2), asking_on(slow, passes, 8))
    assert waited[1] < 0.05 + 2 * LINGER * 0.05 + 0.03  # one pass of the other, and two looks for it
    assert slow.passes[-4:] == [1] * 4


def test_nobody_is_waited_for_while_another_kind_waits():
    passes, question = Passes(), Question(None, (), {}, ("a",), None, Turns())
    other = Question(None, (), {}, ("b",), None, Turns())
    passes.last = ("a",), frozenset({(0, 0)}), 40.0
    passes.waiting = [question, other]
    with passes.turn:
        began = time.monotonic()
        passes._gather(question)
        assert time.monotonic() - began < 1


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_those_of_running_alone(family):
    fields = [
        {"prompt": prompt, "length": length, "steps": 6 + i, "seed": 40 + i, "samples": 1 + i % 2}
        | {"model": f"stories-{family}"}
        for i, (prompt, length) in enumerate((("Once", 32), ("Tom had a", 32), ("", 32), ("The dog", 24)))
    ]
    alone = [playground.generate(**each).texts for each in fields]
    found = at_once(*(lambda each=each: playground.generate(**each).texts for each in fields))
    assert found == alone


def test_texts_with_guidance_and_holes_are_those_of_running_alone():
    text = "Tom had a red [[ball]] and was very happy."
    calls = [
        lambda: playground.infill(text=text, seed=1, steps=8, guidance=1.5).texts,
        lambda: playground.infill(text=text, seed=2, steps=9, guidance=1.5, samples=2).texts,
        lambda: playground.infill(text=text, seed=3, steps=8, model="stories-masked").texts,
        lambda: playground.interpolate("Tom had a ball.", "The dragon was sad.", points=5, steps=6, seed=3).texts,
        lambda: playground.interpolate("Tom had a ball.", "The dragon was sad.", points=5, steps=7, seed=4).texts,
    ]
    assert at_once(*calls) == [call() for call in calls]


def test_one_that_is_closed_lets_the_others_go_on():
    recipes = [Recipe.parse({"length": 32, "steps": 12, "seed": seed}) for seed in (1, 2, 3)]
    alone = [playground.generate(**recipe.to_dict()).text for recipe in recipes]

    def stopped():
        steps = Run(recipes[0]).steps()
        next(steps)
        steps.close()
        return "stopped"

    others = [lambda recipe=recipe: playground.generate(**recipe.to_dict()).text for recipe in recipes[1:]]
    assert at_once(stopped, *others) == ["stopped", *alone[1:]]


def test_runs_by_turns_in_one_thread_never_wait_for_each_other():
    runs = [Run(Recipe.parse({"length": 16, "steps": 4, "seed": seed})) for seed in (1, 2)]
    one, two = (run.steps() for run in runs)
    for _ in range(4):
        next(one), next(two)
    assert all(run.turns.waited < 0.01 for run in runs)


def started(denoiser, ids) -> Past:
    past = Past()
    denoiser.following(ids, past)
    return past


def test_rows_that_have_read_different_numbers_of_cells_are_read_together_with_the_same_logits():
    denoiser = zoo.load("stories-autoregressive").denoiser
    draw = torch.Generator().manual_seed(3)
    texts = [torch.randint(5, 4000, shape, generator=draw) for shape in ((1, 1), (3, 9), (1, 40), (2, 5))]
    with torch.inference_mode():
        alone, shared = ([started(denoiser, ids) for ids in texts] for _ in range(2))
        for _ in range(3):
            following = [torch.randint(5, 4000, (len(ids), 1), generator=draw) for ids in texts]
            one_by_one = [denoiser.following(*asked) for asked in zip(following, alone, strict=True)]
            together = denoiser.followings(list(zip(following, shared, strict=True)))
            assert all(torch.equal(a, b) for a, b in zip(one_by_one, together, strict=True))


def test_a_row_is_read_as_among_others():
    denoiser = zoo.load("stories-autoregressive").denoiser
    ids = torch.randint(5, 4000, (9, 7), generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        among = denoiser.following(ids, Past())
        assert all(torch.equal(denoiser.following(ids[:rows], Past()), among[:rows]) for rows in (1, 2, 3, 5, 8))


def test_runs_from_left_to_right_share_passes():
    passes, calls = Passes(), []
    for seed in range(4):
        run = Run(Recipe.parse({"model": "stories-autoregressive", "length": 24 + 4 * seed, "seed": seed}))
        run.turns = Turns(passes=passes)
        calls.append(lambda run=run: [step.tokens for step in run.steps()][-1])
    found = at_once(*calls)
    assert all(found[seed].shape[1] == 24 + 4 * seed for seed in range(4))
    assert passes.made < 0.8 * passes.answered


def test_a_pass_that_fails_leaves_what_was_read_as_it_was(monkeypatch):
    def failing(*_):
        raise RuntimeError("Out of luck.")

    denoiser = zoo.load("stories-autoregressive").denoiser
    ids = torch.tensor([[40, 50, 60]])
    with torch.inference_mode():
        wanted, past = denoiser.following(ids[:, 2:], started(denoiser, ids[:, :2])), started(denoiser, ids[:, :2])
        with monkeypatch.context() as broken:
            broken.setattr(denoiser.trunk.layers[3], "forward", failing)
            with pytest.raises(RuntimeError, match="luck"):
                denoiser.following(ids[:, 2:], past)
        assert torch.equal(denoiser.following(ids[:, 2:], past), wanted)
