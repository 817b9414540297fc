"""Grids of runs: what is accepted, what is run, what comes back."""

import pytest

import playground
from playground import engine
from playground.environment import SettingError
from playground.recipe import RecipeError
from playground.studies import speed
from playground.studies.grid import Grid, Study

SHORT = {"prompt": "Tom", "length": 16, "seed": 5, "seeds": 2}


@pytest.fixture(scope="module")
def study():
    """Two step counts, two temperatures, two seeds."""
    return playground.compare(steps=[2, 3], temperature=[0.5, 1.0], **SHORT)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"stepz": [1]}, "stepz: cannot be compared or swept; the fields are seeds, reference, judge, model, prompt"),
        ({"samples": 3}, "samples: cannot be compared or swept"),
        ({"steps": []}, "steps: has no value to sweep; write some, as in 4, 8, 16."),
        ({"steps": "4,,8"}, "steps: has no value to sweep"),
        ({"steps": ","}, "steps: has no value to sweep"),
        ({"steps": 8}, "steps: 8 is one value; a comparison needs a list, as in 4, 8, 16."),
        ({"temperature": [i / 12000 for i in range(12000)]}, "temperature: has 12,000 values; allowed: 240"),
        ({"steps": b"ab"}, "steps: \"b'ab'\" is not allowed"),
        ({"steps": "x" * 9000}, "steps: 'xxxx"),
        ({"steps": [8, 16, "8"]}, "steps: 8 is given twice."),
        ({"steps": [4, 0]}, "steps: 0 is out of range; allowed: whole numbers from 1 to 256."),
        ({"steps": "4, abc"}, "steps: 'abc' is not allowed; allowed: whole numbers from 1 to 256."),
        ({"steps": [4, [8]]}, "steps: '[8]' is not allowed"),
        ({"sampler": "sde, euler"}, "sampler: 'euler' is unknown; allowed: sde, ode."),
        ({"model": "stories-masked, gpt"}, "model: 'gpt' is unknown; allowed: stories-continuous"),
        ({"model": "stories-masked, stories-uniform", "sampler": "random"}, "sampler: 'random' is unknown"),
        ({"threshold": "0.5, 0.9"}, "threshold: changes nothing with sampler sde; sweep another knob."),
        ({"length": "16, 32", "steps": "2, 3", "churn": "0, 1"}, "churn: is a third knob to sweep, after length and"),
        ({"prompt": ["a", "b"]}, "prompt: \"['a', 'b']\" is not text."),
        ({"seed": [1, 2]}, "seed: '[1, 2]' is not allowed"),
        ({"seeds": 0}, "seeds: 0 is out of range; allowed: whole numbers from 1 to 8."),
        ({"seeds": 9}, "seeds: 9 is out of range"),
        ({"steps": list(range(1, 40)), "seeds": 8}, "steps: makes 312 texts in all; allowed: 240. Sweep fewer values."),
        ({"reference": " \n"}, "reference: is blank; write a text or leave it out."),
        ({"reference": "x" * 20_001}, "reference: has 20,001 characters; allowed: 20,000."),
        ({"judge": "gpt"}, "judge: 'gpt' is unknown; allowed: bundled, smollm2."),
        ({"prompt": "word " * 40}, "prompt: is 42 tokens; a row of length 16 holds"),
        ({"length": [16, 2000]}, "length: 2000 is out of range"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_with_a_sentence(fields, sentence):
    with pytest.raises(RecipeError) as error:
        Study(Grid.parse({"length": 16} | fields))
    assert str(error.value).startswith(sentence)


def test_a_grid_over_the_budget_says_its_cost_and_what_to_reduce(monkeypatch):
    monkeypatch.setattr(speed, "pace", lambda model: speed.Pace(0.5, 0.001))
    with pytest.raises(RecipeError) as error:
        Study(Grid.parse({"steps": "4, 256", "length": 512}))
    said = str(error.value)
    assert said.startswith(
        "steps: this comparison would take about 13.3 minutes here; allowed: 5 minutes. The dearest cell, steps 256"
    )
    assert said.endswith("leave out the largest values, or take fewer seeds or a shorter length.")
    monkeypatch.setenv("PLAYGROUND_GRID_LIMIT", "2000")
    assert Study(Grid.parse({"steps": "4, 256", "length": 512})).seconds == pytest.approx(796, abs=1)
    monkeypatch.setenv("PLAYGROUND_GRID_LIMIT", "abc")
    with pytest.raises(SettingError, match="PLAYGROUND_GRID_LIMIT is 'abc'; allowed: numbers from 0"):
        Study(Grid.parse({"steps": "4, 8"}))


def test_the_steps_are_swept_if_nothing_is_said():
    parsed = Grid.parse({})
    assert [(axis.name, axis.values) for axis in parsed.axes] == [("steps", (4, 8, 16, 32, 64))] and parsed.seeds == 3
    assert Grid.parse({"temperature": "0.5, 1", "steps": 8}).axes[0].name == "temperature"
    assert Grid.parse({"steps": "4,"}).axes[0].values == (4,)  # a comma makes one value a sweep of one


def test_a_knob_of_numbers_is_the_first_axis():
    assert [axis.name for axis in Grid.parse({"self_conditioning": "on, off", "steps": "2, 3"}).axes] == [
        "steps",
        "self_conditioning",
    ]


def test_cells_are_in_order_and_all_have_the_same_seeds(study):
    assert [cell.place for cell in study.cells] == [
        {"temperature": 0.5, "steps": 2}, {"temperature": 0.5, "steps": 3},
        {"temperature": 1.0, "steps": 2}, {"temperature": 1.0, "steps": 3},
    ]  # fmt: skip
    assert [row["seed"] for row in study.rows] == [5, 6] * 4
    assert all(row["steps"] == len(cell.trace.frames) - 1 for cell in study.cells for row in cell.rows)


@pytest.mark.parametrize("family", ["continuous", "masked", "uniform", "autoregressive"])
def test_each_text_is_that_of_its_run_alone(family):
    fields = {"model": f"stories-{family}", "length": 24, "prompt": "Once upon"}
    swept = {"temperature": [0.6, 0.9]} if family == "autoregressive" else {"steps": [3, 6]}
    for cell in playground.compare(**fields, **swept, seed=11, seeds=3).cells:
        for row in cell.rows:
            assert row["text"] == playground.generate(**fields, **cell.place, seed=row["seed"]).text


def test_the_seed_is_drawn_once_for_all_cells_and_reported():
    found = playground.compare(**SHORT | {"seed": -1}, steps=[1, 2])
    seed = found.grid.to_dict()["seed"]
    assert seed >= 0 and [row["seed"] for row in found.rows] == [seed, seed + 1] * 2
    again = playground.compare(**found.grid.to_dict())
    assert [row["text"] for row in again.rows] == [row["text"] for row in found.rows]


def test_the_left_to_right_model_stands_beside_each_temperature_and_length(study):
    assert len(study.distinct_baselines) == 2 and len(study.distinct) == 6
    for cell, baseline in zip(study.cells, study.baselines, strict=True):
        assert baseline.recipe.model == "stories-autoregressive" and len(baseline.rows) == 2
        assert baseline.recipe.temperature == cell.place["temperature"]
        assert "steps" not in baseline.place and [row["seed"] for row in baseline.rows] == [5, 6]


def test_cells_that_give_the_same_texts_are_run_once(monkeypatch):
    runs = []
    record = engine.record
    monkeypatch.setattr(engine, "record", lambda recipe, alone: runs.append(recipe.model) or record(recipe, alone))
    found = playground.compare(model=["stories-masked", "stories-autoregressive"], steps=[2, 3], **SHORT)
    assert runs == ["stories-masked", "stories-masked", "stories-autoregressive"]
    left, right = found.cells[2:]
    assert left.trace is right.trace and [row["steps"] for row in left.rows + right.rows] == [2, 2, 3, 3]


def test_a_cell_that_fails_leaves_the_others_alone(monkeypatch):
    record = engine.record

    def failing(recipe, alone):
        for trace in record(recipe, alone):
            if recipe.steps == 2 and trace.end:
                trace.end |= {"status": "error", "message": "no luck"}
            yield trace

    monkeypatch.setattr(engine, "record", failing)
    found = playground.compare(steps=[2, 3], **SHORT)
    assert found.failed == ["no luck"] and not found.cells[0].rows and len(found.cells[1].rows) == 2


def test_all_cells_failing_is_an_error(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_TIME_LIMIT", "0")
    with pytest.raises(engine.RunError, match="Stopped after step 1 of 2"):
        playground.compare(steps=[2, 3], **SHORT)


def test_a_grid_that_takes_twice_the_budget_is_ended(monkeypatch):
    study = Study(Grid.parse(SHORT | {"steps": [2, 3]}))
    monkeypatch.setenv("PLAYGROUND_GRID_LIMIT", "0")
    with pytest.raises(engine.RunError, match="Stopped after 0 s, twice what was allowed"):
        list(study.run())


def test_closing_the_run_keeps_the_cells_that_are_done():
    study = Study(Grid.parse(SHORT | {"steps": [1, 200]}))
    run = study.run()
    while not study.cells[0].rows:
        next(run)
    next(run), run.close()
    assert len(study.rows) == 2 and not study.cells[1].rows


def test_two_grids_at_once_do_not_see_each_other():
    fields = [SHORT | {"steps": [2, 3]}, SHORT | {"steps": [2, 3], "seed": 90}]
    alone = [[row["text"] for row in playground.compare(**f).rows] for f in fields]
    both = [Study(Grid.parse(f)) for f in fields]
    runs = [study.run() for study in both]
    while [run for run in runs if next(run, None)]:
        pass
    assert [[row["text"] for row in study.rows] for study in both] == alone


def test_what_is_left_falls_to_nothing(study):
    assert study.left == pytest.approx(0, abs=1e-6) and study.seconds > 0
