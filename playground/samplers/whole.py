"""A pinned word that stays a word: what no token after it may do."""

from torch import Tensor

from playground.samplers.step import NEVER


class WholeWords:
    """A denoiser that never goes on with a word in `cells` [B, L]: no token of `continuing` [V] stands there. All else
    is the denoiser's own."""

    def __init__(self, denoiser, cells: Tensor, continuing: Tensor):
        self._denoiser, self._cells, self._continuing = denoiser, cells, continuing

    def __getattr__(self, name: str):
        return getattr(self._denoiser, name)

    def __call__(self, *args, **kwargs) -> Tensor:
        return self._without(self._denoiser(*args, **kwargs), self._cells)

    def following(self, read: Tensor, past) -> Tensor:
        """The logits [B, V] of the cell after those read, as an autoregressive denoiser gives them."""
        cell = past.length + read.shape[1] - 1  # what is read first stands before the row
        return self._without(self._denoiser.following(read, past), self._cells[:, cell])

    def _without(self, logits: Tensor, cells: Tensor) -> Tensor:
        never = cells.to(logits.device)[..., None] & self._continuing.to(logits.device)
        return logits.masked_fill(never, NEVER)


def joined(tokens: Tensor, cells: Tensor, continuing: Tensor) -> Tensor:
    """The rows of tokens [B, L] in which one of `cells` [B, L] goes on with the word before it, [B] bool."""
    known = tokens < len(continuing)
    return (continuing[tokens.clamp(max=len(continuing) - 1)] & known & cells).any(1)
