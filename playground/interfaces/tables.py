"""Comparisons and races as text: tables to read, and CSV."""

import csv
import io

from playground.studies.grid import Study
from playground.studies.race import Heat
from playground.studies.sentences import said, shown
from playground.studies.summary import METRICS, real, summary
from playground.trace import Trace

TRACE_COLUMNS = "step,row,position,token_id,token,state,confidence,entropy"
STATES = {"n": "noise", "d": "draft", "c": "committed", "f": "fixed", "p": "pinned"}
SPECIALS = ("[padding]", "[start]", "[end]", "[mask]", "[bytes]")


def compare(study: Study) -> str:
    """Means over the seeds, with one standard deviation of perplexity and entropy, a line for each cell."""
    lines = [(_place(cell.place), summary(cell.rows)) for cell in study.cells]
    lines += [(_place(c.place, "left to right"), summary(c.rows)) for c in study.distinct_baselines]
    texts = dict(real(cell.open, study.grid.judge) for cell in study.cells)
    lines += [(f"real text ({length} tokens)", found) for length, found in texts.items()]
    names = [name for name in METRICS if any(name in found for _, found in lines)]
    cells = [["", *(METRICS[name].label for name in names)]]
    cells += [[place, *(_figure(found.get(name), name) for name in names)] for place, found in lines]
    return "\n".join([aligned(cells), "", *said(study), *study.failed])


def aligned(cells: list[list[str]]) -> str:
    """Rows of texts in columns, the first to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            text.ljust(w) if i == 0 else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )


def rows_csv(study: Study) -> str:
    """A line for each text; lines end as RFC 4180 has it."""
    out = io.StringIO()
    rows = [*study.rows, *(row for cell in study.distinct_baselines for row in cell.rows)]
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _place(place: dict, name: str = "") -> str:
    knobs = ", ".join(f"{knob} {shown(value)}" for knob, value in place.items())
    return f"{name} ({knobs})" if name and knobs else name or knobs


def _figure(spread, name: str) -> str:
    if spread is None:
        return "-"
    with_spread = name in ("perplexity", "entropy") and spread.low is not None
    return f"{spread.mean:.4g}" + (f" ({spread.low:.3g} to {spread.high:.3g})" if with_spread else "")


def race(heat: Heat) -> str:
    """A table of the lanes, the quickest first, and their texts."""
    columns = {
        "place": "", "lane": "", "evaluations": "", "seconds": ".3f", "tokens_per_second": ".0f", "perplexity": ".1f",
        "entropy": ".2f", "distinct_2": ".2f", "repetition": ".2f",
    }  # fmt: skip
    order = sorted(range(len(heat.traces)), key=lambda lane: heat.places[lane] or len(heat.traces) + 1)
    rows = [[_shown(heat.results[lane][name], how) for name, how in columns.items()] for lane in order]
    rows = [[name.replace("tokens_per_second", "tokens/s").replace("_", "-") for name in columns], *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    texts = [f"{heat.race.lanes[lane]}\n{heat.traces[lane].text}" for lane in order]
    return "\n\n".join(["\n".join(lines), *texts])


def _shown(value, how: str) -> str:
    return "–" if value is None else format(value, how)


def trace_csv(trace: Trace) -> str:
    """A line for each cell of each step: the table that the player writes (assets/player/files.js)."""
    lines = [TRACE_COLUMNS]
    for frame in trace.frames:
        for row, cells in enumerate(frame["rows"]):
            of_cell = zip(cells["id"], cells["p"], cells["st"], cells["c"], cells["h"], strict=True)
            for position, (token, piece, state, confidence, entropy) in enumerate(of_cell):
                piece = piece if isinstance(piece, str) else SPECIALS[piece]
                texts = (f'"{text.replace(chr(34), 2 * chr(34))}"' for text in (piece, STATES.get(state, "")))
                what = [frame["s"], row, position, token, *texts, confidence, f"{entropy / 100:.2f}"]
                lines.append(",".join(map(str, what)))
    return "\r\n".join(lines) + "\r\n"
