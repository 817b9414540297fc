"""A folder of text -> documents of sentences of token ids, and from these the rows a denoiser trains on."""

import math
import random
import re
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer as FastTokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers
from torch import Tensor

from playground.text import BOS, EOS, PAD, Tokenizer

SEPARATOR = "<|endoftext|>"  # TinyStories' line between two stories
SENTENCE_END = re.compile(r"(?<=[.!?][\"'])\s+(?=[A-Z\"])|(?<=[.!?])\s+(?=[A-Z\"])")
LENGTHS = {24: 0.2, 64: 0.45, 128: 0.25, 256: 0.1}  # cells in a row -> its share of the batches
Document = list[list[int]]  # sentences of token ids; joined they are the document


class CorpusError(ValueError):
    """A corpus that cannot be trained on, said in one sentence."""


@dataclass(frozen=True)
class Source:
    """One file of the corpus. `share`: of the training rows; `opens`: its documents get start and end marks."""

    name: str
    documents: list[Document]
    share: float
    opens: bool = True

    @property
    def tokens(self) -> int:
        return sum(len(sentence) for document in self.documents for sentence in document)


@dataclass(frozen=True)
class Corpus:
    """Training sources and, split off before anything else, the validation documents of the first of them."""

    sources: list[Source]
    validation: list[Document]
    tokenizer: Tokenizer

    @classmethod
    def read(cls, folder: Path | str, tokenizer: Tokenizer, shares: dict[str, float] | None = None) -> "Corpus":
        """Every .txt file of the folder, each with its share of the tokens; or the files named in `shares`.

        With `shares`, the first file is what the model is to write: its documents alone get start and end marks and
        give the validation rows; the others are practice in the language. Raises CorpusError with a sentence.
        """
        texts = read_texts(folder, shares)
        held_out, sources = [], []
        for position, (name, documents) in enumerate(texts.items()):
            opens = shares is None or position == 0
            if opens:
                kept, rest = split(documents)
                held_out += kept
            else:
                rest = documents
            encoded = [encode(document, tokenizer) for document in rest]
            share = shares[name] if shares else float(sum(map(len, rest)))
            sources.append(Source(name, encoded, share, opens))
        if not held_out:
            raise CorpusError(
                f"The files in {folder} hold one document each, so none can be held out for validation."
                if shares is None
                else f"{sources[0].name} is a single document, so none can be held out for validation."
            )
        return cls(sources, [encode(document, tokenizer) for document in held_out], tokenizer)

    @property
    def tokens(self) -> int:
        """Tokens of training text."""
        return sum(source.tokens for source in self.sources)

    def rows(self, count: int, length: int, rng: random.Random, cut: bool = False) -> Tensor:
        """Training rows [B, L]; see `window`."""
        shares = [source.share for source in self.sources]
        picks = rng.choices(self.sources, shares, k=count)
        return torch.tensor([window(rng.choice(s.documents), length, rng, s.opens, cut) for s in picks])

    def validation_rows(self, count: int, length: int, cut: bool = False) -> Tensor:
        """The openings of `count` held-out documents (all of them where there are fewer), [B, L]."""
        return torch.tensor([opening(document, length, cut) for document in self.validation[:count]])


def parse_shares(text: str) -> dict[str, float]:
    """FILE=SHARE, FILE=SHARE -> {file name: its share of the training rows}."""
    shares = {}
    for part in text.split(","):
        name, _, share = (piece.strip() for piece in part.rpartition("="))
        try:
            number = float(share)
        except ValueError:
            number = math.nan
        if not name or not 0 < number <= 1e9:
            raise CorpusError(f"share: cannot read {part.strip()[:40]!r}; write FILE=SHARE, as in stories.txt=0.76.")
        if name in shares:
            raise CorpusError(f"share: {name[:40]!r} is named twice.")
        shares[name] = number
    return shares


