"""
B1: recall over HTTP against its floor. B3: the same statements with and without policies.

The floor is what nobody can do without: the query embedded in this process, and one prepared
statement as the owner of the tables, on the same indexes, that returns the same memories. It knows
nothing of principals, trust, successors or the wire.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg

from bench.instance import Client, Instance, await_idle_workers
from bench.measuring import compared, in_turns
from bench.world import World, questions

K = 10
CANDIDATES = 40
TARGET, TARGET_P95 = 1.6, 2.0
TARGET_OF_POLICIES = 1.15
# The share of questions to which floor and product must name the same memories. Not all: the ages
# that weigh in are taken a moment apart.
SAME_ANSWERS = 0.98

# With the weights of ranking.py that differ in this world: the fusion and the age.
_FLOOR = f"""
WITH near AS MATERIALIZED (
    SELECT memory_id, e.vector <=> %(vector)s::halfvec AS distance
    FROM embeddings e
    WHERE e.tenant_id = %(tenant)s AND e.space = %(space)s AND e.lifecycle = 'live'
      AND (e.valid_until IS NULL OR e.valid_until > now())
    ORDER BY (e.vector <=> %(vector)s::halfvec) + 0
    LIMIT {CANDIDATES}
), worded AS MATERIALIZED (
    SELECT id AS memory_id, ts_rank(words, %(words)s::tsquery, 1) AS likeness
    FROM memories
    WHERE tenant_id = %(tenant)s AND words @@ %(words)s::tsquery AND lifecycle = 'live'
      AND (valid_until IS NULL OR valid_until > now())
    ORDER BY likeness DESC, memory_id
    LIMIT {CANDIDATES}
), placed AS (
    SELECT coalesce(n.memory_id, w.memory_id) AS memory_id,
           coalesce(1.0 / (60 + n.place), 0) + coalesce(1.0 / (60 + w.place), 0) AS fused
    FROM (SELECT memory_id, row_number() OVER (ORDER BY distance) AS place FROM near) n
    FULL JOIN (SELECT memory_id,
                      row_number() OVER (ORDER BY likeness DESC, m.created_at DESC) AS place
               FROM worded JOIN memories m ON m.id = memory_id) w USING (memory_id)
)
SELECT m.id, m.content, m.kind, m.project_id, m.visibility, m.owner_id, m.author_level,
       m.provenance_rank, m.created_at, m.importance, m.valid_until, m.review_after,
       m.superseded_by_id, m.lifecycle, p.fused
FROM placed p JOIN memories m ON m.id = p.memory_id
ORDER BY p.fused * (0.7 + 0.3 * 0.5 ^ (extract(epoch FROM now() - m.created_at) / 86400 / 365.25))
         DESC, m.created_at DESC
