"""`python -m playground`, in this process and once as a real one."""

import csv
import json
import subprocess
import sys

import pytest

import playground
from playground.denoisers import zoo
from playground.interfaces import bench, bench_ratios
from playground.interfaces.cli import main
from playground.trace import Trace


def test_generate_prints_the_text_alone_on_stdout(capsys):
    assert main(["generate", "--prompt", "Once upon a time", "--seed", "7", "--steps", "5"]) == 0
    out, err = capsys.readouterr()
    assert out == playground.generate(prompt="Once upon a time", seed=7, steps=5).text + "\n"
    assert "seed 7, 5 evaluations" in err


def test_json_is_one_line_with_the_seed_that_was_drawn(capsys):
    assert main(["generate", "--steps", "2", "--length", "16", "--json"]) == 0
    out = capsys.readouterr().out
    answer = json.loads(out)
    assert out.count("\n") == 1 and answer["seed"] >= 0 and answer["steps"] == 2
    assert answer["note"] == "Unconditional: nothing is given."


def test_the_trace_file_replays_what_was_printed(capsys, tmp_path):
    assert main(["generate", "--seed", "3", "--steps", "4", "--trace", str(tmp_path / "run.json")]) == 0
    assert Trace.load(tmp_path / "run.json").text + "\n" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--steps", "0"], "steps: 0 is out of range; allowed: whole numbers from 1 to 256."),
        (["--steps", "nan"], "steps: 'nan' is not allowed"),
        (["--steps", "1e9"], "steps: 1000000000 is out of range"),
        (["--steps", "abc"], "steps: 'abc' is not allowed; allowed: whole numbers from 1 to 256."),
        (["--model", "gpt"], "model: 'gpt' is unknown"),
        (["--sampler", "x"], "sampler: 'x' is unknown; allowed: sde, ode."),
        (["--pins", "3 dragon"], "pins: cannot read '3 dragon'"),
    ],
)
def test_a_wrong_field_is_status_2_and_a_sentence(capsys, flags, sentence):
    assert main(["generate", *flags]) == 2
    out, err = capsys.readouterr()
    assert out == "" and sentence in err and "Traceback" not in err


