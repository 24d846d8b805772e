"""
B7: finding the pairs that a sweep would have judged, against a bare join of neighbours.

Both go through the same memories, a stretch of a sweep at a time and in turns: the sweep in its
member's sight, with everything that is decided about the pairs left out, the join as the owner of
the tables with nothing but vectors. The process must not grow while it walks.

    python -m bench.sweeping [--memories 5000]
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from bench.measuring import in_turns

if TYPE_CHECKING:
    from bench.world import World

MOST = 2.0  # times the join
GROWTH = 1.1  # of the process, from a tenth of the way to its end
SAME_PAIRS = 0.99
WARM_UP = 1  # stretches
LONGEST_WALK = 62  # stretches

# As much as is compared by going through all; above, both follow the index.
_EXACTLY = "(f.vector <=> e.vector) + 0"
_BY_THE_INDEX = "f.vector::halfvec({dimension}) <=> e.vector::halfvec({dimension})"
_JOIN = """
SELECT e.memory_id, n.memory_id FROM embeddings e CROSS JOIN LATERAL (
    SELECT f.memory_id, {distance} AS distance FROM embeddings f
    WHERE f.tenant_id = %(tenant)s AND f.space = {space} AND f.memory_id <> e.memory_id
    ORDER BY distance LIMIT %(neighbours)s) n
WHERE e.tenant_id = %(tenant)s AND e.space = {space} AND e.memory_id = ANY (%(memories)s)
  AND 1 - n.distance >= %(floor)s
"""
_IN_ORDER = "SELECT id, sequence FROM memories WHERE tenant_id = %s ORDER BY sequence"

Pairs = set[frozenset[UUID]]


@dataclass(frozen=True)
class _Stretch:
    """Some memories in the order of writing, and the number of the one before them."""

    memories: list[UUID]
    before: int


def measure(memories: int) -> dict[str, Any]:
    """Return the measurement B7, taken in a process of its own: Django is set up but once."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.sweeping", "--memories", str(memories)],
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def swept(memories: int) -> dict[str, Any]:
    """
    Walk through so many memories, and return what the results say of it.

    :raises AssertionError: if the two found other pairs, or the process grew
    """
    from bench.instance import started  # noqa: PLC0415

    with started() as instance, psycopg.connect(instance.owner_url, autocommit=True) as owner:
        from bench.world import built  # noqa: PLC0415  needs Django
        from memory.finding.similar import EXACT_UP_TO  # noqa: PLC0415

        world = built(instance.owner_url, memories)
        is_exact = memories <= EXACT_UP_TO
        if not is_exact:
            _index(instance.owner_url)
        walk = _Walk(world, owner, is_exact=is_exact)
        pair = in_turns(walk.ours, walk.joined, walk.stretches, warm_up=WARM_UP, compare=walk.note)
    must_be_the_same(walk.same, walk.found, is_exact=is_exact)
    growth = walk.growth()
    if growth > GROWTH:
        raise AssertionError(f"the process grew to {growth:.2f} of what it was")
    ours, floor = sum(pair.ours) / 1000, sum(pair.floor) / 1000
    # Of those in the warm-up nothing is counted, neither time nor pairs.
    rate, bare = walk.found_later / ours, walk.joined_later / floor
    return {
        "unit": "pairs/s",
        "value": round(rate, 1),
        "against": round(bare, 1),
        "ratio": round(bare / rate, 3),
        "target": MOST,
        "met": bare / rate <= MOST,
        "growth": round(growth, 3),
        "sizes": {
            "memories": memories,
            "walked": sum(len(one.memories) for one in walk.stretches),
            "pairs": walk.found,
            "how": "all compared" if is_exact else "along the index",
        },
    }


def must_be_the_same(same: int, found: int, *, is_exact: bool) -> None:
    """
    Refuse to compare walks that did not find the same pairs; along an index they may differ.

    :raises AssertionError: if they did not
    """
    if is_exact and (found == 0 or same / found < SAME_PAIRS):
        raise AssertionError(f"of {found} pairs {same} were found by both")


