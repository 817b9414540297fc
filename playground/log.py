"""What happens here as lines of JSON on stderr: runs begun and ended, never what a visitor wrote.

{"time": "2026-01-31T12:00:00.123Z", "event": "run ended", "run": "5f0c…", "status": "stopped", …}
"""

import json
import logging
import sys
from datetime import datetime, timezone

from playground import environment

LEVELS = {"off": logging.CRITICAL, "info": logging.INFO, "debug": logging.DEBUG}
LOGGER = logging.getLogger("playground")


class Lines(logging.Formatter):
    """A record's facts as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        facts = {"time": moment.replace("+00:00", "Z"), "event": record.getMessage()} | getattr(record, "facts", {})
        return json.dumps(facts, ensure_ascii=False)


def start() -> None:
    """Write the log to stderr, as PLAYGROUND_LOG says: info, debug, which has prompts too, or off."""
    level = environment.text("PLAYGROUND_LOG")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    LOGGER.handlers, LOGGER.propagate = [handler], False
    LOGGER.setLevel(LEVELS[level])


def event(name: str, *, private: dict | None = None, **facts) -> None:
    """Write down that something happened. What is `private` is written at level debug only."""
    if LOGGER.isEnabledFor(logging.INFO):
        told = private if private and LOGGER.isEnabledFor(logging.DEBUG) else {}
        LOGGER.info(name, extra={"facts": facts | told})
