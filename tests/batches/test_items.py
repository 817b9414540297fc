import json
from pathlib import Path

import pytest

from playground.batches import items
from playground.environment import SettingError
from playground.recipe import MAX_SEED, Recipe, RecipeError

BASE = {"model": "stories-masked", "length": 16, "steps": 2, "seed": 100}


def read(name: str, data: str | bytes, **base):
    return items.read(name, data.encode() if isinstance(data, str) else data, BASE | base)


def test_a_list_of_prompts_and_tables():
    found = items.listed(["Tom", {"prompt": "Sue", "steps": 4, "seed": 7, "id": 3}, {"text": "A [[dog]] ran."}], BASE)
    assert [item.recipe.seed for item in found] == [100, 7, 102]
    assert [item.recipe.steps for item in found] == [2, 4, 2] and [item.id for item in found] == [None, "3", None]
    assert found[2].recipe == Recipe.parse(
        {"model": "stories-masked", "text": "A [[dog]] ran.", "steps": 2, "seed": 102}
    )


def test_a_seed_of_minus_one_is_that_of_the_batch_and_seeds_wrap():
    found = items.listed([{"prompt": "", "seed": -1}, "b"], BASE | {"seed": MAX_SEED})
    assert [item.recipe.seed for item in found] == [MAX_SEED, 0]
    drawn = items.drawn(items.checked({"seed": -1}))
    assert 0 <= drawn["seed"] <= MAX_SEED and items.drawn({"seed": 5}) == {"seed": 5}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_of_a_text_file(newline):
    data = b"\xef\xbb\xbf" + newline.join(["Ein süßer Hund", "", "  ", "two  ", "a\u2028b\x0bc", ""]).encode()
    found = read("a.TXT", data)
    assert [(i.place, i.recipe.prompt) for i in found] == [
        ("line 1", "Ein süßer Hund"), ("line 4", "two  "), ("line 5", "a\u2028b\x0bc"),
    ]  # fmt: skip
    assert [i.recipe.seed for i in found] == [100, 101, 102]


def test_a_table_has_fields_ids_and_cells_that_are_not_given():
    found = read("a.csv", '\ufeffid,prompt,steps\r\nx,"Tom, ""who""\nran",4\r\n\r\n,Sue,\r\ny,Bob\r\nz,Ann,zero\r\n')
    assert [(i.place, i.id) for i in found] == [("line 2", "x"), ("line 5", None), ("line 6", None), ("line 7", "z")]
    assert found[0].recipe.prompt == 'Tom, "who"\nran' and (found[0].recipe.steps, found[1].recipe.steps) == (4, 2)
    assert found[2].error == "line 6: has 2 cells; the header has 3."
    assert found[3].error.startswith("line 7: steps: 'zero' is not allowed; allowed: whole numbers from 1 to 256")


def test_objects_and_strings_a_line_each():
    lines = ['"Tom"', "", '{"text": "A [[dog]] ran.", "id": "ü"}', "{bad", "[1]", "3", '{"seed": 1, "seed": 2}',
             '{"nothing": 1}', '{"id": [1]}', '{"prompt": "\\ud800"}', '{"text": "no hole"}', "[" * 99_999]  # fmt: skip
    found = read("a.jsonl", "\n".join(lines))
    assert [i.error is None for i in found] == [True, True] + [False] * 9
    said = [i.error for i in found[2:]]
    assert said[0].startswith("line 4: is not JSON (Expecting property name")
    assert said[1] == "line 5: item: is list; a prompt or a table of fields is needed."
    assert said[2].startswith("line 6: item: is int") and "'seed' is there twice" in said[3]
    assert said[4].startswith("line 8: nothing: there is no such field") and said[5].startswith("line 9: id: must be")
    assert "half of a surrogate pair" in said[6] and said[7].startswith("line 11: text: has no hole")
    assert (
        said[8].startswith("line 12: is not JSON")
        and found[2].kind == "unreadable"
        and found[6].kind == "field nothing"
    )


def test_what_concerns_one_kind_of_item_is_left_out_of_the_other():
    base = BASE | {"strength": 0.5, "block": 8}
    edit, prompt = items.listed([{"text": "A [[dog]] ran."}, "Tom"], base)
    assert (edit.recipe.strength, edit.recipe.block, prompt.recipe.block, prompt.recipe.strength) == (0.5, 0, 8, 1.0)
    wrong = items.listed([{"text": "A [[dog]] ran.", "block": 8}], BASE)[0]
    assert wrong.error.startswith("item 1: block: is 8")