def read_texts(folder: Path | str, shares: dict[str, float] | None = None) -> dict[str, list[str]]:
    """File name -> its documents: parted by lines of <|endoftext|> where there are any, else by blank lines, else by
    line ends. White space inside a document becomes single spaces."""
    folder = Path(folder)
    if not folder.is_dir():
        raise CorpusError(f"The corpus folder {folder} does not exist or is not a folder.")
    names = list(shares) if shares else sorted(path.name for path in folder.glob("*.txt") if path.is_file())
    if not names:
        raise CorpusError(f"The corpus folder {folder} holds no .txt file.")
    found = {name: _documents(folder / name) for name in names}
    empty = [name for name, documents in found.items() if not documents]
    if empty:
        raise CorpusError(f"{empty[0]} holds no text.")
    if sum(map(len, found.values())) < 2:
        raise CorpusError(
            f"The corpus in {folder} is a single document; at least two are needed, one to train on and one to "
            f"validate with. Separate documents by a line {SEPARATOR}, by blank lines or by line ends."
        )
    return found


def _documents(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CorpusError(f"{path.name} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path.name} is not UTF-8 text (byte {error.start + 1:,}).") from None
    if "\0" in text:
        raise CorpusError(f"{path.name} holds NUL bytes, so it is not text.")
    parts = text.split(SEPARATOR) if SEPARATOR in text else re.split(r"\n\s*\n", text)
    if len(parts) == 1:
        parts = text.splitlines()
    return [document for part in parts if (document := " ".join(part.split()))]


def split(documents: list[str]) -> tuple[list[str], list[str]]:
    """(validation, training): a twentieth of the documents, at most 250, the same ones every time."""
    shuffled = documents[:]
    random.Random(0).shuffle(shuffled)
    held = min(250, max(1, len(shuffled) // 20)) if len(shuffled) > 1 else 0
    return shuffled[:held], shuffled[held:]


def sentences(text: str) -> list[str]:
    return [sentence for sentence in SENTENCE_END.split(text) if sentence]


def encode(text: str, tokenizer: Tokenizer) -> Document:
    return [tokenizer.encode(" " * bool(i) + sentence) for i, sentence in enumerate(sentences(text))]


def window(document: Document, length: int, rng: random.Random, opens: bool = True, cut: bool = False) -> list[int]:
    """Sentences from a random place of a document: `length` ids with <bos> where the document starts, then whole
    sentences, <eos> and <pad>. With `cut` the row is filled to its last cell and <eos> comes only where the document
    ends: a model that writes from left to right cannot know where a row will end."""
    first = 0 if rng.random() < 0.4 else rng.randrange(len(document))
    return _row(document, first, length, opens, cut)


def opening(document: Document, length: int, cut: bool = False) -> list[int]:
    """The window that starts where the document does."""
    return _row(document, 0, length, opens=True, cut=cut)


def _row(document: Document, first: int, length: int, opens: bool, cut: bool) -> list[int]:
    row = [BOS] if first == 0 and opens else []
    for end in range(first, len(document)):
        if len(row) + len(document[end]) >= length and (cut or end > first):
            break
        row += document[end]
    else:
        end = len(document)
    if cut:
        row += document[end] if end < len(document) else [EOS] * opens
    elif len(row) < length:
        row.append(EOS)
    return (row + [PAD] * length)[:length]


def train_tokenizer(folder: Path | str, vocabulary: int, path: Path, shares: dict[str, float] | None = None) -> None:
    """Byte-level BPE of `vocabulary` tokens over the training documents, written to `path`."""
    texts = (text for documents in read_texts(folder, shares).values() for text in split(documents)[1])
    fast = FastTokenizer(models.BPE())
    fast.pre_tokenizer, fast.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<pad>", "<bos>", "<eos>"], min_frequency=3, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )  # fmt: skip
    fast.train_from_iterator(texts, trainer)
    fast.save(str(path))


def given_cells(rows: Tensor, rng: random.Random, generator: torch.Generator) -> Tensor:
    """Which cells [B, L] the denoiser is given: none in half of the rows, a prefix in 20%, all but one or two spans
    in 20%, single cells in 10%."""
    given = torch.zeros_like(rows, dtype=torch.bool)
    length = rows.shape[1]
    for row in given:
        kind = rng.random()
        if kind < 0.5:
            continue
        if kind < 0.7:
            row[: rng.randint(1, length // 2)] = True
        elif kind < 0.9:
            row[:] = True
            for _ in range(rng.choice([1, 1, 2])):
                width = rng.randint(2, length // 2)
                start = rng.randint(0, length - width)
                row[start : start + width] = False
        else:
            row[:] = torch.rand(length, generator=generator) < rng.uniform(0.15, 0.85)
    return given
