"""Plotly figures. Colours work on light and dark pages and for colour-blind readers; styles differ as well."""

import plotly.graph_objects as go

from playground.trace import Trace

AMBER, BLUE, GREY = "#c2701c", "#4f7fb8", "#8a8f98"


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
    figure = go.Figure(layout=_layout("step", "share"))
    figure.add_scatter(x=steps, y=confidence, name="mean confidence", line={"color": AMBER, "width": 3})
    figure.add_scatter(x=steps, y=entropy, name="mean entropy / ln V", line={"color": BLUE, "width": 3, "dash": "dash"})
    figure.add_scatter(
        x=steps, y=[frame["u"] for frame in frames], name="noise level u", line={"color": GREY, "dash": "dot"}
    )
    figure.update_yaxes(range=[-0.02, 1.02])
    return figure


def _layout(x: str, y: str) -> dict:
    grid = {"gridcolor": "rgba(128,128,128,.22)", "zeroline": False}
    return {
        "height": 280,
        "margin": {"l": 48, "r": 12, "t": 28, "b": 40},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": GREY},
        "legend": {"orientation": "h", "y": 1.16},
        "hovermode": "x unified",
        "xaxis": {"title": x, **grid},
        "yaxis": {"title": y, **grid},
    }
