"""Results as files: JSONL, which is exact, and CSV, which opens in a spreadsheet.

A spreadsheet takes a cell that begins with = + - @ or a control character for a formula, and a text is data. In the CSV
a text that begins with one of these, or with an apostrophe, has an apostrophe put before it: spreadsheets show the
text, and whoever reads the file takes one apostrophe away, if there is one, and has the text as it was. The JSONL
holds every text unchanged.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping

RUN = ("model", "sampler", "length", "steps", "temperature", "seed", "samples")
FIGURES = ("tokens", "seconds", "perplexity", "entropy", "distinct_2", "repetition")
COLUMNS = ("index", "place", "id", "status", "text", "prompt", "edited", *RUN, *FIGURES,
           "marks", "error", "tries", "texts", "recipe")  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


def jsonl(results: Iterable[Mapping]) -> str:
    """A line of JSON for each result, as `Result.to_dict` gives them."""
    return "".join(line(result) for result in results)


def line(data) -> str:
    """One line of JSON; characters that are no text on their own, halves of surrogate pairs, are escaped."""
    text = json.dumps(data, ensure_ascii=False)
    return (text if _is_text(text) else json.dumps(data)) + "\n"


def csv_text(results: Iterable[Mapping]) -> str:
    """The line of COLUMNS, then `csv_lines`."""
    return _csv([COLUMNS]) + csv_lines(results)


def csv_lines(results: Iterable[Mapping]) -> str:
    """A line for each result, for COLUMNS: `prompt` or `edited`, the text with its holes, is what it was made from;
    `marks` are joined by "; ", `texts` and `recipe` are JSON. Lines end as RFC 4180 has it."""
    return _csv([protected(cell) for cell in _row(result)] for result in results)


def _csv(rows: Iterable[Iterable]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def protected(cell):
    """A cell that no spreadsheet takes for a formula."""
    if not isinstance(cell, str):
        return cell
    cell = cell if _is_text(cell) else cell.encode("utf-8", "backslashreplace").decode()
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _row(result: Mapping) -> list:
    recipe = result["recipe"] if isinstance(result["recipe"], Mapping) else {}
    cells = dict(result) | {name: recipe.get(name) for name in ("prompt", *RUN)} | {"edited": recipe.get("text")}
    cells["marks"] = "; ".join(result["marks"])
    cells["texts"] = json.dumps(result["texts"], ensure_ascii=False) if "texts" in result else None
    cells["recipe"] = json.dumps(result["recipe"], ensure_ascii=False)
    return [_plain(cells.get(name)) for name in COLUMNS]


def _plain(cell):
    return cell if cell is None or isinstance(cell, str | int | float) else json.dumps(cell)


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
