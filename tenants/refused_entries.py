"""
Who was not let in, for the operator's log: a line each, and of a flood a line a minute.

What was shown (a password, a code, a token, a user name that may be a password) is never told.
"""

import logging
import time
from threading import Lock

logger = logging.getLogger(__name__)

TOLD_A_MINUTE = 20  # lines of one process
MOST_ADDRESSES = 10_000  # told apart in a minute


class _Minute:
    """What was refused in this minute."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._number = 0
        self._refused = 0
        self._untold: set[str] = set()

    def count(self, address: str) -> tuple[bool, str]:
        """Count one more; return whether to tell of it, and what to tell of the minute before."""
        number = int(time.time() // 60)
        with self._lock:
            before = ""
            if number != self._number:
                more = self._refused - TOLD_A_MINUTE
                if more > 0:
                    before = f"{more} more entries refused, from {len(self._untold)} addresses"
                self._number, self._refused, self._untold = number, 0, set()
            self._refused += 1
            told = self._refused <= TOLD_A_MINUTE
            if not told and len(self._untold) < MOST_ADDRESSES:
                self._untold.add(address)
            return told, before


_minute = _Minute()


def tell_of_refusal(why: str, address: str) -> None:
    """
    Log that somebody was not let in.

    :param why: our own words; nothing that was sent
    """
    told, before = _minute.count(address)
    if before:
        logger.warning(before)
    if told:
        logger.warning("entry refused: %s, from %s", why, address)
