"""The checkpoints of the prototype, in both: the same logits.

The prototype and its checkpoints are not part of the repository: PLAYGROUND_REFERENCE names their folder.
"""

import importlib.util
import os
from pathlib import Path
from unittest import mock

import pytest
import torch

from playground.denoisers.continuous import ContinuousDenoiser
from playground.denoisers.masked import MaskedDenoiser

REFERENCE = Path(os.environ.get("PLAYGROUND_REFERENCE") or Path(__file__).parents[3] / "shared" / "lab")
SHAPE = {"vocab_size": 4096, "layers": 6, "width": 384, "heads": 12, "hidden": 1536, "max_length": 300}
TOLERANCE = 1e-3
LENGTH = 40

LAYER = {"qkv": "qkv", "o": "out", "n1": "attention_norm", "up": "up", "dn": "down", "n2": "mlp_norm"}
NAMES = {
    "trunk.pos": "trunk.positions", "trunk.ln.weight": "trunk.norm.weight", "trunk.ln.bias": "trunk.norm.bias",
    "tok.weight": "tokens", "tok": "tokens", "hd.weight": "head.dense.weight", "hd.bias": "head.dense.bias",
    "hn.weight": "head.norm.weight", "hn.bias": "head.norm.bias", "bias": "head.bias", "prior": "prior",
    "E": "embeddings", "zin.weight": "latent_in.weight", "insc.weight": "self_condition_in.weight",
    "flag.weight": "given_flag", "pre": "prefix", "t1.weight": "level_in.weight", "t1.bias": "level_in.bias",
    "t2.weight": "level_out.weight", "t2.bias": "level_out.bias", "ph.weight": "code_in.weight",
    "g_loc": "schedule_loc", "g_logscale": "schedule_log_scale", "g_H": "schedule_plateau",
}  # fmt: skip


def converted(state: dict) -> dict:
    """The prototype's parameters under the names of ours."""
    out = {}
    for key, value in state.items():
        if key.startswith("trunk.layers."):
            _, _, index, name, kind = key.split(".")
            out[f"trunk.layers.{index}.{LAYER[name]}.{kind}"] = value
        else:
            out[NAMES[key]] = value
    return out


def checkpoint(name: str) -> dict:
    if not (REFERENCE / name).is_file():
        pytest.skip(f"{REFERENCE / name} is not here; PLAYGROUND_REFERENCE names the prototype's folder")
    state = torch.load(REFERENCE / name, map_location="cpu", weights_only=True)
    return {key: value.float() for key, value in state.get("ema", state).items()}


@pytest.fixture(scope="module")
def prototype():
    if not (REFERENCE / "common.py").is_file():
        pytest.skip(f"{REFERENCE} has no common.py; PLAYGROUND_REFERENCE names the prototype's folder")
    spec = importlib.util.spec_from_file_location("reference_common", REFERENCE / "common.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ours(denoiser, state):
    denoiser.load_state_dict(converted(state))
    return denoiser.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def continuous(prototype):
    state = checkpoint("continuous.pt")
    theirs = prototype.Continuous(4096)
    theirs.load_state_dict(state)
    return theirs.eval().requires_grad_(False), ours(ContinuousDenoiser(**SHAPE, embedding_width=128), state)


@pytest.mark.parametrize("with_code", [False, True], ids=["plain", "semantic code"])
@pytest.mark.parametrize("levels", [(1.74, 3.0), (5.0, 9.0)])
def test_continuous_logits_equal_the_prototypes(continuous, levels, with_code):
    theirs, mine = continuous
    generator = torch.Generator().manual_seed(0)
    table = theirs.emb()
    z = torch.randn(2, LENGTH, 128, generator=generator)
    hint = torch.randn(2, LENGTH, 128, generator=generator) * 0.3
    given = torch.rand(2, LENGTH, generator=generator) < 0.3
    z = torch.where(given[..., None], table[torch.randint(0, 4096, (2, LENGTH), generator=generator)], z)
    code = torch.randn(2, 128, generator=generator) if with_code else None
    log_nsr = torch.tensor(levels)
    with mock.patch.object(torch, "bfloat16", torch.float32):  # the prototype rounds two products, ours does not
        expected = theirs(z, log_nsr, hint, given, table, phi=code)
    got = mine(z, log_nsr, hint, given, code)
    assert torch.allclose(mine.table(), table, atol=1e-5)
    assert got.shape == expected.shape == (2, LENGTH, 4096)
    assert (got - expected).abs().max() < TOLERANCE
    assert (mine(z, log_nsr, -hint, given, code) - expected).abs().max() > 10 * TOLERANCE


def test_masked_logits_equal_the_prototypes(prototype):
    state = checkpoint("masked.pt")
    theirs = prototype.Masked(4096)
    theirs.load_state_dict(state)
    mine = ours(MaskedDenoiser(**SHAPE), state)
    ids = torch.randint(0, 4097, (2, LENGTH), generator=torch.Generator().manual_seed(0))
    expected, got = theirs.eval().requires_grad_(False)(ids), mine(ids)
    assert got.shape == expected.shape == (2, LENGTH, 4096)
    assert (got - expected).abs().max() < TOLERANCE
    assert (mine(ids.flip(1)) - expected).abs().max() > 10 * TOLERANCE
