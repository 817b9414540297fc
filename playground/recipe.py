"""Every knob of one run. Sliders, API, command line, share links and trace files all come from this class,
and nothing else validates."""

import json
import math
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from urllib.parse import parse_qsl, urlencode

from playground import environment, marks
from playground.denoisers import zoo
from playground.samplers import SAMPLERS
from playground.schedules import SCHEDULES

MAX_SEED = 2**31 - 1
MAX_PROMPT_CHARACTERS = 20_000  # refused before the tokenizer sees it
LIMITED = ("length", "steps", "samples")  # whose highest value the environment can lower
TRIED = 4  # lengths of a hole that may have any
PIN = re.compile(r'\s*(\d{1,9})\s*:\s*("(?:[^"\\]|\\.)*"|[^,"\s](?:[^,"]*[^,"\s])?)\s*(?:,|$)')


class RecipeError(ValueError):
    """A field that cannot be used: which, what it was, and what is allowed."""

    def __init__(self, field: str, message: str):
        self.field = field
        super().__init__(f"{field}: {message}")


def knob(default, label: str, help: str, low=None, high=None, choices=None):
    """A Recipe field. `low`, `high`: range of a number; `choices`: a function of the recipe -> names."""
    metadata = {"label": label, "help": help, "low": low, "high": high, "choices": choices}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def _family(recipe: "Recipe") -> str:
    return zoo.catalogue()[recipe.model]


