"""The rows of memory: what is kept, what is in conflict, and what tells whether it still holds."""

from memory.models.disputed import Conflict, ConflictState, SettledPair
from memory.models.exchanged import Transfer
from memory.models.kept import Component, Dependency, Embedding, Link, Memory
from memory.models.trusted import (
    Acceptance,
    Activation,
    Cause,
    Change,
    Corroboration,
    DisputePeriod,
    Mark,
    Method,
    Outcome,
    PushSource,
    Retirement,
    Signal,
    Verification,
)
from memory.models.words import (
    LOOP_KINDS,
    PROTECTED_KINDS,
    Door,
    Kind,
    Lifecycle,
    LinkType,
    SupersedeReason,
    Visibility,
)

__all__ = [
    "LOOP_KINDS",
    "PROTECTED_KINDS",
    "Acceptance",
    "Activation",
    "Cause",
    "Change",
    "Component",
    "Conflict",
    "ConflictState",
    "Corroboration",
    "Dependency",
    "DisputePeriod",
    "Door",
    "Embedding",
    "Kind",
    "Lifecycle",
    "Link",
    "LinkType",
    "Mark",
    "Memory",
    "Method",
    "Outcome",
    "PushSource",
    "Retirement",
    "SettledPair",
    "Signal",
    "SupersedeReason",
    "Transfer",
    "Verification",
    "Visibility",
]
