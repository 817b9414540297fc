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


def knobs(family: str, sampler: str) -> list[str]:
    """The Recipe fields a sampler listens to: its keyword-only parameters."""
    parameters = inspect.signature(SAMPLERS[family][sampler]).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