@dataclass(frozen=True)
class Recipe:
    """One run. Build it with `Recipe.parse`, which checks every field; units and ranges are in the field list."""

    model: str = knob("stories-continuous", "Model", "Which trained denoiser runs.", choices=lambda r: zoo.catalogue())
    prompt: str = knob("", "Prompt", "The text the row starts with. Empty: unconditional, nothing is given.")
    text: str = knob(
        "", "Text", "A text to edit: [[words]] are rewritten, [[+8]] asks for 8 new tokens, [[?]] for any number."
    )  # fmt: skip
    length: int = knob(64, "Length", "Cells in the row, in tokens, the prompt included.", 8, 512)
    steps: int = knob(32, "Steps", "Denoising steps from noise to text; if not given, one for two cells.", 1, 256)
    sampler: str = knob(
        "", "Sampler", "How the next row is made from the denoiser's answer.", choices=lambda r: SAMPLERS[_family(r)]
    )
    temperature: float = knob(0.7, "Temperature", "Below 1 safer words, above 1 wilder; 0 takes the best.", 0.0, 2.0)
    guidance: float = knob(0.0, "Guidance", "Push towards what the given cells ask for; doubles the work.", 0.0, 5.0)
    churn: float = knob(1.0, "Churn", "Share of fresh noise at each step of sde; 0 is the ODE.", 0.0, 1.0)
    self_conditioning: bool = knob(True, "Self-conditioning", "Show the denoiser its own last estimate.")
    schedule: str = knob(
        "learned", "Noise schedule", "How the noise falls over the steps.", choices=lambda r: SCHEDULES
    )
    rounding: str = knob(
        "contextual", "Rounding", "How latents become tokens: by the denoiser, or by the nearest embedding alone.",
        choices=lambda r: ("contextual", "nearest"),
    )  # fmt: skip
    threshold: float = knob(0.9, "Threshold", "Sampler threshold: commit every token above this probability.", 0.0, 1.0)
    bound: float = knob(
        0.1, "Entropy bound", "Sampler entropy_bound: nats of doubt that the cells kept in a step may add up to.",
        0.0, 10.0,
    )  # fmt: skip
    top_k: int = knob(0, "Top-k", "Draw among this many best tokens only; 0 among all.", 0, 4096)
    top_p: float = knob(1.0, "Top-p", "Draw among the fewest best tokens that hold this much probability.", 0.0, 1.0)
    eta: float = knob(0.1, "Remasking", "Sampler remask: chance that a filled cell is masked again.", 0.0, 1.0)
    strength: float = knob(
        1.0, "Strength", "How far the marked words of a text are noised first: 0 keeps them, 1 forgets them.", 0.0, 1.0
    )
    block: int = knob(
        0, "Block", "Finish this many cells, then go on to the next ones; 0: the whole row at once.", 0, 128
    )
    refine: int = knob(
        0, "Refine", "Rounds at the end in which doubtful words are chosen again with the autoregressive model.", 0, 8
    )
    seed: int = knob(-1, "Seed", "The same seed gives the same text; -1 is drawn once and reported.", -1, MAX_SEED)
    samples: int = knob(1, "Samples", "Rows made together; row i uses seed + i.", 1, 8)
    pins: dict[int, str] = knob(
        {}, "Pinned words", 'Words fixed at a cell: 12:dragon, 20:park. In quotes: that exact text, 13:"ing".'
    )

    @classmethod
    def parse(cls, values: Mapping) -> "Recipe":
        """A checked recipe from loosely typed values (JSON, form, query string, command line); absent fields
        take their defaults. Raises RecipeError, naming the field, on anything unknown, mistyped or out of range."""
        known = {f.name: f for f in fields(cls)}
        for name in values:
            if name not in known:
                raise RecipeError(str(name)[:40], f"there is no such field; the fields are {', '.join(known)}.")
        recipe = cls()
        if recipe.model not in zoo.catalogue():
            recipe = replace(recipe, model=next(iter(zoo.catalogue()), ""))
        for name, f in known.items():
            if name in values and values[name] is not None:
                recipe = replace(recipe, **{name: typed(f, values[name])})
        if recipe.text:
            recipe = recipe._fitted_to_text(values)
        if values.get("steps") is None:
            recipe = replace(recipe, steps=advised_steps(recipe.length))
        return recipe._with_defaults()._checked()

    @staticmethod
    def edit(values: Mapping) -> Mapping:
        """The values of an edit, which needs a text. Raises RecipeError."""
        if values.get("text") in (None, ""):
            raise RecipeError("text", "is empty; write one, with what is to be rewritten in [[...]].")
        return values

    def resolved(self) -> "Recipe":
        """This recipe with a seed: -1 is drawn here, once."""
        return replace(self, seed=secrets.randbelow(MAX_SEED + 1)) if self.seed == -1 else self

    @property
    def seeds(self) -> list[int]:
        """The seed of each row. Row i alone, with its own seed, gives the same text."""
        return [(self.seed + i) % (MAX_SEED + 1) for i in range(self.samples)]

    def to_dict(self) -> dict:
        return asdict(self) | {"pins": {str(cell): word for cell, word in self.pins.items()}}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise RecipeError("recipe", f"is not JSON ({error}).") from None
        if not isinstance(values, dict):
            raise RecipeError("recipe", "must be a JSON object of fields.")
        return cls.parse(values)

    def to_query(self) -> str:
        """The fields that differ from their defaults, as a URL query; `from_query` gives this recipe back."""
        default = replace(Recipe(), model=self.model, steps=advised_steps(self.length))._with_defaults()
        values = {name: value for name, value in asdict(self).items() if value != getattr(default, name)}
        if self.model != Recipe().model:
            values["model"] = self.model
        if self.pins:
            values["pins"] = format_pins(self.pins)
        return urlencode(values)

    @classmethod
    def from_query(cls, query: str) -> "Recipe":
        return cls.parse(dict(parse_qsl(query, keep_blank_values=True)))

    def marked(self) -> marks.Marked:
        """The tokens and holes of `text`. Raises RecipeError."""
        if len(self.text) > MAX_PROMPT_CHARACTERS:
            raise RecipeError("text", f"has {len(self.text):,} characters; allowed: {MAX_PROMPT_CHARACTERS:,}.")
        try:
            return marks.parse(self.text, zoo.load(self.model).tokenizer)
        except ValueError as error:
            raise RecipeError("text", str(error)) from None

    def _fitted_to_text(self, values: Mapping) -> "Recipe":
        """With the length of the row that `text` makes, and a row for each length that is tried."""
        if self.model not in zoo.catalogue():
            return self
        marked = self.marked()
        _check_holes(marked)
        samples = TRIED if marked.open_ and values.get("samples") is None else self.samples
        if marked.open_ and samples < 2:
            raise RecipeError("samples", "1 is too few for [[?]]: each row tries another length; allowed: 2 to 8.")
        if marked.open_ and self.pins:
            raise RecipeError("pins", "need cells that stay where they are; give the hole a length, as in [[+8]].")
        rows = [marked.cells(marked.lengths(i, samples))[0] for i in range(samples)]
        low, high = bounds(type(self).__dataclass_fields__["length"])
        length = max(low, *map(len, rows))
        if length > high:
            raise RecipeError(
                "text", f"makes a row of {length:,} tokens, start and end mark included; allowed: {high}."
            )
        if values.get("length") is not None and self.length != length:
            raise RecipeError("length", f"is {self.length}, but text makes a row of {length} tokens; leave length out.")
        if self.prompt:
            raise RecipeError(
                "prompt", "is given together with text, which holds all the words; leave one of them out."
            )
        return replace(self, length=length, samples=samples)

    def _with_defaults(self) -> "Recipe":
        """An empty sampler becomes the first of the model's family."""
        if self.sampler or self.model not in zoo.catalogue():
            return self
        return replace(self, sampler=next(iter(SAMPLERS[_family(self)])))

    def _checked(self) -> "Recipe":
        if not zoo.catalogue():
            raise RecipeError("model", f"there is none in {zoo.models_folder()}.")
        check_ranges(self)
        if len(self.prompt) > MAX_PROMPT_CHARACTERS:
            raise RecipeError("prompt", f"has {len(self.prompt):,} characters; allowed: {MAX_PROMPT_CHARACTERS:,}.")
        if self.strength < 1 and not self.text:
            raise RecipeError("strength", "below 1 starts from the marked words of a text, and there is no text.")
        if self.text and self.block:
            raise RecipeError("block", f"is {self.block}, and a text with holes is written as a whole; leave it at 0.")
        return self


