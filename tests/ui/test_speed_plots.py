"""The figures of the speed studies draw the numbers that were measured, and the page draws them as they come."""

import gradio as gr
import pytest

from playground.recipe import RecipeError
from playground.studies import throughput
from playground.studies.throughput import Latency, Range, Settings, Throughput
from playground.ui import speed
from playground.ui.speed_plots import latency_figure, throughput_figure

SETTINGS = Settings(("m", "a"), lengths=(32, 128), batch=(1, 8), repeats=3)


def rows(model, family, count, speed, peak_mb=50.0):
    steps = None if family == "autoregressive" else 16
    return Throughput(model, family, count, 64, steps, 64, Range(1, 1, 1), speed, peak_mb)


POINTS = [
    rows("m", "masked", 1, Range(400, 380, 450)),
    rows("a", "autoregressive", 1, Range(200, 200, 200), 20.0),
    rows("m", "masked", 8, Range(600, 590, 610), 90.0),
    Latency("m", "masked", 32, 16, False, Range(0.2, 0.2, 0.2)),
    Latency("m", "masked", 32, 16, True, Range(0.2, 0.2, 0.2)),
    Latency("m", "masked", 128, 64, True, Range(1.5, 1.0, 2.5)),
    Latency("a", "autoregressive", 32, None, False, Range(0.1, 0.1, 0.1)),
]


def test_throughput_is_drawn_with_its_spread_and_the_memory_below():
    speeds, memory, baseline, _ = throughput_figure(POINTS, SETTINGS).data
    assert list(speeds.x) == [1, 8] and list(speeds.y) == [400, 600]
    assert list(speeds.error_y.array) == [50, 10] and list(speeds.error_y.arrayminus) == [20, 10]
    assert list(memory.y) == [50.0, 90.0] and memory.yaxis == "y2"
    assert baseline.error_y.array is None


def test_memory_that_was_not_measured_has_no_panel():
    figure = throughput_figure([rows("m", "masked", 1, Range(4, 4, 4), None)], SETTINGS)
    assert len(figure.data) == 1 and "yaxis2" not in figure.to_dict()["layout"]


def test_advised_steps_are_dashed():
    lines = {line.name: line for line in latency_figure(POINTS, SETTINGS).data}
    assert list(lines) == ["m, 16 steps", "m, advised steps", "a, token by token"]
    assert lines["m, advised steps"].line.dash == "dash" and list(lines["m, advised steps"].y) == [0.2, 1.5]
    assert lines["m, 16 steps"].line.dash == "solid" and lines["m, 16 steps"].line.color != "dash"


def test_the_axes_stand_still_while_points_come():
    first, last = (throughput_figure(points, SETTINGS).layout.xaxis for points in (POINTS[:1], POINTS))
    assert first == last and list(first.ticktext) == ["1", "8"]


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.setattr(speed, "_settings", lambda: SETTINGS)
    monkeypatch.setattr(throughput, "study", lambda settings: iter(POINTS))
    monkeypatch.setattr(throughput, "expected", lambda settings: 61.4)


def test_the_page_draws_at_most_once_a_second_and_at_the_end(measured, monkeypatch):
    first, last = speed.measure()
    assert "value" not in first[1] and first[0]["visible"] and len(first[0]["value"].data) == 2
    assert len(last[1]["value"].data) == 3 and last[2].startswith("With one row m writes 400 tokens a second")
    monkeypatch.setattr(speed, "EVERY", -1)
    assert len(list(speed.measure())) == len(POINTS) + 1


def test_the_page_says_how_long_it_takes_or_why_not(measured, monkeypatch):
    assert speed.estimate().endswith("It takes about 61 s on this machine.")

    def refuse():
        raise RecipeError("batch", "<b>1</b> alone would take too long.")

    monkeypatch.setattr(speed, "_settings", refuse)
    assert speed.estimate() == "batch: &lt;b&gt;1&lt;/b&gt; alone would take too long."
    with pytest.raises(gr.Error) as refused:
        next(speed.measure())
    assert refused.value.message == speed.estimate()


def test_the_section_can_be_placed_on_any_page():
    with gr.Blocks() as page:
        speed.build(page)
    events = page.config["dependencies"] if hasattr(page, "config") else page.get_config_file()["dependencies"]
    assert all(event["api_visibility"] == "private" for event in events)
