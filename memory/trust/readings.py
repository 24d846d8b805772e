"""
What somebody read off at one moment: an exit code, a load, how long something took.

It says how things were, and is no statement of how they are.
"""

import re

from memory.trust.naming import listed

# What somebody read off once: of whatever it is, of what happened once, or of certain things.
_READINGS = listed(
    """
    usage utilization utilisation load average coverage uptime latency lag backlog throughput
    status message trace cause symptom error exception result outcome output duration commit
    test progress temperature request issue ticket line
    """
)
_ONCE = listed(
    """
    exit peak elapsed observed measured actual failing failed last latest recent stack affected
    slowest fastest free
    """
)
_OF_ONCE = {
    "time": "start end finish detection resolution arrival departure completion wait boot build",
    "date": "start end finish detection resolution creation build purchase",
    "branch": "feature source fix bugfix topic",
    "tag": "build",
    "version": "build incident error crash",
    "code": "error return response",
    "size": "dump diff",
}
# Whoever sets a bound has not read it off.
_BOUNDS = listed(
    "max maximum min minimum default target allowed expected threshold limit quota timeout"
)
# A size is measured, unless it is of what has the size that somebody chose.
_MEASURED = frozenset({"size", "length", "count", "rate", "level"})
_CHOSEN = listed(
    """
    pool page batch chunk buffer block frame font window worker workers replica replicas thread
    threads partition shard node log logging isolation compression consistency security sampling
    sample refresh scrape poll polling tax vat
    """
)
_CLOCK = re.compile(r"\d{1,2}:\d{2}")
_PERCENTAGE = re.compile(r"\d[\d.,]* ?%")
_OF_A_PART = frozenset(["rate", "threshold", "limit", "quota", "target"])
_PIECES = re.compile(r"[_.\s-]+")


def is_a_reading(thing: str, attribute: str, value: str) -> bool:
    """Return whether a value of a thing's attribute is what somebody saw once."""
    *more, last = _PIECES.split(attribute)
    of = {*_PIECES.split(thing), *more}
    if _BOUNDS & {*of, last}:
        return False
    if last in _READINGS or _ONCE & of or of & set(_OF_ONCE.get(last, "").split()):
        return True
    if last in _MEASURED and not _CHOSEN & of:
        return True
    if last == "time" and _CLOCK.match(value) is None:
        return True
    return last not in _OF_A_PART and _PERCENTAGE.fullmatch(value) is not None
