"""Forward passes of runs that go on at the same time, made together.

Every run asks in its own thread. While one pass is made, the next questions gather; then the one that has waited
longest is answered, and with it all that may share its pass: the same denoiser, rows of the same length, the same kind
of inputs. Rows of one pass may stand at different steps, since each has its own noise level. Runs that were in the
last pass are waited for a little; one that is alone finds nobody before it and waits for nobody. No thread starts here.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

MOST_CELLS = 2048  # of a pass for several runs; in a larger one they would wait longer than it saves
LINGER = 0.25  # of the time of the last pass: as long others are waited for
NO_ROWS = ("table",)  # inputs that are the same for every row


@dataclass(eq=False)
class Question:
    """A call of a denoiser with tensors [b, L, ...], and its answer [b, ...], or the error, once there is one."""

    function: Callable
    inputs: tuple  # positional
    options: dict
    kind: tuple | None  # equal for questions that may share a pass; None: none may
    shared: Callable[[list["Question"]], list[Tensor]]  # the answers of such questions, from one pass
    asker: "Turns"
    thread: int = field(default_factory=threading.get_ident)
    answer: Tensor | None = None
    error: Exception | None = None
    began: float = 0.0  # when its pass did

    @property
    def rows(self) -> int:
        return len(self.inputs[0])

    @property
    def cells(self) -> int:
        return self.inputs[0].shape[:2].numel()

    @property
    def done(self) -> bool:
        return self.answer is not None or self.error is not None

    def ask(self) -> None:
        try:
            self.answer = self.function(*self.inputs, **self.options)
        except Exception as error:  # it is raised in the run that asked, whichever thread it came up in
            self.error = error


@dataclass
class Passes:
    """The forward passes of a machine, one after another, in the order in which they were asked for."""

    waiting: list[Question] = field(default_factory=list)
    turn: threading.Condition = field(default_factory=threading.Condition)
    busy: bool = False
    last: tuple = (None, frozenset(), 0.0)  # of the last pass: its kind, who asked in which thread, seconds
    made: int = 0  # passes so far
    answered: int = 0  # questions that they answered

    def answer(self, question: Question) -> None:
        """Wait for the question's turn, then answer it and those waiting that may share its pass; or find it answered
        in another's."""
        with self.turn:
            self.waiting.append(question)
            self.turn.notify_all()
            self.turn.wait_for(lambda: question.done or (not self.busy and self.waiting[0] is question))
            if question.done:
                return
            self.busy = True
            self._gather(question)
            group = self._group()
        began = time.perf_counter()
        try:
            _ask(group)
        finally:
            with self.turn:
                self.busy, self.made, self.answered = False, self.made + 1, self.answered + len(group)
                asked = frozenset((id(other.asker), other.thread) for other in group)
                self.last = question.kind, asked, time.perf_counter() - began
                self.turn.notify_all()

    def _gather(self, question: Question) -> None:
        """Wait a little for the runs that the last pass answered, which ask again soon; else two runs would alternate
        for good. Not while another kind waits, nor for a run of this thread, which cannot ask meanwhile."""
        kind, others, seconds = self.last
        awaited = {asker for asker, thread in others if thread != question.thread} - {id(question.asker)}

        def is_enough() -> bool:
            asked = {id(other.asker) for other in self.waiting}
            return awaited <= asked or any(other.kind != question.kind for other in self.waiting)

        if awaited and kind is not None and kind == question.kind:
            self.turn.wait_for(is_enough, LINGER * seconds)

    def _group(self) -> list[Question]:
        first, *others = self.waiting
        group, cells = [first], first.cells
        for other in others:
            if other.kind is not None and other.kind == first.kind and cells + other.cells <= MOST_CELLS:
                group.append(other)
                cells += other.cells
        self.waiting = [question for question in self.waiting if question not in group]
        return group


PASSES = Passes()
if hasattr(os, "register_at_fork"):  # a child has none of the threads that would end its parent's passes
    os.register_at_fork(after_in_child=lambda: PASSES.__init__())


@dataclass
class Turns:
    """One run's part in the passes. `alone`: its own are shared with no other run, so that they can be timed."""

    alone: bool = False
    passes: Passes = field(default_factory=lambda: PASSES)
    waited: float = 0.0  # seconds, for passes of others

    def of(self, denoiser) -> "Together":
        """The denoiser, which from now on is asked in turn."""
        return Together(denoiser, self)

    def ask(self, function: Callable, inputs: tuple, options: dict, kind: tuple, shared: Callable) -> Tensor:
        question = Question(function, inputs, options, None if self.alone else kind, shared, self)
        asked = time.perf_counter()
        self.passes.answer(question)
        self.waited += question.began - asked
        if question.error is not None:
            raise question.error
        return question.answer


class Together:
    """A denoiser whose passes are made in turn, and with those of other runs where they agree."""

    def __init__(self, denoiser, turns: Turns):
        self._denoiser, self._turns = denoiser, turns

    def __getattr__(self, name: str):
        return getattr(self._denoiser, name)

    def __call__(self, *inputs, **options) -> Tensor:
        options = {name: value for name, value in options.items() if value is not None}
        shapes = (None if value is None else (value.shape[1:], value.dtype) for value in inputs)
        kind = (id(self._denoiser), *shapes, *options)
        return self._turns.ask(self._denoiser, inputs, options, kind, _rows_together)

    def following(self, read: Tensor, past) -> Tensor:
        """An autoregressive denoiser's next cell. Each run has read another number of cells, and attends to its own."""
        kind = (id(self._denoiser), "following", read.shape[1:])
        return self._turns.ask(self._denoiser.following, (read, past), {}, kind, self._followings)

    def _followings(self, group: list[Question]) -> list[Tensor]:
        return self._denoiser.followings([question.inputs for question in group])


def _rows_together(group: list[Question]) -> list[Tensor]:
    """The rows of all in one call of the denoiser."""
    first, asked = group[0], [question.inputs for question in group]
    inputs = [None if values[0] is None else torch.cat(values) for values in zip(*asked, strict=True)]
    options = {
        name: value if name in NO_ROWS else torch.cat([question.options[name] for question in group])
        for name, value in first.options.items()
    }
    return first.function(*inputs, **options).split([question.rows for question in group])


def _ask(group: list[Question]) -> None:
    """Answer all in one pass; each on its own where that fails, so that one cannot take others with it."""
    now = time.perf_counter()
    for question in group:
        question.began = now
    if len(group) > 1:
        with contextlib.suppress(Exception):
            for question, part in zip(group, group[0].shared(group), strict=True):
                question.answer = part
            return
    for question in group:
        question.ask()
