"""The command line: text to stdout, progress to stderr, `--json` for machines; status 2 on a wrong field."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from playground import __version__, environment, interpolation
from playground.denoisers import zoo
from playground.engine import RunError, record
from playground.environment import SettingError
from playground.interfaces import batch_command, bench, doctor, export_command, facts, tables
from playground.interpolation import Blend
from playground.recipe import EDIT_FIELDS, GENERATE_FIELDS, Recipe, RecipeError, bounds
from playground.studies import grid
from playground.studies import race as races
from playground.studies.grid import Grid, Study
from playground.studies.race import Race
from playground.studies.speed import duration
from playground.studies.throughput import ONE
from playground.trace import Trace
from playground.training import evaluate, settings, stages
from playground.training.checkpoint import TrainingError
from playground.training.data import CorpusError
from playground.training.report import table

REFUSED, FAILED = 2, 1
KNOBS = {f.name: f for f in fields(Recipe)}
PATH = {f.name: f for f in fields(Blend) if f.name != "recipe"}
BENCH = {f.name: f for f in fields(bench.Bench) if f.metadata}
GRID = {f.name: f for f in fields(Grid) if f.name not in ("base", "axes")}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(arguments, argparse.Namespace(arguments=arguments))
    try:
        environment.check()
        return options.command(options) or 0
    except (RecipeError, zoo.ModelError, SettingError, TrainingError, CorpusError) as error:
        print(f"playground: {error}", file=sys.stderr)
        return REFUSED
    except (RunError, OSError) as error:
        print(f"playground: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("playground: stopped.", file=sys.stderr)
        return 130


def generate(options) -> None:
    """Run one recipe."""
    trace = _finished(options, record(Recipe.parse(_given(options, GENERATE_FIELDS))))
    if options.json:
        print(json.dumps(facts.summary(trace), ensure_ascii=False))
        return
    print("\n\n".join(trace.texts))
    note = f"{trace.head['note']} " if trace.head["note"] else ""
    print(f"{note}{_speed(trace)}", file=sys.stderr)


def infill(options) -> None:
    """Write the marked parts of a text anew: The dog ran to the [[park]]."""
    trace = _finished(options, record(Recipe.parse(Recipe.edit(_given(options, EDIT_FIELDS)))))
    if options.json:
        print(json.dumps(facts.edit(trace), ensure_ascii=False))
        return
    print("\n\n".join(trace.texts if options.samples else [trace.text]))
    kept = "identical" if trace.end["unchanged"] else "NOT all identical"
    print(f"{_speed(trace)}; {trace.end['checked']} given tokens checked: {kept}", file=sys.stderr)


def interpolate(options) -> None:
    """Lead a path of texts from one to another."""
    trace = _finished(
        options, interpolation.record(Blend.parse(_given(options, [*PATH, *interpolation.RECIPE_FIELDS])))
    )
    if options.json:
        print(json.dumps(facts.path(trace), ensure_ascii=False))
        return
    for row, text in zip(trace.head["rows"], trace.texts, strict=True):
        print(f"{int(100 * row['weight'] + 0.5):3d}%  {text}")
    note = f"{trace.head['note']} " if trace.head["note"] else ""
    print(f"{note}{_speed(trace)}", file=sys.stderr)


def compare(options) -> None:
    """Run a grid: one or two knobs with several values, as in --steps 4,8,16, each with the same seeds."""
    study = Study(Grid.parse(_given(options, [*grid.RECIPE_FIELDS, *GRID])))
    print(f"about {duration(study.seconds)}", file=sys.stderr)
    for cell in study.run():
        _progress(f"{cell.place}, about {duration(study.left)} left")
    _progress("")
    study.checked()
    if options.csv:
        Path(options.csv).write_text(tables.rows_csv(study), encoding="utf-8", newline="")
    if options.traces:
        for i, cell in enumerate(study.distinct):
            cell.trace.save(Path(options.traces) / f"cell-{i}.json")
    print(json.dumps(facts.compare(study), ensure_ascii=False) if options.json else tables.compare(study))


def race(options) -> int | None:
    """Run one prompt through several models or samplers side by side."""
    for heat in races.record(Race.parse(_given(options, ["lanes", *races.SHARED]))):
        _progress(f"{len(heat.running)} of {len(heat.traces)} lanes running" if heat.running else "")
    if options.trace:
        heat.save(options.trace)
    if options.json:
        print(json.dumps(facts.race(heat), ensure_ascii=False))
    else:
        print(tables.race(heat))
    for name, trace in zip(heat.race.lanes, heat.traces, strict=True):
        if trace.end["status"] == "error":
            print(f"playground: {name}: {trace.end['message']}", file=sys.stderr)
    print(f"seed {heat.race.recipe.seed}. {races.HONEST}", file=sys.stderr)
    return FAILED if heat.failed else None


def _progress(line: str) -> None:
    """One line on the terminal in place of the last; "" takes it away."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _given(options, names: list[str]) -> dict:
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _finished(options, run: Iterator[Trace]) -> Trace:
    """The run, with its progress on the terminal, and saved where that is asked for."""
    for trace in run:
        frame = trace.frames[-1]
        _progress("" if trace.end else f"step {frame['s']} of {frame['n']}")
    if options.trace:
        trace.save(options.trace)
    if trace.end["status"] == "error":
        raise RunError(trace.end["message"])
    return trace


