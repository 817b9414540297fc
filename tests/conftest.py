"""What the tests of the core share: the tokenizer of the models that come with the app."""

import os
from pathlib import Path

import pytest

# Read when torch is first imported: its threads sleep while they wait, so that a busy machine slows the tests a
# little and not tenfold.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def tokenizer():
    from playground.text import Tokenizer

    return Tokenizer(ROOT / "assets" / "models" / "stories-masked" / "tokenizer.json")