_NAMES = [f.name for f in fields(Recipe)]
GENERATE_FIELDS = [name for name in _NAMES if name not in ("text", "strength")]
EDIT_FIELDS = [name for name in _NAMES if name not in ("prompt", "length", "block")]  # a text holds all words and ends


def bounds(f) -> tuple:
    """The lowest and the highest value of a knob, None where it has no range; the environment can lower three."""
    low, high = f.metadata.get("low"), f.metadata.get("high")
    if f.name in LIMITED and f.type is int:
        return low, min(high, environment.count(f"PLAYGROUND_MAX_{f.name.upper()}"))
    return low, high


def check_ranges(settings) -> None:
    """Every knob of a dataclass within its range or among its choices, else RecipeError."""
    for f in fields(settings):
        value, (low, high), choices = getattr(settings, f.name), bounds(f), f.metadata.get("choices")
        if low is not None and not low <= value <= high:
            kind = "whole numbers" if f.type is int else "numbers"
            raise RecipeError(f.name, f"{_shown(value)} is out of range; allowed: {kind} from {low} to {high}.")
        if choices is not None and value not in (allowed := list(choices(settings))):
            raise RecipeError(f.name, f"{value[:40]!r} is unknown; allowed: {', '.join(allowed)}.")


def advised_steps(length: int) -> int:
    """How many steps a row of this length takes if nothing else is said: one for two cells, from 8 to
    as many as are allowed."""
    return min(environment.count("PLAYGROUND_MAX_STEPS"), max(8, math.ceil(length / 2)))


