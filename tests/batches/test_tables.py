import csv
import io
import json

import pytest

from playground.batches import tables
from playground.batches.runner import Result

RECIPE = {"model": "m", "sampler": "s", "length": 8, "steps": 2, "temperature": 0.7, "seed": 1}


def result(text: str, **fields) -> dict:
    return Result(0, "line 1", "x", "done", RECIPE | {"prompt": "p"}, text=text, **fields).to_dict()


def rows(text: str) -> list[dict]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\r=x", "\n=x", "'=1", "'", "''a"])
def test_no_text_becomes_a_formula_and_one_apostrophe_less_is_the_text(text):
    cell = rows(tables.csv_text([result(text)]))[0]["text"]
    assert cell == "'" + text and cell.removeprefix("'") == text
    assert json.loads(tables.jsonl([result(text)]))["text"] == text


@pytest.mark.parametrize("text", ["Tom", 'a "b", c\r\nd', "süß \U0001f436", "", "1 - 2 = -1", "a\u2028b"])
def test_other_texts_are_as_they_are(text):
    assert rows(tables.csv_text([result(text)]))[0]["text"] == text
    assert tables.jsonl([result(text)]).count("\n") == 1 and json.loads(tables.jsonl([result(text)]))["text"] == text


def test_the_columns_of_a_run():
    found = result("t", texts=["t", "u"], marks=["a", "b"], perplexity=3.5, tries=1, tokens=2)
    failed = Result(1, "line 2", None, "failed", "{bad", error="no").to_dict()
    one, two = rows(tables.csv_text([found, failed]))
    assert list(one) == list(tables.COLUMNS) and one["marks"] == "a; b" and json.loads(one["texts"]) == ["t", "u"]
    assert (one["prompt"], one["steps"], one["perplexity"], one["edited"]) == ("p", "2", "3.5", "")
    assert (two["error"], two["text"], two["model"]) == ("no", "", "")
    assert tables.csv_text([found]).count("\r\n") == 2 and "texts" not in result("t", texts=["t"])


def test_a_half_of_a_pair_can_be_written():
    broken = Result(0, "line 1", "\ud800", "failed", {"prompt": "\ud800"}, error="no").to_dict()
    assert json.loads(tables.jsonl([broken]).encode())["id"] == "\ud800"
    assert tables.csv_text([broken]).encode()
