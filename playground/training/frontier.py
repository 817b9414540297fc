"""The temperature sweep: where texts are as diverse as real ones, and what their perplexity is there."""

from itertools import pairwise

from playground.quality import Quality

DIVERSITY, ENTROPY = 0.90, 0.97  # of the real texts' distinct-2 and word entropy: what a temperature has to keep


def frontier(rows: list[dict], real: Quality | None) -> dict:
    """The lowest temperature that keeps both the real texts' distinct-2 (90%) and their entropy (97%), between the
    measured ones by linear interpolation: `chosen`, or None and why."""
    if real is None:
        return {"chosen": None, "said": "Without a corpus there are no real texts to match."}
    points = [row for row in rows if row["perplexity"] is not None]
    chosen = match(points, DIVERSITY * real.distinct_2, ENTROPY * real.entropy)
    span = f"{rows[0]['temperature']:g} to {rows[-1]['temperature']:g}"
    wanted = f"{DIVERSITY:.0%} of the real distinct-2 and {ENTROPY:.0%} of the real entropy"
    if chosen is None:
        return {"chosen": None, "said": f"No temperature from {span} keeps {wanted}."}
    said = f"Temperature {chosen['temperature']:.3f} keeps {wanted}; perplexity {chosen['perplexity']:.2f}"
    if real.perplexity:
        chosen["perplexity_over_real"] = chosen["perplexity"] / real.perplexity
        said += f", {chosen['perplexity_over_real']:.2f} of real"
    lowest = chosen["temperature"] == points[0]["temperature"]
    said += ". It is the lowest that was measured: a lower one may keep them too." if lowest else "."
    return {"chosen": chosen, "said": said}


def match(points: list[dict], distinct_2: float, entropy: float) -> dict | None:
    """The lowest temperature at which both floors hold, and the figures there; `points` by rising temperature."""
    floors = {"distinct_2": distinct_2, "entropy": entropy}
    names = ("temperature", "perplexity", *floors)
    if points and all(points[0][name] >= floor for name, floor in floors.items()):
        return {name: points[0][name] for name in names}
    for a, b in pairwise(points):
        spans = [_span(a[name], b[name], floor) for name, floor in floors.items()]
        first, last = max(low for low, _ in spans), min(high for _, high in spans)
        if first <= last:
            return {name: a[name] + first * (b[name] - a[name]) for name in names}
    return None


def _span(a: float, b: float, floor: float) -> tuple[float, float]:
    """From which to which share of the way from a to b the floor holds; (1, 0) where it never does."""
    if a >= floor and b >= floor:
        return 0.0, 1.0
    if a < floor and b < floor:
        return 1.0, 0.0
    crossing = (floor - a) / (b - a)
    return (crossing, 1.0) if b > a else (0.0, crossing)
