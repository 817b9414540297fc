"""What the environment sets: every variable, its default, its range and what it is for. docs/settings.md repeats it."""

import math
import os
import re
from dataclasses import dataclass


class SettingError(RuntimeError):
    """A variable of the environment that cannot be used: its name, its value and what is allowed."""


@dataclass(frozen=True)
class Setting:
    """A variable. Its default's type says what it holds: a whole number, a number of seconds or a rate, or text.
    `shown` is the default in words, `choices` are the texts allowed."""

    default: int | float | str
    help: str
    low: float = 0
    high: float = math.inf
    choices: tuple[str, ...] = ()
    shown: str = ""


SETTINGS = {
    "PLAYGROUND_MODELS": Setting("", "folder of model folders", shown="assets/models"),
    "PLAYGROUND_ALLOWED_MODELS": Setting("", "names, with commas, of the models that visitors may use", shown="all"),
    "PLAYGROUND_DEVICE": Setting("", "where the models run", shown="first of cuda, npu, mps, cpu that works"),
    "PLAYGROUND_DTYPE": Setting(
        "", "`float32`, `bfloat16`, `float16`",
        shown="bfloat16 where the processor multiplies it natively, else float32",
    ),
    "PLAYGROUND_MAX_LENGTH": Setting(512, "cells a row may have", 128, 512),
    "PLAYGROUND_MAX_STEPS": Setting(256, "steps a run may have", 64, 256),
    "PLAYGROUND_MAX_SAMPLES": Setting(8, "rows a run may have", 4, 8),
    "PLAYGROUND_TIME_LIMIT": Setting(120.0, "seconds of computing a run may take"),
    "PLAYGROUND_GRID_LIMIT": Setting(
        300.0, "seconds a comparison may be expected to take; it is ended after twice as long"
    ),
    "PLAYGROUND_BATCH_LIMIT": Setting(
        300.0, "the same for a batch on the page or through the API; the command line has no limit"
    ),
    "PLAYGROUND_BATCH_LINES": Setting(1000, "items a list or file of a batch may have", 1),
    "PLAYGROUND_UPLOAD_BYTES": Setting(1_000_000, "bytes a file of a batch may have", 1),
    "PLAYGROUND_CONCURRENCY": Setting(
        4, "runs that go on at the same time, sharing their forward passes; comparisons and races take turns", 1
    ),
    "PLAYGROUND_QUEUE": Setting(12, "visitors who may wait; the next one is told that the page is busy", 1),
    "PLAYGROUND_RATE": Setting(0.0, "runs a minute that one visitor may start; 0: any number"),
    "PLAYGROUND_PROXIES": Setting(
        0, "proxies in front that add the caller's address to `X-Forwarded-For`: who a visitor is",
        shown="0, on Spaces 1",
    ),
    "PLAYGROUND_API_KEY": Setting(
        "", "what a program has to send as `X-API-Key` or `Authorization: Bearer`; the page needs none", shown="none"
    ),
    "PLAYGROUND_LOG": Setting(
        "info", "lines of JSON on stderr: `info` has no prompts, `debug` has them, `off`",
        choices=("info", "debug", "off"),
    ),
    "GRADIO_SERVER_NAME": Setting("127.0.0.1", "address the page is served on; `--host` of `app.py` goes before it"),
    "GRADIO_SERVER_PORT": Setting("7860", "port it is served on, or auto; `--port` of `app.py` goes before it"),
}  # fmt: skip


def text(name: str) -> str:
    """The value of a variable that holds text; its default where it is not set or empty. Raises SettingError."""
    value, about = os.environ.get(name) or SETTINGS[name].default, SETTINGS[name]
    if value and about.choices and value not in about.choices:
        raise SettingError(f"{name} is {value[:40]!r}; allowed: {', '.join(about.choices)}.")
    return value


def number(name: str) -> float:
    """The value of a variable that holds a number, finite and in its range. Raises SettingError."""
    about, value = SETTINGS[name], os.environ.get(name)
    if value is None:
        return about.default
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not about.low <= found <= about.high or math.isinf(found):
        raise SettingError(f"{name} is {value[:40]!r}; allowed: {_range('numbers', about)}.")
    return found


def count(name: str, default: int | None = None) -> int:
    """The value of a variable that holds a whole number. Raises SettingError."""
    about, value = SETTINGS[name], os.environ.get(name)
    if value is None:
        return about.default if default is None else default
    found = int(value) if re.fullmatch(r"\s*\d{1,12}\s*", value, re.ASCII) else -1
    if not about.low <= found <= about.high:
        raise SettingError(f"{name} is {value[:40]!r}; allowed: {_range('whole numbers', about)}.")
    return found


def check() -> None:
    """Read all that are set, so that a wrong one is said before anything begins. Raises SettingError."""
    for name, about in SETTINGS.items():
        {int: count, float: number, str: text}[type(about.default)](name)


def table() -> list[str]:
    """The lines of the table in docs/settings.md: variable, default, what it sets."""
    return [f"| `{name}` | {about.shown or _plain(about.default)} | {about.help} |" for name, about in SETTINGS.items()]


def _plain(default: int | float | str) -> str:
    return default if isinstance(default, str) else str(int(default))


def _range(what: str, about: Setting) -> str:
    return f"{what} from {about.low:g}" + ("" if math.isinf(about.high) else f" to {about.high:g}")
