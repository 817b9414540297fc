"""Text <-> token ids, and the pieces of text that are safe to draw in the cells of a row.

Byte-level BPE: a token is a run of UTF-8 bytes, so one character may be spread over several
cells. Decoding cell by cell would break it; here a row is decoded once and its characters are
dealt to cells, such that joining the pieces gives exactly the text.
"""

import unicodedata
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer as FastTokenizer

PAD, BOS, EOS = 0, 1, 2  # the first ids of every vocabulary
MASK_PIECE, BROKEN_PIECE = 3, 4  # what a cell shows when it is not text; PAD, BOS, EOS show as themselves
Piece = str | int


def _byte_of_symbol() -> dict[str, int]:
    """The byte behind each of the 256 printable symbols byte-level BPE writes its vocabulary in (GPT-2)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    moved = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(moved)}


class Tokenizer:
    """Byte-level BPE read from a `tokenizer.json`. Exact for every Unicode string; typed `<eos>` stays text."""

    def __init__(self, path: Path | str):
        self._fast = FastTokenizer.from_file(str(path))
        self._fast.encode_special_tokens = True  # "<eos>" typed by a visitor is five characters, not a token
        self.vocab_size = self._fast.get_vocab_size()
        byte_of = _byte_of_symbol()
        symbols = [self._fast.id_to_token(i) for i in range(self.vocab_size)]
        self._bytes = [b"" if i <= EOS else bytes(byte_of[s] for s in symbol) for i, symbol in enumerate(symbols)]

    @cached_property
    def continuing(self) -> list[bool]:
        """Whether each token goes on with the word before it: it begins with a letter or a digit, without a space."""
        return [data.decode("utf-8", "ignore")[:1].isalnum() for data in self._bytes]

    def same_tokens(self, other: "Tokenizer") -> bool:
        return self._bytes == other._bytes

    def encode(self, text: str) -> list[int]:
        """Ids of `text`, without start or end marks. Raises ValueError on text that UTF-8 cannot hold."""
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(f"character {error.start + 1} is half of a surrogate pair, which is not text") from None
        return self._fast.encode(text, add_special_tokens=False).ids

    def decode(self, ids) -> str:
        """The text of `ids` up to the first end mark, without special tokens; incomplete bytes are left out."""
        return "".join(piece for piece in self.pieces(until_end(ids)) if isinstance(piece, str))

    def pieces(self, ids) -> list[Piece]:
        """What each cell of a row shows: joining the strings before the end mark gives `decode(ids)`.

        A character belongs to the cell holding its first byte; combining marks and joined emoji
        stay with the character they join. Special cells give a number: PAD, BOS, EOS, MASK_PIECE
        (an id past the vocabulary) or BROKEN_PIECE (bytes that complete no character).
        """
        ids = list(ids)
        text: list[str] = [""] * len(ids)
        whole = [False] * len(ids)  # does the cell hold a byte of a complete character?
        owner, buffer = [], b""
        for cell, i in enumerate(ids):
            data = self._bytes[i] if i < self.vocab_size else b""
            if not data:  # a special cell ends the run of text
                self._deal(buffer, owner, text, whole)
                owner, buffer = [], b""
            owner += [cell] * len(data)
            buffer += data
        self._deal(buffer, owner, text, whole)
        return [
            MASK_PIECE if i >= self.vocab_size else i if i <= EOS else t if w else BROKEN_PIECE
            for i, t, w in zip(ids, text, whole, strict=True)
        ]

    @staticmethod
    def _deal(buffer: bytes, owner: list[int], text: list[str], whole: list[bool]) -> None:
        """Give each complete character of `buffer` to the cell of its first byte, or to the one it joins."""
        at, home, previous = 0, None, ""
        while at < len(buffer):
            size = _character_size(buffer, at)
            if size == 0:
                at, home, previous = at + 1, None, ""
                continue
            char = buffer[at : at + size].decode("utf-8")
            if home is None or not _joins(previous, char):
                home = owner[at]
            text[home] += char
            for cell in owner[at : at + size]:
                whole[cell] = True
            previous = previous + char if _joins(previous, char) else char
            at += size


def until_end(ids) -> list[int]:
    """The ids before the first end mark."""
    ids = [int(i) for i in ids]
    return ids[: ids.index(EOS)] if EOS in ids else ids


def _character_size(data: bytes, at: int) -> int:
    """Length in bytes of the UTF-8 character at `at`; 0 where there is no complete one."""
    for size in (1, 2, 3, 4):
        try:
            data[at : at + size].decode("utf-8")
            return size
        except UnicodeDecodeError:
            continue
    return 0


def _joins(cluster: str, char: str) -> bool:
    """Whether `char` is drawn as one with the cluster before it: marks, selectors, skin tones, joined emoji, flags."""
    if not cluster:
        return False
    if unicodedata.category(char) in ("Mn", "Me", "Mc") or char == "\u200d" or "\U0001f3fb" <= char <= "\U0001f3ff":
        return True
    flags = "\U0001f1e6" <= char <= "\U0001f1ff" and len(cluster) == 1 and "\U0001f1e6" <= cluster <= "\U0001f1ff"
    return cluster[-1] == "\u200d" or flags
