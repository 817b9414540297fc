"""The row a run works on: which cells are given, and with what."""

import json
from dataclasses import dataclass

import torch
from torch import Tensor

from playground.recipe import Recipe, RecipeError, parse_pins
from playground.text import BOS, PAD, Tokenizer


@dataclass(frozen=True)
class Canvas:
    """Token ids [L] and the cells that are fixed [L]; the ids of cells that are not fixed mean nothing.

    `pinned` [L] marks those fixed cells that the visitor pinned one by one."""

    ids: Tensor
    fixed: Tensor
    pinned: Tensor

    @classmethod
    def from_recipe(cls, recipe: Recipe, tokenizer: Tokenizer) -> "Canvas":
        """A start mark and the prompt as a fixed prefix, then holes, among them the pinned words.

        An empty prompt fixes nothing. Raises RecipeError where prompt or pins do not fit the length.
        """
        prompt = _encode("prompt", recipe.prompt, tokenizer)
        if len(prompt) + 2 > recipe.length:
            raise RecipeError(
                "prompt",
                f"is {len(prompt):,} tokens; a row of length {recipe.length} holds a prompt of up to "
                f"{recipe.length - 2} tokens. Shorten the prompt or raise the length (up to 512).",
            )
        ids = torch.full((recipe.length,), PAD)
        fixed = torch.zeros(recipe.length, dtype=torch.bool)
        if prompt:
            given = torch.tensor([BOS, *prompt])
            ids[: len(given)], fixed[: len(given)] = given, True
        pinned = torch.zeros_like(fixed)
        for cell, word in recipe.pins.items():
            cls._pin(cell, pinned_tokens(cell, word, tokenizer), ids, fixed, pinned)
        if fixed.all():
            raise RecipeError("pins", "leave no free cell in the row, so there is nothing to generate.")
        return cls(ids, fixed, pinned)

    @staticmethod
    def _pin(cell: int, tokens: list[int], ids: Tensor, fixed: Tensor, pinned: Tensor) -> None:
        end = cell + len(tokens)
        if end > len(ids):
            raise RecipeError("pins", f"cells {cell} to {end - 1} do not fit; the row has cells 0 to {len(ids) - 1}.")
        if fixed[cell:end].any():
            raise RecipeError("pins", f"cells {cell} to {end - 1} run into the prompt or another pinned word.")
        ids[cell:end], fixed[cell:end], pinned[cell:end] = torch.tensor(tokens), True, True

    def batch(self, rows: int) -> tuple[Tensor, Tensor]:
        """ids [B, L] and fixed [B, L] for `rows` equal rows."""
        return self.ids.repeat(rows, 1), self.fixed.repeat(rows, 1)

    @property
    def given(self) -> int:
        """How many cells are fixed."""
        return int(self.fixed.sum())


def pinned_tokens(cell: int, word: str, tokenizer: Tokenizer) -> list[int]:
    """Ids of a pinned word: in quotes the exact text, else the word as inside a sentence, after a space."""
    text = json.loads(word) if word.startswith('"') else word if cell <= 1 else " " + word
    tokens = _encode("pins", text, tokenizer)
    if not tokens:
        raise RecipeError("pins", f"the word at cell {cell} is empty.")
    return tokens


def _encode(field: str, text: str, tokenizer: Tokenizer) -> list[int]:
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