class _Walk:
    """Both ways through the same stretches, and what they found."""

    def __init__(self, world: "World", owner: "psycopg.Connection[Any]", *, is_exact: bool) -> None:
        from hygiene.sweeping import AT_A_TIME  # noqa: PLC0415  needs Django
        from memory.finding.embedding import current  # noqa: PLC0415

        self._owner, self._embedder = owner, current()
        self._sweep, self._caller = _sweep(world)
        distance = _EXACTLY if is_exact else _BY_THE_INDEX
        self._join = _JOIN.format(
            distance=distance.format(dimension=self._embedder.dimension),
            space=psycopg.sql.quote(self._embedder.id),
        )
        if not is_exact:
            owner.execute("SET hnsw.iterative_scan = relaxed_order")
            owner.execute("SET enable_sort = off")
        self._tenant = world.tenant_id
        rows = owner.execute(_IN_ORDER, [world.tenant_id]).fetchall()
        self.stretches = [
            _Stretch([one for one, _ in rows[at : at + AT_A_TIME]], rows[at - 1][1] if at else 0)
            for at in range(0, len(rows), AT_A_TIME)
        ][:LONGEST_WALK]
        self.found = self.same = self.found_later = self.joined_later = 0
        self._number = 0
        self._early = 0

    def ours(self, stretch: _Stretch) -> Pairs:
        """Return the pairs that the sweep would ask about."""
        from hygiene.judging import current_judge  # noqa: PLC0415
        from hygiene.sweeping import next_stretch  # noqa: PLC0415

        self._sweep.reached = stretch.before
        found = next_stretch(self._caller, self._sweep, current_judge())
        assert found is not None
        return {
            frozenset((memory, candidate.memory.id))
            for memory, beside in found.beside.items()
            for candidate in beside.open
        }

    def joined(self, stretch: _Stretch) -> Pairs:
        """Return those that the join gives."""
        from hygiene.sweep import MOST_PAIRS  # noqa: PLC0415

        rows = self._owner.execute(
            self._join,
            {
                "tenant": self._tenant,
                "memories": stretch.memories,
                "neighbours": MOST_PAIRS,
                "floor": self._embedder.bars.sweep_floor,
            },
        )
        return {frozenset(pair) for pair in rows.fetchall()}

    def note(self, _stretch: _Stretch, ours: Pairs, joined: Pairs) -> None:
        """Count them, and look how large the process is."""
        self._number += 1
        self.found += len(ours)
        self.same += len(ours & joined)
        if self._number > WARM_UP:
            self.found_later += len(ours)
            self.joined_later += len(joined)
        if self._number == max(1, len(self.stretches) // 10):
            self._early = _largest()

    def growth(self) -> float:
        """Return how large the process has become since it had gone a tenth of the way."""
        return _largest() / max(1, self._early)


def _largest() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _sweep(world: "World") -> tuple[Any, Any]:
    """Return a sweep of all that the world's reader sees, and the reader as the judge sees it."""
    from hygiene.models import Sweep  # noqa: PLC0415
    from tenants.caller import Caller, Rank, Role, Scope  # noqa: PLC0415

    caller = Caller(
        tenant_id=world.tenant_id,
        member_id=world.member_id,
        name="",
        level=0,
        rank=Rank.PROVISIONAL,
        scopes=frozenset({Scope.HYGIENE}),
        role=Role.JUDGE,
    )
    return Sweep(tenant_id=world.tenant_id, until=sys.maxsize), caller


def _index(owner_url: str) -> None:
    """Make the index that a store of this size has."""
    from django.core.management import call_command  # noqa: PLC0415

    call_command("index_embeddings", stdout=sys.stderr)
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute("ANALYZE embeddings")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the measurement as the last line."""
    parser = argparse.ArgumentParser(prog="python -m bench.sweeping", description=__doc__)
    parser.add_argument("--memories", type=int, default=5000)
    print(json.dumps(swept(parser.parse_args(arguments).memories)))


if __name__ == "__main__":
    main()
