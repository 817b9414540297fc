"""The frontier as a picture: `python -m playground.training.figure a.json b.json > frontier.svg` draws the answers of
`evaluate --frontier --json`, perplexity against distinct-2 over the temperature, both over those of as many real texts,
since distinct-2 depends on how many there are."""

import json
import math
import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 420, 64, 24, 24, 52
COLOURS = ("#b45309", "#1d4ed8", "#047857", "#7e22ce", "#be123c")
INK, GRID = "#475569", "#cbd5e1"


def draw(answers: list[dict]) -> str:
    """An SVG of the answers' rows. Perplexity is on a logarithmic axis; real texts are at (1, 1)."""
    series = [(a["model"]["name"], [_point(row, a["real"]) for row in a["rows"]]) for a in answers]
    points = [(x, y) for _, row in series for x, y, _ in row] + [(1.0, 1.0)]
    x_of = _scale([x for x, _ in points], LEFT, WIDTH - RIGHT)
    y_of = _scale([math.log(y) for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [*_axes(points, x_of, y_of)]
    for (name, row), colour in zip(series, COLOURS, strict=False):
        at = [(x_of(x), y_of(math.log(y))) for x, y, _ in row]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for (x, y), (_, _, temperature) in zip(at, row, strict=True):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
            parts.append(_text(x, y - 9, f"T {temperature:g}", colour, "middle", 11))
        parts.append(_text(at[0][0], at[0][1] + 20, name, colour, "middle", 13))
    x, y = x_of(1.0), y_of(0.0)
    parts += [f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{INK}"/>']
    parts += [_text(x - 10, y + 5, "real texts", INK, "end", 13)]
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
    return "\n".join([start, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *parts, "</svg>", ""])


def _point(row: dict, real: dict) -> tuple[float, float, float]:
    """distinct-2 and perplexity over the real ones, and the temperature."""
    return row["distinct_2"] / real["distinct_2"], row["perplexity"] / real["perplexity"], row["temperature"]


def _scale(values: list[float], first: float, last: float):
    """A function from values to places between `first` and `last`, with a margin."""
    low, high = min(values), max(values)
    margin = 0.08 * (high - low) or 1.0
    return lambda value: first + (value - low + margin) / (high - low + 2 * margin) * (last - first)


def _axes(points: list[tuple[float, float]], x_of, y_of) -> Iterable[str]:
    for k in range(1, 30):
        if min(x for x, _ in points) <= k / 10 <= max(x for x, _ in points):
            yield _line(x_of(k / 10), TOP, x_of(k / 10), HEIGHT - BOTTOM)
            yield _text(x_of(k / 10), HEIGHT - BOTTOM + 18, f"{k / 10:.0%}", INK, "middle", 12)
    for tick in (0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, 20, 50):
        if min(y for _, y in points) <= tick <= max(y for _, y in points):
            yield _line(LEFT, y_of(math.log(tick)), WIDTH - RIGHT, y_of(math.log(tick)))
            yield _text(LEFT - 8, y_of(math.log(tick)) + 4, f"{tick:g}", INK, "end", 12)
    yield _text(
        WIDTH / 2, HEIGHT - 12, "distinct-2 over that of real texts: more diverse to the right", INK, "middle", 13
    )
    yield _text(LEFT, TOP - 8, "judge perplexity over that of real texts: better below", INK, "start", 13)


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{GRID}"/>'


def _text(x: float, y: float, text: str, colour: str, anchor: str, size: int) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" font-size="{size}"'
    return f"<text {place}>{escape(text)}</text>"


if __name__ == "__main__":
    sys.stdout.write(draw([json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]))
