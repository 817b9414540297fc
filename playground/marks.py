"""Texts with holes, as visitors write them: which tokens are kept, and where new ones go.

    The dog ran to the [[park]] and was happy.    the words in a hole are written anew, as many tokens as there were
    The dog ran to the [[+8]] and was happy.      eight new tokens
    The dog ran to the [[?]] and was happy.       any number; [[?8]]: somewhere around eight
    [[#12 77]] and [[=12 77]]                     a hole over these token ids, and these ids kept: for rows whose
                                                  tokens are not those that their text would be cut into

A hole grows to whole tokens; a token is mostly a word with the space before it. For the same reason one space before
`[[+8]]` belongs to the hole. All else outside is kept, byte for byte. Literal brackets: `\\[[`, and `\\]]` in a hole.
A backslash means itself anywhere else; before a mark, two stand for one.
"""

import re
from dataclasses import dataclass

from playground.text import BOS, EOS, PAD, Tokenizer

AROUND = 6  # tokens of a [[?]] that says nothing more
MOST = 512  # tokens in a hole
MARK = re.compile(r"(?<!\\)(\\*)(\[\[|\]\])")
SIZED = re.compile(r"\+([0-9]{1,9})|\?([0-9]{0,9})")
OPENING, OPENING_OR_CLOSING = r"\[\[", r"\[\[|\]\]"
RAW = re.compile(r"([#=])\s*([0-9]{1,6}(?:\s+[0-9]{1,6})*)\s*")
FORMS = "[[+8]], [[?]], [[?8]], [[#12 77]] and [[=12 77]]"


@dataclass(frozen=True)
class Hole:
    """Tokens `start` to before `end` of the row make room for `cells` new ones; with `open_`, for about that many."""

    start: int
    end: int
    cells: int
    open_: bool = False

    @property
    def keeps_length(self) -> bool:
        return self.cells == self.end - self.start and not self.open_


@dataclass(frozen=True)
class Marked:
    """The token ids of a text, without start and end mark, and its holes from left to right."""

    ids: list[int]
    holes: list[Hole]

    @property
    def open_(self) -> bool:
        """Whether the length of a hole is to be chosen."""
        return any(hole.open_ for hole in self.holes)

    @property
    def kept(self) -> int:
        """How many tokens stay."""
        return len(self.ids) - sum(hole.end - hole.start for hole in self.holes)

    def lengths(self, row: int, rows: int) -> list[int]:
        """The new tokens of each hole in row `row` of `rows`: every row tries another length where one is open."""
        return [spread(hole.cells, rows)[row] if hole.open_ else hole.cells for hole in self.holes]

    def cells(self, lengths: list[int]) -> tuple[list[int], list[bool]]:
        """A row between its start and end mark: ids, and whether each is fixed. A hole that keeps its length holds
        the ids it had."""
        ids, fixed, at = [BOS], [True], 0
        for hole, length in zip(self.holes, lengths, strict=True):
            kept = self.ids[at : hole.start]
            inside = self.ids[hole.start : hole.end] if length == hole.end - hole.start else [PAD] * length
            ids += kept + inside
            fixed += [True] * len(kept) + [False] * length
            at = hole.end
        rest = [*self.ids[at:], EOS]
        return ids + rest, fixed + [True] * len(rest)


def spread(around: int, rows: int) -> list[int]:
    """Different lengths from half of `around` to twice as many, in even ratios."""
    found: list[int] = []
    for i in range(rows):
        length = round(around * 2 ** (2 * i / max(1, rows - 1) - 1)) if rows > 1 else around
        found.append(max(length, found[-1] + 1 if found else 1))
    return found


