"""Speed studies: what is measured, and what cannot be asked for. Nothing here depends on how fast it was."""

import pytest

from playground import memory
from playground.denoisers import zoo
from playground.recipe import RecipeError
from playground.studies import throughput
from playground.studies.throughput import Latency, Range, Settings, Throughput

MODELS = ("stories-masked", "stories-autoregressive")
TINY = Settings(models=MODELS, lengths=(8, 20), batch=(1, 2), repeats=1)


@pytest.fixture(autouse=True)
def short_rows(monkeypatch):
    monkeypatch.setattr(throughput, "LENGTH", 8)
    monkeypatch.setattr(throughput, "STEPS", 2)


@pytest.fixture
def no_proc(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "STATUS", tmp_path / "none")
    monkeypatch.setattr(memory, "CLEAR", tmp_path / "none" / "none")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"lengths": "64,7"}, "lengths: 7 is out of range; allowed: whole numbers from 8 to 512."),
        ({"lengths": "64,x"}, "lengths: 'x' is not allowed; allowed: whole numbers from 8 to 512."),
        ({"lengths": ""}, "lengths: '' has an empty value; allowed: 1 to 8 values, with commas."),
        ({"lengths": []}, "lengths: '[]' has an empty value"),
        ({"lengths": "8,,16"}, "lengths: '8,,16' has an empty value"),
        ({"lengths": range(8, 17)}, "lengths: has 9 values; allowed: 1 to 8."),
        ({"lengths": {"a": 1}}, "lengths: \"{'a': 1}\" is not allowed"),
        ({"batch": "1,8,1"}, "batch: 1 is given twice"),
        ({"batch": [33]}, "batch: 33 is out of range; allowed: whole numbers from 1 to 32."),
        ({"batch": True}, "batch: True is not allowed"),
        ({"batch": 1.5}, "batch: 1.5 is not allowed"),
        ({"repeats": 0}, "repeats: 0 is out of range"),
        ({"models": "gpt"}, "models: 'gpt' is unknown; allowed: stories-continuous"),
        ({"models": [["x"]]}, "models: \"['x']\" is unknown"),
        ({"models": ["stories-masked", "stories-masked"]}, "models: stories-masked is given twice"),
        ({"speed": 1}, "speed: there is no such field; the fields are batch, lengths, models, repeats."),
    ],
)
def test_what_cannot_be_measured_is_refused_with_a_sentence(values, sentence):
    with pytest.raises(RecipeError) as refused:
        Settings.parse(values)
    assert str(refused.value).startswith(sentence)


def test_settings_are_read_from_text_numbers_and_lists():
    found = Settings.parse({"lengths": " 64, 128", "batch": 8, "models": ["stories-masked"], "repeats": "2"})
    assert found == Settings(("stories-masked",), (64, 128), (8,), 2)
    assert Settings.parse({"lengths": None}) == Settings(tuple(zoo.catalogue()))


def test_no_models_is_said(monkeypatch):
    monkeypatch.setattr(zoo, "catalogue", dict)
    with pytest.raises(RecipeError, match="models: there is none in"):
        Settings.parse({})


def test_a_point_for_each_batch_and_model():
    points = list(throughput.throughput(TINY))
    assert [(point.rows, point.model) for point in points] == [(rows, name) for rows in (1, 2) for name in MODELS]
    for point in points:
        assert point.steps == (2 if point.family == "masked" else None) and point.length == 8
        assert 0 < point.tokens <= 8 * point.rows
        assert 0 < point.seconds.low <= point.seconds.median <= point.seconds.high
        assert point.tokens_per_second.high == pytest.approx(point.tokens / point.seconds.low)


