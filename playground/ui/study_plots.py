"""Figures of a grid of runs: every metric over the swept knob, and quality against time."""

import math
from itertools import groupby

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from playground.recipe import advised_steps
from playground.studies.figures import Spread
from playground.studies.grid import Axis, Cell, Study
from playground.studies.sentences import shown
from playground.studies.summary import METRICS, real, summary
from playground.ui.plots import AMBER, BLUE, GREEN, GREY, finish, log_axis

COLOURS = [AMBER, BLUE, GREEN, "#8a63b8", "#2f8f9f"]
LINES = [
    *((c, m, "solid") for c, m in zip(COLOURS, ("circle", "square", "diamond", "triangle-up", "x"), strict=True)),
    *((c, m, "dot") for c, m in zip(COLOURS[:3], ("circle-open", "square-open", "diamond-open"), strict=True)),
]  # fmt: skip
PANELS = ["perplexity", "entropy", "distinct_2", "repetition", "seconds", "tokens_per_second"]
GEOMETRIC_AXES = ("steps", "length")  # knobs whose values double


def metrics_figure(study: Study) -> go.Figure:
    """The metrics of the finished cells over the first swept knob, a line for each value of the second; the bars are
    one standard deviation over the seeds. Beside them the left-to-right model and real text."""
    x = study.grid.axes[0]
    names = PANELS + (["bleu", "rouge_l", "similarity"] if study.reference else [])
    rows = (len(names) + 1) // 2
    figure = make_subplots(
        rows=rows, cols=2, vertical_spacing=0.34 / rows, horizontal_spacing=0.11,
        subplot_titles=[METRICS[name].label for name in names],
    )  # fmt: skip
    for panel, name in enumerate(names):
        at = {"row": panel // 2 + 1, "col": panel % 2 + 1, "name": name}
        for style, label, cells in _lines(study):
            _curve(figure, style, label, _points(_placed(study, cells), name), at)
        _curve(figure, (GREY, None, "dash"), "left to right", _points(_placed(study, study.baselines), name), at)
        _curve(figure, (GREY, None, "dot"), "real text", _real(study, name), at)
        drawn = [v for trace in figure.data if trace.meta == name for v in trace.y]
        scale = log_axis(drawn) if METRICS[name].geometric else {"nticks": 6}
        from_zero = "tozero" if name in ("repetition", "bleu", "rouge_l") else "normal"
        figure.update_yaxes(**scale, rangemode=from_zero, row=at["row"], col=at["col"])
    finish(figure, 250 * rows)
    figure.update_xaxes(**_axis(x))
    figure.update_xaxes(title=x.label.lower(), row=rows)
    figure.update_yaxes(hoverformat=".4~g")
    _advise(figure, study)
    return figure


def frontier_figure(study: Study) -> go.Figure:
    """Perplexity, with the word entropy beside it where there is room, against the seconds that a text takes: nearer
    to the lower left corner is better."""
    figure, lines = go.Figure(), _lines(study)
    for (colour, symbol, dash), label, cells in lines:
        found = [(value, summary(cell.rows)) for value, cell in _placed(study, cells)]
        found = [(value, measured) for value, measured in found if "perplexity" in measured]
        figure.add_scatter(
            x=[measured["seconds"].mean for _, measured in found],
            y=[measured["perplexity"].mean for _, measured in found], name=label, mode="lines+markers+text",
            text=[_label(value, measured if len(lines) == 1 else None) for value, measured in found], cliponaxis=False,
            textposition=["top right"] * (len(found) - 1) + ["bottom left"], line={"color": colour, "dash": dash},
            marker={"symbol": symbol, "size": 9}, **_entropy([measured for _, measured in found]),
        )  # fmt: skip
    found = [summary(cell.rows) for cell in study.distinct_baselines if cell.rows]
    found = [measured for measured in found if "perplexity" in measured]
    if found:
        figure.add_scatter(
            x=[measured["seconds"].mean for measured in found], y=[measured["perplexity"].mean for measured in found],
            name="left to right", mode="markers", marker={"color": GREY, "symbol": "star", "size": 13},
            **_entropy(found),
        )  # fmt: skip
    levels = {real(cell.open, study.grid.judge)[1].get("perplexity") for cell in study.cells} - {None}
    for level in levels:
        figure.add_hline(level.mean, line={"color": GREY, "dash": "dot"})
        figure.add_annotation(
            text="real text", x=1, xref="paper", xanchor="right", y=math.log10(level.mean), yanchor="bottom",
            showarrow=False,
        )  # fmt: skip
    finish(figure, 380)
    drawn = [trace for trace in figure.data if trace.x]
    figure.update_xaxes(title="seconds a text", **log_axis([value for trace in drawn for value in trace.x]))
    levels = [level.mean for level in levels]
    figure.update_yaxes(title="perplexity", **log_axis(levels + [value for trace in drawn for value in trace.y]))
    figure.update_layout(hovermode="closest")
    return figure


def _label(value, measured: dict[str, Spread] | None) -> str:
    return f"{shown(value)}, entropy {measured['entropy'].mean:.2f}" if measured else shown(value)


def _entropy(found: list[dict[str, Spread]]) -> dict:
    """Labels with the word entropy, beside which a perplexity stands."""
    return {
        "customdata": [measured["entropy"].mean for measured in found],
        "hovertemplate": "%{x:.2f} s, perplexity %{y:.1f}, word entropy %{customdata:.2f}",
    }


def _lines(study: Study) -> list[tuple[tuple, str, list[Cell]]]:
    """(style, name, cells in the order of the first axis) for each value of the second axis."""
    first, *others = study.grid.axes
    found = []
    for i in range(0, len(study.cells), len(first.values)):
        cells = study.cells[i : i + len(first.values)]
        name = f"{others[0].name.replace('_', ' ')} {shown(cells[0].place[others[0].name])}" if others else "this model"
        found.append((LINES[len(found) % len(LINES)], name, cells))
    return found


def _placed(study: Study, cells: list[Cell | None]) -> list[tuple]:
    """(value on the first axis, cell) for the first line of the grid or what stands beside it, in drawing order."""
    x = study.grid.axes[0]
    found = [(value, cell) for value, cell in zip(x.values, cells, strict=False) if cell]
    return sorted(found, key=lambda pair: pair[0]) if x.numeric else [(shown(value), cell) for value, cell in found]


def _points(placed: list[tuple], name: str) -> list[tuple]:
    found = [(value, summary(cell.rows).get(name)) for value, cell in placed]
    return [(value, spread) for value, spread in found if spread]


def _real(study: Study, name: str) -> list[tuple]:
    found = [(value, real(cell.open, study.grid.judge)[1].get(name)) for value, cell in _placed(study, study.cells)]
    return [(value, Spread(spread.mean, None, None, 1)) for value, spread in found if spread]


def _curve(figure: go.Figure, style: tuple, name: str, points: list[tuple], at: dict) -> None:
    """Points (x, Spread) as a line with bars; nothing without points."""
    if not points:
        return
    colour, symbol, dash = style
    barred = symbol is not None
    bars = [(s.high - s.mean, s.mean - s.low) if barred and s.low is not None else (0.0, 0.0) for _, s in points]
    up, down = zip(*bars, strict=True)
    figure.add_scatter(
        x=[value for value, _ in points], y=[spread.mean for _, spread in points], name=name, legendgroup=name,
        showlegend=at["name"] == PANELS[0], meta=at["name"], row=at["row"], col=at["col"],
        mode="lines+markers" if symbol else "lines", line={"color": colour, "dash": dash, "width": 2},
        marker={"symbol": symbol, "size": 7} if symbol else None,
        error_y={"array": up, "arrayminus": down, "symmetric": False, "thickness": 1, "width": 3} if any(up) else None,
    )  # fmt: skip


def _axis(x: Axis) -> dict:
    if not x.numeric:
        return {"type": "category"}
    values = sorted(x.values)
    scale = "log" if x.name in GEOMETRIC_AXES else "linear"
    return {"type": scale, "tickvals": values, "ticktext": [shown(value) for value in values]}


def _advise(figure: go.Figure, study: Study) -> None:
    """Where steps are on the axis: how many are advised for each length, marked in the first panel."""
    x = study.grid.axes[0]
    if x.name != "steps":
        return
    lengths = sorted({cell.recipe.length for cell in study.cells})
    for advised, group in groupby(lengths, key=advised_steps):
        if min(x.values) <= advised <= max(x.values):
            named = f" for {' and '.join(map(str, group))}" if len(lengths) > 1 else ""
            figure.add_vline(advised, row=1, col=1, line={"color": GREY, "width": 1, "dash": "longdash"})
            figure.add_annotation(
                text=f"advised{named}", x=math.log10(advised), y=1, xref="x", yref="y domain", yanchor="top",
                xanchor="right", textangle=-90, showarrow=False,
            )  # fmt: skip