def parse(text: str, tokenizer: Tokenizer) -> Marked:
    """Raises ValueError with a sentence on marks that cannot be read."""
    ids: list[int] = []
    holes: list[Hole] = []
    run = _Run()
    for kind, content, at in _parts(text):
        if kind == "text":
            run.text += content
        elif content[:1] in ("#", "=") and (raw := RAW.fullmatch(content)):
            run.end(tokenizer, ids, holes)
            run = _Run()
            start = len(ids)
            ids += _ids(raw[2], tokenizer, at)
            holes += [Hole(start, len(ids), len(ids) - start)] if raw[1] == "#" else []
        elif sized := SIZED.fullmatch(content):
            run.text = run.text.removesuffix(" ")
            cells = int(sized[1] or sized[2] or AROUND)
            if not 1 <= cells <= MOST:
                raise ValueError(f"the hole at character {at} asks for {cells} tokens; allowed: 1 to {MOST}.")
            run.holes.append((len(run.text), len(run.text), cells, sized[1] is None, at))
        elif content[:1] and content[0] in "+?#=":
            raise ValueError(
                f"the mark at character {at} begins with {content[0]} and cannot be read; allowed: {FORMS}, "
                f"or \\{content[0]} for a hole over words that begin so."
            )
        elif content:
            content = re.sub(r"^\\(?=\\*[+?#=])", "", content)
            run.holes.append((len(run.text), len(run.text) + len(content), None, False, at))
            run.text += content
        else:
            raise ValueError(f"the hole at character {at} is empty; write [[+8]] for eight new tokens.")
    run.end(tokenizer, ids, holes)
    return Marked(ids, holes)


def write(marked: Marked, tokenizer: Tokenizer) -> str:
    """A text that `parse` reads as `marked`. Token ids are written as numbers only where words would not do."""
    for raw in (set(), _unusual(marked.ids, tokenizer), set(range(len(marked.ids)))):
        text = _written(marked, tokenizer, raw)
        try:
            if parse(text, tokenizer) == marked:
                return text
        except ValueError:
            continue
    raise ValueError("these tokens cannot be written as a text with holes.")


def _written(marked: Marked, tokenizer: Tokenizer, raw: set[int]) -> str:
    pieces = [piece if isinstance(piece, str) else "" for piece in tokenizer.pieces(marked.ids)]
    text, at = "", 0
    for hole in [*marked.holes, Hole(len(pieces), len(pieces), 0)]:
        cell = at
        while cell < hole.start:
            end = next((i for i in range(cell, hole.start) if (i in raw) != (cell in raw)), hole.start)
            numbers = " ".join(map(str, marked.ids[cell:end]))
            text += f"[[={numbers}]]" if cell in raw else _escaped("".join(pieces[cell:end]), OPENING)
            cell = end
        inside = range(hole.start, hole.end)
        if not hole.keeps_length and hole.cells:
            text += " " * text.endswith(" ") + (f"[[?{hole.cells}]]" if hole.open_ else f"[[+{hole.cells}]]")
        elif raw.intersection(inside):
            text += f"[[#{' '.join(str(marked.ids[i]) for i in inside)}]]"
        elif inside:
            content = "".join(pieces[i] for i in inside)
            guard = "\\" * bool(re.match(r"\\*[+?#=]", content))
            text += "[[" + guard + _escaped(content, OPENING_OR_CLOSING) + "]]"
        at = hole.end
    return text


def _unusual(ids: list[int], tokenizer: Tokenizer) -> set[int]:
    """The places of ids that are not those their text would be cut into."""
    pieces = tokenizer.pieces(ids)
    usual = set(_places(tokenizer.encode(tokenizer.decode(ids)), tokenizer))
    found = {i for i, place in enumerate(_places(ids, tokenizer)) if place not in usual or not pieces[i]}
    return found | {i for i, piece in enumerate(pieces) if not isinstance(piece, str)}


def _places(ids: list[int], tokenizer: Tokenizer) -> list[tuple[int, int]]:
    """(first character, id) of each token."""
    places, at = [], 0
    for i, piece in zip(ids, tokenizer.pieces(ids), strict=True):
        places.append((at, i))
        at += len(piece) if isinstance(piece, str) else 0
    return places


