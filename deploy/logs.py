"""Log lines: one a record, with nothing secret and nothing remembered in them."""

import logging
import re
import traceback
from datetime import UTC, datetime
from types import TracebackType

_TOKEN = re.compile(r"plm_[0-9A-Za-z]{4,}")
_BEARER = re.compile(r"(?i)(bearer|basic)\s+\S+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def harmless(text: str) -> str:
    """Return the text on one line, its control characters escaped and its tokens cut out."""
    text = _TOKEN.sub("plm_[redacted]", text)
    text = _BEARER.sub(r"\1 [redacted]", text)
    return _UNPRINTABLE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _trace(error: BaseException, tb: TracebackType | None) -> str:
    # Where it happened, and what sort of error. Never its message: a database error quotes rows.
    frames = traceback.extract_tb(tb)[-12:]
    places = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__module__}.{type(error).__qualname__} at {places}"


class OneLine(logging.Formatter):
    """Time, level, logger, message, and for an error where it happened."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = f"{at} {record.levelname} {record.name} {harmless(record.getMessage())}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f" [{_trace(record.exc_info[1], record.exc_info[2])}]"
        return line
