"""Files that are whole or not there, whatever ends the process; one process at a time; a log."""

import contextlib
import json
import os
import time
from pathlib import Path

from playground.recipe import RecipeError

PART = ".part"  # no input is named so: inputs end in .txt, .csv or .jsonl


def write(path: Path, data: str | bytes) -> None:
    """Put a file there at once: written beside it, forced to the disk, then renamed, and its folder forced as well."""
    data = data.encode("utf-8") if isinstance(data, str) else data
    part = path.with_name(PART)
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync(path.parent)


def folder(path: Path) -> Path:
    """A folder that is there, and on the disk."""
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        _sync(path.parent)
    return path


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked(path: Path):
    """Hold a folder for this process; the system lets go of it however the process ends. Raises RecipeError."""
    try:
        import fcntl
    except ImportError:
        raise RecipeError("output", "cannot be held for one process on this system; use Linux or macOS.") from None
    with (path / "lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecipeError(
                "output", f"{printable(path)} is in use by another batch; wait for it or choose another folder."
            ) from None
        yield


def printable(path: Path | str) -> str:
    """A path as text that can be printed, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class Log:
    """A line of JSON for each event, no prompt among them: time, event, file, item, seconds, error."""

    def __init__(self, path: Path):
        self._path = path
        if path.exists() and (data := path.read_bytes()) and not data.endswith(b"\n"):
            self._append(b"\n")  # the system stopped in the middle of a line

    def add(self, event: str, **about) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        about = {name: value for name, value in about.items() if value is not None}
        self._append((json.dumps({"time": now, "event": event} | about) + "\n").encode())

    def _append(self, data: bytes) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, data)
        finally:
            os.close(handle)