def test_one_row_with_fixed_and_with_advised_steps(monkeypatch):
    monkeypatch.setattr(throughput, "STEPS", 8)  # as many as are advised for 8 cells
    points = list(throughput.latency(TINY))
    assert [(p.length, p.family, p.steps, p.advised) for p in points] == [
        (8, "masked", 8, False), (8, "masked", 8, True), (8, "autoregressive", None, False),
        (20, "masked", 8, False), (20, "masked", 10, True), (20, "autoregressive", None, False),
    ]  # fmt: skip
    assert points[0].seconds is points[1].seconds  # the same run: measured once


def test_a_study_can_be_stopped_after_any_point():
    points = throughput.study(Settings(MODELS[:1], lengths=(8,), batch=(1,), repeats=1))
    assert isinstance(next(points), Throughput)
    points.close()
    assert list(points) == []


def test_a_study_stops_when_it_takes_too_long(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_GRID_LIMIT", "0")
    with pytest.raises(throughput.engine.RunError, match="twice what was allowed for all"):
        list(throughput.study(TINY))


def test_more_is_expected_to_take_longer(monkeypatch):
    monkeypatch.setattr(throughput.speed, "pace", lambda name: throughput.speed.Pace(0.01, 0.001))
    one = Settings(("stories-masked",), lengths=(8,), batch=(1,), repeats=1)
    evaluations = 2 * 2 + (2 + 2) + (8 + 2)  # two runs of a batch; of 2 and of 8 steps, each warmed up by two steps
    assert throughput.expected(one) == pytest.approx(evaluations * (0.01 + 8 * 0.001))
    assert throughput.expected(TINY) > throughput.expected(one)


def test_the_largest_sizes_are_left_out_where_time_is_short(monkeypatch):
    monkeypatch.setattr(throughput, "expected", lambda s: 10 * sum(s.lengths) + sum(s.batch))
    settings = Settings(MODELS, lengths=(8, 32, 16), batch=(1, 4))
    assert throughput.fitted(settings, 1000) == settings
    assert throughput.fitted(settings, 250).lengths == (8, 16)
    assert throughput.fitted(settings, 81) == Settings(MODELS, lengths=(8,), batch=(1,))
    with pytest.raises(RecipeError, match=r"batch: 1 alone would take about 81 s here; allowed: 5 s\."):
        throughput.fitted(settings, 5)


def test_memory_that_a_run_takes_is_seen_again_and_again():
    if memory.resident() is None or not memory._reset():
        pytest.skip("This system does not tell a process its peak.")
    peaks = [memory.peak(lambda: len(bytearray(b"x") * (50 * 2**20)))[1] for _ in range(2)]
    assert all(45 < peak < 80 for peak in peaks), peaks


def test_memory_that_cannot_be_measured_is_none(no_proc):
    assert memory.resident() is None and memory.peak(lambda: 5) == (5, None)
    assert next(throughput.throughput(TINY)).peak_mb is None


def point(model: str, family: str, rows: int, speed: float) -> Throughput:
    return Throughput(model, family, rows, 64, 16, 64, Range.of([1.0]), Range.of([speed]), None)


def test_the_sentence_is_made_of_the_numbers():
    points = [
        point("m", "masked", 1, 400), point("u", "uniform", 1, 100), point("a", "autoregressive", 1, 200),
        Latency("m", "masked", 64, 16, False, Range.of([1.0])),
    ]  # fmt: skip
    first = "With one row m writes 400 tokens a second, 2.0 times as fast as writing from left to right (200)"
    assert throughput.said(points) == first + "."
    points += [point("m", "masked", 32, 600), point("a", "autoregressive", 32, 3000)]
    assert throughput.said(points) == (
        first + "; with 32 rows at once m writes 600 tokens a second, "
        "5.0 times slower than writing from left to right (3,000)."
    )
    assert throughput.said(points[:2]) == "" and throughput.said([]) == ""


def test_points_for_machines():
    (row,) = throughput.rows([Latency("m", "masked", 64, 16, False, Range(2.0, 1.0, 3.0))])
    assert row["study"] == "latency" and row["seconds"] == {"median": 2.0, "low": 1.0, "high": 3.0}