@pytest.mark.parametrize("name, data, said", [
    ("a.pdf", "x", "file: 'a.pdf' is of an unknown kind; allowed: .txt, .csv, .jsonl."),
    ("a.txt", "", "file: there is nothing to write in it."),
    ("a.txt", "a\nb\n\xff".encode("latin-1"), "file: line 3 is not UTF-8 text; save the file as UTF-8."),
    ("a.txt", "Tom".encode("utf-16"), "file: line 1 is not UTF-8"),
    ("a.csv", "prompt,colour\nx,y\n", "file: line 1 is the header, and 'colour' is no field"),
    ("a.csv", "prompt,prompt\nx,y\n", "file: line 1 is the header, and prompt is there twice."),
    ("a.csv", 'prompt\nx\n"y\nz\n', "file: line 3 is not CSV"),
])  # fmt: skip
def test_files_that_cannot_be_read(name, data, said):
    with pytest.raises(RecipeError) as error:
        read(name, data)
    assert str(error.value).startswith(said)


def test_limits(monkeypatch, tmp_path):
    monkeypatch.setenv("PLAYGROUND_BATCH_LINES", "2")
    with pytest.raises(RecipeError, match=r"^items: 3 items are too many; allowed: 2\.$"):
        items.listed(["a", "b", "c"], BASE)
    with pytest.raises(RecipeError, match=r"^file: 3 items are too many; allowed: 2\.$"):
        read("a.txt", "a\nb\nc")
    monkeypatch.setenv("PLAYGROUND_UPLOAD_BYTES", "10")
    (tmp_path / "a.txt").write_bytes(b"x" * 5000)
    with pytest.raises(RecipeError, match=r"^file: has 11 bytes; allowed: 10\.$"):
        items.read_file(tmp_path / "a.txt", BASE)
    for value in ("ten", "0", "-1", "", "1e3"):
        monkeypatch.setenv("PLAYGROUND_BATCH_LINES", value)
        with pytest.raises(SettingError, match=r"PLAYGROUND_BATCH_LINES is .*; allowed: whole numbers from 1\."):
            items.most_lines()


def test_a_line_that_is_too_long_is_said_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(items, "LONGEST_LINE", 30)
    for name, data in (("a.txt", "a\n" + "b" * 31), ("a.jsonl", '"a"\n' + json.dumps("b" * 31)),
                       ("a.csv", "prompt\na\n" + "b" * 31)):  # fmt: skip
        found = read(name, data)
        assert found[0].recipe and "characters; allowed: 30." in found[1].error, name
    assert read("a.txt", "b" * 29)[0].recipe


@pytest.mark.parametrize("given", ["Tom", {"prompt": "Tom"}, 3, None, b"Tom"])
def test_what_is_no_list(given):
    with pytest.raises(RecipeError, match=r"^items: are .*; a list of prompts"):
        items.listed(given, BASE)


def test_an_item_that_is_neither_prompt_nor_table():
    found = items.listed([None, 3, ["x"], {1: 2}, "Tom"], BASE)
    assert [item.error is None for item in found] == [False] * 4 + [True] and found[1].error.startswith(
        "item 2: item: "
    )


@pytest.mark.parametrize("values, said", [
    ({"steps": "many"}, "steps: 'many' is not allowed"), ({"steps": 0}, "steps: 0 is out of range"),
    ({"model": "gpt"}, "model: 'gpt' is unknown"), ({"colour": 1}, "colour: there is no such field"),
    ({"model": "stories-masked", "sampler": "sde"}, "sampler: 'sde' is unknown"),
])  # fmt: skip
def test_knobs_for_all_are_checked_before_anything_is_read(values, said):
    with pytest.raises(RecipeError) as error:
        items.checked(values)
    assert str(error.value).startswith(said)


def test_knobs_for_all_come_as_their_types():
    assert items.checked({"steps": "4", "strength": 0.5, "length": None}) == {"steps": 4, "strength": 0.5}


def test_a_path_is_a_file(tmp_path: Path):
    (tmp_path / "ü b.txt").write_text("Tom\n", encoding="utf-8")
    assert items.read_file(tmp_path / "ü b.txt", BASE)[0].recipe.prompt == "Tom"
