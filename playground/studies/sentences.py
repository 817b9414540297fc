"""What a grid's numbers show, in sentences made of the numbers."""

import math
import statistics

from playground.studies.figures import Spread
from playground.studies.grid import Axis, Cell, Study
from playground.studies.summary import real, summary

SHORTEST = 16  # written tokens below which there is no real text to be compared with
MANYFOLD = 9.0  # a growth that is plainer in times than in percent
UNSEEN = 0.005  # a change that a rounded percentage does not show
LITTLE, MUCH = 0.9, 2.0  # of real text's entropy and of its repetition: texts beyond these are said to be monotonous


def said(study: Study) -> list[str]:
    """A few sentences on the cells that are done; none where nothing is."""
    x = study.grid.axes[0]
    lines = _lines(study)
    found = [sentence for name, cells in lines.items() for sentence in _line(name, cells, x)]
    done = [cell for cell in study.cells if cell.rows]
    if done:
        found += [*_beside(study, done), *_monotonous(study, done), *_few(study)]
    if study.reference and done and not study.reference.shares_words([row["text"] for c in done for row in c.rows]):
        found.append("No text shares a word with the reference: these models write English stories and nothing else.")
    return found


def _lines(study: Study) -> dict[str, list[Cell]]:
    """The finished cells of each value of the second axis, in the order of the first."""
    width = len(study.grid.axes[0].values)
    second = study.grid.axes[1] if len(study.grid.axes) > 1 else None
    names = [f"{second.label} {shown(value)}: " for value in second.values] if second else [""]
    rows = [study.cells[i : i + width] for i in range(0, len(study.cells), width)]
    return {name: [cell for cell in row if cell.rows] for name, row in zip(names, rows, strict=True)}


def _line(name: str, cells: list[Cell], x: Axis) -> list[str]:
    if len(cells) < 2:
        return []
    if not x.numeric:
        return _best(name, cells, x)
    cells = sorted(cells, key=lambda cell: cell.place[x.name])
    if cells[0].trace is cells[-1].trace:
        return [_upper(f"{name}{x.label.lower()} changes nothing: it is no knob of this sampler.")]
    pairs = [(cells[0], cells[-1])] + [(cells[-2], cells[-1])] * (len(cells) > 2)
    return [_upper(f"{name}from {_between(a, b, x)} {_changes(a, b)}.") for a, b in pairs]


def _between(a: Cell, b: Cell, x: Axis) -> str:
    first, last = (shown(cell.place[x.name]) for cell in (a, b))
    return f"{first} to {last} steps" if x.name == "steps" else f"{x.label.lower()} {first} to {last}"


def _upper(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _changes(a: Cell, b: Cell) -> str:
    """What changes from one cell to another: perplexity and, beside it, entropy; and the time."""
    parts = []
    for name, word in (("perplexity", "perplexity"), ("entropy", "word entropy")):
        found = change(a, b, name)
        if found:
            parts.append(f"{word} {_moves(*found)}")
    before, after = (summary(cell.rows)["seconds"].mean for cell in (a, b))
    return f"{', '.join(parts)}{', ' if parts else ''}and a text takes {after / before:.1f} times as long"


def change(a: Cell, b: Cell, metric: str) -> tuple[float, float | None] | None:
    """(by what share a metric grows from a to b, its standard error) over the seeds, of which each is compared with
    itself: b / a - 1 by the mean of ln(b / a). The error is None of one seed; None where a value is missing."""
    pairs = [(row[metric], other[metric]) for row, other in zip(a.rows, b.rows, strict=True)]
    if not pairs or any(value is None or value <= 0 for pair in pairs for value in pair):
        return None
    ratios = [math.log(after / before) for before, after in pairs]
    mean = statistics.fmean(ratios)
    if len(ratios) == 1:
        return math.expm1(mean), None
    error = statistics.stdev(ratios) / math.sqrt(len(ratios))
    return math.expm1(mean), (math.exp(mean + error) - math.exp(mean - error)) / 2


def _moves(share: float, error: float | None) -> str:
    amount = f"{abs(share):.0%}" if error is None else f"{100 * abs(share):.0f} ± {100 * error:.0f}%"
    if abs(share) < max(error or 0.0, UNSEEN):
        return f"does not change measurably ({100 * share:+.0f}{'' if error is None else f' ± {100 * error:.0f}'}%)"
    if share >= MANYFOLD:
        return f"rises to {1 + share:.0f}{'' if error is None else f' ± {error:.0f}'} times as much"
    return f"{'rises' if share > 0 else 'falls'} {amount}"


def _best(name: str, cells: list[Cell], x: Axis) -> list[str]:
    known = [(summary(cell.rows), shown(cell.place[x.name])) for cell in cells]
    known = [(found, value) for found, value in known if "perplexity" in found]
    if len(known) < 2:
        return []
    low, high = (pick(known, key=lambda pair: pair[0]["perplexity"].mean) for pick in (min, max))
    listed = " and ".join(f"{value} has {_read(found)}" for found, value in (low, high))
    sentence = f"{name}{x.label.lower()} {listed}: the lowest and the highest perplexity."
    return [_upper(sentence)]


def _beside(study: Study, done: list[Cell]) -> list[str]:
    """The best cell beside the left-to-right model and real text."""
    scored = [cell for cell in done if "perplexity" in summary(cell.rows)]
    if not scored:
        return []
    best = min(scored, key=lambda cell: summary(cell.rows)["perplexity"].mean)
    ours = summary(best.rows)
    where = ", ".join(f"{name} {shown(value)}" for name, value in best.place.items())
    baseline = study.baselines[study.cells.index(best)]
    length, texts = real(best.open, study.grid.judge)
    parts = [f"The lowest perplexity is {_read(ours)} ({where})"]
    if baseline and baseline.rows and "perplexity" in summary(baseline.rows):
        theirs = summary(baseline.rows)
        parts.append(
            f"the left-to-right model, read by itself, has {_read(theirs)}, "
            f"in {theirs['seconds'].mean:.2g} s a text instead of {ours['seconds'].mean:.2g} s"
        )
    if "perplexity" in texts:
        parts.append(f"real text of {length} tokens has {_read(texts)}")
    return ["; ".join(parts) + "."]


def _read(found: dict[str, Spread]) -> str:
    """A perplexity, and the entropy without which it says nothing."""
    return f"{found['perplexity'].mean:.1f} at word entropy {found['entropy'].mean:.2f}"


def _monotonous(study: Study, done: list[Cell]) -> list[str]:
    for cell in done:
        ours, (_, texts) = summary(cell.rows), real(cell.open, study.grid.judge)
        if cell.open < SHORTEST:
            continue
        poor, repeats = _ratio(ours, texts, "entropy"), _ratio(ours, texts, "repetition")
        if poor < LITTLE or (repeats > MUCH and ours["repetition"].mean > 0.05):
            where = ", ".join(f"{name} {shown(value)}" for name, value in cell.place.items())
            return [
                f"Mind the entropy beside the perplexity: at {where} it is {poor:.0%} of that of real text; "
                "monotonous text is easy to predict."
            ]
    return []


def _ratio(ours: dict[str, Spread], texts: dict[str, Spread], name: str) -> float:
    return ours[name].mean / texts[name].mean if texts[name].mean else math.inf


def _few(study: Study) -> list[str]:
    if study.grid.seeds > 1:
        return []
    return ["With one seed there are no error bars: nothing says how far another seed's text would be from it."]


def shown(value) -> str:
    """A swept value as a reader writes it."""
    return (
        {True: "on", False: "off"}[value]
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
