"""The shipped weights give the logits that the prototype they were trained with gave for them."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from playground.denoisers import zoo

RECORDED = load_file(Path(__file__).with_name("recorded.safetensors"))
TOLERANCE = 2e-3


@pytest.fixture(params=["stories-continuous", "stories-masked"])
def denoiser(request):
    return zoo.load_folder(zoo.models_folder() / request.param, device="cpu", dtype="float32").denoiser


def logits(denoiser):
    with torch.inference_mode():
        if denoiser.family == "masked":
            return denoiser(RECORDED["ids"])
        return denoiser(*(RECORDED[name] for name in ("z", "log_nsr", "self_condition", "given")))


def test_logits_equal_the_recorded_ones(denoiser):
    assert torch.allclose(logits(denoiser), RECORDED[f"{denoiser.family}_logits"], atol=TOLERANCE, rtol=TOLERANCE)


def test_another_input_gives_other_logits(denoiser):
    """The comparison above can fail: one changed cell moves the logits well past the tolerance."""
    if denoiser.family == "masked":
        ids = RECORDED["ids"].clone()
        ids[0, 0] = (ids[0, 0] + 1) % denoiser.vocab_size
        with torch.inference_mode():
            other = denoiser(ids)
    else:
        z, given = RECORDED["z"].clone(), RECORDED["given"]
        z[0, 0] = -z[0, 0]
        with torch.inference_mode():
            other = denoiser(z, RECORDED["log_nsr"], RECORDED["self_condition"], given)
    assert (other - RECORDED[f"{denoiser.family}_logits"]).abs().max() > 100 * TOLERANCE


def test_bfloat16_chooses_nearly_the_same_tokens():
    model = zoo.load_folder(zoo.models_folder() / "stories-continuous", device="cpu", dtype="bfloat16")
    same = logits(model.denoiser).argmax(-1) == RECORDED["continuous_logits"].argmax(-1)
    assert same.float().mean() >= 0.8
