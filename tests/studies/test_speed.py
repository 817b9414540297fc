"""What a run is expected to take."""

import pytest

from playground.engine import Run, RunError
from playground.recipe import Recipe
from playground.studies import speed
from playground.studies.speed import Pace, duration, expected


def test_a_pace_is_kept_for_a_while_and_grows_with_the_cells(monkeypatch):
    monkeypatch.setattr(speed.time, "monotonic", lambda: 7 * speed.FRESH)
    for model in ("stories-masked", "stories-autoregressive"):
        assert speed.pace(model) is speed.pace(model)
        assert speed.pace(model).seconds(10, 640) >= speed.pace(model).seconds(10, 64) > 0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.001, "0.001 s"), (0.44, "0.44 s"), (5, "5 s"), (11.7, "12 s"), (89.4, "89 s"), (90, "1.5 minutes"),
        (300, "5 minutes"), (5399, "90 minutes"), (5400, "1.5 hours"), (13240, "3.7 hours"),
    ],
)  # fmt: skip
def test_a_duration_is_in_units_a_reader_grasps(seconds, said):
    assert duration(seconds) == said


def test_a_model_that_fails_is_expected_to_take_nothing(monkeypatch):
    def failing(run):
        raise RunError("Step 1 gave numbers that are not finite.")
        yield

    monkeypatch.setattr(Run, "steps", failing)
    monkeypatch.setattr(speed.time, "monotonic", lambda: 11 * speed.FRESH)
    assert expected(Recipe.parse({"model": "stories-masked", "steps": 8})) == 0


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"steps": 10, "length": 50}, 10 * 6 + 2 * 5),
        ({"steps": 10, "length": 50, "samples": 2}, 10 * 11 + 2 * 10),
        ({"steps": 10, "length": 50, "guidance": 1, "prompt": "Tom"}, 20 * 6 + 2 * 5),
        ({"steps": 10, "length": 50, "guidance": 1, "pins": {5: "dog"}}, 20 * 6 + 2 * 5),
        ({"steps": 10, "length": 50, "refine": 3}, 16 * 6 + 2 * 5),
        ({"model": "stories-autoregressive", "length": 50}, 50 * 1.1 + 2 * 5),
        ({"model": "stories-autoregressive", "length": 50, "prompt": "Tom"}, 48 * 1.1 + 2 * 5),
    ],
)
def test_what_a_run_takes_follows_from_its_evaluations(monkeypatch, fields, seconds):
    monkeypatch.setattr(speed, "pace", lambda model: Pace(fixed=1.0, cell=0.1))
    assert expected(Recipe.parse(fields)) == pytest.approx(seconds)
