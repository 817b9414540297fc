"""What a visitor selected on a canvas, as a text with holes; checked, since any client can send any value."""

import json
from dataclasses import replace

from playground import marks
from playground.canvas import pinned_tokens
from playground.marks import Hole, Marked
from playground.recipe import Recipe, RecipeError
from playground.text import EOS, Tokenizer

KEYS = ("ids", "holes", "pins", "text")
PLACES = {"start": 0.0, "middle": 0.5, "end": 1.0}  # of a pinned word in its hole
BESIDE = 2  # tokens that a hole has beside its word where it is made longer for it


class NoRoom(RecipeError):
    """A word that must stand in a hole and leaves no room there: the hole, and the tokens that would do."""

    def __init__(self, hole: int, cells: int, sentence: str):
        self.hole, self.cells, self.sentence = hole, cells, sentence
        super().__init__("must contain", sentence)


def asked(request, tokenizer: Tokenizer) -> dict:
    """The fields `text` and `pins` of an edit that a canvas asks for: {ids: token ids of the text; holes: [[start, end,
    new cells; or null: as many; or "?"], ...] from left to right; pins: [[hole, "start" | "middle" | "end", word],
    ...]; text: what the ids are to the canvas}. Raises RecipeError, whatever the request is."""
    ids, holes, pins, text = (request.get(key) if isinstance(request, dict) else None for key in KEYS)
    if not (_is_list(ids) and len(ids) <= marks.MOST and all(_is_whole(i, EOS + 1, tokenizer.vocab_size) for i in ids)):
        raise RecipeError("text", f"is not a list of up to {marks.MOST} tokens of this model.")
    if tokenizer.decode(ids) != text:
        raise RecipeError("model", "cuts text into other tokens than the text here was; open the text again.")
    if not (_is_list(holes) and len(holes) <= marks.MOST):
        raise RecipeError("text", "has no list of holes.")
    kept, places, at = [], [], 0
    for hole in holes:
        place = _hole(hole, at, len(ids))
        if place.open_ and _is_blank(ids, place.start, place.end, tokenizer):
            place = replace(place, cells=1)
        kept += ids[at : place.start]
        inside = ids[place.start : place.end] if place.keeps_length else []
        places.append(Hole(len(kept), len(kept) + len(inside), place.cells, place.open_))
        kept, at = kept + inside, place.end
    marked = Marked(kept + ids[at:], places)
    if not (_is_list(pins) and len(pins) <= marks.MOST):
        raise RecipeError("pins", "is not a list.")
    blanks = [_is_blank(ids, start, end, tokenizer) for start, end, _ in holes]
    return {"text": marks.write(marked, tokenizer), "pins": _pins(pins, marked, blanks, tokenizer)}


def suited(knobs: dict, request: dict, tokenizer: Tokenizer) -> dict:
    """The knobs as they suit a request that `asked` has checked: blanks and insertions have nothing to start from, so
    alone they are written at strength 1. Raises RecipeError, in the words of the page."""
    holes, ids = request["holes"], request["ids"]
    if any(cells == "?" for *_, cells in holes) and Recipe.parse({"samples": knobs["samples"]}).samples < 2:
        raise RecipeError(
            "alternatives", "1 is too few where the model chooses a length, since each tries another; allowed: 2 to 4."
        )
    strength = Recipe.parse({"text": "[[a]] b", "strength": knobs["strength"]}).strength
    if strength < 1 and all(start == end or _is_blank(ids, start, end, tokenizer) for start, end, _ in holes):
        strength = 1.0
    if strength < 1 and any(cells not in (None, end - start) for start, end, cells in holes):
        raise RecipeError(
            "strength",
            "below 1 starts from the selected words, so every selection must keep its length, without blanks or "
            "insertions; set the strength to 1, or press “same” at each selection.",
        )
    return knobs | {"strength": strength}


def _is_blank(ids: list[int], start: int, end: int, tokenizer: Tokenizer) -> bool:
    """Whether tokens are a blank to fill, as in a ___ here."""
    text = tokenizer.decode(ids[start:end])
    return text.endswith("_") and not text.strip(" _")


def _is_list(value) -> bool:
    return isinstance(value, list)


def _is_whole(value, low: int, above: int) -> bool:
    return type(value) is int and low <= value < above


def _hole(hole, first: int, count: int) -> Hole:
    start, end, cells = hole if _is_list(hole) and len(hole) == 3 else (None, None, None)
    if not (_is_whole(start, first, count + 1) and _is_whole(end, start, count + 1)):
        raise RecipeError(
            "text", f"holes must lie in the text of {count} tokens, from left to right, none over another."
        )
    width = end - start
    cells = width if cells is None else cells
    if cells == "?":
        return Hole(start, end, width or marks.AROUND, True)
    if not _is_whole(cells, 1, marks.MOST + 1):
        raise RecipeError("text", f"a hole cannot have {str(cells)[:20]} tokens; allowed: 1 to {marks.MOST}.")
    return Hole(start, end, cells)


def _pins(pins: list, marked: Marked, blanks: list[bool], tokenizer: Tokenizer) -> dict[int, str]:
    """The pins as Recipe has them. A blank may be filled by its word alone, if anything else is to be written."""
    found = [_pin(pin, marked, tokenizer) for pin in pins]
    if found and marked.open_:
        raise RecipeError(
            "must contain", "a word needs every length to be known; switch off “model chooses”, or clear the word."
        )
    room = sum(hole.cells for hole in marked.holes) - sum(size for *_, size in found)
    for (index, _, word), (_, _, size) in zip(pins, found, strict=True):
        have = marked.holes[index].cells
        if size > have or room <= 0:
            beside = 0 if blanks[index] and room > have - size else BESIDE
            why = " and other words beside it" * bool(beside)
            raise NoRoom(index, size + beside, (
                f"“{word.strip()[:40]}” takes {size} token{'s' * (size > 1)}. This selection was made longer to hold "
                f"it{why}: {have} → {size + beside} tokens. Press Regenerate again."
            ))  # fmt: skip
    places = [cell for cell, *_ in found]
    if len(set(places)) < len(places):
        raise RecipeError("must contain", "two words would stand in the same place; choose another place for one.")
    return {cell: exact for cell, exact, _ in found}


def _pin(pin, marked: Marked, tokenizer: Tokenizer) -> tuple[int, str, int]:
    """The cell and the word as Recipe has them, and how many tokens it takes."""
    index, where, word = pin if _is_list(pin) and len(pin) == 3 else (None, None, None)
    if not (_is_whole(index, 0, len(marked.holes)) and isinstance(where, str) and where in PLACES):
        raise RecipeError("pins", "each pin is a hole, start, middle or end, and a word.")
    if not (isinstance(word, str) and word.strip()):
        raise RecipeError("pins", "each pin is a hole, start, middle or end, and a word.")
    hole = marked.holes[index]
    before = marked.ids[: hole.start]
    first = 1 + hole.start + sum(h.cells - (h.end - h.start) for h in marked.holes[:index])
    exact = json.dumps(" " * bool(before or index) + word.strip(), ensure_ascii=False)
    size = len(pinned_tokens(first, exact, tokenizer))
    return first + int((hole.cells - size) * PLACES[where]), exact, size
