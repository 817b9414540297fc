"""A run that does not fit into memory ends with a sentence; other errors stay what they are."""

import pytest
import torch

from playground.denoisers import zoo
from playground.engine import record, run
from playground.recipe import Recipe

RECIPE = Recipe.parse({"model": "stories-masked", "length": 8, "steps": 2, "seed": 1})


def allocate_too_much(*_):
    torch.empty(1 << 50)


def raise_with(error):
    def denoise(*_):
        raise error

    return denoise


@pytest.mark.parametrize(
    "denoise",
    [
        allocate_too_much,
        raise_with(MemoryError()),
        raise_with(torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")),
        raise_with(RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.")),
        raise_with(RuntimeError("MPS backend out of memory (MPS allocated: 9 GB).")),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_no_memory_is_a_sentence_that_says_which_knob_to_turn(monkeypatch, denoise, dtype):
    model = zoo.load_folder(zoo.models_folder() / "stories-masked", device="cpu", dtype=dtype)
    monkeypatch.setattr(zoo, "load", lambda name: model)
    monkeypatch.setattr(model.denoiser, "forward", denoise)
    *_, trace = record(RECIPE)
    smaller = ", or set PLAYGROUND_DTYPE=bfloat16" if dtype == "float32" else ""
    assert trace.end["status"] == "error"
    assert trace.end["message"] == f"The memory of cpu ran out in {dtype}: lower length or samples{smaller}."


def test_another_error_is_not_taken_for_it(monkeypatch):
    model = zoo.load_folder(zoo.models_folder() / "stories-masked", device="cpu", dtype="float32")
    monkeypatch.setattr(zoo, "load", lambda name: model)
    monkeypatch.setattr(model.denoiser, "forward", raise_with(RuntimeError("sizes do not match")))
    with pytest.raises(RuntimeError, match="sizes do not match"):
        list(run(RECIPE))
