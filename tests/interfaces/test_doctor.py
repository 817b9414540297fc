"""`python -m playground doctor`: it measures what works, says why the rest does not, and never falls over."""

import json

import pytest
import torch

from playground.denoisers import zoo
from playground.interfaces import doctor
from playground.interfaces.cli import main
from playground.interfaces.doctor import Trial, advise


@pytest.fixture(autouse=True)
def one_model(monkeypatch):
    """The quickest model, and two steps."""
    monkeypatch.setattr(zoo, "catalogue", lambda: {"stories-masked": "masked"})
    monkeypatch.setattr(doctor, "STEPS", 2)
    monkeypatch.delenv("PLAYGROUND_DTYPE", raising=False)
    monkeypatch.delenv("PLAYGROUND_DEVICE", raising=False)


def test_every_precision_is_measured_against_float32_on_the_cpu(capsys):
    status = main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert status == 0 and found["wrong"] == [] and found["torch"] == torch.__version__
    trials = {t["dtype"]: t for t in found["trials"] if t["device"] == "cpu"}
    assert list(trials) == ["float32", "bfloat16", "float16"]
    assert trials["float32"]["max_drift"] == 0 and trials["float32"]["same_best"] == 1
    assert 0 < trials["float16"]["mean_drift"] < trials["bfloat16"]["mean_drift"] < trials["bfloat16"]["max_drift"] < 1
    assert trials["float32"]["weights_mb"] > 1.9 * trials["float16"]["weights_mb"]
    assert all(t["milliseconds"] > 0 for t in trials.values()) and "On cpu " in found["advice"][0]


def test_what_fails_is_a_line_with_the_reason(capsys, monkeypatch):
    def load(folder, device, dtype):
        if dtype == "float16":
            raise RuntimeError("no such kernel\nand a long trace")
        model = zoo_load(folder, device, dtype)
        if dtype == "bfloat16":
            model.denoiser.head.bias += torch.nan
        return model

    zoo_load = zoo.load_folder
    monkeypatch.setattr(zoo, "load_folder", load)
    monkeypatch.setenv("PLAYGROUND_DEVICE", "nowhere")
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "stories-masked on cpu in float16: no such kernel\n" in out and "logits are NaN or infinite" in out
    assert "any in any on nowhere does not work: " in out
    assert "On cpu float32 is fastest; it needs PLAYGROUND_DTYPE=float32 and PLAYGROUND_DEVICE=cpu." in out


@pytest.mark.parametrize("broken", [lambda: {}, lambda: 1 / 0])
def test_without_models_and_with_a_wrong_precision_it_says_so(capsys, monkeypatch, broken):
    monkeypatch.setattr(zoo, "catalogue", broken)
    monkeypatch.setenv("PLAYGROUND_DTYPE", "float99")
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "PLAYGROUND_DTYPE is 'float99'; allowed: float32, bfloat16, float16" in out
    assert "there is no model in" in out or "division by zero" in out


def test_the_fastest_precision_that_agrees_is_advised():
    def trial(dtype, milliseconds, same_best=1.0):
        return Trial("m", "cuda", dtype, same_best=same_best, milliseconds=milliseconds)

    trials = [trial("float32", 4.0), trial("bfloat16", 1.0, same_best=0.5), trial("float16", 2.0)]
    wrong, (advice,) = advise(trials, "cuda", "bfloat16")
    assert wrong == ["m in bfloat16 on cuda has 50% of float32's best tokens."]
    assert advice == "On cuda float16 is fastest (float32 2.0 times its time); it needs PLAYGROUND_DTYPE=float16."
    assert advise(trials, "cuda", "float16") == ([], [advice.replace("needs PLAYGROUND_DTYPE=float16", "is in force")])
