"""An evaluation as a table to read."""

COLUMNS = {
    "perplexity": "perplexity", "perplexity_over_real": "/ real", "entropy": "entropy", "distinct_1": "distinct-1",
    "distinct_2": "distinct-2", "repetition": "repetition", "memorised": "memorised", "unique": "unique",
    "seconds_per_sample": "s/sample",
}  # fmt: skip
HOLES = {
    "hole_nats": "hole", "hole_perplexity": "perplexity", "hole_over_real": "/ real", "after_nats": "after",
    "text_over_real": "text / real", "exact": "exact", "overlap": "overlap", "unchanged": "unchanged", "ended": "ended",
    "seconds_per_sample": "s/sample",
}  # fmt: skip


PATHS = {
    "level": "level", "distinct": "distinct", "between_over_ends": "between / ends", "ends": "ends",
    "seconds_per_path": "s/path",
}  # fmt: skip


def table(found: dict) -> str:
    """The answer of `evaluate` as lines of text; a figure that does not apply is a dash."""
    lines = [
        f"{found['model']['name']}, {found['samples']} texts of {found['length']} tokens, seeds {found['seeds'][0]} to "
        f"{found['seeds'][1]}, judged by {found['judge']}, torch {found['torch']}",
        "",
        *_rows(found["rows"], found["real"], COLUMNS),
        "entropy in nats; repetition and memorised of word 4-grams; shares of 1",
    ]
    if "frontier" in found:
        lines += ["", found["frontier"]["said"]]
    if "infill" in found:
        holes = found["infill"]
        lines += [
            "",
            f"infill: {holes['holes']} holes in held-out text ({holes['skipped']} texts were too short for one)",
            *_rows(holes["rows"], holes["real"], HOLES),
            "hole, after: nats a judge token of the hole, read after its left side, and of the text after it; "
            "text / real: perplexity of the whole texts",
            holes["baseline"],
        ]
    if "interpolate" in found:
        lines += ["", *_paths(found["interpolate"])]
    return "\n".join([*lines, "", *found["notes"]])


def _paths(found: dict) -> list[str]:
    rows = [row | row["correlation"] for row in found["rows"]]
    heads = dict(zip(rows[0]["correlation"], rows[0]["correlation"], strict=True))
    return [
        f"interpolate: paths between {found['pairs']} pairs of held-out openings, {found['steps']} steps, "
        f"T {found['temperature']:g}",
        *_lines([(row["method"], row) for row in rows], PATHS | heads),
        "distinct: different texts over points; between / ends: perplexity; ends: reproduced exactly; "
        f"{' and '.join(heads)}: rank correlation of similarity to B with the place on the path",
    ]


def rounded(value):
    """The same figures to four decimals."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


def _rows(rows: list[dict], real: dict | None, columns: dict[str, str]) -> list[str]:
    named = (
        [("real held-out", dict.fromkeys(("perplexity_over_real", "hole_over_real", "text_over_real"), 1.0) | real)]
        if real
        else []
    )
    return _lines(named + [(_name(row), row) for row in rows], columns)


def _lines(named: list[tuple[str, dict]], columns: dict[str, str]) -> list[str]:
    width = max(len(name) for name, _ in named)
    heads = [f"{head:>{max(9, len(head))}}" for head in columns.values()]
    lines = [" " * width + "  " + "  ".join(heads)]
    for name, row in named:
        cells = [f"{_figure(row.get(key)):>{len(head)}}" for key, head in zip(columns, heads, strict=True)]
        lines.append(f"{name:<{width}}  " + "  ".join(cells))
    return lines


def _name(row: dict) -> str:
    steps = f", {row['steps']} steps" if row["steps"] else ""
    baseline = f"{row['baseline']}, " if "baseline" in row else ""
    return f"{baseline}{row['sampler']}{steps}, T {row['temperature']:g}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if value < 100 else f"{value:.1f}"