LIMIT {K}
"""


@dataclass
class _Agreement:
    """How often two ways to answer named the same memories."""

    same: int = 0
    differing: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        asked = self.same + len(self.differing)
        return self.same / asked if asked else 0.0


def against_the_floor(instance: Instance, world: World, requests: int) -> dict[str, Any]:
    """
    Return the measurement B1.

    :raises AssertionError: if the floor and the product do not name the same memories
    """
    client = Client(instance.base_url, world.token)
    agreement = _Agreement()

    def ours(query: str) -> list[str]:
        results = client.post("/recall", {"query": query, "k": K})["results"]
        return [one["memory_id"] for one in results]

    def compare(query: str, told: list[str], rows: list[Any]) -> None:
        if sorted(told) == sorted(_wire_ids(rows)):
            agreement.same += 1
        else:
            agreement.differing.append(query)

    with psycopg.connect(instance.owner_url, autocommit=True) as connection:
        floor = floor_of(connection, world)
        tasks = questions(world, requests + requests // 10)
        pair = in_turns(ours, floor, tasks, warm_up=requests // 10, compare=compare)
    must_agree(agreement.share, agreement.differing)
    return {
        **compared(pair, target=TARGET, target_p95=TARGET_P95),
        "sizes": {"memories": world.size, "k": K},
        "same_answers": round(agreement.share, 4),
    }


def must_agree(share: float, differing: list[str]) -> None:
    """
    Refuse to compare the speed of different answers.

    :raises AssertionError: if fewer than SAME_ANSWERS are the same
    """
    if share < SAME_ANSWERS:
        raise AssertionError(
            f"floor and product name the same memories for {share:.0%} of the questions only; "
            f"not for {differing[:3]}"
        )


def floor_of(connection: "psycopg.Connection[Any]", world: World) -> Callable[[str], list[Any]]:
    """Return the floor: from a query to rows, with nothing between that could be left out."""
    from memory.finding.embedding import current  # noqa: PLC0415  needs Django
    from memory.finding.words import tsquery  # noqa: PLC0415

    connection.execute("SET plan_cache_mode = force_custom_plan")
    connection.execute("SET jit = off")
    connection.execute("SET max_parallel_workers_per_gather = 0")
    connection.execute("SET random_page_cost = 1.1")
    embedder = current()

    def answer(query: str) -> list[Any]:
        vector = embedder.embed([query])[0]
        arguments = {
            "vector": f"[{','.join(map(str, vector))}]",
            "space": embedder.id,
            "words": tsquery(query),
            "tenant": world.tenant_id,
        }
        return connection.execute(_FLOOR, arguments, prepare=True).fetchall()

    return answer


def _wire_ids(rows: list[Any]) -> list[str]:
    from tenants.ids import Prefix, wire_id  # noqa: PLC0415  needs Django

    return [wire_id(Prefix.MEMORY, row[0]) for row in rows]


def policies(instance: Instance, world: World, requests: int) -> dict[str, Any]:
    """
    Return the measurement B3: what row-level security costs.

    The statements of a recall are taken down as they are sent to the database, and sent again: as a
    member, and as the owner of the tables, for whom there are no policies.

    :raises AssertionError: if the rows are not the same
    """
    await_idle_workers(instance)
    tasks = [
        _statements(world, query) for query in questions(world, requests + requests // 10, seed=3)
    ]
    with (
        psycopg.connect(instance.runtime_url, cursor_factory=psycopg.ClientCursor) as as_member,
        psycopg.connect(instance.owner_url, cursor_factory=psycopg.ClientCursor) as as_owner,
    ):
        for connection in (as_member, as_owner):
            connection.execute("SET jit = off")
            connection.commit()
        pair = in_turns(
            _replay(as_member, "palimpsest_member"),
            _replay(as_owner, "none"),
            tasks,
            warm_up=requests // 10,
            compare=must_be_the_same_rows,
        )
    return {
        **compared(pair, target=TARGET_OF_POLICIES),
        "sizes": {"memories": world.size, "k": K, "statements": len(tasks[0])},
    }


Statement = tuple[str, Any]


def _statements(world: World, query: str) -> list[Statement]:
    """Return what a recall sends inside its door, the step in first."""
    from django.db import connection  # noqa: PLC0415  needs Django

    from memory.recall import recall  # noqa: PLC0415
    from tenants.caller import Caller, Rank, Scope  # noqa: PLC0415

    sent: list[Statement] = []

    def take_down(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, many, context)

    caller = Caller(
        tenant_id=world.tenant_id,
        member_id=world.member_id,
        name="Reader",
        level=30,
        rank=Rank.HUMAN,
        scopes=frozenset({Scope.READ}),
        project_id=world.project_id,
    )
    with connection.execute_wrapper(take_down):
        recall(caller, query=query, k=K)
    return sent


def _replay(
    connection: "psycopg.Connection[Any]", role: str
) -> Callable[[list[Statement]], list[Any]]:
    def answer(statements: list[Statement]) -> list[Any]:
        (step, settings), *others = statements
        rows: list[Any] = []
        with connection.transaction():
            connection.execute(step, (*settings[:-1], role))
            for sql, params in others:
                rows.append(connection.execute(sql, params).fetchall())
        return rows

    return answer


def must_be_the_same_rows(_task: Any, ours: list[Any], floor: list[Any]) -> None:
    if [sorted(map(repr, rows)) for rows in ours] != [sorted(map(repr, rows)) for rows in floor]:
        raise AssertionError("the policies changed the rows; the speeds cannot be compared")