def _escaped(text: str, marks: str) -> str:
    """Backslashes before `marks` so that they are read as text; those that stood there are doubled."""
    text = re.sub(rf"(?<!\\)(\\*)({marks})", lambda found: f"{found[1] * 2}\\{found[2]}", text)
    return re.sub(r"(?<!\\)\\+\Z", lambda found: found[0] * 2, text)  # a mark may follow


def _parts(text: str) -> list[tuple[str, str, int]]:
    """The text cut at its marks: ("text" or "hole", content with its escapes undone, character it starts at)."""
    parts: list[tuple[str, str, int]] = []
    kind, content, start, at = "text", "", 1, 0
    for found in MARK.finditer(text):
        slashes, mark = found.groups()
        content += text[at : found.start()] + "\\" * (len(slashes) // 2)
        at = found.end()
        if len(slashes) % 2 or (mark == "]]" and kind == "text"):
            content += mark
        elif mark == "[[" and kind == "hole":
            raise ValueError(
                f"the hole at character {start} is not closed before the next one; "
                r"write ]] after it, or \[[ for brackets that are text."
            )
        else:
            parts.append((kind, content, start))
            kind, content, start = ("hole" if mark == "[[" else "text"), "", found.end() - 1
    if kind == "hole":
        raise ValueError(
            rf"the hole at character {start} is not closed; write ]] after it, or \[[ for brackets that are text."
        )
    parts.append((kind, content + text[at:], start))
    return parts


def _ids(text: str, tokenizer: Tokenizer, at: int) -> list[int]:
    ids = [int(number) for number in text.split()]
    wrong = [i for i in ids if not EOS < i < tokenizer.vocab_size]
    if wrong:
        allowed = f"{EOS + 1} to {tokenizer.vocab_size - 1}"
        raise ValueError(f"the mark at character {at} names the token id {wrong[0]}; allowed: {allowed}.")
    return ids


class _Run:
    """A stretch of text that is cut into tokens as one, with its holes at characters of it."""

    def __init__(self):
        self.text = ""
        self.holes: list[tuple[int, int, int | None, bool, int]] = []

    def end(self, tokenizer: Tokenizer, ids: list[int], holes: list[Hole]) -> None:
        """Append the run's tokens, and its holes as places among them."""
        own = self._encode(tokenizer)
        edges = [at for at, _ in _places(own, tokenizer)] + [len(self.text)]
        drawn = [i for i in range(len(own)) if edges[i] < edges[i + 1]]  # the others continue a character
        for begin, end, cells, open_, at in self.holes:
            if begin == end and not self._between(begin, [edges[i] for i in drawn]):
                raise ValueError(f"the hole at character {at} stands inside a character; put it before or after.")
            touched = [i for i in drawn if edges[i] < end and edges[i + 1] > begin]
            start = touched[0] if touched else next((i for i in drawn if edges[i] == begin), len(own))
            stop = next((i for i in drawn if i > touched[-1]), len(own)) if touched else start
            if holes and len(ids) + start < holes[-1].end:
                raise ValueError(f"the hole at character {at} shares a token with the one before it; make them one.")
            holes.append(Hole(len(ids) + start, len(ids) + stop, cells or stop - start, open_))
        ids += own

    def _between(self, place: int, edges: list[int]) -> bool:
        """Whether new tokens may stand at this character: at the first of a token, or after the last."""
        return place in edges or place == len(self.text)

    def _encode(self, tokenizer: Tokenizer) -> list[int]:
        """The tokens of the text, cut also where new ones are to stand."""
        own = tokenizer.encode(self.text)
        edges = {at for at, _ in _places(own, tokenizer)} | {len(self.text)}
        cuts = sorted({begin for begin, end, *_ in self.holes if begin == end} - edges)
        if not cuts:
            return own
        parts = zip([0, *cuts], [*cuts, len(self.text)], strict=True)
        return [i for begin, end in parts for i in tokenizer.encode(self.text[begin:end])]
