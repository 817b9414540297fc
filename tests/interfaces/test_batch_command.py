import json

import pytest

from playground.batches import folders
from playground.interfaces.cli import main

KNOBS = ["--model", "stories-masked", "--length", "8", "--steps", "1", "--seed", "3"]


@pytest.fixture
def paths(tmp_path) -> list[str]:
    (tmp_path / "a.txt").write_text("Tom\nSue\n")
    return ["batch", "--input", str(tmp_path / "a.txt"), "--output", str(tmp_path / "out"), *KNOBS]


def test_results_go_into_the_folder_and_a_summary_to_stdout_if_asked_for(paths, tmp_path, capsys):
    assert main(paths) == 0
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("a.txt: 2 done, 0 failed, ") and said.err.endswith(", seed 3\n")
    assert main([*paths, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["done"], summary["repeated"], summary["files"][0]["state"]) == (2, 2, "finished")


def test_some_failed(paths, tmp_path, capsys):
    (tmp_path / "a.txt").write_text(f"Tom\n{'word ' * 99}\n")
    assert main(paths) == 1
    assert "1 done, 1 failed" in (said := capsys.readouterr().err) and "why is in failed/a.txt.jsonl" in said


@pytest.mark.parametrize("extra, said", [
    (["--steps", "0"], "steps: 0 is out of range"), (["--rows", "0"], "rows: 0 is out of range"),
    (["--highest-repetition", "2"], "highest_repetition: 2.0 is out of range"),
    (["--input", "nowhere"], "input: nowhere is not there"), (["--address", "x:1"], "address: is of a Ray cluster"),
])  # fmt: skip
def test_wrong_arguments(paths, extra, said, capsys, tmp_path):
    assert main([*paths, *extra]) == 2
    assert capsys.readouterr().err.startswith(f"playground: {said}") and not (tmp_path / "out").exists()
    with pytest.raises(SystemExit, match="2"):
        main(["batch", "--input", "x"])


def test_stopped_it_says_how_to_go_on(paths, tmp_path, capsys, monkeypatch):
    def stopped(log, job, result):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_log", stopped)
        assert main(paths) == 130
    assert "the same command goes on from here" in capsys.readouterr().err
    assert main(paths) == 0 and "2 done, 0 failed, 1 of them already there" in capsys.readouterr().err
