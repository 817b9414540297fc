"""What a batch is to write: items from a list or a file, each with its recipe or with why it has none."""

import csv
import io
import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from playground import environment
from playground.denoisers.zoo import ModelError
from playground.recipe import EDIT_FIELDS, GENERATE_FIELDS, MAX_SEED, Recipe, RecipeError, check_ranges, typed

KNOBS = {f.name: f for f in fields(Recipe)}
KINDS = (".txt", ".csv", ".jsonl")
LONGEST_LINE = 200_000  # characters; a prompt of 20,000 with every one of them escaped has 120,000
NEWLINE = re.compile(r"\r\n|\n|\r")  # not str.splitlines, which cuts at characters that a text may hold


@dataclass(frozen=True)
class Item:
    """One thing to write. `given` is what was read; `recipe` what it comes to, its seed set, or `error` why not."""

    index: int  # from 0
    place: str  # "line 3" or "item 3", from 1
    id: str | None
    given: object
    recipe: Recipe | None = None
    error: str | None = None
    kind: str | None = None  # of the error, without any words of the item


def most_lines() -> int:
    """Items a list or a file may have."""
    return environment.count("PLAYGROUND_BATCH_LINES")


def most_bytes() -> int:
    """Bytes a file may have."""
    return environment.count("PLAYGROUND_UPLOAD_BYTES")


def checked(values: Mapping) -> dict:
    """Knobs for all items, as their types; None is not given. What does not concern an item, such as the length for an
    item with a text, is left out of it. Raises RecipeError, naming the field."""
    for name in values:
        if name not in KNOBS:
            raise RecipeError(str(name)[:40], f"there is no such field; the fields are {', '.join(KNOBS)}.")
    base = {name: typed(KNOBS[name], value) for name, value in values.items() if value is not None}
    model = {name: value for name, value in base.items() if name == "model"}
    sampler = {} if base.get("sampler", "") else {"sampler": Recipe.parse(model).sampler}
    check_ranges(replace(Recipe.parse(model), **base | sampler))
    return base


def drawn(base: Mapping) -> dict:
    """The knobs with a seed: -1, or none, is drawn here, once."""
    seed = base.get("seed", -1)
    return dict(base) | {"seed": secrets.randbelow(MAX_SEED + 1) if seed == -1 else seed}


def listed(given: Sequence, base: Mapping) -> list[Item]:
    """Items from prompts and from tables of Recipe fields, with the knobs `base`, see `drawn`. An item's own fields
    win; one with a `text` is an infilling; its seed, if it has none, is the seed of `base` + its index. Raises
    RecipeError on what is no list or too long; an item that cannot be used has an `error`."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
        raise RecipeError("items", f"are {type(given).__name__}; a list of prompts or of tables of fields is needed.")
    return _items([(f"item {i + 1}", value, None) for i, value in enumerate(given)], base, "items")


def read(name: str, data: bytes, base: Mapping) -> list[Item]:
    """Items from the bytes of a file, by the end of its name: .txt, a prompt a line; .csv, with a header of Recipe
    fields, where an empty cell is not given; .jsonl, a line a string or an object of Recipe fields. The last two may
    have an `id`. Blank lines are no items. Otherwise as `listed`; also raises RecipeError on a file that cannot be
    read as a whole."""
    kind = kind_of(name)
    if len(data) > most_bytes():
        raise RecipeError("file", f"has {len(data):,} bytes; allowed: {most_bytes():,}.")
    text = _decoded(data)
    rows = {".txt": _lines, ".csv": _table, ".jsonl": _objects}[kind](text)
    return _items(list(rows), base, "file")


def read_file(path: Path | str, base: Mapping) -> list[Item]:
    """`read` of a file on the disk. Raises OSError as well."""
    return read(Path(path).name, file_bytes(path), base)


def file_bytes(path: Path | str) -> bytes:
    """A file's bytes, no more than it takes to see that they are too many."""
    with Path(path).open("rb") as file:
        return file.read(most_bytes() + 1)


def kind_of(name: str) -> str:
    """.txt, .csv or .jsonl. Raises RecipeError."""
    kind = next((kind for kind in KINDS if name.lower().endswith(kind)), None)
    if kind is None:
        raise RecipeError("file", f"{name[-40:]!r} is of an unknown kind; allowed: {', '.join(KINDS)}.")
    return kind


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + len(NEWLINE.findall(data[: error.start].decode("utf-8", "replace")))
        raise RecipeError("file", f"line {line} is not UTF-8 text; save the file as UTF-8.") from None


