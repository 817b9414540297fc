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
LONGEST = 500  # characters of a message


class Lines(logging.Formatter):
    """A record's facts as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        return json.dumps({"time": moment.replace("+00:00", "Z")} | self.facts(record), ensure_ascii=False)

    def facts(self, record: logging.LogRecord) -> dict:
        return {"event": record.getMessage()} | getattr(record, "facts", {})


class OfOthers(Lines):
    """As Lines, of records that libraries write. Their messages, which may have what a visitor sent, are told at level
    debug only, cut."""

    def facts(self, record: logging.LogRecord) -> dict:
        said = {"event": f"{record.levelname.lower()} of {record.name}", "where": f"{record.module}:{record.lineno}"}
        if record.exc_info and record.exc_info[0]:
            said["error"] = record.exc_info[0].__name__
        if LOGGER.isEnabledFor(logging.DEBUG):
            said["message"] = record.getMessage()[:LONGEST]
        return said


def start() -> None:
    """Write the log to stderr, as PLAYGROUND_LOG says: info, debug, which has prompts too, or off."""
    level = environment.text("PLAYGROUND_LOG")
    for logger, form in ((LOGGER, Lines()), (logging.getLogger(), OfOthers())):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(form)
        handler.setLevel(LEVELS[level])
        logger.handlers = [handler]
    LOGGER.propagate = False
    LOGGER.setLevel(LEVELS[level])


def event(name: str, *, private: dict | None = None, **facts) -> None:
    """Write down that something happened. What is `private` is written at level debug only."""
    if LOGGER.isEnabledFor(logging.INFO):
        told = private if private and LOGGER.isEnabledFor(logging.DEBUG) else {}
        LOGGER.info(name, extra={"facts": facts | told})
