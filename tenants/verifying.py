"""
Verifying the chain of a tenant's events: every hash is made again, here, from what stands there.

Runs as the owner of the tables, in one snapshot, page by page: so it may run beside writers, and
its memory does not grow with the record.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connections, transaction

from tenants.models import Tenant
from tenants.sealing import Anchor

PAGE = 2000
VERSION = "palimpsest event 1"

_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_CHAIN = """
SELECT c.place, c.event_id::text, c.salt::text, c.said, c.hash, e.id IS NULL,
       e.sequence, trunc(extract(epoch FROM e.at) * 1000000)::bigint, e.command, e.object_type,
       e.object_id::text, e.memory_id::text, e.member_id::text, e.agent_id::text, e.token_id::text,
       e.request_id, e.reason, e.before::text, e.after::text
FROM event_chain c LEFT JOIN events e ON e.id = c.event_id AND e.tenant_id = c.tenant_id
WHERE c.tenant_id = %s AND c.place > %s ORDER BY c.place LIMIT %s
"""
_HEAD = "SELECT place, hash FROM event_heads WHERE tenant_id = %s"
_STRAYS = """
SELECT e.sequence FROM events e
WHERE e.tenant_id = %s
  AND NOT EXISTS (SELECT FROM event_chain c WHERE c.tenant_id = e.tenant_id AND c.event_id = e.id)
  AND NOT EXISTS (SELECT FROM unsealed_events u
                  WHERE u.tenant_id = e.tenant_id AND u.sequence = e.sequence)
ORDER BY e.sequence LIMIT 1
"""
_WAITING = """
SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (
    SELECT FROM events e WHERE e.tenant_id = u.tenant_id AND e.id = u.event_id))
FROM unsealed_events u WHERE u.tenant_id = %s
"""


@dataclass(frozen=True)
class Verdict:
    """
    How a tenant's record stands.

    :param sealed: how many events are sealed and were found as they were
    :param waiting: how many are not sealed yet
    :param bad_place: the first place in the chain that does not hold, if there is one
    :param problem: what is wrong there, or with the whole; empty if nothing is
    """

    tenant: str
    sealed: int
    waiting: int
    head: str
    bad_place: int | None = None
    problem: str = ""


def sealed_field(of: object) -> str:
    """Return one field as it is hashed: its length in bytes and itself, or a hyphen for nothing."""
    if of is None:
        return "-,"
    text = str(of)
    return f"{len(text.encode())}:{text},"


def sealed_hash(*fields: object) -> bytes:
    """Return the hash of a list of fields."""
    return hashlib.sha256("".join(map(sealed_field, fields)).encode()).digest()


def verify(tenant: Tenant, anchors: Iterable[Anchor], *, using: str) -> Verdict:
    """Return how the tenant's record stands, held against the anchors that are the tenant's."""
    awaited = {one.place: one.hash for one in anchors if one.tenant_id == tenant.id}
    # Another transaction's settings do not matter: this one is the outermost.
    with transaction.atomic(using=using, durable=True):
        with connections[using].cursor() as cursor:
            cursor.execute(_SNAPSHOT)
        return _verified(_Chain(tenant, using), awaited)


def _verified(chain: "_Chain", awaited: dict[int, str]) -> Verdict:
    place, before = 0, b""
    (waiting, vanished) = chain.row(_WAITING)
    for row in chain.rows():
        problem = _problem_with(row, place + 1, chain.tenant.id, before, awaited)
        if problem:
            return Verdict(chain.tenant.slug, place, waiting, before.hex(), place + 1, problem)
        place, before = row.place, row.hash
    end = chain.row(_HEAD) or (0, b"")
    problem, bad_place = "", None
    if cut := max((one for one in (end[0], *awaited) if one > place), default=0):
        bad_place, problem = place + 1, f"cut off: there were {cut} events, {place} are left"
    elif bytes(end[1]) != before:
        bad_place, problem = place, "rewritten: the chain does not end as it was left"
    elif stray := chain.row(_STRAYS):
        problem = f"an event was added past the chain, with the sequence {stray[0]}"
    elif vanished:
        problem = f"{vanished} events were removed before they were sealed"
    return Verdict(chain.tenant.slug, place, waiting, before.hex(), bad_place, problem)


@dataclass(frozen=True)
class _Row:
    place: int
    event_id: str
    salt: str | None
    said: bytes
    hash: bytes
    is_gone: bool
    head: tuple[Any, ...]
    texts: tuple[Any, ...]


class _Chain:
    """A tenant's chain, read page by page in the open transaction."""

    def __init__(self, tenant: Tenant, using: str) -> None:
        self.tenant = tenant
        self._using = using

    def row(self, query: str) -> Any:
        with connections[self._using].cursor() as cursor:
            cursor.execute(query, [self.tenant.id])
            return cursor.fetchone()

    def rows(self) -> Iterator[_Row]:
        last = 0
        while True:
            with connections[self._using].cursor() as cursor:
                cursor.execute(_CHAIN, [self.tenant.id, last, PAGE])
                found = cursor.fetchall()
            for place, event_id, salt, said, made, is_gone, *rest in found:
                row = _Row(
                    place, event_id, salt, bytes(said), bytes(made), is_gone,
                    tuple(rest[:-3]), tuple(rest[-3:]),
                )  # fmt: skip
                yield row
                last = row.place
            if len(found) < PAGE:
                return


def _problem_with(
    row: _Row, expected: int, tenant_id: UUID, before: bytes, awaited: dict[int, str]
) -> str:
    """Return what is wrong in this place; nothing if it is as it was sealed."""
    if row.place != expected:
        return "removed: the chain has a gap here"
    if row.is_gone:
        return "removed: the event is gone"
    # Without a salt the texts were erased, and their hash stands for them.
    if row.salt is not None and sealed_hash(row.salt, *row.texts) != row.said:
        return "changed: reason, before or after is not what was sealed"
    sequence, at, *words = row.head
    made = sealed_hash(
        *(VERSION, tenant_id, row.place, row.event_id, sequence, at, *words),
        *(row.said.hex(), before.hex()),
    )
    if made != row.hash:
        return "changed or moved: the event, or its place, is not what was sealed"
    if awaited.get(row.place, row.hash.hex()) != row.hash.hex():
        return "rewritten: the anchor of this place has another hash"
    return ""