def _check_holes(marked: marks.Marked) -> None:
    if not marked.ids and not marked.holes:
        raise RecipeError("text", "is empty.")
    if not marked.holes:
        raise RecipeError("text", "has no hole, so there is nothing to write; mark words as in [[park]].")
    if not marked.kept:
        raise RecipeError("text", "is marked from end to end, so nothing of it is kept; to start anew, use a prompt.")


def parse_pins(text: str) -> dict[int, str]:
    """`12:dragon, 13:"ing"` -> {12: 'dragon', 13: '"ing"'}."""
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise RecipeError("pins", f"has {len(text):,} characters; allowed: {MAX_PROMPT_CHARACTERS:,}.")
    pins, at, end = {}, 0, len(text.rstrip(" ,"))
    while at < end:
        match = PIN.match(text, at)
        if not match:
            raise RecipeError("pins", f"cannot read {text[at : at + 40]!r}; write cell:word, as in 12:dragon, 20:park.")
        cell, word = match.groups()
        _check_quotes(cell, word)
        if int(cell) in pins:
            raise RecipeError("pins", f"cell {cell} is pinned twice.")
        pins[int(cell)] = word
        at = match.end()
    return pins


def _check_quotes(cell: str, word: str) -> None:
    try:
        json.loads(word if word.startswith('"') else '""')
    except ValueError as error:
        raise RecipeError("pins", f"the quoted text at cell {cell} is not a JSON string ({error.args[0]}).") from None


def format_pins(pins: Mapping[int, str]) -> str:
    """The inverse of `parse_pins`."""
    return ", ".join(f"{cell}:{word}" for cell, word in pins.items())


def typed(f, value):
    """`value` as the field's type, where nothing is lost by it; else RecipeError."""
    if f.name == "pins":
        return _typed_pins(value)
    if f.type is str:
        if not isinstance(value, str):
            raise RecipeError(f.name, f"{_shown(value)} is not text.")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise RecipeError(
                f.name, f"character {error.start + 1} is half of a surrogate pair, which is not text."
            ) from None
        return value
    if f.type is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "1", "on", "yes", "false", "0", "off", "no"):
            return str(value).lower() in ("true", "1", "on", "yes")
        raise RecipeError(f.name, f"{_shown(value)} is neither true nor false.")
    low, high = bounds(f)
    whole = f.type is int
    wanted = f"{'whole numbers' if whole else 'numbers'} from {low} to {high}"
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str) or "_" in str(value):
            raise ValueError
        number = (
            int(value)
            if whole and isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,19}\s*", value)
            else float(value)
        )
        if not math.isfinite(number) or (whole and number != int(number)):
            raise ValueError
    except (ValueError, OverflowError):
        raise RecipeError(f.name, f"{_shown(value)} is not allowed; allowed: {wanted}.") from None
    return int(number) if whole else float(number)


def _typed_pins(value) -> dict[int, str]:
    if isinstance(value, str):
        text = value.strip()
        if not text.startswith("{"):
            return parse_pins(text)
        try:
            value = json.loads(text, object_pairs_hook=_each_once)
        except (ValueError, RecursionError) as error:
            raise RecipeError("pins", f"is not JSON ({error}).") from None
    if not isinstance(value, Mapping):
        raise RecipeError("pins", f"{_shown(value)} is not a table of cells and words.")
    text = ", ".join(f"{cell}:{word}" for cell, word in value.items())
    pins = parse_pins(text)
    if pins != {int(cell) if str(cell).isdecimal() else cell: word for cell, word in value.items()}:
        raise RecipeError(
            "pins", f"cannot read {_shown(value)}; a word with a comma or a quote needs quotes around it."
        )
    return pins


def _each_once(pairs: list[tuple]) -> dict:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RecipeError("pins", f"cell {twice[:40]} is pinned twice.")
    return dict(pairs)


def _shown(value) -> str:
    """A value as an error may show it: short, whatever it is."""
    if isinstance(value, int) and value.bit_length() > 64:
        return "a number of more than 19 digits"
    return repr(value if isinstance(value, int | float) else str(value)[:40])
