"""Quality filters: they mark a text and say why; they never leave one out."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from playground.recipe import RecipeError, check_ranges, knob, typed


@dataclass(frozen=True)
class Filters:
    """What a text is marked for. Build it with `Filters.parse`, which checks every field."""

    minimum_tokens: int = knob(0, "Fewest tokens", "Mark texts with fewer new tokens.", 0, 512)
    maximum_tokens: int = knob(512, "Most tokens", "Mark texts with more new tokens.", 0, 512)
    highest_perplexity: float = knob(0.0, "Perplexity", "Mark texts above this perplexity; 0 marks none.", 0.0, 1e6)
    highest_repetition: float = knob(1.0, "Repetition", "Mark texts that repeat themselves more.", 0.0, 1.0)
    blacklist: str = knob("", "Words", "Mark texts that have one of these words: dragon, old witch.")

    @classmethod
    def parse(cls, values: Mapping) -> "Filters":
        """Checked filters from loosely typed values; absent ones mark nothing. Raises RecipeError."""
        known = {f.name: f for f in fields(cls)}
        for name in values:
            if name not in known:
                raise RecipeError(str(name)[:40], f"there is no such filter; the filters are {', '.join(known)}.")
        found = replace(
            cls(), **{name: typed(known[name], value) for name, value in values.items() if value is not None}
        )
        check_ranges(found)
        if found.minimum_tokens > found.maximum_tokens:
            raise RecipeError(
                "minimum_tokens", f"is {found.minimum_tokens}, above maximum_tokens, {found.maximum_tokens}."
            )
        if len(found.blacklist) > 20_000:
            raise RecipeError("blacklist", f"has {len(found.blacklist):,} characters; allowed: 20,000.")
        return found

    @property
    def words(self) -> list[str]:
        return [" ".join(word.split()) for word in self.blacklist.split(",") if word.strip()]

    def marks(self, text: str, tokens: int, perplexity: float | None, repetition: float) -> list[str]:
        """Why a text is marked, a line each, such as "repetition 0.41 > 0.3"."""
        found = []
        if tokens < self.minimum_tokens:
            found.append(f"tokens {tokens} < {self.minimum_tokens}")
        if tokens > self.maximum_tokens:
            found.append(f"tokens {tokens} > {self.maximum_tokens}")
        if self.highest_perplexity and perplexity is None:
            found.append("perplexity not measured")
        elif self.highest_perplexity and perplexity > self.highest_perplexity:
            found.append(f"perplexity {perplexity:.5g} > {self.highest_perplexity:g}")
        if repetition > self.highest_repetition:
            found.append(f"repetition {repetition:.3g} > {self.highest_repetition:g}")
        return found + [f"word {word}" for word in self.words if _holds(text, word)]

    def to_dict(self) -> dict:
        return asdict(self)


def _holds(text: str, word: str) -> bool:
    """Whether a text has a word, or several in a row, whole and in whatever case."""
    return re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", " ".join(text.casefold().split())) is not None
