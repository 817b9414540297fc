"""What an evaluation is asked for: its settings, checked, from the texts of a command line."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

from playground import judges
from playground.recipe import Recipe, RecipeError
from playground.training.data import parse_shares

LENGTH = 64  # cells in a row
MAX_SAMPLES = 100_000


@dataclass(frozen=True)
class Settings:
    """What to evaluate. `recipe` holds the model, the sampler, the first seed and every other knob; `steps` and
    `temperatures` (empty unless the temperature is swept) take the place of its own."""

    recipe: Recipe
    steps: list[int]
    temperatures: list[float]
    samples: int
    judge: str
    corpus: str | None
    shares: dict[str, float] | None
    infill: bool
    interpolate: bool

    @classmethod
    def parse(cls, values: Mapping) -> "Settings":
        """Checked settings from the command line's texts; absent ones take their defaults. Raises RecipeError."""
        given = {name: value for name, value in values.items() if value is not None}
        fields = {name: given[name] for name in ("model", "sampler", "temperature", "seed") if name in given}
        recipe = Recipe.parse({"seed": 1000, "length": LENGTH} | fields | _knobs(given.get("knobs", []))).resolved()
        sweeps = "frontier" in given
        steps = _numbers("steps", given.get("steps", "32" if sweeps else "8,16,32,64"), recipe)
        temperatures = _numbers("temperature", given["frontier"], recipe, "frontier") if sweeps else []
        if sweeps and len(steps) > 1:
            raise RecipeError("steps", f"frontier sweeps the temperature at one number of steps, not at {len(steps)}.")
        if sweeps and "temperature" in given:
            raise RecipeError("temperature", "frontier sweeps the temperature; leave one of the two out.")
        if given.get("judge", "bundled") not in judges.JUDGES:
            raise RecipeError("judge", f"{given['judge'][:40]!r} is unknown; allowed: {', '.join(judges.JUDGES)}.")
        if given.get("infill") and "corpus" not in given:
            raise RecipeError("corpus", "is missing; infill hides the middle of real held-out text.")
        if given.get("interpolate") and "corpus" not in given:
            raise RecipeError("corpus", "is missing; interpolate pairs real held-out texts.")
        if "shares" in given and "corpus" not in given:
            raise RecipeError("corpus", "is missing; shares name the files of a corpus.")
        return cls(
            recipe, steps, sorted(temperatures), _samples(given.get("samples", 256)), given.get("judge", "bundled"),
            given.get("corpus"), parse_shares(",".join(given["shares"])) if "shares" in given else None,
            bool(given.get("infill")), bool(given.get("interpolate")),
        )  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's options; `Settings.parse` checks what they hold."""
    for name, metavar, help in (
        ("model", "M", "Which model."),
        ("judge", "NAME", f"Which language model reads the texts: {', '.join(judges.JUDGES)} (default bundled)."),
        ("corpus", "DIR", "A folder of .txt files: real text for the reference rows and the share memorised."),
        ("steps", "N,...", "Step counts (default 8,16,32,64; with --frontier one, 32)."),
        ("samples", "N", "Texts for each row of the table (default 256; at most the held-out texts of the corpus)."),
        ("temperature", "T", "Temperature (default 0.7)."),
        ("sampler", "S", "Sampler (default the family's first)."),
        ("frontier", "T,...", "Sweep these temperatures and find where the texts are as diverse as real ones."),
        ("seed", "N", "Seed of the first text; text i uses seed + i (default 1000)."),
    ):
        parser.add_argument(f"--{name}", metavar=metavar, help=help)
    parser.add_argument(
        "--share", "--shares", dest="shares", action="append", metavar="FILE=SHARE",
        help="As for train: the corpus files the model was trained on, repeated or parted by commas; the held-out "
        "texts are the first's.",
    )  # fmt: skip
    parser.add_argument(
        "--set", dest="knobs", action="append", metavar="NAME=VALUE", help="Any other field of the recipe; repeated."
    )
    parser.add_argument("--infill", action="store_true", help="Also hide the middle of real texts and fill it.")
    parser.add_argument(
        "--interpolate", action="store_true",
        help="Also lead paths between held-out texts, by every method, at the last number of steps.",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="Print one line of JSON.")


def _knobs(pairs: list[str]) -> dict[str, str]:
    """NAME=VALUE, ... -> fields of a Recipe, unchecked."""
    bad = [pair for pair in pairs if "=" not in pair]
    if bad:
        raise RecipeError("set", f"cannot read {bad[0][:40]!r}; write NAME=VALUE, as in block=16.")
    knobs = dict(pair.split("=", 1) for pair in pairs)
    taken = knobs.keys() & {"model", "sampler", "steps", "temperature", "seed", "samples", "prompt", "pins"}
    if taken:
        raise RecipeError("set", f"{min(taken)} has an option of its own or no meaning here.")
    return knobs


def _numbers(knob: str, text: str, recipe: Recipe, field: str | None = None) -> list:
    """Numbers parted by commas, each checked as that knob of the recipe; errors name `field`."""
    try:
        parts = (part.strip() for part in str(text).split(","))
        values = [getattr(Recipe.parse({"model": recipe.model, knob: part}), knob) for part in parts]
    except RecipeError as error:
        raise RecipeError(field or knob, str(error).removeprefix(f"{knob}: ")) from None
    return list(dict.fromkeys(values))


def _samples(value) -> int:
    try:
        count = int(str(value))
    except ValueError:
        count = 0
    if not 1 <= count <= MAX_SAMPLES:
        shown = repr(str(value)[:40])
        raise RecipeError("samples", f"{shown} is not allowed; allowed: whole numbers from 1 to {MAX_SAMPLES}.")
    return count
