"""The train command: one family, or all of them in the order that pays (masked, then the others from it)."""

import math
import sys
from dataclasses import fields
from pathlib import Path

from playground.training import initial
from playground.training.checkpoint import STATE
from playground.training.data import parse_shares
from playground.training.objectives import OBJECTIVES
from playground.training.train import Plan, train

STAGES = ("masked", "continuous", "uniform", "autoregressive")
HELP = {
    "corpus": "Folder of .txt files. Documents are parted by <|endoftext|> lines, blank lines or line ends.",
    "output": "Folder of the model; with --family all, the folder of the model folders.",
    "family": f"{', '.join(OBJECTIVES)}, or all: masked first, then the others from it, each with the whole budget.",
    "init": "minilm, random, or a model (its name or folder) to start from.",
    "minutes": "Budget of computing time.",
    "tokens": "Budget of tokens.",
    "tokenizer": "A tokenizer.json; otherwise that of --init, else one is trained on the corpus.",
    "vocabulary": "Tokens of a tokenizer that is trained here.",
    "batch": "Cells in a batch.",
    "lr": "Learning rate of AdamW.",
    "ema": "Decay of the averaged weights, which are the ones saved.",
    "seed": "Seed of weights, rows and noise.",
    "save_minutes": "Minutes between two log lines and checkpoints.",
    "freeze_embeddings": "Continuous: leave the diffused embeddings as they are; steps are faster.",
}


def arguments(parser) -> None:
    """Add the options of `train`, one for each field of Plan."""
    for f in fields(Plan):
        flag = f"--{f.name.replace('_', '-')}"
        if f.name == "shares":
            parser.add_argument(
                "--share", action="append", default=[], metavar="FILE=SHARE",
                help="Share of the rows for a file; may be repeated, and then only the files named are used. The "
                "first is what the model is to write; the others are practice. Otherwise all files, by size.",
            )  # fmt: skip
        elif f.name == "shape":
            for name, size in initial.SHAPE.items():
                said = f"With --init random: {name.replace('_', ' ')} of the trunk (default {size})."
                parser.add_argument(f"--{name.replace('_', '-')}", type=int, help=said)
        elif f.type is bool:
            parser.add_argument(flag, action="store_true", help=HELP[f.name])
        else:
            needed = f.name in ("corpus", "output", "family")
            shown = "" if needed or f.default in ("", math.inf) else f" (default {f.default})"
            parser.add_argument(flag, type=f.type, required=needed, default=f.default, help=HELP[f.name] + shown)
    parser.add_argument("--resume", action="store_true", help="Go on with the training in --output.")
    parser.add_argument("--quiet", action="store_true", help="No progress bar.")


def run(options) -> None:
    """Train what the options ask for. Raises TrainingError, CorpusError or ModelError."""
    values = {f.name: getattr(options, f.name) for f in fields(Plan) if hasattr(options, f.name)}
    values["shares"] = parse_shares(",".join(options.share)) if options.share else {}
    values["shape"] = {name: getattr(options, name) for name in initial.SHAPE if getattr(options, name) is not None}
    if options.family != "all":
        _one(Plan(**values), options)
        return
    folder = Path(options.output)
    for family in STAGES:
        changes = {"family": family, "output": str(folder / family)}
        if family != "masked":
            changes |= {"init": str(folder / "masked"), "shape": {}, "tokenizer": ""}
        _one(Plan(**values | changes), options)


def _one(plan: Plan, options) -> None:
    resume = options.resume and (options.family != "all" or (Path(plan.output) / STATE).exists())
    training = train(plan, resume, options.quiet)
    if training.rank == 0:
        print(f"{plan.output}: {training.seen:,} tokens in {training.seconds / 60:.1f} minutes.", file=sys.stderr)
    if training.progress < 1:
        raise KeyboardInterrupt
