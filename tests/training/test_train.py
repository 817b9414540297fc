import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from playground.denoisers import zoo
from playground.interfaces.cli import main
from playground.training import checkpoint
from playground.training.checkpoint import TrainingError
from playground.training.train import Plan, Training, _report, learning_rate, train
from tests.training.conftest import SHAPE

FAMILIES = ("masked", "continuous", "uniform", "autoregressive")


def command_line(options: Plan, **changes) -> list[str]:
    """The train command of a plan."""
    values = {
        name: getattr(options, name) for name in ("corpus", "family", "init", "batch", "lr", "tokenizer", "output")
    }
    flags = values | options.shape | changes
    parts = [part for name, value in flags.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    return ["playground", "train", "--quiet", "--share", "stories.txt=1", *parts]


def weights(training: Training) -> dict:
    return {k: v.clone() for k, v in training.average.state_dict().items()}


def same(a: dict, b: dict) -> bool:
    return all(torch.equal(a[k], b[k]) for k in a)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_learns_and_its_folder_loads(plan, family):
    start = Training(plan(family, output=plan(family).output + "-start"))
    before = start.validate()
    done = train(plan(family, tokens=10_000), quiet=True)
    assert done.validate() < before - 0.3
    model = zoo.load_folder(done.output, device="cpu", dtype="float32")
    assert model.family == family and model.card["training"][-1]["tokens"] == done.seen
    line = json.loads((done.output / "log.jsonl").read_text().splitlines()[-1])
    assert line["samples"] == done.samples() and len(set(line["samples"])) == 2
    assert line["tokens"] == done.seen and line["validation"] == pytest.approx(done.validate(), abs=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_resumed_training_ends_exactly_where_an_unbroken_one_does(plan, family):
    unbroken = train(plan(family, output=plan(family).output + "-whole"), quiet=True)
    first = Training(plan(family))
    while first.progress < 0.5:
        first.advance()
    first.save()
    resumed = train(plan(family), resume=True, quiet=True)
    assert resumed.step == unbroken.step and resumed.seen == unbroken.seen
    assert same(weights(resumed), weights(unbroken))


def test_the_learning_rate_warms_up_stays_and_falls():
    assert learning_rate(0, 0.0) == pytest.approx(1 / 200)
    assert learning_rate(1000, 0.3) == 1.0
    assert learning_rate(1000, 0.825) == pytest.approx(0.5)
    assert learning_rate(1000, 1.0) == 0.02


def test_a_masked_denoiser_starts_the_other_families(plan):
    source = train(plan("masked"), quiet=True)
    for family in FAMILIES[1:]:
        started = Training(plan(family, init=str(source.output), tokenizer="", shape={}))
        assert torch.equal(started.denoiser.trunk.positions, source.average.trunk.positions.half().float())
        assert torch.equal(started.denoiser.tokens, source.average.tokens.half().float())
        assert [stage["family"] for stage in started._config()["training"]] == ["masked", family]


def test_frozen_embeddings_stay(plan):
    started = Training(plan("continuous", freeze_embeddings=True))
    before = started.denoiser.embeddings.clone()
    started.advance()
    assert torch.equal(started.denoiser.embeddings, before)


def test_two_processes_share_a_batch_and_get_the_loss_of_one(plan, tmp_path):
    options = plan("continuous")
    alone = train(options, quiet=True)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29617", "-m"]
    command = torchrun + command_line(options, tokens=options.tokens, output=tmp_path / "two")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    one, two = (
        json.loads((folder / "log.jsonl").read_text().splitlines()[-1]) for folder in (alone.output, tmp_path / "two")
    )
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-3)
    found, wanted = (load_file(folder / "model.safetensors") for folder in (tmp_path / "two", alone.output))
    assert all(torch.allclose(found[k].float(), wanted[k].float(), atol=2e-3) for k in wanted)


def test_interrupting_saves_and_says_how_to_resume(plan):
    options = plan("masked")
    command = [sys.executable, "-m", *command_line(options, minutes=10, save_minutes=0.02)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (Path(options.output) / "log.jsonl").exists() and process.poll() is None:
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "--resume goes on from here" in said
    _, facts = checkpoint.load_state(Path(options.output))
    assert facts["step"] > 0


def refused(call) -> str:
    with pytest.raises(TrainingError) as error:
        call()
    return str(error.value)


def test_a_plan_that_cannot_be_says_why(plan):
    assert "family is 'gan'; allowed: masked" in refused(lambda: Training(replace(plan("masked"), family="gan")))
    assert "budget is needed" in refused(lambda: Training(Plan("c", "o", "masked")))
    assert "lr is -1; it must be above 0" in refused(lambda: Training(plan("masked", lr=-1)))
    assert "batch is 8 cells; the shortest rows have 24" in refused(lambda: Training(plan("masked", batch=8)))
    assert "init is 'nonesuch'; allowed: minilm" in refused(lambda: Training(plan("masked", init="nonesuch", shape={})))


def test_an_output_that_cannot_be_written(plan, tmp_path):
    (tmp_path / "file").write_text("x")
    said = refused(lambda: Training(plan("masked", output=str(tmp_path / "file" / "model"))))
    assert "cannot be written to" in said


def test_a_training_is_not_overwritten_by_another(plan):
    train(plan("masked"), quiet=True)
    assert "already holds training.safetensors; add --resume" in refused(lambda: train(plan("masked"), quiet=True))


def test_resuming_nothing_another_family_or_another_tokenizer(plan, tmp_path):
    assert "nothing to resume" in refused(lambda: Training(plan("masked"), resume=True))
    done = train(plan("masked"), quiet=True)
    other = plan("uniform", output=str(done.output))
    assert "of the family masked, not uniform" in refused(lambda: Training(other, resume=True))
    file = done.output / "tokenizer.json"
    file.write_text(file.read_text() + " ")
    assert "another tokenizer" in refused(lambda: Training(plan("masked"), resume=True))


def test_a_cut_checkpoint_is_refused(plan):
    done = train(plan("masked"), quiet=True)
    state = done.output / checkpoint.STATE
    state.write_bytes(state.read_bytes()[:1000])
    assert "is not a whole checkpoint" in refused(lambda: Training(plan("masked"), resume=True))


def test_a_full_disk_keeps_the_last_checkpoint(plan, monkeypatch):
    training = Training(plan("masked"))
    training.advance()
    training.save()
    kept = (training.output / checkpoint.STATE).read_bytes()
    training.advance()

    def full(tensors, path, **_):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(OSError, match="could not be written"):
        training.save()
    assert (training.output / checkpoint.STATE).read_bytes() == kept
    assert not list(training.output.glob("*.part"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lr": float("inf")}, "lr is inf; allowed: 0 to 1"),
        ({"ema": float("nan")}, "ema is nan; allowed: 0 to"),
        ({"seed": 10**20}, "seed is 100000000000000000000; allowed: 0 to 2147483647"),
        ({"vocabulary": 1}, "vocabulary is 1; allowed: 259 to"),
        ({"shape": SHAPE | {"layers": 0}}, "layers is 0; it must be above 0"),
        ({"shape": SHAPE | {"heads": 3}}, "width 32 is not a multiple of heads 3"),
        ({"shape": SHAPE | {"max_length": 20}}, "max_length is 20; allowed: 25 to"),
        ({"init": "minilm"}, "layers is given, but init minilm brings its own shape"),
        ({"tokenizer": "/nonexistent"}, "tokenizer /nonexistent cannot be read"),
    ],
)
def test_numbers_and_files_that_cannot_be_are_refused_in_a_sentence(plan, changes, said):
    assert said in refused(lambda: Training(plan("masked", **changes)))


def test_a_model_folder_is_never_written_over(plan, tmp_path):
    (tmp_path / "masked").mkdir()
    (tmp_path / "masked" / "model.safetensors").write_bytes(b"precious")
    assert "already holds model.safetensors" in refused(lambda: Training(plan("masked")))
    assert (tmp_path / "masked" / "model.safetensors").read_bytes() == b"precious"


def test_another_shape_or_other_trained_parameters_are_not_resumed(plan):
    train(plan("continuous", freeze_embeddings=True), quiet=True)
    other = plan("continuous", shape=SHAPE | {"heads": 4})
    assert "another shape: heads 2 not 4" in refused(lambda: Training(other, resume=True))
    assert "trained other parameters (embeddings)" in refused(lambda: Training(plan("continuous"), resume=True))


def test_resuming_a_finished_training_writes_a_model_that_is_missing(plan):
    done = train(plan("masked"), quiet=True)
    before = (done.output / "model.safetensors").read_bytes()
    (done.output / "model.safetensors").unlink()
    (done.output / "config.json").unlink()
    train(plan("masked"), resume=True, quiet=True)
    assert (done.output / "model.safetensors").read_bytes() == before and zoo.load_folder(
        done.output
    ).family == "masked"


def test_rows_shorter_than_the_validation_ones_can_be_trained(plan):
    assert train(plan("masked", shape=SHAPE | {"max_length": 30}), quiet=True).validate() > 0


def test_a_log_that_cannot_be_written_does_not_stop_the_training(plan, capsys):
    training = Training(plan("masked"))

    class Full:
        def write(self, line):
            raise OSError(28, "No space left on device")

    training.advance()
    _report(training, Full(), [1.0], last=False)
    assert "training goes on" in capsys.readouterr().err


def test_weights_that_are_not_finite_are_not_saved(plan):
    training = Training(plan("masked"))
    training.advance()
    training.average.tokens.fill_(float("nan"))
    assert "validation loss is nan" in refused(lambda: _report(training, None, [1.0], last=True))
    assert not (training.output / "model.safetensors").exists()


def test_the_command_names_what_is_wrong(plan, capsys, tmp_path):
    assert main(command_line(plan("masked"), tokens=10, corpus=tmp_path / "none")[1:]) == 2
    assert "does not exist or is not a folder" in capsys.readouterr().err
    assert main([*command_line(plan("masked"), tokens=10)[1:], "--share", "a.txt=x"]) == 2
    assert "share: cannot read 'a.txt=x'; write FILE=SHARE" in capsys.readouterr().err


def test_all_families_in_one_command(plan, tmp_path):
    assert main(command_line(plan("masked"), tokens=600, family="all", output=tmp_path)[1:]) == 0
    assert [zoo.load_folder(tmp_path / family).family for family in FAMILIES] == list(FAMILIES)
