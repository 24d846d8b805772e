"""What a write does about conflicts: clashes at once, the rest is left to the judge."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db import connection

from memory.conflict.act import act
from memory.conflict.decided import Judged
from memory.conflict.detect import MOST_TOLD, Candidate, candidates_of, settled_with
from memory.conflict.left_to_the_judge import JUDGE_MEMORY, OFF
from memory.conflict.policy import Bars, Relation, Verdict
from memory.conflict.verified import those_out_of_date
from memory.models import Conflict, Memory
from tenants.caller import Role
from tenants.context import stepping_to, whose_door
from tenants.jobs import leave_job, open_job

RULES = "rules"
RULES_VERSION = "rules-2"
NEAREST_JUDGED = 10
# What a job is told if others were writing at the same moment: it has to wait for them to end.
AMONG_WRITERS = "among_writers"

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest(%s::text[]) AS name"


@dataclass
class Faced:
    """
    What a memory was found to be near to, and what came of it so far.

    :param judging: done, queued, deferred or off
    :param job_id: who judges the rest, if it is queued
    """

    candidates: list[Candidate] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    judging: str = "done"
    job_id: UUID | None = None

    @property
    def told(self) -> list[Candidate]:
        return self.candidates[:MOST_TOLD]

    @property
    def omitted(self) -> int:
        return max(0, len(self.candidates) - MOST_TOLD)


def face(
    memory: Memory,
    in_reach: Mapping[UUID, float] | None,
    *,
    gone: Iterable[UUID],
    with_components: bool,
    among_writers: bool = False,
) -> Faced:
    """
    Look for what the memory may be in conflict with; judge clashes of components, leave the rest.

    Whoever stated components has had to wait for its turn before (`wait_for_the_same_subjects`).

    :param in_reach: the similarities of what lies near it; nothing without a vector
    :param gone: what the write has superseded already
    :param with_components: whether any were stated, so that nothing is looked up in vain
    :param among_writers: others write at this moment, and what they write is not to be seen yet
    """
    gone = set(gone)
    left = {one: score for one, score in (in_reach or {}).items() if one not in gone}
    faced = Faced(candidates_of(memory, left, by_subject=with_components))
    clashing = [one for one in faced.candidates if one.clashes]
    if clashing:
        with stepping_to(Role.JUDGE):
            acted = act(memory, clashes_with(memory, clashing), Bars())
        faced.conflicts = acted.conflicts
    faced.judging = _left_to_the_judge(
        memory, faced, embedded=in_reach is not None, among_writers=among_writers
    )
    return faced


def wait_for_the_same_subjects(project_id: UUID | None, subjects: Iterable[str]) -> None:
    """
    Let writes that speak of the same come one after the other, so that one sees the other.

    Whoever locks memories as well waits here first: the other, whose turn it is, wants them, too.
    """
    tenant_id = whose_door().tenant_id
    names = [f"{tenant_id}:{project_id}:{subject}" for subject in sorted(set(subjects))]
    if not names:
        return
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [names])


def _left_to_the_judge(memory: Memory, faced: Faced, *, embedded: bool, among_writers: bool) -> str:
    if settings.JUDGE == OFF:
        return OFF
    lost = any(one.winner_id is not None and one.winner_id != memory.id for one in faced.conflicts)
    if lost:
        return "done"
    if not embedded:
        # Nobody looked for what lies near. Whoever embeds it later has it judged, too.
        return "deferred"
    open_ones = [one.memory.id for one in faced.candidates if not one.clashes]
    has_candidates = bool(open_ones) and bool(set(open_ones) - settled_with(memory, open_ones))
    if not has_candidates and not among_writers:
        return "done"
    left = leave_job(
        JUDGE_MEMORY,
        dedup_key=str(memory.id),
        subject_id=memory.id,
        arguments={AMONG_WRITERS: True} if among_writers else None,
    )
    # One that is open already judges it as well: whoever waits, waits for that.
    faced.job_id = left or open_job(JUDGE_MEMORY, str(memory.id))
    return "queued"


def clashes_with(memory: Memory, clashing: Sequence[Candidate]) -> list[Judged]:
    """Return what follows from declared components alone: both say one value, and not the same."""
    out_of_date = those_out_of_date(memory, clashing)
    return [
        _clash(
            memory, one, is_stale=_same_author(memory, one.memory) or one.memory.id in out_of_date
        )
        for one in clashing
    ]


def _same_author(memory: Memory, other: Memory) -> bool:
    return (memory.owner_id, memory.author_agent_id) == (other.owner_id, other.author_agent_id)


def _clash(memory: Memory, candidate: Candidate, *, is_stale: bool) -> Judged:
    relation = Relation.STALE if is_stale else Relation.CONTRADICTION
    is_newer = memory.sequence > candidate.memory.sequence
    stale = "a_supersedes_b" if is_newer else "b_supersedes_a"
    subjects = ", ".join(candidate.clashes)
    return Judged(
        candidate,
        Verdict(relation, 1.0),
        {
            # Told for the memory that came in and the one that was there.
            "relation": stale if is_stale else "contradiction",
            "confidence": 1.0,
            "reasoning": f"Both state one value for {subjects}, and not the same.",
            "shared_subject": subjects,
            "missing_specifics": [],
            "judge": RULES,
            "prompt_version": RULES_VERSION,
            "tokens_in": 0,
            "tokens_out": 0,
            "latency_ms": None,
            "version_a": memory.version,
            "version_b": candidate.memory.version,
        },
        is_proven=True,
    )
