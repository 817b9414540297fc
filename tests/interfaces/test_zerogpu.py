"""Functions that compute ask for a GPU on ZeroGPU, and only there. The real `spaces` is not needed."""

import functools
import importlib
import inspect
import sys
import types

import pytest

from playground.interfaces import zerogpu


@pytest.fixture
def lent(monkeypatch):
    """A ZeroGPU Space with a fake `spaces`; the calls it saw: (name of the function, seconds)."""
    calls = []

    def gpu(duration=60):
        def wrap(function):
            @functools.wraps(function)
            def call(*args, **kwargs):
                calls.append((function.__name__, duration))
                return function(*args, **kwargs)

            @functools.wraps(function)
            def stream(*args, **kwargs):
                calls.append((function.__name__, duration))
                yield from function(*args, **kwargs)

            return stream if inspect.isgeneratorfunction(function) else call

        return wrap

    monkeypatch.setitem(sys.modules, "spaces", types.SimpleNamespace(GPU=gpu))
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setenv("PLAYGROUND_TIME_LIMIT", "59.5")
    importlib.reload(zerogpu)
    yield calls
    monkeypatch.undo()
    importlib.reload(zerogpu)


def double(x: int) -> int:
    return 2 * x


def count(n: int):
    yield from range(n)


def test_elsewhere_a_function_stays_itself(monkeypatch):
    assert zerogpu.on_gpu(double) is double
    monkeypatch.setitem(sys.modules, "spaces", types.SimpleNamespace(GPU=None))  # installed, but not on ZeroGPU
    assert importlib.reload(zerogpu).on_gpu(count) is count


def test_there_a_call_borrows_a_gpu_for_the_time_limit(lent):
    assert zerogpu.on_gpu(double)(4) == 8 and lent == [("double", 60)]


def test_there_a_generator_still_is_one(lent):
    wrapped = zerogpu.on_gpu(count)
    assert inspect.isgeneratorfunction(wrapped) and list(wrapped(3)) == [0, 1, 2] and lent == [("count", 60)]


def test_without_the_package_nothing_is_wrapped(monkeypatch):
    monkeypatch.setenv("SPACES_ZERO_GPU", "1")
    monkeypatch.setitem(sys.modules, "spaces", None)  # importing it fails
    assert importlib.reload(zerogpu).on_gpu(double) is double
    monkeypatch.undo()
    importlib.reload(zerogpu)


def test_what_computes_on_the_page_and_in_the_api_asks_for_one(lent):
    from playground.ui.page import build

    events = [event for event in build().fns.values() if event.fn]
    functions = [event.fn for event in events]
    computing = {event.fn.__name__ for event in events if event.concurrency_id in ("model", "timed")}
    assert {function.__name__ for function in functions if _is_lent(function)} == computing
    assert computing >= {"watch", "edit", "blend", "run_grid", "run_race", "measure", "estimate", "generate", "race"}


def _is_lent(function) -> bool:
    """Whether the fake's wrapper is this function, or is what a gate or an endpoint calls."""
    inside = [cell.cell_contents for cell in function.__closure__ or () if inspect.isfunction(cell.cell_contents)]
    return hasattr(function, "__wrapped__") or any(map(_is_lent, inside))