def _items(rows: list[tuple[str, object, str | None]], base: Mapping, what: str) -> list[Item]:
    """Items from (place, what was read, why it cannot be used or None)."""
    if not rows:
        raise RecipeError(what, "there is nothing to write in it.")
    if len(rows) > most_lines():
        raise RecipeError(what, f"{len(rows):,} items are too many; allowed: {most_lines():,}.")
    return [_item(index, place, value, error, base) for index, (place, value, error) in enumerate(rows)]


def _item(index: int, place: str, value, error: str | None, base: Mapping) -> Item:
    item = Item(index, place, None, value)
    if error:
        return replace(item, error=f"{place}: {error}", kind="unreadable")
    try:
        own = _own(value)
        item = replace(item, id=_id(own.pop("id", None)))
        return replace(item, recipe=Recipe.parse(_merged(own, base, index)))
    except RecipeError as problem:
        return replace(item, error=f"{place}: {problem}", kind=f"field {problem.field}"[:60])
    except ModelError as problem:
        return replace(item, error=f"{place}: {problem}", kind="model")


def _own(value) -> dict:
    if isinstance(value, str):
        return {"prompt": value}
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: own for name, own in value.items() if own is not None}
    raise RecipeError("item", f"is {type(value).__name__}; a prompt or a table of fields is needed.")


def _id(value) -> str | None:
    if value is None or (isinstance(value, str) and len(value) <= 200):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 64:
        return str(value)
    raise RecipeError("id", "must be a whole number or text of at most 200 characters.")


def _merged(own: dict, base: Mapping, index: int) -> dict:
    kept = EDIT_FIELDS if own.get("text", base.get("text") if "prompt" not in own else "") else GENERATE_FIELDS
    merged = {name: value for name, value in base.items() if name in kept} | own
    if "seed" not in own or str(own["seed"]).strip() == "-1":
        merged["seed"] = (base["seed"] + index) % (MAX_SEED + 1)
    return merged


def _lines(text: str) -> Iterator[tuple[str, object, str | None]]:
    for number, line in enumerate(NEWLINE.split(text), 1):
        if line.strip():
            yield f"line {number}", *_bounded(line)


def _bounded(line: str) -> tuple[str, str | None]:
    """A line, or the beginning of one that is too long and that this is said of."""
    if len(line) <= LONGEST_LINE:
        return line, None
    return line[:200], f"has {len(line):,} characters; allowed: {LONGEST_LINE:,}."


def _objects(text: str) -> Iterator[tuple[str, object, str | None]]:
    for place, line, error in _lines(text):
        if error:
            yield place, line, error
            continue
        try:
            yield place, json.loads(line, object_pairs_hook=_each_once), None
        except (ValueError, RecursionError) as problem:
            yield place, line, f"is not JSON ({problem})."


def _each_once(pairs: list[tuple]) -> dict:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice[:40]!r} is there twice")
    return dict(pairs)


def _table(text: str) -> Iterator[tuple[str, object, str | None]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header, before = None, 0
    try:
        for row in reader:
            place, before = f"line {before + 1}", reader.line_num
            if not any(cell.strip() for cell in row):
                continue
            if header is None:
                header = _header([cell.strip() for cell in row], place)
            elif len(row) != len(header):
                yield place, ",".join(row)[:200], f"has {len(row)} cells; the header has {len(header)}."
            elif sum(map(len, row)) > LONGEST_LINE:
                yield place, *_bounded(",".join(row))
            else:
                yield place, {name: cell for name, cell in zip(header, row, strict=True) if cell != ""}, None
    except csv.Error as error:
        raise RecipeError("file", f"line {before + 1} is not CSV ({error}).") from None


def _header(names: list[str], place: str) -> list[str]:
    for name in names:
        if name not in KNOBS and name != "id":
            raise RecipeError(
                "file", f"{place} is the header, and {name[:40]!r} is no field; the fields are id, {', '.join(KNOBS)}."
            )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise RecipeError("file", f"{place} is the header, and {twice} is there twice.")
    return names
