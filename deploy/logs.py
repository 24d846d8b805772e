"""Log lines: one a record, with nothing secret and nothing remembered in them."""

import logging
import re
import traceback
from datetime import UTC, datetime
from types import TracebackType

_TOKEN = re.compile(r"plm_[0-9A-Za-z]{4,}")
_BEARER = re.compile(r"(?i)(bearer|basic)\s+\S+")
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
OURS = ("deploy", "tenants", "memory", "hygiene", "reviews")


def harmless(text: str) -> str:
    """Return the text on one line, its control characters escaped and its tokens cut out."""
    text = _TOKEN.sub("plm_[redacted]", text)
    text = _BEARER.sub(r"\1 [redacted]", text)
    return _UNPRINTABLE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _trace(error: BaseException, tb: TracebackType | None) -> str:
    # Where it happened, and what sort of error. Never its message: a database error quotes rows.
    frames = traceback.extract_tb(tb)[-12:]
    places = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))
    cause = error.__cause__ or error.__context__
    because = f" because of {_kind(cause)}" if cause is not None else ""
    return f"{_kind(error)} at {places}{because}"


def _kind(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


class Reticent(logging.Filter):
    """
    Lets others than us speak from WARNING up only.

    Below that, clients of models log whole requests, and the database layer statements with their
    parameters: what somebody remembered would stand in the log.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record may be written."""
        return record.levelno >= logging.WARNING or record.name.split(".")[0] in OURS


class OneLine(logging.Formatter):
    """Time, level, logger, request, message, and for an error where it happened."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        # Django says with which request it failed.
        request_id = getattr(getattr(record, "request", None), "request_id", None)
        about = "" if request_id is None else f" [request {harmless(str(request_id))}]"
        line = f"{at} {record.levelname} {record.name}{about} {harmless(record.getMessage())}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f" [{_trace(record.exc_info[1], record.exc_info[2])}]"
        return line
