"""The row a run works on: which cells are given, and with what."""

import json
from dataclasses import dataclass

import torch
from torch import Tensor

from playground.recipe import Recipe, RecipeError, parse_pins
from playground.text import BOS, PAD, Tokenizer


@dataclass(frozen=True)
class Canvas:
    """Token ids [B, L] and the cells that are fixed [B, L], a row for each sample; the ids of cells that are not fixed
    are those a run of `strength` below 1 starts from, else they mean nothing.

    `pinned` [B, L] marks those fixed cells that the visitor pinned one by one."""

    ids: Tensor
    fixed: Tensor
    pinned: Tensor

    @classmethod
    def from_recipe(cls, recipe: Recipe, tokenizer: Tokenizer) -> "Canvas":
        """The recipe's text with its holes; or a start mark and the prompt as a fixed prefix, then holes. Among the
        holes are the pinned words.

        An empty prompt fixes nothing. Raises RecipeError where text, prompt or pins do not fit the length.
        """
        ids, fixed = _text(recipe) if recipe.text else _prompt(recipe, tokenizer)
        pinned = torch.zeros_like(fixed)
        for cell, word in recipe.pins.items():
            _pin(cell, pinned_tokens(cell, word, tokenizer), ids, fixed, pinned)
        if fixed.all(1).any():
            raise RecipeError("pins", "leave no free cell in the row, so there is nothing to generate.")
        return cls(ids, fixed, pinned)

    @property
    def after_pins(self) -> Tensor:
        """The open cells right after a pinned word [B, L]."""
        return self.pinned.roll(1, dims=1) & ~self.fixed & (torch.arange(self.fixed.shape[1]) > 0)

    @property
    def given(self) -> int:
        """How many cells of a row are fixed, the fewest where rows differ."""
        return int(self.fixed.sum(1).min())


def _prompt(recipe: Recipe, tokenizer: Tokenizer) -> tuple[Tensor, Tensor]:
    prompt = encode("prompt", recipe.prompt, tokenizer)
    if len(prompt) + 2 > recipe.length:
        raise RecipeError(
            "prompt",
            f"is {len(prompt):,} tokens; a row of length {recipe.length} holds a prompt of up to "
            f"{recipe.length - 2} tokens. Shorten the prompt or raise the length (up to 512).",
        )
    ids = torch.full((recipe.samples, recipe.length), PAD)
    fixed = torch.zeros_like(ids, dtype=torch.bool)
    if prompt:
        given = torch.tensor([BOS, *prompt])
        ids[:, : len(given)], fixed[:, : len(given)] = given, True
    return ids, fixed


def _text(recipe: Recipe) -> tuple[Tensor, Tensor]:
    """Rows of different lengths are filled up with given padding."""
    marked = recipe.marked()
    if recipe.strength < 1 and not all(hole.keeps_length for hole in marked.holes):
        raise RecipeError("strength", "below 1 starts from the marked words, so their holes must keep their length.")
    ids = torch.full((recipe.samples, recipe.length), PAD)
    fixed = torch.ones_like(ids, dtype=torch.bool)
    for row in range(recipe.samples):
        cells, kept = marked.cells(marked.lengths(row, recipe.samples))
        ids[row, : len(cells)], fixed[row, : len(cells)] = torch.tensor(cells), torch.tensor(kept)
    return ids, fixed


def _pin(cell: int, tokens: list[int], ids: Tensor, fixed: Tensor, pinned: Tensor) -> None:
    end = cell + len(tokens)
    if end > ids.shape[1]:
        raise RecipeError("pins", f"cells {cell} to {end - 1} do not fit; the row has cells 0 to {ids.shape[1] - 1}.")
    if fixed[:, cell:end].any():
        raise RecipeError("pins", f"cells {cell} to {end - 1} run into what is given or another pinned word.")
    ids[:, cell:end], fixed[:, cell:end], pinned[:, cell:end] = torch.tensor(tokens), True, True


def pinned_tokens(cell: int, word: str, tokenizer: Tokenizer) -> list[int]:
    """Ids of a pinned word: in quotes the exact text, else the word as inside a sentence, after a space."""
    text = json.loads(word) if word.startswith('"') else word if cell <= 1 else " " + word
    tokens = encode("pins", text, tokenizer)
    if not tokens:
        raise RecipeError("pins", f"the word at cell {cell} is empty.")
    return tokens


def encode(field: str, text: str, tokenizer: Tokenizer) -> list[int]:
    """The token ids of a field's text. Raises RecipeError."""
    try:
        return tokenizer.encode(text)
    except ValueError as error:
        raise RecipeError(field, f"{error}.") from None


def pin_for(cell: int, token: int, tokenizer: Tokenizer) -> str:
    """The pinned word that puts exactly `token` at `cell`: the inverse of `pinned_tokens`."""
    piece = tokenizer.pieces([token])[0]
    text = piece if isinstance(piece, str) else ""
    word = text.removeprefix(" ")
    for pin in (word, json.dumps(text, ensure_ascii=False)):
        try:
            if text and parse_pins(f"{cell}:{pin}") == {cell: pin} and pinned_tokens(cell, pin, tokenizer) == [token]:
                return pin
        except RecipeError:
            continue
    raise RecipeError("pins", f"the candidate at cell {cell} is not a word that can be typed, so it cannot be pinned.")
