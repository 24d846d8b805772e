"""
Activation: how lively a memory is. It says nothing about whether it is true.

It is the importance given to it, times how fresh it is (written or last recalled, by the half-life
of its kind), times how much it is recalled: a half for what never was, growing with the logarithm
of the number to 1 at a thousand. In [0, 1].

Recalls are counted outside of the answer: noted in this process, and added up in the database in
batches, by a thread of its own, in the name of who recalled. What cannot be written is logged and
lost; nobody waits for it.
"""

import logging
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from math import log1p
from multiprocessing.util import Finalize
from uuid import UUID

from django.db import Error, connection, connections

from memory.finding.ranking import freshness
from memory.models import Memory
from tenants.caller import Caller, Role
from tenants.context import acting_as
from tenants.ids import new_id

MANY = 1000
EVERY_SECONDS = 2.0
RECALLS_IN_A_BATCH = 200
# The counts of so many memories, times their readers, are kept at most; more are not counted.
MOST_COUNTED = 20_000

log = logging.getLogger(__name__)

# In the order of their ids, so that two batches never wait for each other. What the reader does not
# see any more is not counted.
_ADD = """
INSERT INTO activations AS n (id, tenant_id, memory_id, recalls, last_recalled_at)
SELECT c.id, m.tenant_id, m.id, c.recalls, now()
FROM unnest(%s::uuid[], %s::uuid[], %s::bigint[]) AS c (id, memory_id, recalls)
JOIN memories m ON m.tenant_id = (SELECT current_tenant()) AND m.id = c.memory_id
ORDER BY m.id
ON CONFLICT (tenant_id, memory_id) DO UPDATE
SET recalls = n.recalls + excluded.recalls, last_recalled_at = excluded.last_recalled_at
"""


def activation(
    memory: Memory, recalls: int, last_recalled_at: datetime | None, now: datetime
) -> float:
    """Return how lively it is, in [0, 1]."""
    last = max(memory.created_at, last_recalled_at or memory.created_at)
    recalled = min(1.0, log1p(recalls) / log1p(MANY))
    return round(memory.importance * freshness(memory.kind, last, now) * (1 + recalled) / 2, 6)


class _Counts:
    """The recalls that are not in the database yet, by reader and memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._full = threading.Event()
        self._counts: dict[Caller, Counter[UUID]] = {}
        self._size = 0
        self._recalls = 0
        self._thread: threading.Thread | None = None

    def add(self, caller: Caller, ids: Iterable[UUID]) -> None:
        """Count a recall; does not wait for anything."""
        # Who recalls is all that matters of a request. As a member: reviewing sees no more.
        reader = replace(caller, request_id="", once=None, role=Role.MEMBER)
        with self._lock:
            counter = self._counts.setdefault(reader, Counter())
            for one in ids:
                if one in counter or self._size < MOST_COUNTED:
                    self._size += one not in counter
                    counter[one] += 1
            self._recalls += 1
            if self._recalls >= RECALLS_IN_A_BATCH:
                self._full.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="activation", daemon=True)
                self._thread.start()
                # Also where a process is not the first one, and would end without further ado.
                Finalize(None, self.write, exitpriority=10)

    def write(self) -> None:
        """Add what was counted to the database."""
        with self._lock:
            counts, self._counts, self._size, self._recalls = self._counts, {}, 0, 0
            self._full.clear()
        for reader, counter in counts.items():
            try:
                _add(reader, counter)
            except Error:
                log.exception("recalls of %d memories could not be counted", len(counter))

    def _work(self) -> None:
        while True:
            self._full.wait(EVERY_SECONDS)
            self.write()
            connections.close_all()


def _add(reader: Caller, counter: Counter[UUID]) -> None:
    ids = sorted(one for one in counter if counter[one])
    with acting_as(reader), connection.cursor() as cursor:
        cursor.execute(_ADD, [[new_id() for _ in ids], ids, [counter[one] for one in ids]])


_counts = _Counts()


def count_recall(caller: Caller, ids: Iterable[UUID]) -> None:
    """Count that the memories were recalled by the caller. Belongs outside the door."""
    _counts.add(caller, ids)


def write_counts() -> None:
    """Add what was counted in this process to the database now."""
    _counts.write()
