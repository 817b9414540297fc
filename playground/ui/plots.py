"""Plotly figures. Colours work on light and dark pages and for colour-blind readers; styles differ as well."""

import html
import math
import textwrap
from pathlib import Path

import plotly.graph_objects as go
from gradio.components.plot import PlotData
from plotly.subplots import make_subplots

from playground.denoisers import zoo
from playground.similarity import embedders, plane
from playground.trace import Trace

AMBER, BLUE, GREEN, GREY = "#c2701c", "#4f7fb8", "#3f8f5f", "#8a8f98"


def head() -> str:
    """What a page with figures needs in its head, so that those it no longer shows are let go."""
    return f"<script>{Path(__file__).with_suffix('.js').read_text(encoding='utf-8')}</script>"


def recorded(figure: go.Figure | str) -> PlotData:
    """A figure, or its JSON, for a page to open with. Gradio copies what a page opens with at each visit, and copying a
    go.Figure takes longer than all the rest."""
    return PlotData(type="plotly", plot=figure if isinstance(figure, str) else figure.to_json())


def run_figure(trace: Trace) -> go.Figure:
    """A finished run over its steps: mean confidence, mean entropy (as a share of ln V) and noise level, over the
    cells that were not given."""
    frames = trace.frames[1:]
    confidence, entropy = [], []
    for frame in frames:
        free = [
            (c / 100, h / 100 / trace.head["max_entropy"])
            for row in frame["rows"]
            for c, h, s in zip(row["c"], row["h"], row["st"], strict=True)
            if s not in "fp"
        ]
        confidence.append(sum(c for c, _ in free) / len(free))
        entropy.append(sum(h for _, h in free) / len(free))
    steps = [frame["s"] for frame in frames]
    figure = go.Figure(layout=layout("step", "share"))
    figure.add_scatter(x=steps, y=confidence, name="mean confidence", line={"color": AMBER, "width": 3})
    figure.add_scatter(x=steps, y=entropy, name="mean entropy / ln V", line={"color": BLUE, "width": 3, "dash": "dash"})
    figure.add_scatter(
        x=steps, y=[frame["u"] for frame in frames], name="noise level u", line={"color": GREY, "dash": "dot"}
    )
    figure.update_yaxes(range=[-0.02, 1.02])
    return figure


def path_figure(trace: Trace) -> go.Figure:
    """A finished path: similarity to A and to B, words changed from them, and perplexity, each over the way from A to
    B."""
    path, way = trace.end["path"], _way(trace)
    heads = ["similarity (cosine)", "words changed", "perplexity"]
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for end, name, colour, symbol in (("a", "A", BLUE, "circle"), ("b", "B", AMBER, "square"), ("c", "C", GREEN, "x")):
        for i, found in enumerate(path["similarity"]):
            if end not in found:
                continue
            figure.add_scatter(
                x=way, y=found[end], name=f"like {name} ({found['name']})", mode="lines+markers", row=1, col=1,
                line={"color": colour, "width": 2, "dash": "dot" if i else "solid"}, marker={"symbol": symbol},
            )  # fmt: skip
        if end not in path["edits"]:
            continue
        label = "words changed from A" if end == "a" else "words still to change to B"
        figure.add_scatter(
            x=way, y=path["edits"][end], name=label, mode="lines+markers", row=2, col=1, showlegend=False,
            line={"color": colour, "width": 2}, marker={"symbol": symbol},
        )  # fmt: skip
    if path["perplexity"]:
        figure.add_scatter(
            x=way, y=path["perplexity"], name="perplexity", mode="lines+markers", row=3, col=1, showlegend=False,
            line={"color": GREY, "width": 2, "dash": "dash"},
        )  # fmt: skip
    look = layout("", "")
    figure.update_layout(**{k: v for k, v in look.items() if "axis" not in k} | {"height": 560})
    figure.update_traces(cliponaxis=False)
    figure.update_xaxes(**look["xaxis"], ticksuffix="%", hoverformat=".0f")
    figure.update_xaxes(title="way from A to B", row=3, col=1)
    for row, head in enumerate(heads, 1):
        figure.update_yaxes(
            **look["yaxis"] | {"title": head, "hoverformat": ".2f" if row == 1 else ".4~g"},
            rangemode="tozero" if row > 1 else "normal",
            row=row,
        )
    figure.update_yaxes(type="log", row=3)
    return figure


