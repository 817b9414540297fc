import json
from pathlib import Path

import pytest

from playground.batches import runner, storage
from playground.batches.filters import Filters
from playground.batches.folders import Folder
from playground.recipe import RecipeError

KNOBS = {"model": "stories-masked", "length": 8, "steps": 1}
OUTCOME = {"text": "=t", "texts": ["=t"], "tokens": 3, "seconds": 0.1, "perplexity": 2.0, "entropy": 1.0,
           "distinct_2": 1.0, "repetition": 0.5}  # fmt: skip


@pytest.fixture(autouse=True)
def computed(monkeypatch):
    """The prompts that were computed; none is, really."""
    seen = []

    def attempting(recipes):
        seen.extend(recipe.prompt for recipe in recipes)
        yield 0.5
        yield [OUTCOME | {"text": f"={recipe.prompt} {recipe.seed}"} for recipe in recipes]

    monkeypatch.setattr(runner, "attempting", attempting)
    return seen


@pytest.fixture
def source(tmp_path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one\ntwo\n\nthree\n", encoding="utf-8")
    return tmp_path / "in"


def folder(source: Path, filters: dict | None = None, **knobs) -> Folder:
    return Folder(source, source.parent / "out", KNOBS | {"seed": 5} | knobs, Filters.parse(filters or {}))


def run(*arguments, rows: int = 1, stop: int | None = None, **knobs) -> Folder:
    """A whole run, or one closed after `stop` results."""
    made = folder(*arguments, **knobs)
    running = made.run(rows)
    for _, (_, batch) in zip(range(10**6 if stop is None else stop + 1), running, strict=False):
        assert batch is None or batch.total <= 3
    running.close()
    return made


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tree(place: Path) -> dict[str, bytes]:
    kept = [path for path in sorted(place.rglob("*")) if path.is_file() and path.name not in ("log.jsonl", "lock")]
    return {str(path.relative_to(place)): path.read_bytes() for path in kept}


def test_what_is_where_at_the_end(source, computed):
    (source / "a.jsonl").write_text('{"prompt": "x", "id": "../../etc"}\n{"steps": 0}\n{bad\n', encoding="utf-8")
    (source / "notes.md").write_text("no input")
    (source / "sub").mkdir()
    made, out = run(source), source.parent / "out"
    assert made.ignored == ["notes.md"] and [job.state for job in made.jobs] == ["finished"] * 2
    assert sorted(tree(out)) == [
        "failed/a.jsonl.jsonl", "output/a.jsonl.csv", "output/a.jsonl.jsonl", "output/a.txt.csv", "output/a.txt.jsonl",
        "processed/a.jsonl", "processed/a.txt", "work/a.jsonl/plan.json", "work/a.txt/plan.json",
    ]  # fmt: skip
    found = lines(out / "output" / "a.txt.jsonl")
    assert [(r["place"], r["text"]) for r in found] == [
        ("line 1", "=one 5"),
        ("line 2", "=two 6"),
        ("line 4", "=three 7"),
    ]
    assert "'=one 5" in (out / "output" / "a.txt.csv").read_text()
    failed = lines(out / "failed" / "a.jsonl.jsonl")
    assert [(f["place"], f["given"]) for f in failed] == [("line 2", {"steps": 0}), ("line 3", "{bad")]
    assert lines(out / "output" / "a.jsonl.jsonl")[0]["id"] == "../../etc"
    assert (source / "a.txt").read_bytes() == (out / "processed" / "a.txt").read_bytes()


def test_a_second_run_computes_nothing_and_changes_nothing(source, computed):
    run(source)
    before, count = tree(source.parent / "out"), len(computed)
    made = run(source)
    assert len(computed) == count and tree(source.parent / "out") == before
    assert (made.jobs[0].done, made.jobs[0].repeated, made.jobs[0].seed) == (3, 3, 5)
    (source / "b.txt").write_text("four\n")
    run(source)
    assert computed[count:] == ["four"]


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_stopped_run_goes_on_where_it_was(source, computed, stop):
    run(source, stop=stop)
    assert computed == ["one", "two", "three"][:stop] and not (source.parent / "out" / "processed").exists()
    run(source, rows=16)
    assert computed == ["one", "two", "three"]
    found = lines(source.parent / "out" / "output" / "a.txt.jsonl")
    assert [r["text"] for r in found] == ["=one 5", "=two 6", "=three 7"]


def test_a_drawn_seed_is_kept(source):
    first = run(source, stop=1, seed=-1).jobs[0].seed
    second = run(source, seed=-1).jobs[0]
    assert second.seed == first and run(source, seed=-1).jobs[0].seed == first
    found = lines(source.parent / "out" / "output" / "a.txt.jsonl")
    assert [r["recipe"]["seed"] for r in found] == [first, first + 1, first + 2]


@pytest.mark.parametrize("stop", [1, None])
def test_other_settings_are_refused(source, computed, stop):
    run(source, stop=stop)
    before, count = tree(source.parent / "out"), len(computed)
    for knobs, said in (({"steps": 2}, "steps 1 and not 2"), ({"seed": 6}, "seed 5 and not 6"),
                        ({"seed": -1}, "seed 5 and not not given"), ({"top_p": 0.5}, "top_p not given and not 0.5"),
                        ({"filters": {"minimum_tokens": 3}}, "minimum_tokens 0 and not 3")):  # fmt: skip
        with pytest.raises(RecipeError) as error:
            run(source, **knobs)
        wanted = f"output: the results of a.txt there were made with {said}; choose another output folder."
        assert str(error.value) == wanted
    assert tree(source.parent / "out") == before and len(computed) == count


def test_another_precision_and_other_bytes_are_refused(source, monkeypatch):
    run(source, stop=1)
    monkeypatch.setenv("PLAYGROUND_DTYPE", "float16")
    with pytest.raises(RecipeError, match=r"made with dtype"):
        run(source)
    monkeypatch.delenv("PLAYGROUND_DTYPE")
    (source / "a.txt").write_text("another\n")
    with pytest.raises(RecipeError, match=r"^input: a\.txt has changed since its results were begun there; "):
        run(source)


def test_two_at_once_are_refused(source):
    first = folder(source).run(1)
    next(first)
    with pytest.raises(RecipeError, match=r"^output: .*out is in use by another batch; wait for it or choose another"):
        run(source)
    first.close()
    assert run(source).jobs[0].done == 3


@pytest.mark.parametrize(
    "name", ["a b.txt", "süß \U0001f436.txt", "..txt", "a..csv.txt", ".txt", "-x.TXT", "[0-9]*.txt"]
)
def test_odd_names(source, name):
    (source / "a.txt").rename(source / name)
    run(source, stop=2)
    run(source)
    out = source.parent / "out"
    assert len(lines(out / "output" / f"{name}.jsonl")) == 3 and (out / "processed" / name).is_file()
    assert [path.name for path in (out / "work" / name).iterdir()] == ["plan.json"]


def test_a_name_without_room_for_an_ending(source):
    (source / f"{'x' * 248}.txt").write_text("one\n")
    made = run(source)
    assert made.jobs[0].done == 3 and made.jobs[1].error.startswith("file: its name has 252 bytes; allowed: 249.")


def test_a_file_that_cannot_be_read_is_said_and_tried_again(source):
    (source / "b.txt").write_bytes(b"\xff\n")
    made, out = run(source), source.parent / "out"
    assert [job.state for job in made.jobs] == ["finished", "unreadable"]
    assert lines(out / "failed" / "b.txt.jsonl") == [{"file": "b.txt", "error": made.jobs[1].error}]
    (source / "b.txt").write_text("four\n")
    assert run(source).jobs[1].done == 1 and not (out / "failed" / "b.txt.jsonl").exists()


def test_what_is_not_from_a_batch_is_not_overwritten(source):
    out = source.parent / "out"
    (out / "output").mkdir(parents=True)
    (out / "output" / "a.txt.csv").write_text("mine")
    with pytest.raises(RecipeError, match=r"a\.txt\.csv is there and not from a batch"):
        run(source)
    assert (out / "output" / "a.txt.csv").read_text() == "mine"


def test_folders_that_cannot_be_used(source, tmp_path):
    for source_, place, said in (
        (tmp_path / "no", tmp_path / "out", "input: .*no is not there"),
        (source, source, "output: .*in holds the input"), (source / "a.txt", source, "output: .*in holds the input"),
        (source, tmp_path, "output: .* holds the input"), (source, source / "a.txt", "output: .*a.txt is a file"),
    ):  # fmt: skip
        with pytest.raises(RecipeError, match=said):
            Folder(source_, place, KNOBS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecipeError, match=r"has no file that ends in .txt, .csv, .jsonl"):
        Folder(tmp_path / "empty", tmp_path / "out", KNOBS)


def test_one_file_and_an_output_inside_the_input(source):
    Folder(source / "a.txt", source / "out", KNOBS)
    for _ in Folder(source, source / "out", KNOBS).run():
        pass
    assert (source / "out" / "output" / "a.txt.jsonl").exists()


def test_the_log_has_what_happened_and_no_prompt(source):
    (source / "b.jsonl").write_text('{"prompt": "secret", "pins": "secret:secret"}\n{secret\n')
    run(source)
    text = (source.parent / "out" / "log.jsonl").read_text()
    assert "secret" not in text and "three" not in text
    events = lines(source.parent / "out" / "log.jsonl")
    assert [e["event"] for e in events] == ["begun", "done", "done", "done", "finished", "begun", "failed", "failed",
                                            "finished"]  # fmt: skip
    assert events[1]["item"] == 0 and events[1]["seconds"] == 0.1 and events[6]["error"] == "field pins"


def test_a_log_that_ends_in_the_middle_of_a_line(tmp_path):
    (tmp_path / "log").write_text('{"time": "2')
    storage.Log(tmp_path / "log").add("begun", file="a", error=None)
    assert json.loads((tmp_path / "log").read_text().splitlines()[1])["event"] == "begun"