def test_models_as_a_real_process():
    done = subprocess.run(
        [sys.executable, "-m", "playground", "models", "--json"], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert [m["family"] for m in json.loads(done.stdout)] == ["continuous", "masked", "uniform", "autoregressive"]


def test_infill_prints_the_whole_text_and_says_what_was_checked(capsys):
    fields = {"text": "The dog ran to the [[park]] and was happy.", "seed": 7, "steps": 4}
    assert main(["infill", "--text", fields["text"], "--seed", "7", "--steps", "4"]) == 0
    out, err = capsys.readouterr()
    assert out == playground.infill(**fields).text + "\n"
    assert "given tokens checked: identical" in err


def test_infill_of_an_open_hole_prints_the_best_alone_or_all_that_were_asked_for(capsys):
    flags = ["infill", "--text", "Tom ran. [[?]] He was happy.", "--seed", "3", "--steps", "2"]
    assert main(flags) == 0
    best = capsys.readouterr().out
    assert main([*flags, "--samples", "4"]) == 0
    assert best.strip() in capsys.readouterr().out.strip().split("\n\n") and "\n\n" not in best


@pytest.mark.parametrize("text", ["", "nothing marked", "[[all]]", "a [[b"])
def test_infill_refuses_what_it_cannot_do_with_status_2(capsys, text):
    assert main(["infill", "--text", text]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("playground: text: ")


def test_bench_names_a_damaged_model_before_it_measures(capsys, monkeypatch, tmp_path):
    good = zoo.models_folder() / "stories-masked"
    (tmp_path / "damaged").mkdir()
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / "damaged" / name).symlink_to(good / name)
    (tmp_path / "damaged" / "model.safetensors").write_bytes(b"cut short")
    monkeypatch.setenv("PLAYGROUND_MODELS", str(tmp_path))
    assert main(["bench"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("playground: damaged: model.safetensors is missing, cut short")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--lengths", "64,4"], "lengths: 4 is out of range; allowed: whole numbers from 8 to 512."),
        (["--lengths", "long"], "lengths: 'long' is not allowed; allowed: whole numbers from 8 to 512."),
        (["--batch", "1,64"], "batch: 64 is out of range; allowed: whole numbers from 1 to 32."),
        (["--batch", ""], "batch: '' has an empty value"),
        (["--batch", "8,8"], "batch: 8 is given twice"),
        (["--grids", "-1"], "grids: -1 is out of range; allowed: whole numbers from 0 to 1000."),
        (["--only", "latency,x"], "only: 'x' is unknown; allowed: cold_start, models"),
    ],
)
def test_bench_refuses_with_status_2_and_a_sentence(capsys, flags, sentence):
    assert main(["bench", *flags]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"playground: {sentence}")


def test_bench_measures_a_point_for_each_size_and_model(capsys, tmp_path):
    flags = ["bench", "--only", "throughput,latency", "--lengths", "8", "--batch", "1", "--repeats", "1"]
    assert main([*flags, "--json", "--csv", str(tmp_path / "points.csv")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [point["model"] for point in found["throughput"]] == list(zoo.catalogue())
    assert {(point["length"], point["steps"], point["advised"]) for point in found["latency"]} == {
        (8, 16, False), (8, 8, True), (8, None, False),
    }  # fmt: skip
    with (tmp_path / "points.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 4 + 7 and float(lines[0]["seconds_low"]) > 0 and lines[-1]["rows"] == ""


def test_bench_prints_points_as_a_table_and_says_what_is_not_measured():
    seconds = {"median": 1.0, "low": 0.5, "high": 2.0}
    told = bench.table({"throughput": [{"study": "throughput", "model": "m", "seconds": seconds, "peak_mb": None}]})
    assert "1 (0.5 to 2)" in told and "Peak memory is not measured here" in told


def test_a_grid_gives_the_texts_of_its_cells_run_one_by_one():
    found = bench_ratios.grid_over_cells({"steps": [1, 2], "length": 8, "seeds": 2, "seed": 1})
    assert found["cells"] == 4 and found["texts_identical"] is True and found["ratio"] > 0


def test_the_scheduler_is_left_out_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(bench_ratios, "find_spec", lambda name: None)
    assert bench_ratios.over_diffusers().startswith("left out: the package diffusers is not installed")


def test_interpolate_prints_a_line_for_each_point(capsys):
    flags = ["interpolate", "--a", "Tom had a ball.", "--b", "The dragon was sad.", "--points", "5", "--steps", "2"]
    assert main([*flags, "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "  0%  Tom had a ball." and lines[-1] == "100%  The dragon was sad." and len(lines) == 5
    assert "seed 3, 2 evaluations" in err
    assert main([*flags, "--seed", "3", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [f"{100 * point['weight']:3.0f}%  {point['text']}" for point in answer["points"]] == lines
    assert answer["seed"] == 3 and answer["exact"] == [True, True] and answer["blend"]["method"] == "shared-noise"


def test_interpolate_refuses_with_status_2_and_a_sentence(capsys):
    assert main(["interpolate", "--a", "Tom had a ball."]) == 2
    assert capsys.readouterr().err == "playground: b: is empty; a path needs two texts.\n"


def test_compare_prints_a_table_and_writes_files(capsys, tmp_path):
    given = ["compare", "--prompt", "Tom", "--length", "16", "--steps", "2,3", "--seeds", "2", "--seed", "5"]
    assert main([*given, "--csv", str(tmp_path / "rows.csv"), "--traces", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "steps 2" in out and "left to right" in out and "real text (16 tokens)" in out and "From 2 to 3 steps" in out
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    study = playground.compare(prompt="Tom", length=16, steps=[2, 3], seeds=2, seed=5)
    assert [row["text"] for row in rows[:4]] == [row["text"] for row in study.rows] and len(rows) == 6
    assert Trace.load(tmp_path / "cell-1.json").texts == study.cells[1].trace.texts
    assert main([*given, "--json"]) == 0
    assert [row["text"] for row in json.loads(capsys.readouterr().out)["rows"]] == [row["text"] for row in study.rows]


def test_a_comparison_that_cannot_be_made_is_a_sentence_and_status_2(capsys):
    assert main(["compare", "--steps", "4,4"]) == 2
    assert capsys.readouterr().err == "playground: steps: 4 is given twice.\n"


def test_race_prints_a_table_the_texts_and_what_it_does_not_show(capsys, tmp_path):
    fields = {"prompt": "Once upon a time", "lanes": "stories-masked:threshold,stories-uniform", "seed": "4"}
    fields |= {"length": "16", "steps": "3"}
    flags = ["race", *(part for name, value in fields.items() for part in (f"--{name}", value))]
    assert main([*flags, "--trace", str(tmp_path / "race.json")]) == 0
    out, err = capsys.readouterr()
    table, *texts = out.split("\n\n")
    assert table.splitlines()[0].split()[:4] == ["place", "lane", "evaluations", "seconds"]
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["1", "2"]
    assert "seed 4." in err and "not comparable with these" in err
    heat = playground.race(**fields)
    written = dict(text.strip().split("\n", 1) for text in texts)
    assert written == dict(zip(heat.race.lanes, (trace.text for trace in heat.traces), strict=True))
    assert json.loads((tmp_path / "race.json").read_text())["race"] == heat.race.to_dict()
    assert main([*flags, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [lane["text"] for lane in answer["lanes"]] == [trace.text for trace in heat.traces]


def test_race_refuses_with_status_2_and_a_sentence(capsys):
    assert main(["race", "--lanes", "stories-masked"]) == 2
    assert capsys.readouterr().err == "playground: lanes: are 1; allowed: 2 to 4.\n"
