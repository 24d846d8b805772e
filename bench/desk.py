"""
DESK: a page of the review queue, of as many disputes as the world has memories, against two bare
statements.

The page is all that the admin does for it: the session, the seat, the door, the counts of every
tab, the lines and the template. The statements ask the same rows and counts of the tables' owner,
who is above the policies.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from bench.instance import Instance
from bench.measuring import compared, in_turns
from bench.world import World

# Most of a page's time is its template's, which is the same for ten disputes and for ten thousand.
TARGET, TARGET_P95 = 40.0, 40.0
LINES = 25
_PAGE = "/admin/memory/conflict/"
_DISPUTES = """
INSERT INTO conflicts (id, tenant_id, memory_a_id, memory_b_id, low_id, high_id, kind, state,
                       level_a, level_b, via, "row", missing_specifics, verdict, reason, evidence,
                       note, created_at)
SELECT gen_random_uuid(), tenant_id, id, before, least(id, before), greatest(id, before),
       'contradiction', 'pending', 30, 30, 'vector', 'not sure enough', '{}', %(verdict)s::jsonb,
       '', '', '', created_at
FROM (SELECT id, tenant_id, created_at, lag(id) OVER (ORDER BY sequence) AS before
      FROM memories WHERE tenant_id = %(tenant)s) pairs
WHERE before IS NOT NULL
"""
_AWAY = """
WITH gone AS (DELETE FROM dispute_periods WHERE tenant_id = %(tenant)s)
DELETE FROM conflicts WHERE tenant_id = %(tenant)s
"""
_COUNTS = """
SELECT count(*) FILTER (WHERE state = 'pending' AND memory_b_id IS NOT NULL AND kind <> 'unjudged'),
       count(*) FILTER (WHERE state = 'pending' AND memory_b_id IS NULL),
       count(*) FILTER (WHERE state = 'pending' AND kind = 'unjudged'),
       count(*) FILTER (WHERE state = 'resolved')
FROM conflicts WHERE tenant_id = %(tenant)s
"""
_LINES = f"""
SELECT c.*, a.content, a.kind, b.content, b.kind
FROM conflicts c
JOIN memories a ON a.id = c.memory_a_id JOIN memories b ON b.id = c.memory_b_id
WHERE c.tenant_id = %(tenant)s AND c.state = 'pending' AND c.kind <> 'unjudged'
  AND (c.deferred_until IS NULL OR c.deferred_until <= now())
ORDER BY c.created_at DESC, c.id DESC
LIMIT {LINES}
"""
_OPENED = re.compile(r'/(cfl_\w+)/change/[^"]*" data-opens-line')


def against_the_bare_query(instance: Instance, world: World, requests: int) -> dict[str, Any]:
    """
    Return the measurement DESK.

    :raises AssertionError: if page and statements do not name the same disputes
    """
    with (
        _disputes(instance.owner_url, world) as connection,
        _reviewer(world) as client,
    ):

        def page(_task: int) -> list[str]:
            answer = client.get(_PAGE)
            if answer.status_code != 200:
                raise RuntimeError(f"the page answered {answer.status_code}")
            return _OPENED.findall(answer.content.decode())

        def bare(_task: int) -> list[str]:
            said = {"tenant": world.tenant_id}
            connection.execute(_COUNTS, said).fetchone()
            return [str(row[0]) for row in connection.execute(_LINES, said).fetchall()]

        pair = in_turns(
            page,
            bare,
            range(requests + requests // 10),
            warm_up=requests // 10,
            compare=must_name_the_same,
        )
    return {
        **compared(pair, target=TARGET, target_p95=TARGET_P95),
        "sizes": {"disputes": world.size - 1},
    }


def must_name_the_same(_task: int, shown: list[str], floor: list[str]) -> None:
    """
    Refuse to compare what is not the same.

    :raises AssertionError: if it is not
    """
    from tenants.ids import Prefix, read_id  # noqa: PLC0415  needs Django

    named = [str(read_id(Prefix.CONFLICT, one)) for one in shown]
    if named != floor or not named:
        raise AssertionError(f"the page and the statements name others: {named} {floor}")


@contextmanager
def _disputes(owner_url: str, world: World) -> Iterator["psycopg.Connection[Any]"]:
    """Have each memory in dispute with the one before it while this is open."""
    verdict = {"relation": "contradiction", "confidence": 0.8, "reasoning": "Two numbers."}
    with psycopg.connect(owner_url, autocommit=True) as connection:
        said = {"tenant": world.tenant_id, "verdict": json.dumps(verdict)}
        connection.execute(_DISPUTES, said)
        connection.execute("VACUUM (ANALYZE) conflicts, dispute_periods, memories")
        try:
            yield connection
        finally:
            connection.execute(_AWAY, {"tenant": world.tenant_id})


@contextmanager
def _reviewer(world: World) -> Iterator[Any]:
    """Return a client in which the world's reader has logged in, with both steps."""
    from django.test import Client  # noqa: PLC0415  needs Django
    from django_otp import DEVICE_ID_SESSION_KEY  # noqa: PLC0415

    from tenants.founding import OWNER  # noqa: PLC0415
    from tenants.models import Member, User  # noqa: PLC0415
    from tenants.one_time_codes import new_secret  # noqa: PLC0415
    from tenants.second_factor import device_with  # noqa: PLC0415

    member = Member.objects.using(OWNER).get(id=world.member_id)
    user = User.objects.using(OWNER).get(pk=member.user_id)
    device = device_with(user, new_secret())
    device.save(using=OWNER)
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    session = client.session
    session[DEVICE_ID_SESSION_KEY] = device.persistent_id
    session.save()
    yield client
    device.delete(using=OWNER)
