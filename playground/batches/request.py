"""A batch as it is asked for: what to write, with the fields for all of it."""

from collections.abc import Callable, Mapping
from dataclasses import fields

from playground.batches import items as reading
from playground.batches.filters import Filters
from playground.batches.items import Item
from playground.batches.runner import Batch, Rows

FILTERS = [f.name for f in fields(Filters)]
SHARED = [name for name in reading.KNOBS if name not in ("prompt", "text")]


def prepared(read: Callable[[Mapping], list[Item]], values: Mapping, limit: float | None = None) -> Batch:
    """A batch of the items that `read` gives for the knobs of all of them, seed drawn. `values`: Recipe fields, `rows`,
    and the fields of Filters; None is not given. `limit`: seconds, see Batch. Raises RecipeError."""
    filters = Filters.parse({name: values[name] for name in FILTERS if name in values})
    own = ("rows", *FILTERS)
    base = reading.drawn(reading.checked({name: value for name, value in values.items() if name not in own}))
    return Batch(read(base), Rows.parse(values.get("rows")), filters, limit=limit).checked()
