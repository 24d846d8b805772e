"""
B8 and B14: a change that touches one memory in a hundred, with dependents five deep.

Marking them, in one transaction, is measured against a bare UPDATE of as many rows by the owner of
the tables. Every dependent must be marked, and nothing else.

    python -m bench.changes [--memories 100000]
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any
from uuid import UUID

import psycopg

from bench.measuring import compared, in_turns

MOST = 3.0  # times the bare UPDATE
TOUCHED = 100  # one in so many
DEEP = 5
TIMES = 12
WARM_UP = 2

# A hundredth in six layers: the first says something of what moves, each other one depends on the
# one before it. All the rest speaks of other subjects, and depends on its neighbour.
_MEMORIES = """
INSERT INTO memories (id, tenant_id, owner_id, author_level, provenance_rank, project_id,
                      visibility, kind, content, text_key, words, subjects, tags, importance,
                      version, created_at, end_is_told)
SELECT gen_random_uuid(), %(tenant)s, %(member)s, 30, 2, %(project)s, 'project', 'fact',
       'Note ' || n, sha256(n::text::bytea), to_tsvector('simple', 'note ' || n), '{}', '{}', 0.5,
       1, now() - interval '1 day', false
FROM generate_series(1, %(size)s) AS n
"""
_NUMBERED = """
CREATE TEMP TABLE numbered AS
SELECT id, row_number() OVER (ORDER BY sequence) - 1 AS n FROM memories
WHERE tenant_id = %(tenant)s
"""
_COMPONENTS = """
INSERT INTO components (id, tenant_id, memory_id, subject, value, multi, suggested, created_at)
SELECT gen_random_uuid(), %(tenant)s, id,
       CASE WHEN n < %(layer)s THEN 'moved.part.s' || n
            ELSE 'other.part' || n %% 1000 || '.s' || n END,
       'x', false, false, now()
FROM numbered WHERE n < %(layer)s OR n >= %(touched)s
"""
_DEPENDENCIES = """
INSERT INTO dependencies (id, tenant_id, memory_id, on_memory_id, created_at)
SELECT gen_random_uuid(), %(tenant)s, a.id, b.id, now()
FROM numbered a JOIN numbered b ON b.n = a.n - CASE WHEN a.n < %(touched)s THEN %(layer)s ELSE 1 END
WHERE a.n >= %(layer)s AND a.n <> %(touched)s
"""
_BARE = "UPDATE memories SET importance = importance WHERE tenant_id = %s AND id = ANY (%s)"


@cache
def measure(memories: int) -> dict[str, Any]:
    """Return the measurements B8 and B14, taken together, in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.changes", "--memories", str(memories)],
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def changed(memories: int) -> dict[str, Any]:
    """
    Let the world move under so many memories, and return what the results say of it.

    :raises AssertionError: if something else was marked than depends on what moved
    """
    from bench.instance import started  # noqa: PLC0415

    with started() as instance, psycopg.connect(instance.owner_url, autocommit=True) as owner:
        world = _World(owner, memories)
        pair = in_turns(
            world.marked, world.updated, range(TIMES), warm_up=WARM_UP, compare=world.must_be_right
        )
    found = compared(pair, target=MOST)
    sizes = {"memories": memories, "touched": len(world.touched), "deep": DEEP}
    right = {"unit": "marks", "value": len(world.touched), "against": len(world.touched)}
    return {
        "B8": found | {"sizes": sizes},
        "B14": right | {"ratio": 1.0, "target": 1.0, "met": True, "sizes": sizes},
    }


class _World:
    """A tenant in which some memories hang on what moves, and two ways of touching those."""

    def __init__(self, owner: "psycopg.Connection[Any]", memories: int) -> None:
        from tenants.caller import Caller, Rank, Scope  # noqa: PLC0415  needs Django
        from tenants.founding import found_project, found_tenant, grant, seat  # noqa: PLC0415

        self._owner = owner
        tenant = found_tenant("measured", "Measured")
        project = found_project(tenant, "measured", "Measured")
        member = seat(tenant, "measured", "Measured", level=30)
        grant(member, project, ("see_project", "write_project"))
        self._tenant = tenant.id
        self._caller = Caller(
            tenant_id=tenant.id,
            member_id=member.id,
            name="measured",
            level=30,
            rank=Rank.HUMAN,
            scopes=frozenset({Scope.WRITE}),
        )
        layer = max(1, memories // TOUCHED // (DEEP + 1))
        touched = layer * (DEEP + 1)
        given: dict[str, Any] = {"tenant": tenant.id, "member": member.id, "project": project.id}
        given |= {"size": memories, "layer": layer, "touched": touched}
        for statement in (_MEMORIES, _NUMBERED, _COMPONENTS, _DEPENDENCIES):
            owner.execute(statement, given)
        owner.execute("VACUUM (ANALYZE) memories, components, dependencies")
        rows = owner.execute("SELECT id FROM numbered WHERE n < %s", [touched])
        self.touched: set[UUID] = {one for (one,) in rows}

    def marked(self, number: int) -> UUID:
        """Return the change, once it has marked what hangs on it."""
        from django.db.models.functions import Now  # noqa: PLC0415

        from memory.models import Change  # noqa: PLC0415  needs Django
        from memory.trust.changes import note_changes  # noqa: PLC0415
        from tenants.context import acting_as  # noqa: PLC0415
        from tenants.ids import new_id  # noqa: PLC0415
        from tenants.models import Project  # noqa: PLC0415

        with acting_as(self._caller):
            change = Change(
                id=new_id(),
                tenant_id=self._tenant,
                project_id=Project.objects.get().id,
                subject="moved.part",
                summary=f"Move {number}",
                by_member_id=self._caller.member_id,
                observed_at=Now(),
            )
            note_changes([change])
        return change.id

    def updated(self, _number: int) -> None:
        """Touch as many rows, and nothing besides."""
        self._owner.execute(_BARE, [self._tenant, list(self.touched)])

    def must_be_right(self, _number: int, change_id: UUID, _updated: None) -> None:
        """See that what depends on the change is marked, and nothing else."""
        rows = self._owner.execute("SELECT memory_id FROM marks WHERE change_id = %s", [change_id])
        must_be_what_depends([one for (one,) in rows], self.touched)


def must_be_what_depends(marked: Sequence[UUID], touched: Collection[UUID]) -> None:
    """
    Refuse to measure what marked too much, too little, or something twice.

    :raises AssertionError: if it did
    """
    if len(marked) != len(touched) or set(marked) != set(touched):
        raise AssertionError(f"{len(marked)} marks on {len(touched)} dependents")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    print(json.dumps(changed(parser.parse_args().memories)))
