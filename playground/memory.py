"""What the process keeps in memory, and how much that is: told by the system (Linux), elsewhere None, never a guess."""

import contextlib
import ctypes
import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # of mallopt(3)
KEPT = 1 << 28  # bytes
LOOKS = 1.0  # seconds between looks whether anything was done
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # proc_pid_clear_refs(5): the peak becomes what is resident now
NOT_MEASURED = (
    "Peak memory is not measured here: it takes Linux, which tells a process its peak, and models on the CPU."
)


def resident(process: int | None = None) -> float | None:
    """Megabytes (2**20 bytes) of this process, or of another by its number, in memory now."""
    return _status("VmRSS", Path(f"/proc/{process}/status") if process else STATUS)


def keep_freed() -> None:
    """Let glibc keep freed blocks of up to 256 MB. By default it returns blocks past a threshold to the system, and
    faulting them in again can take longer than the arithmetic: drawing 64 tokens took 1.3 ms, now 0.24."""
    _set(M_MMAP_THRESHOLD, KEPT)
    _set(M_TRIM_THRESHOLD, KEPT)


def steady(done: Callable[[], int]) -> None:
    """Keep a server's memory level, from before its first pass on; `done` counts what it has done. glibc keeps what was
    freed for each thread by itself, and a server's threads come and go: after 800 calls it held a quarter more than at
    first, though little more was in use. So there is one arena, and once nothing has been done for LOOKS seconds, what
    is free goes back to the system, which takes some 5 ms. Elsewhere nothing happens."""
    if _set(M_ARENA_MAX, 1):
        threading.Thread(target=_hand_back_at_rest, args=(done,), name="memory", daemon=True).start()


def _hand_back_at_rest(done: Callable[[], int]) -> None:
    before, is_level = done(), True
    while True:
        time.sleep(LOOKS)
        now = done()
        if now != before:
            before, is_level = now, False
        elif not is_level:
            _hand_back()
            is_level = True


def peak(run: Callable[[], Found]) -> tuple[Found, float | None]:
    """(what `run` gives, the megabytes that resident memory peaks above what it was before). Memory that was freed but
    kept for later is handed back first: a run that reuses it would seem to need none."""
    gc.collect()
    _hand_back()
    before = resident() if _reset() else None
    found = run()
    highest = _status("VmHWM", STATUS)
    return found, None if before is None or highest is None else max(0.0, highest - before)


def _reset() -> bool:
    """Whether the peak could be set back."""
    try:
        CLEAR.write_text(RESET_PEAK, encoding="ascii")
    except OSError:
        return False
    return True


def _set(parameter: int, value: int) -> bool:
    """Whether this is glibc, which then follows it."""
    try:
        return bool(ctypes.CDLL(None).mallopt(parameter, value))
    except (AttributeError, OSError, TypeError):
        return False


def _hand_back() -> None:
    with contextlib.suppress(AttributeError, OSError, TypeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def _status(name: str, file: Path) -> float | None:
    """A line of a process's status, which counts in kilobytes, in megabytes."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(found[0]) / 1024 if found else None
