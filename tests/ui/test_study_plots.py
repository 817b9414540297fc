"""Figures of grids, from real small ones."""

import pytest

import playground
from playground.ui import study_plots

SHORT = {"prompt": "Tom", "length": 16, "seed": 5, "seeds": 2}


@pytest.fixture(scope="module")
def swept():
    return playground.compare(steps=[8, 2], reference="Tom had a dog.", **SHORT)


def curves(figure, panel=0):
    axis = f"x{panel + 1}" if panel else "x"
    return {trace.name: trace for trace in figure.data if trace.xaxis == axis}


def test_every_metric_has_a_panel_with_the_model_the_baseline_and_real_text(swept):
    figure = study_plots.metrics_figure(swept)
    titles = [annotation.text for annotation in figure.layout.annotations]
    assert titles[:4] == ["perplexity", "word entropy, nats", "distinct-2", "repetition"] and "BLEU" in titles
    assert set(curves(figure)) == {"this model", "left to right", "real text"}
    assert set(curves(figure, 4)) == {"this model", "left to right"}  # real text takes no time
    model = curves(figure)["this model"]
    assert list(model.x) == [2, 8] and model.error_y.array[0] > 0
    low, high = model.y[0] - model.error_y.arrayminus[0], model.y[0] + model.error_y.array[0]
    a, b = sorted(row["perplexity"] for row in swept.cells[1].rows)
    assert low == pytest.approx((a * b) ** 0.5 / (b / a) ** (0.5**0.5), rel=1e-6) and high > model.y[0]


def test_the_advised_steps_are_marked_where_they_are_on_the_axis(swept):
    assert [a.text for a in study_plots.metrics_figure(swept).layout.annotations][-1] == "advised"
    few = playground.compare(steps=[1, 2], **SHORT)
    assert "advised" not in [a.text for a in study_plots.metrics_figure(few).layout.annotations]


def test_one_seed_has_no_bars_and_names_make_a_category_axis():
    found = playground.compare(self_conditioning=["on", "off"], steps=2, **SHORT | {"seeds": 1})
    figure = study_plots.metrics_figure(found)
    assert curves(figure)["this model"].error_y.array is None
    assert figure.layout.xaxis.type == "category" and list(curves(figure)["this model"].x) == ["on", "off"]


def test_a_second_knob_gives_a_line_each_and_quality_stands_against_time():
    found = playground.compare(steps=[2, 3], model=["stories-masked", "stories-uniform"], **SHORT)
    figure = study_plots.frontier_figure(found)
    names = [trace.name for trace in figure.data]
    assert names[:2] == ["model stories-masked", "model stories-uniform"] and "left to right" in names
    assert list(figure.data[0].text) == ["2", "3"] and figure.data[0].x[1] > 0
    assert figure.data[0].cliponaxis is False  # else the topmost label is cut


def test_one_line_has_room_for_the_entropy_and_its_last_label_for_itself(swept):
    line = study_plots.frontier_figure(swept).data[0]
    assert [text[:11] for text in line.text] == ["2, entropy ", "8, entropy "]
    assert list(line.textposition) == ["top right", "bottom left"]


def test_a_study_that_has_begun_is_drawn_as_far_as_it_is():
    from playground.studies.grid import Grid, Study

    study = Study(Grid.parse(SHORT | {"steps": [2, 3]}))
    for cell in study.run():
        if cell.done:
            break
    assert list(curves(study_plots.metrics_figure(study))["this model"].x) == [2]
    assert study_plots.frontier_figure(study).data
