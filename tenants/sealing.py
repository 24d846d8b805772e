"""
Sealing events: each is chained to the one before it, seconds after it was written (sealing.sql).

Whoever has the owner's rights can rewrite a whole chain. So how far each tenant is sealed is
written down from time to time as well, in a file beside the database: an anchor.
"""

import json
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import connection

SEALED_AT_ONCE = 500  # events in one transaction
ANCHORED_EVERY = 3600  # seconds
ANCHORS = "audit-anchors.jsonl"


@dataclass(frozen=True)
class Anchor:
    """The hash that stood in one place of a tenant's chain."""

    tenant_id: UUID
    place: int
    hash: str


class _Here:
    """What this process has written down already."""

    anchored_at: float | None = None
    anchored: frozenset[Anchor] = frozenset()


def seal_events() -> int:
    """Seal all that waits, and return how many events that were."""
    sealed = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute("SELECT seal_events(%s)", [SEALED_AT_ONCE])
            (of_these,) = cursor.fetchone()
        sealed += int(of_these)
        if of_these < SEALED_AT_ONCE:
            return sealed


def anchor_in_time() -> None:
    """Write down how far each tenant is sealed, if the last time was long enough ago."""
    now = time.monotonic()
    if _Here.anchored_at is None or now - _Here.anchored_at >= ANCHORED_EVERY:
        write_anchors(settings.DATA_DIR / ANCHORS)
        _Here.anchored_at = now


def write_anchors(path: Path) -> list[Anchor]:
    """Add to the file how far each tenant is sealed, where that has changed, and return it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id, place, hash FROM audit_heads()")
        heads = [Anchor(*row) for row in cursor.fetchall()]
    fresh = [head for head in heads if head not in _Here.anchored]
    at = datetime.now(UTC).isoformat(timespec="seconds")
    lines = "".join(
        json.dumps({"at": at, "tenant": str(one.tenant_id), "place": one.place, "hash": one.hash})
        + "\n"
        for one in fresh
    )
    # One write of whole lines: two workers that add at once do not mix them up.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "ab") as file:
        file.write(lines.encode("ascii"))
    _Here.anchored = frozenset(heads)
    return fresh


def read_anchors(path: Path) -> list[Anchor]:
    """
    Return what was written down.

    :raises ValueError: if a line is none that we wrote
    """
    anchors = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        try:
            said = json.loads(line)
            anchors.append(Anchor(UUID(said["tenant"]), int(said["place"]), str(said["hash"])))
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path}, line {number}, is no anchor") from None
    return anchors