def _speed(trace: Trace) -> str:
    return (
        f"seed {trace.recipe.seed}, {trace.frames[-1]['e']} evaluations, {trace.seconds:.2f} s, "
        f"{trace.tokens_per_second:.0f} tokens/s"
    )


def models(options) -> None:
    """List the models."""
    found = facts.models()
    if options.json:
        print(json.dumps(found))
        return
    for model in found:
        print(f"{model['name']:<24} {model['family']:<12} {model['parameters'] / 1e6:5.1f} M  {model['dtype']}")
    if not found:
        print(f"No models in {zoo.models_folder()}.", file=sys.stderr)


def run_bench(options) -> None:
    """Measure this machine."""
    names = [*BENCH, *ONE, "training", "browser"]
    found = bench.measure(bench.Bench.parse(_given(options, names)), _progress)
    _progress("")
    if options.csv:
        Path(options.csv).write_text(bench.points_csv(found), encoding="utf-8", newline="")
    print(json.dumps(found) if options.json else bench.table(found))


def run_evaluate(options) -> None:
    """Measure a model's texts beside real ones."""
    found = evaluate.evaluate(settings.Settings.parse(vars(options)), _progress)
    _progress("")
    print(json.dumps({"arguments": options.arguments} | found, ensure_ascii=False) if options.json else table(found))


def train(options) -> None:
    """Train a denoiser on a folder of text; under torchrun on several processes."""
    stages.run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m playground", description="Text diffusion models, step by step.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=command.__doc__, description=command.__doc__)
        sub.set_defaults(command=command)
        return sub

    _run_arguments(add("generate", generate), [KNOBS[name] for name in GENERATE_FIELDS])
    _run_arguments(add("infill", infill), [KNOBS[name] for name in EDIT_FIELDS])
    _run_arguments(
        add("interpolate", interpolate), [*PATH.values(), *(KNOBS[name] for name in interpolation.RECIPE_FIELDS)]
    )
    sub = add("compare", compare)
    _knobs(sub, [*GRID.values(), *(KNOBS[name] for name in grid.RECIPE_FIELDS)])
    sub.add_argument("--csv", metavar="FILE", help="Also write a line for each text.")
    sub.add_argument("--traces", metavar="DIR", help="Also write the trace of every cell into this folder.")
    sub.add_argument("--json", action="store_true", help="Print JSON.")
    lanes = next(f for f in fields(Race) if f.name == "lanes")
    _run_arguments(add("race", race), [lanes, *(KNOBS[name] for name in races.SHARED)])
    sub = add("batch", batch_command.run)
    _knobs(sub, batch_command.KNOBS)
    batch_command.arguments(sub)
    sub = add("models", models)
    sub.add_argument("--json", action="store_true", help="Print JSON.")
    stages.arguments(add("train", train))
    sub = add("bench", run_bench)
    _knobs(sub, [*ONE.values(), *BENCH.values()])
    sub.add_argument("--csv", metavar="FILE", help="Also write a line for each point of throughput and latency.")
    sub.add_argument("--json", action="store_true", help="Print JSON.")
    sub.add_argument("--training", action="store_true", help="Also measure the speed of training.")
    sub.add_argument("--browser", action="store_true", help="Also measure streaming in Chromium (needs playwright).")
    settings.arguments(add("evaluate", run_evaluate))
    export_command.arguments(add("export", export_command.run))
    doctor.arguments(add("doctor", doctor.run))
    return parser


def _run_arguments(parser: argparse.ArgumentParser, knobs: list) -> None:
    _knobs(parser, knobs)
    parser.add_argument("--trace", metavar="FILE", help="Also write the whole run as a trace file (JSON).")
    parser.add_argument("--json", action="store_true", help="Print the result as one line of JSON.")


def _knobs(parser: argparse.ArgumentParser, knobs: list) -> None:
    for f in knobs:
        low, high = bounds(f)
        allowed = f" ({low} to {high})" if low is not None else ""
        parser.add_argument(f"--{f.name.replace('_', '-')}", help=f.metadata["help"].replace("%", "%%") + allowed)
