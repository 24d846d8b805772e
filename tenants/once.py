"""One effect however often a request is sent: idempotency keys, kept with the effect itself."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import ProgrammingError, connection
from psycopg.types.json import Jsonb

from tenants.caller import Caller
from tenants.context import acting_as, is_inside
from tenants.fault_points import reach_fault_point
from tenants.ids import new_id
from tenants.refusals import KeyReused, NotAllowed, Refusal

Answer = dict[str, Any]
Keep = Callable[[Answer], Answer]

KEPT_FOR = "24 hours"

# A key whose time is over is taken as new. Whoever sends the same key at the same time waits here
# for the first to commit.
_CLAIM = f"""
INSERT INTO idempotency_keys AS k
    (id, tenant_id, principal_id, endpoint, key, fingerprint, created_at)
VALUES (%s, %s, %s, %s, %s, %s, now())
ON CONFLICT (tenant_id, principal_id, endpoint, key) DO UPDATE
SET id = excluded.id, fingerprint = excluded.fingerprint, answer = NULL, created_at = now()
WHERE k.created_at < now() - interval '{KEPT_FOR}'
RETURNING id
"""  # noqa: S608  a constant
_EARLIER = """
SELECT fingerprint, answer, extract(epoch FROM clock_timestamp() - created_at)::float8
FROM idempotency_keys
WHERE principal_id = %s AND endpoint = %s AND key = %s
"""
_KEEP = """
UPDATE idempotency_keys SET answer = %s WHERE principal_id = %s AND endpoint = %s AND key = %s
"""


class AnsweredBefore(Exception):
    """
    The same request was answered already; here is what it was told.

    :param age: seconds since it came
    """

    def __init__(self, answer: Answer, age: float) -> None:
        super().__init__("answered before")
        self.answer = answer
        self.age = age


@contextmanager
def writing_as(caller: Caller) -> Iterator[Keep]:
    """
    Open the door for a change, and give what keeps the answer with it.

    The answer is kept in the transaction of the change, so there is never one without the other.

    :raises AnsweredBefore: if the caller's idempotency key was used for the same request
    :raises KeyReused: if it was used for another one
    :raises NotAllowed: if the caller was put out meanwhile
    """
    outermost = not is_inside()
    try:
        with acting_as(caller):
            if caller.once is None or not outermost:
                yield lambda answer: answer
            else:
                _claim(caller)
                yield lambda answer: _keep(caller, answer)
            reach_fault_point("before_write_commit")
    except (Refusal, ProgrammingError):
        # To whoever has no seat nothing is there: that would be told as a mistake of theirs.
        if outermost and _has_gone(caller):
            raise NotAllowed("Your seat was taken away while this was under way.") from None
        raise
    if outermost:
        reach_fault_point("after_write_commit")


def _has_gone(caller: Caller) -> bool:
    with acting_as(caller), connection.cursor() as cursor:
        cursor.execute("SELECT current_member() IS NULL")
        return bool(cursor.fetchone()[0])


def _claim(caller: Caller) -> None:
    once = caller.once
    assert once is not None
    with connection.cursor() as cursor:
        cursor.execute(
            _CLAIM,
            [
                new_id(),
                caller.tenant_id,
                caller.principal_id,
                once.endpoint,
                once.key,
                once.fingerprint,
            ],
        )
        if cursor.fetchone() is not None:
            return
    raise _earlier(caller)


def answered_before(caller: Caller) -> AnsweredBefore:
    """Return what the same request was told by now. Outside the door."""
    with acting_as(caller):
        return _earlier(caller)


def _earlier(caller: Caller) -> AnsweredBefore:
    once = caller.once
    assert once is not None
    with connection.cursor() as cursor:
        cursor.execute(_EARLIER, [caller.principal_id, once.endpoint, once.key])
        fingerprint, answer, age = cursor.fetchone()
    if bytes(fingerprint) != once.fingerprint:
        raise KeyReused("This Idempotency-Key was used for a request with another body.")
    # Django has its cursors give JSON as text.
    return AnsweredBefore(json.loads(answer), age)


def keep_in_the_end(caller: Caller, answer: Answer) -> Answer:
    """Keep what a request is told in the end, where it goes on after its write. Inside the door."""
    return answer if caller.once is None else _keep(caller, answer)


def _keep(caller: Caller, answer: Answer) -> Answer:
    once = caller.once
    assert once is not None
    with connection.cursor() as cursor:
        parameters: list[Any] = [Jsonb(answer), caller.principal_id, once.endpoint, once.key]
        cursor.execute(_KEEP, parameters)
    return answer
