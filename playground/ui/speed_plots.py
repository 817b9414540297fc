"""Figures of how fast this machine is: tokens a second and memory against rows, seconds against cells."""

import math
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from playground.studies.throughput import STEPS, Latency, Point, Range, Settings, Throughput
from playground.ui.plots import AMBER, BLUE, GREEN, GREY, finish, log_axis

STYLES = {
    "continuous": (AMBER, "circle"), "masked": (BLUE, "square"), "uniform": (GREEN, "diamond"),
    "autoregressive": (GREY, "star"),
}  # fmt: skip


def throughput_figure(points: Sequence[Point], settings: Settings) -> go.Figure:
    """Tokens of text a second over the rows made together, a line for each model, its bars from the lowest to the
    highest of the repeats; below it the peak memory in megabytes, where it was measured."""
    found = [point for point in points if isinstance(point, Throughput)]
    known = [point for point in found if point.peak_mb is not None]
    heads = ["tokens of text a second", "peak memory, MB"][: 2 if known else 1]
    figure = make_subplots(rows=len(heads), cols=1, vertical_spacing=0.16, subplot_titles=heads)
    for model, own in _by_model(found).items():
        at = [point.rows for point in own]
        _line(figure, model, own[0].family, at, [point.tokens_per_second for point in own], 1)
        of_memory = [point for point in own if point.peak_mb is not None]
        if of_memory:
            taken = [Range.of([point.peak_mb]) for point in of_memory]
            _line(figure, model, own[0].family, [point.rows for point in of_memory], taken, 2, showlegend=False)
    finish(figure, 280 * len(heads) + 60)
    figure.update_xaxes(**_sizes(settings.batch))
    figure.update_xaxes(title="rows made together", row=len(heads))
    figure.update_yaxes(hoverformat=",.4~g")
    figure.update_yaxes(**log_axis([point.tokens_per_second.median for point in found]), row=1)
    if known:
        figure.update_yaxes(rangemode="tozero", row=2)
    return figure


def latency_figure(points: Sequence[Point], settings: Settings) -> go.Figure:
    """Seconds of one row over its cells, a line for each model with STEPS steps and a dashed one with as many as are
    advised for the length; from left to right, token by token."""
    found = [point for point in points if isinstance(point, Latency)]
    figure = go.Figure()
    for model, own in _by_model(found).items():
        for advised, dash in ((False, "solid"), (True, "dash")):
            drawn = [point for point in own if point.advised is advised]
            if drawn:
                name = _named(model, drawn[0], advised)
                seconds = [point.seconds for point in drawn]
                _line(figure, name, drawn[0].family, [point.length for point in drawn], seconds, dash=dash)
    finish(figure, 400)
    figure.update_xaxes(title="cells of the row", **_sizes(settings.lengths))
    figure.update_yaxes(
        title="seconds a row", hoverformat=".3~g", **log_axis([point.seconds.median for point in found])
    )
    return figure


def _by_model(points: Sequence[Point]) -> dict[str, list[Point]]:
    found = {}
    for point in points:
        found.setdefault(point.model, []).append(point)
    return found


def _named(model: str, point: Latency, advised: bool) -> str:
    if point.steps is None:
        return f"{model}, token by token"
    return f"{model}, advised steps" if advised else f"{model}, {STEPS} steps"


def _line(
    figure: go.Figure, name: str, family: str, x: list[int], y: list[Range], row: int | None = None,
    dash: str = "solid", showlegend: bool = True,
) -> None:  # fmt: skip
    """Medians over sizes, with bars from the lowest to the highest where they differ."""
    colour, symbol = STYLES[family]
    up, down = [r.high - r.median for r in y], [r.median - r.low for r in y]
    at = {} if row is None else {"row": row, "col": 1}
    figure.add_scatter(
        x=x, y=[r.median for r in y], name=name, legendgroup=name, showlegend=showlegend, mode="lines+markers",
        line={"color": colour, "dash": dash, "width": 2}, marker={"symbol": symbol, "size": 8},
        error_y={"array": up, "arrayminus": down, "symmetric": False, "thickness": 1, "width": 3} if any(up) else None,
        **at,
    )  # fmt: skip


def _sizes(values: Sequence[int]) -> dict:
    """A logarithmic axis over all sizes that are to be measured, so that it stays as it is while points come."""
    ticks, edge = sorted(values), math.log10(1.15)
    around = [math.log10(ticks[0]) - edge, math.log10(ticks[-1]) + edge]
    return {"type": "log", "tickvals": ticks, "ticktext": [str(tick) for tick in ticks], "range": around}
