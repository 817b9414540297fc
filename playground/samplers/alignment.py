"""Which cells of two texts go together, so that a path can lead from one to the other."""

import re
from dataclasses import dataclass

from playground.text import Tokenizer

END = re.compile(r"[.!?…。！？]+[\"'”’)\]]*\Z")
NOWHERE = -1

RULE = (
    "Sentence by sentence: the first of A goes with the first of B, and so on. Along the path the length of each goes "
    "evenly from that in A to that in B, and the words of both are spread over it evenly."
)


def sentences(ids: list[int], tokenizer: Tokenizer) -> list[list[int]]:
    """The ids of each sentence; joined, they are `ids`."""
    found: list[list[int]] = [[]]
    pieces = tokenizer.pieces(ids)
    for i, piece in enumerate(pieces):
        found[-1].append(ids[i])
        after = pieces[i + 1] if i + 1 < len(pieces) else ""
        if isinstance(piece, str) and END.search(piece) and isinstance(after, str) and after[:1].isspace():
            found.append([])
    return found


@dataclass(frozen=True)
class Pairing:
    """Two texts as sentences, the shorter list filled up with empty ones."""

    a: list[list[int]]
    b: list[list[int]]

    @classmethod
    def of(cls, a: list[int], b: list[int], tokenizer: Tokenizer) -> "Pairing":
        first, second = sentences(a, tokenizer), sentences(b, tokenizer)
        count = max(len(first), len(second))
        return cls(*(part + [[]] * (count - len(part)) for part in (first, second)))

    def lengths(self, weight: float) -> list[int]:
        """Tokens of each sentence on the way from A (0) to B (1)."""
        return [round((1 - weight) * len(a) + weight * len(b)) for a, b in zip(self.a, self.b, strict=True)]

    def length(self, weight: float) -> int:
        return sum(self.lengths(weight))

    def places(self, weight: float) -> list[tuple[int, int]]:
        """For each cell at this weight, the token of A and the token of B that meet there, counted in the whole text;
        -1 where the sentence has no partner."""
        places, before_a, before_b = [], 0, 0
        for a, b, length in zip(self.a, self.b, self.lengths(weight), strict=True):
            in_a, in_b = spread(len(a), length), spread(len(b), length)
            places += [
                (NOWHERE if i == NOWHERE else before_a + i, NOWHERE if j == NOWHERE else before_b + j)
                for i, j in zip(in_a, in_b, strict=True)
            ]
            before_a, before_b = before_a + len(a), before_b + len(b)
        return places

    def noise_places(self, weight: float) -> list[int]:
        """For each cell, which of the path's noise vectors it has: a sentence's first cells keep theirs."""
        places, before = [], 0
        for a, b, length in zip(self.a, self.b, self.lengths(weight), strict=True):
            places += range(before, before + length)
            before += max(len(a), len(b))
        return places

    @property
    def widest(self) -> int:
        """How many noise vectors the path needs."""
        return sum(max(len(a), len(b)) for a, b in zip(self.a, self.b, strict=True))


def spread(count: int, length: int) -> list[int]:
    """`count` things over `length` cells, evenly and in order, first to first and last to last; -1 of nothing."""
    if count == 0:
        return [NOWHERE] * length
    if length == 1:
        return [0]
    return [round(i * (count - 1) / (length - 1)) for i in range(length)]
