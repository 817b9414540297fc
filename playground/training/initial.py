"""Where training starts: from nothing, from all-MiniLM-L6-v2, or from another of our denoisers.

The order that pays is MiniLM -> masked -> the other families: a masked denoiser's guess carries over to noise on
embeddings (read as a soft mask), to random tokens and to a causal trunk.
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer as FastTokenizer
from torch import Tensor

from playground.denoisers import minilm
from playground.denoisers.zoo import FAMILIES
from playground.text import BOS, EOS, PAD, Tokenizer

SHAPE = minilm.SHAPE | {"max_length": 513}
EMBEDDING_WIDTH = 128
ZERO_AT_FIRST = ("latent_in", "self_condition_in", "given_flag", "level_out")  # what a masked denoiser has not


def fresh(family: str, shape: dict) -> torch.nn.Module:
    """A denoiser with BERT's random weights: normal, 0.02; the additions to a masked denoiser start at zero."""
    denoiser = FAMILIES[family](**shape)
    with torch.no_grad():
        for name, p in denoiser.named_parameters():
            if p.dim() == 2:
                p.normal_(std=0.02)
            if name.split(".")[0] in ZERO_AT_FIRST:
                p.zero_()
        if family == "continuous":
            denoiser.code_in.weight.normal_(std=0.002)
            denoiser.embeddings.copy_(F.normalize(torch.randn_like(denoiser.embeddings), dim=-1))
            reset_schedule(denoiser)
    return denoiser


def shape_of(denoiser: torch.nn.Module) -> dict[str, int]:
    """What a denoiser was built with: config.json's shape."""
    trunk = denoiser.trunk
    shape = {
        "vocab_size": denoiser.vocab_size, "layers": len(trunk.layers), "width": denoiser.tokens.shape[1],
        "heads": trunk.layers[0].heads, "hidden": trunk.layers[0].up.out_features, "max_length": len(trunk.positions),
    }  # fmt: skip
    return shape | ({"embedding_width": denoiser.embedding_width} if denoiser.family == "continuous" else {})


def reset_schedule(denoiser) -> None:
    """LangFlow's start of the noise schedule, moved for the width of the embeddings."""
    denoiser.schedule_loc.fill_(4.72 + math.log(denoiser.embedding_width / 768))
    denoiser.schedule_log_scale.fill_(math.log(0.85))
    denoiser.schedule_plateau.fill_(5.7)


def from_denoiser(source: torch.nn.Module, family: str, prior: Tensor) -> torch.nn.Module:
    """A denoiser of `family` with all it can take from `source`: everything where they are of one family, else trunk,
    tokens and head. `prior` [V]: the log unigram frequencies, for the continuous family."""
    shape = shape_of(source)
    if family == "continuous":
        shape.setdefault("embedding_width", min(EMBEDDING_WIDTH, shape["width"]))
    else:
        shape.pop("embedding_width", None)
    denoiser = fresh(family, shape)
    own = denoiser.state_dict()
    taken = {name: w.float() for name, w in source.state_dict().items() if name in own}
    if source.family != family:
        taken = {name: w for name, w in taken.items() if name.split(".")[0] in ("trunk", "tokens", "head")}
    denoiser.load_state_dict(own | taken)
    if family == "continuous" and source.family != family:
        with torch.no_grad():
            denoiser.embeddings.copy_(principal_directions(denoiser.tokens[:-1], denoiser.embedding_width))
            denoiser.prior.copy_(prior)
    return denoiser


def principal_directions(tokens: Tensor, width: int) -> Tensor:
    """Token vectors [V, d], centred, on their leading principal directions [V, De], rows of norm sqrt(De)."""
    centred = tokens - tokens.mean(0)
    directions = torch.linalg.svd(centred, full_matrices=False)[2][:width]
    return F.normalize(centred @ directions.t(), dim=-1) * math.sqrt(width)


def from_minilm(tokenizer: Tokenizer, tokenizer_file: Path) -> torch.nn.Module:
    """A masked denoiser with MiniLM's trunk and word embeddings. Each of our tokens starts as the mean of the
    embeddings of its lower-cased WordPieces; a little noise tells cased twins apart."""
    folder = minilm.folder()
    weights = load_file(folder / "model.safetensors")
    denoiser = fresh("masked", {"vocab_size": tokenizer.vocab_size} | SHAPE)
    with torch.no_grad():
        minilm.copy_trunk(denoiser.trunk, weights)
        words = weights["embeddings.word_embeddings.weight"]
        pieces = FastTokenizer.from_file(str(folder / "tokenizer.json"))
        fast = FastTokenizer.from_file(str(tokenizer_file))
        denoiser.tokens.copy_(_transplant(fast, pieces, words, tokenizer.vocab_size))
    return denoiser


def _transplant(fast: FastTokenizer, pieces: FastTokenizer, words: Tensor, vocab_size: int) -> Tensor:
    """Our token table [V + 1, d] from the word embeddings of another tokenizer."""
    pieces.no_padding()
    pieces.no_truncation()
    vocabulary, unknown = pieces.get_vocab(), pieces.token_to_id("[UNK]")
    mean, spread = words[1000:].mean(0), words[1000:].std()
    table = torch.empty(vocab_size + 1, words.shape[1])
    for i in range(vocab_size):
        text = fast.decode([i], skip_special_tokens=False)
        word = text.strip().lower()
        inside = "##" + word
        if text == word and word.isalpha() and inside in vocabulary:
            found = [vocabulary[inside]]
        else:
            found = [j for j in pieces.encode(word, add_special_tokens=False).ids if j != unknown]
        table[i] = words[found].mean(0) if found else mean + torch.randn_like(mean) * spread * 0.5
        if found and text.strip() != word:
            table[i] += torch.randn_like(mean) * spread * 0.15
    for ours, theirs in ((PAD, "[PAD]"), (BOS, "[CLS]"), (EOS, "[SEP]"), (vocab_size, "[MASK]")):
        table[ours] = words[pieces.token_to_id(theirs)]
    return table
