"""Samplers by family and name; a family's first is its default. Each is a free function yielding Steps."""

import inspect

from playground.samplers import autoregressive, continuous, masked, uniform

SAMPLERS = {
    "continuous": {f.__name__: f for f in (continuous.sde, continuous.ode)},
    "masked": {
        f.__name__: f
        for f in (
            masked.random, masked.ancestral, masked.confidence, masked.entropy, masked.margin, masked.threshold,
            masked.remask,
        )
    },
    "uniform": {f.__name__: f for f in (uniform.ancestral, uniform.entropy_bound)},
    "autoregressive": {f.__name__: f for f in (autoregressive.left_to_right,)},
}  # fmt: skip


WHOLE_ROW = ["block", "refine"]  # what can be done around any sampler that sees the whole row


def knobs(family: str, sampler: str) -> list[str]:
    """The Recipe fields that matter with a sampler: its own, and those around it."""
    own = own_knobs(family, sampler)
    return own if family == "autoregressive" else list(dict.fromkeys([*own, "strength", *WHOLE_ROW]))


def own_knobs(family: str, sampler: str) -> list[str]:
    """A sampler's keyword-only parameters."""
    parameters = inspect.signature(SAMPLERS[family][sampler]).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
