import random

import pytest

from playground.text import Tokenizer
from playground.training.data import Corpus, train_tokenizer
from playground.training.train import Plan

NAMES, THINGS = ("Lily", "Tom", "Ben", "Mia"), ("ball", "cat", "hat", "tree", "cake")
SHAPE = {"layers": 1, "width": 32, "heads": 2, "hidden": 64, "max_length": 65}


def story(rng: random.Random) -> str:
    name, thing = rng.choice(NAMES), rng.choice(THINGS)
    lines = [
        f"Once there was a child named {name}.",
        f"{name} had a {thing}.",
        f"The {thing} was red.",
        f"{name} was happy.",
    ]
    return " ".join(lines[: rng.randint(2, 4)])


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A corpus that a tiny denoiser learns in seconds."""
    path, rng = tmp_path_factory.mktemp("corpus"), random.Random(1)
    (path / "stories.txt").write_text("\n<|endoftext|>\n".join(story(rng) for _ in range(200)), encoding="utf-8")
    (path / "lines.txt").write_text("".join(f"Tom sees the {thing}.\n" for thing in THINGS), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def tokenizer_file(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    train_tokenizer(folder, 320, path)
    return path


@pytest.fixture(scope="session")
def corpus(folder, tokenizer_file):
    return Corpus.read(folder, Tokenizer(tokenizer_file), {"stories.txt": 0.8, "lines.txt": 0.2})


@pytest.fixture
def plan(folder, tokenizer_file, tmp_path):
    """`plan(family, **changes)`: a plan for a few steps on the tiny corpus."""

    def make(family: str, **changes) -> Plan:
        values = {
            "corpus": str(folder), "output": str(tmp_path / family), "family": family, "init": "random",
            "tokens": 2000, "batch": 256, "tokenizer": str(tokenizer_file), "shape": SHAPE, "lr": 3e-3,
            "shares": {"stories.txt": 1.0},
        }  # fmt: skip
        return Plan(**values | changes)

    return make


@pytest.fixture(autouse=True)
def float32(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_DTYPE", "float32")
    monkeypatch.setenv("PLAYGROUND_DEVICE", "cpu")
