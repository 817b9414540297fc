"""Races: what is accepted, whose turn it is, what comes back."""

import json
from collections import Counter
from itertools import pairwise

import pytest

import playground
from playground.engine import Run, RunError
from playground.quality import word_entropy
from playground.recipe import RecipeError
from playground.samplers import SAMPLERS
from playground.studies import race as races
from playground.studies.race import SHARED, Heat, Race, contenders, record, usual_lanes
from playground.trace import Trace

SHORT = {"prompt": "Once upon a time", "length": 16, "steps": 3, "seed": 4}
PAIR = ["stories-masked", "stories-autoregressive"]


@pytest.fixture(scope="module")
def heats() -> list[dict]:
    """What was to be seen at each turn of a race of all families, and the last Heat under "heat"."""
    seen = []
    for heat in record(Race.parse(SHORT)):
        clocks = [trace.seconds for trace in heat.traces]
        seen.append(
            {
                "moved": [lane for lane, _ in heat.untold],
                "running": heat.running,
                "clocks": clocks,
                "message": heat.message(),
            }
        )
    return [*seen, {"heat": heat}]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"lanes": []}, "lanes: are 0; allowed: 2 to 4."),
        ({"lanes": ""}, "lanes: are 0; allowed: 2 to 4."),
        ({"lanes": "stories-masked"}, "lanes: are 1; allowed: 2 to 4."),
        ({"lanes": [f"stories-masked:{name}" for name in SAMPLERS["masked"]][:5]}, "lanes: are 5; allowed: 2 to 4."),
        ({"lanes": "stories-masked, stories-masked:random"}, "lanes: stories-masked:random is there twice; each lane"),
        ({"lanes": "gpt,stories-masked"}, "lanes: 'gpt' is no model; allowed: stories-continuous, stories-masked, "),
        ({"lanes": ["stories-masked:sde", "gpt"]}, "lanes: 'sde' is no sampler of stories-masked; allowed: random, "),
        ({"lanes": 5}, "lanes: '5' is neither a list nor text."),
        ({"lanes": [["x"], {}]}, "lanes: \"['x']\" is not text."),
        ({"steps": 0}, "steps: 0 is out of range; allowed: whole numbers from 1 to 256."),
        ({"length": "long"}, "length: 'long' is not allowed; allowed: whole numbers from 8 to 512."),
        ({"temperature": 3}, "temperature: 3.0 is out of range"),
        ({"prompt": 7}, "prompt: 7 is not text."),
        ({"prompt": "x" * 20_001}, "prompt: has 20,001 characters; allowed: 20,000."),
        ({"model": "stories-masked"}, "model: there is no such field; the fields are lanes, prompt, length, steps, "),
    ],
)  # fmt: skip
def test_what_cannot_race_is_refused_with_a_sentence(fields, sentence):
    with pytest.raises(RecipeError) as error:
        Race.parse(fields)
    assert str(error.value).startswith(sentence)


def test_nothing_is_computed_where_one_lane_cannot_start(monkeypatch):
    monkeypatch.setattr(Run, "steps", lambda run: pytest.fail("a lane has begun"))
    with pytest.raises(RecipeError, match="prompt: is 43 tokens; a row of length 16 holds a prompt of up to 14 tokens"):
        next(record(Race.parse(SHORT | {"prompt": "word " * 40 + "."})))


def test_lanes_are_a_list_or_text_and_by_default_one_of_each_family(monkeypatch):
    named = Race.parse({"lanes": " stories-masked:threshold , stories-masked "}).lanes
    assert named == ("stories-masked:threshold", "stories-masked:random") == Race.parse({"lanes": list(named)}).lanes
    usual = Race.parse({}).lanes
    assert [lane.split(":")[0] for lane in usual] == [
        f"stories-{f}" for f in ("continuous", "masked", "uniform", "autoregressive")
    ]
    assert len(contenders()) == 12 and set(usual) < set(contenders())
    monkeypatch.setattr(races.zoo, "catalogue", lambda: {"mine": "uniform"})
    assert usual_lanes() == ("mine:ancestral", "mine:entropy_bound")


def test_a_race_is_given_again_by_its_fields_and_draws_one_seed_for_all():
    race = Race.parse(SHORT | {"lanes": PAIR, "temperature": 0.3})
    assert Race.parse(race.to_dict()) == race
    drawn = Race.parse({"lanes": PAIR}).resolved()
    assert drawn.recipe.seed >= 0 and {recipe.seed for recipe in drawn.recipes} == {drawn.recipe.seed}


def test_every_lane_writes_what_it_writes_alone(heats):
    heat = heats[-1]["heat"]
    assert len(heat.traces) == 4
    for recipe, trace in zip(heat.race.recipes, heat.traces, strict=True):
        fields = {name: getattr(recipe, name) for name in ("model", "sampler", *SHARED)}
        alone = playground.generate(**fields)
        assert trace.text == alone.text and trace.end["status"] == "finished"
        assert [frame["rows"] for frame in trace.frames] == [frame["rows"] for frame in alone.frames]


