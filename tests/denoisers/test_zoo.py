"""The models folder: what is whole is loaded once, what is broken is refused in a sentence."""

import functools
import json
import threading
import time

import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer as FastTokenizer
from tokenizers import decoders, models, pre_tokenizers

from playground.denoisers import zoo
from playground.denoisers.zoo import ModelError

MASKED = zoo.models_folder() / "stories-masked"
FILES = ["config.json", "tokenizer.json", "model.safetensors"]


@pytest.fixture
def broken(tmp_path):
    """A copy of a model folder, its files linked; a test puts its own in place of one."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    for name in FILES:
        (folder / name).symlink_to(MASKED / name)
    return folder


def replaced(folder, name, data: bytes | str):
    (folder / name).unlink()
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def config(**changes) -> str:
    whole = json.loads((MASKED / "config.json").read_text(encoding="utf-8"))
    return json.dumps(whole | {"shape": whole["shape"] | changes})


def refused(folder, **options) -> str:
    with pytest.raises(ModelError) as error:
        zoo.load_folder(folder, **{"device": "cpu", "dtype": "float32"} | options)
    said = str(error.value)
    assert error.value.__cause__ is None and error.value.__suppress_context__ is (error.value.__context__ is not None)
    assert "\n" not in said and said.endswith(".") and "Traceback" not in said
    return said


def test_the_copy_itself_is_whole(broken):
    model = zoo.load_folder(broken, device="cpu", dtype="float32")
    assert (model.name, model.family, model.dtype) == ("my-model", "masked", "float32")
    assert not any(p.requires_grad for p in model.denoiser.parameters()) and not model.denoiser.training


def test_weights_cut_short(broken):
    with (MASKED / "model.safetensors").open("rb") as file:
        replaced(broken, "model.safetensors", file.read(1_000_000))
    assert refused(broken).startswith("my-model: model.safetensors is missing, cut short or not a safetensors file")


@pytest.mark.parametrize("data", [b"", b"\x00", bytes(range(256)) * 20, b"\x80\x02}q\x00.", b"{}", b"<html></html>"])
def test_weights_that_are_no_safetensors(broken, data):
    replaced(broken, "model.safetensors", data)
    assert refused(broken).startswith("my-model: model.safetensors is missing, cut short or not a safetensors file")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing(broken, name):
    (broken / name).unlink()
    assert refused(broken).startswith(f"my-model: {name}")


def test_weights_of_another_model(broken):
    (broken / "model.safetensors").unlink()
    save_file({"encoder.weight": torch.zeros(2, 2)}, broken / "model.safetensors")
    said = refused(broken)
    assert said.startswith("my-model: model.safetensors lacks ")
    assert "has 1 unknown ones such as encoder.weight; it belongs to another model." in said


def test_weights_of_the_other_family(broken):
    (broken / "model.safetensors").unlink()
    (broken / "model.safetensors").symlink_to(zoo.models_folder() / "stories-continuous" / "model.safetensors")
    assert refused(broken).endswith("it belongs to another model.")


def test_a_tensor_of_another_shape(broken):
    replaced(broken, "config.json", config(hidden=1537))
    said = refused(broken)
    assert said == "my-model: trunk.layers.0.up.weight has shape [1536, 384], config.json asks for [1537, 384]."


@pytest.mark.parametrize("family", ["gan", None, 3, ["masked"], {}])
def test_a_config_of_an_unknown_family(broken, family):
    replaced(broken, "config.json", json.dumps({"family": family, "shape": {}}))
    said = refused(broken)
    assert said.startswith(
        "my-model: config.json needs a family (continuous, masked, uniform, autoregressive) and a shape"
    )
    assert repr(family) in said


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '"masked"', "{}", '{"family": "masked"}', '{"family": "masked", "shape": {}}'],
)  # fmt: skip
def test_a_config_that_lacks_what_it_needs(broken, text):
    replaced(broken, "config.json", text)
    assert refused(broken).startswith("my-model: config.json")


@pytest.mark.parametrize("changes", [{"width": "384"}, {"width": -1}, {"width": None}, {"depth": 6}, {"heads": 7}])
def test_a_shape_that_makes_no_model(broken, changes):
    replaced(broken, "config.json", config(**changes))
    assert refused(broken).startswith("my-model: ")


def test_a_tokenizer_of_another_size(broken):
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {s: i for i, s in enumerate(["<pad>", "<bos>", "<eos>", *symbols])}
    small = FastTokenizer(models.BPE(vocab=vocabulary, merges=[]))
    small.pre_tokenizer, small.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    replaced(broken, "tokenizer.json", small.to_str())
    assert refused(broken) == "my-model: tokenizer.json has 259 tokens, config.json says 4096."


@pytest.mark.parametrize("text", ["", "{}", "[]", "not json"])
def test_a_tokenizer_that_cannot_be_read(broken, text):
    replaced(broken, "tokenizer.json", text)
    assert refused(broken).startswith("my-model: tokenizer.json cannot be read")


def test_a_tokenizer_that_is_not_of_bytes(broken):
    words = FastTokenizer(models.WordLevel({"<pad>": 0, "<bos>": 1, "<eos>": 2, "naïve 你": 3}, unk_token="<pad>"))
    replaced(broken, "tokenizer.json", words.to_str())
    assert refused(broken).startswith("my-model: tokenizer.json cannot be read")


@pytest.mark.parametrize("dtype", ["float64", "int8", "FLOAT32", "fp16"])
def test_an_unknown_precision(monkeypatch, dtype):
    monkeypatch.setenv("PLAYGROUND_DTYPE", dtype)
    said = refused(MASKED, dtype=None)
    assert said == f"PLAYGROUND_DTYPE is {dtype!r}; allowed: float32, bfloat16, float16."


@pytest.mark.parametrize("device", ["tpu9", "gpu", "cpu:x", "../cpu"])
def test_an_unknown_device(monkeypatch, device):
    monkeypatch.setenv("PLAYGROUND_DEVICE", device)
    assert refused(MASKED, device=None).startswith(f"PLAYGROUND_DEVICE is {device!r}, which cannot be used here")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this device has CUDA")
def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_DEVICE", "cuda")
    assert refused(MASKED, device=None, dtype=None).startswith("PLAYGROUND_DEVICE is 'cuda', which cannot be used here")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_precision_can_be_chosen(monkeypatch, dtype):
    monkeypatch.setenv("PLAYGROUND_DTYPE", dtype)
    assert zoo.load_folder(MASKED, device="cpu").dtype == dtype


def test_the_noise_stays_in_float32():
    denoiser = zoo.load_folder(zoo.models_folder() / "stories-continuous", device="cpu", dtype="bfloat16").denoiser
    kept = {name for name, p in denoiser.named_parameters() if p.dtype == torch.float32}
    assert kept == {"embeddings", "prior", "schedule_loc", "schedule_log_scale", "schedule_plateau"}
    assert denoiser.table().dtype == torch.float32
    assert torch.allclose(denoiser.table().norm(dim=-1), torch.tensor(128.0).sqrt(), atol=1e-4)


def test_the_catalogue_lists_the_models_by_family():
    families = ["continuous", "masked", "uniform", "autoregressive"]
    assert list(zoo.catalogue().items()) == [(f"stories-{family}", family) for family in families]


def test_an_unknown_name_is_refused_with_the_names_there_are():
    for name in ("nonesuch", "", "../models/stories-masked", "stories-masked/"):
        with pytest.raises(ModelError, match="there are stories-continuous, stories-masked"):
            zoo.load(name)


def test_a_model_is_loaded_once():
    for name in zoo.catalogue():
        assert zoo.load(name) is zoo.load(name)
    assert zoo.load("stories-masked") is not zoo.load("stories-continuous")


def test_two_who_ask_at_once_wait_for_one_load(monkeypatch):
    loads, got, start = [], [], threading.Barrier(4)

    @functools.cache
    def slow(folder):
        loads.append(folder)
        time.sleep(0.05)
        return object()

    def ask():
        start.wait()
        got.append(zoo.load("stories-masked"))

    monkeypatch.setattr(zoo, "_load_cached", slow)
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1 and len(got) == 4 and len(set(map(id, got))) == 1