def map_figure(trace: Trace) -> go.Figure:
    """The path and the two texts among sentences of the same kind, on the plane where these differ most."""
    model = zoo.load(trace.recipe.model)
    sentences, places, axes = plane(model)
    given = {name.upper(): trace.head["blend"][name] for name in ("a", "b", "c") if trace.head["blend"].get(name)}
    path, ends = (embedders(model)[0].embed(texts) @ axes for texts in (trace.texts, list(given.values())))
    figure = go.Figure(layout=layout("sentences differ most this way", "then this way (PCA)") | {"height": 420})
    figure.update_layout(hovermode="closest")
    figure.add_scatter(
        x=places[:, 0].tolist(), y=places[:, 1].tolist(), mode="markers", name="sentences by these models",
        text=[_shown(s) for s in sentences], hovertemplate="%{text}<extra></extra>",
        marker={"color": GREY, "size": 5, "opacity": 0.45},
    )  # fmt: skip
    figure.add_scatter(
        x=path[:, 0].tolist(), y=path[:, 1].tolist(), mode="lines+markers", name="the path",
        text=[_shown(t) for t in trace.texts], hovertemplate="%{text}<extra></extra>",
        line={"color": AMBER, "width": 2}, marker={"size": 8},
    )  # fmt: skip
    for place, name, at in zip(ends, given, ("top left", "top right", "bottom right"), strict=False):
        figure.add_scatter(
            x=[float(place[0])], y=[float(place[1])], mode="markers+text", text=[f"<b>{name}</b>"], textposition=at,
            marker={"size": 16, "color": AMBER, "symbol": "circle-open", "line": {"width": 2}},
            textfont={"size": 16, "color": AMBER}, showlegend=False,
            hoverinfo="skip",
        )  # fmt: skip
    return figure


def _way(trace: Trace) -> list[float]:
    return [100 * row["weight"] for row in trace.head["rows"]]


def _shown(text: str) -> str:
    """A text as a hover label may show it: Plotly reads tags in labels, so there are none."""
    return "<br>".join(html.escape(line, quote=False) for line in textwrap.wrap(text, 60))


def layout(x: str, y: str) -> dict:
    """What all figures share, with the titles of the axes."""
    grid = {"gridcolor": "rgba(128,128,128,.22)", "zeroline": False}
    return {
        "height": 280,
        "margin": {"l": 48, "r": 12, "t": 28, "b": 40},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": GREY},
        "legend": {"orientation": "h", "y": 1.16},
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": "#23201c", "font": {"color": "#f4f1ec"}, "namelength": -1},
        "modebar": {"remove": ["zoom", "pan", "select", "lasso", "zoomIn", "zoomOut", "autoScale", "resetScale"]},
        "xaxis": {"title": x, **grid},
        "yaxis": {"title": y, **grid},
    }


def log_axis(values: list[float]) -> dict:
    """A logarithmic axis over the values, its ticks at 1, 2 and 5 times powers of ten."""
    if not values:
        return {"type": "log"}
    low, high = min(values), max(values)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [digit * 10**power for power in range(first - 1, last + 1) for digit in (1, 2, 5)]
    if high > 100 * low:
        ticks = ticks[::3]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def finish(figure: go.Figure, height: int) -> None:
    """The shared look on a figure of several panels, its legend below them."""
    look = layout("", "")
    figure.update_layout(**{key: value for key, value in look.items() if "axis" not in key} | {"height": height})
    figure.update_layout(legend={"orientation": "h", "y": -90 / height, "yanchor": "top"}, margin={"b": 90, "t": 36})
    figure.update_annotations(font={"size": 13, "color": GREY})
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(gridcolor="rgba(128,128,128,.22)", zeroline=False)
