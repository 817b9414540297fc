"""What the interfaces say of a run and of the models, in one form for all of them."""

from dataclasses import asdict

from playground.batches.runner import Batch, Result
from playground.denoisers import zoo
from playground.studies.grid import Study
from playground.studies.race import Heat
from playground.studies.sentences import said
from playground.studies.summary import real, table
from playground.trace import Trace


def summary(trace: Trace) -> dict:
    """A finished run for machines."""
    return {
        "text": trace.text,
        "texts": trace.texts,
        "seed": trace.recipe.seed,
        "seeds": trace.recipe.seeds,
        "steps": len(trace.frames) - 1,
        "evaluations": trace.frames[-1]["e"],
        "seconds": round(trace.seconds, 4),
        "tokens_per_second": round(trace.tokens_per_second, 1),
        "note": trace.head["note"],
        "recipe": trace.head["recipe"],
    }


def edit(trace: Trace) -> dict:
    """A finished edit for machines: as `summary`, of the best row, and every alternative."""
    alternatives = [
        {"text": text, "seed": seed, "written": written} | score
        for text, seed, written, score in zip(
            trace.texts, trace.recipe.seeds, trace.written, trace.end["scores"], strict=True
        )
    ]
    best = alternatives[trace.best]
    about = {"written": best["written"], "unchanged": trace.end["unchanged"], "checked": trace.end["checked"]}
    return summary(trace) | {"text": best["text"], "seed": best["seed"]} | about | {"alternatives": alternatives}


def path(trace: Trace) -> dict:
    """A finished path for machines: the text of each point with what was measured of it, and the facts of the run."""
    found = trace.end["path"]
    points = [
        {
            "weight": row["weight"], "text": text,
            "similarity": [{k: v if k == "name" else v[i] for k, v in s.items()} for s in found["similarity"]],
            "edits": {end: counts[i] for end, counts in found["edits"].items()},
            "perplexity": found["perplexity"][i] if found["perplexity"] else None,
        }
        for i, (row, text) in enumerate(zip(trace.head["rows"], trace.texts, strict=True))
    ]  # fmt: skip
    left_out = ("text", "seeds", "recipe")  # of one text of a recipe
    run = {key: value for key, value in summary(trace).items() if key not in left_out}
    return run | {"exact": found["exact"], "points": points, "blend": trace.head["blend"]}


def compare(study: Study) -> dict:
    """A finished comparison for machines: a row for each text, means and spread for each cell, the left-to-right runs
    beside them, real text, and what the numbers show."""
    lengths = dict.fromkeys(cell.open for cell in study.cells)
    texts = {}
    for length in lengths:
        measured, found = real(length, study.grid.judge)
        texts[str(length)] = {"measured_at": measured} | {name: asdict(spread) for name, spread in found.items()}
    return {
        "grid": study.grid.to_dict(),
        "seeds": study.cells[0].recipe.seeds,
        "rows": study.rows,
        "cells": table(study),
        "baselines": [row for cell in study.distinct_baselines for row in cell.rows],
        "real": texts,
        "failed": study.failed,
        "said": said(study),
    }


def race(heat: Heat) -> dict:
    """A finished race for machines: of each lane its text, its place and what it came to, and how it ended."""
    lanes = [
        result | {"text": trace.text, "status": trace.end["status"], "message": trace.end["message"]}
        for result, trace in zip(heat.results, heat.traces, strict=True)
    ]
    return {"seed": heat.race.recipe.seed, "judge": heat.judge, "lanes": lanes, "race": heat.race.to_dict()}


def step(trace: Trace) -> dict:
    """A run that goes on, for machines: where it is, and its texts so far."""
    frame = trace.frames[-1]
    return {
        "status": "running", "step": frame["s"], "of": frame["n"], "evaluations": frame["e"],
        "seconds": round(trace.seconds, 4), "text": trace.text, "texts": trace.texts,
    }  # fmt: skip


def progress(batch: Batch) -> dict:
    """A batch that goes on, for machines."""
    left = batch.left if batch.left is None else round(batch.left, 1)
    counted = {"done": batch.done, "failed": batch.failed, "total": batch.total}
    return {"status": "running"} | counted | {"share": round(batch.share, 3), "seconds_left": left}


def batch(batch: Batch, results: list[Result]) -> dict:
    """A finished batch for machines: every result, in the order of the items."""
    counted = {"done": batch.done, "failed": batch.failed, "total": batch.total}
    ordered = sorted(results, key=lambda result: result.index)
    return {"status": "finished"} | counted | {"results": [result.to_dict() for result in ordered]}


def models() -> list[dict]:
    """Every model here: name, family, parameters, and the precision it runs in."""
    loaded = (zoo.load(name) for name in zoo.catalogue())
    return [{"name": m.name, "family": m.family, "parameters": m.parameters, "dtype": m.dtype} for m in loaded]