def test_the_lane_with_the_least_computing_behind_it_goes_next(heats):
    for before, after in pairwise(heats[:-2]):
        (lane,) = after["moved"]
        assert lane in before["running"]
        assert before["clocks"][lane] == min(before["clocks"][lane] for lane in before["running"])
        still = [other for other in range(4) if other != lane]
        assert all(before["clocks"][other] == after["clocks"][other] for other in still)
    assert heats[-2]["running"] == [] and heats[-2]["moved"] == [0, 1, 2, 3]


def test_lanes_end_in_the_order_of_their_times(heats):
    heat, ended = heats[-1]["heat"], []
    for before, after in pairwise(heats[:-2]):
        ended += [lane for lane in before["running"] if lane not in after["running"]]
    assert [heat.places[lane] for lane in ended] == [1, 2, 3, 4]
    assert [result["place"] for result in heat.results] == heat.places


def test_every_lane_is_scored_beside_its_numbers(heats):
    heat = heats[-1]["heat"]
    assert heat.judge == "stories-autoregressive"
    for name, result, trace in zip(heat.race.lanes, heat.results, heat.traces, strict=True):
        assert result["lane"] == name and result["seconds"] == trace.seconds > 0
        assert result["evaluations"] == trace.frames[-1]["e"] and result["perplexity"] > 1
        assert result["tokens_per_second"] == pytest.approx(trace.tokens_per_second, abs=1e-3)
        written = trace.text.removeprefix(SHORT["prompt"])
        assert result["entropy"] == pytest.approx(word_entropy(written), abs=1e-4)
        assert 0 < result["distinct_2"] <= 1 and 0 <= result["repetition"] < 1


def test_the_messages_make_the_file_and_the_vocabulary_is_sent_once_at_each_end(heats):
    messages, heat = [json.loads(turn["message"]) for turn in heats[:-1]], heats[-1]["heat"]
    file = json.loads(heat.to_json())
    frames = [{} for _ in heat.traces]
    for message in messages:
        for lane, told in message["lanes"]:
            frames[lane][told["frame"]["s"]] = told["frame"]
    assert [list(found.values()) for found in frames] == [trace["frames"] for trace in file["lanes"]]
    assert ["vocabulary" in message for message in messages] == [True, *[False] * (len(messages) - 2), True]
    assert all("vocabulary" not in trace["head"] for trace in file["lanes"])
    assert messages[-1]["results"] == file["results"] == heat.results
    assert Counter(message["seq"] for message in messages).most_common(1)[0][1] == 1
    whole = file["lanes"][0] | {"head": file["lanes"][0]["head"] | {"vocabulary": file["vocabulary"]}}
    assert Trace.from_json(json.dumps(whole)).to_dict() == json.loads(heat.traces[0].to_json())


def failing(monkeypatch, family: str) -> None:
    healthy = Run.steps

    def steps(run):
        for step in healthy(run):
            if run.model.family == family and step.index == 1:
                raise RunError("Step 2 gave numbers that are not finite.")
            yield step

    monkeypatch.setattr(Run, "steps", steps)


def test_a_lane_that_fails_is_out_and_the_others_go_on(monkeypatch):
    failing(monkeypatch, "masked")
    heat = playground.race(**SHORT)
    assert [trace.end["status"] for trace in heat.traces] == ["finished", "error", "finished", "finished"]
    out = heat.results[1]
    assert out["place"] is None and out["perplexity"] is None and out["tokens_per_second"] is None
    assert out["evaluations"] == 1 and heat.traces[1].end["message"] == "Step 2 gave numbers that are not finite."
    assert sorted(place for place in heat.places if place) == [1, 2, 3] and heat.failed == [1]


def test_the_time_limit_ends_each_lane_with_a_sentence(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_TIME_LIMIT", "0")
    heat = playground.race(lanes=PAIR, **SHORT)
    assert heat.places == [None, None] and heat.results[0]["evaluations"] == 1
    assert all(trace.end["message"].endswith("passed the time limit of 0 seconds.") for trace in heat.traces)


def test_closing_a_race_closes_every_lane(monkeypatch):
    closed, healthy = [], Run.steps

    def steps(run):
        try:
            yield from healthy(run)
        finally:
            closed.append(run.model.family)

    monkeypatch.setattr(races, "expected", lambda recipe: 0.1)  # else measuring the machine's pace adds runs
    monkeypatch.setattr(Run, "steps", steps)
    race = record(Race.parse(SHORT))
    for _ in range(6):
        next(race)
    race.close()
    assert sorted(closed) == ["autoregressive", "continuous", "masked", "uniform"]


def test_without_a_judge_there_is_no_perplexity_and_entropy_stays(monkeypatch):
    monkeypatch.setattr(races, "judge", lambda: None)
    heat = playground.race(lanes=PAIR, **SHORT)
    assert heat.judge is None and all(r["perplexity"] is None and r["entropy"] > 0 for r in heat.results)


def test_equal_times_share_a_place():
    traces = [Trace({}, [{"t": t}], {"status": "finished"}) for t in (0.2, 0.1, 0.1)]
    assert Heat(Race(), traces).places == [3, 1, 1]
