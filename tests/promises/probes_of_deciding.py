"""Who decides in whose cause, with what nobody else reads, and what a decision weighs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.promises.disagreeing import NOTE, noted
from tests.promises.probe import Probe
from tests.promises.raw import JUDGE, REFUSED, REVIEWER, Step, Who
from tests.promises.trusting import SIGNAL, said
from tests.promises.world import Side

CLOSE = """
UPDATE conflicts SET state = 'resolved', resolved_at = now(), resolved_by_member_id = %s,
    resolved_by_agent_id = %s WHERE id = %s
"""
WEIGH = "UPDATE signals SET weighed_by_id = %s WHERE id = %s"


def deciding(a: Side) -> Iterator[Probe]:
    """Return who settles what is private, who decides suspicions, and who weighs reports."""
    yield from _deciding_what_is_private(a)
    yield from _deciding_a_suspicion(a)
    yield from _weighing(a)


def _reviewing(who: Who) -> Who:
    return replace(who, role=REVIEWER)


def _deciding_what_is_private(a: Side) -> Iterator[Probe]:
    """Return who decides about what one member alone may read, in a project."""
    contractor = a.members["contractor"]
    private = a.memories["contractor", "private", "apollo"]
    note = noted(a, private, None, kind="challenged", raised_by=contractor)
    misled = said(a, memory=private, kind="misled", member=contractor)
    before = (
        Step(a.who("contractor"), NOTE, note),
        Step(a.who("contractor"), SIGNAL, misled),
    )
    for name, who, by, expected in (
        ("contractor", a.reviewing("contractor"), "contractor", 1),
        ("contractor in apollo", _reviewing(a.confined("contractor", "apollo")), "contractor", 1),
        ("contractor in hermes", _reviewing(a.confined("contractor", "hermes")), "contractor", 0),
        ("contractor as a member", a.who("contractor"), "contractor", REFUSED),
        ("senior", a.reviewing("senior"), "senior", 0),
        ("reviewer", a.reviewing("reviewer"), "reviewer", 0),
        ("admin", a.reviewing("admin"), "admin", 0),
    ):
        yield Probe(
            f"{name} decides about the contractor's private one", who, CLOSE,
            [a.members[by], None, note["id"]], expected, after=before,
        )  # fmt: skip
    closed = Step(a.reviewing("contractor"), CLOSE, [contractor, None, note["id"]])
    yield Probe(
        "contractor weighs what speaks against their private one", a.reviewing("contractor"),
        WEIGH, [note["id"], misled["id"]], 1, after=(*before, closed),
    )  # fmt: skip
    accept = "UPDATE memories SET accepted_at = now() WHERE id = %s"
    yield Probe(
        "contractor accepts their private one", a.reviewing("contractor"), accept, [private],
        REFUSED,
    )  # fmt: skip


def _deciding_a_suspicion(a: Side) -> Iterator[Probe]:
    """Return who decides a suspicion that the reviewer raised when somebody had reported before."""
    wide, agent = a.memories["contractor", "tenant", "apollo"], a.agents["agent"]
    suspicion = noted(a, wide, None, kind="stale_suspect", raised_by=a.members["reviewer"])
    challenge = {**suspicion, "kind": "challenged"}
    by_agent = said(a, memory=wide, kind="misled", member=a.members["senior"], agent=agent)
    by_senior = {**by_agent, "agent": None}
    by_contractor = {**by_senior, "member": a.members["contractor"]}
    for reporter, report in (("agent", by_agent), ("senior", by_senior),
                             ("contractor", by_contractor)):  # fmt: skip
        for question in (suspicion, challenge):
            own_cause = reporter != "contractor" and question is suspicion
            before = (
                Step(a.who(reporter), SIGNAL, report),
                Step(a.reviewing("reviewer"), NOTE, question),
            )
            for name, who, by, expected in (
                ("agent", _reviewing(a.who("agent")), agent, 0 if own_cause else 1),
                ("its sponsor's other agent", _reviewing(a.who("companion")),
                 a.agents["companion"], 0 if own_cause else 1),
                ("senior", a.reviewing("senior"), None, 1),
            ):  # fmt: skip
                yield Probe(
                    f"{name} decides what is {question['kind']} since {reporter} reported", who,
                    CLOSE, [a.members["senior"], by, question["id"]], expected,
                    after=before,
                )  # fmt: skip
        yield Probe(
            f"agent has what {reporter} reported weighed beforehand", _reviewing(a.who("agent")),
            WEIGH, [suspicion["id"], report["id"]], REFUSED,
            after=(Step(a.who(reporter), SIGNAL, report),
                   Step(a.reviewing("reviewer"), NOTE, suspicion)),
        )  # fmt: skip


def _weighing(a: Side) -> Iterator[Probe]:
    theirs, own, conflict = (a.rows[f"{what}"] for what in
                             ("signal shared", "signal private", "conflict shared"))  # fmt: skip
    raised, others, closed = (a.rows[f"conflict {one}"] for one in ("raised", "others", "closed"))
    agent, reviewing_agent = a.agents["agent"], _reviewing(a.who("agent"))

    def decided(who: Who, by: str, what: Any, by_agent: Any = None) -> tuple[Step, ...]:
        return (Step(who, CLOSE, [a.members[by], by_agent, what]),)

    by_senior = decided(a.reviewing("senior"), "senior", raised)
    for name, who, by, signal, expected, before in (
        ("senior", a.reviewing("senior"), raised, theirs, 1, by_senior),
        ("senior, not at all", a.reviewing("senior"), None, theirs, 1, ()),
        ("senior, in what waits", a.reviewing("senior"), raised, theirs, REFUSED, ()),
        ("senior, in what was decided before", a.reviewing("senior"), closed, theirs, REFUSED, ()),
        ("reviewer", a.reviewing("reviewer"), conflict, theirs, 1,
         decided(a.reviewing("reviewer"), "reviewer", conflict)),
        ("reviewer, in what another decided", a.reviewing("reviewer"), raised, theirs, REFUSED,
         by_senior),
        ("agent", reviewing_agent, others, theirs, 1,
         decided(reviewing_agent, "senior", others, agent)),
        ("agent, in what its sponsor decided", reviewing_agent, raised, theirs, REFUSED, by_senior),
        ("agent, not at all", reviewing_agent, None, theirs, REFUSED, ()),
        ("agent, what speaks against its sponsor's", reviewing_agent, a.rows["conflict private"],
         own, 0, ()),
        ("contractor", a.reviewing("contractor"), raised, theirs, 0, by_senior),
        ("viewer", a.reviewing("viewer"), raised, theirs, 0, by_senior),
        ("gone", a.reviewing("gone"), raised, theirs, 0, by_senior),
        ("senior in a conflict about another", a.reviewing("senior"), a.rows["conflict written"],
         theirs, REFUSED, decided(a.reviewing("senior"), "senior", a.rows["conflict written"])),
        ("senior in a hidden conflict", a.reviewing("senior"), a.rows["conflict distant"],
         theirs, REFUSED, ()),
        ("senior as a member", a.who("senior"), raised, theirs, REFUSED, by_senior),
        ("judge", a.judge("senior"), raised, theirs, REFUSED, by_senior),
    ):  # fmt: skip
        yield Probe(f"{name} weighs", who, WEIGH, [by, signal], expected, after=before)
    for role in ("palimpsest_member", JUDGE, REVIEWER):
        for change in ("reason = 'x'", "memory_id = NULL", "created_at = now()"):
            yield Probe(
                f"{role} sets {change} of a signal", a.who("senior", role=role),
                f"UPDATE signals SET {change}", (), REFUSED,
            )  # fmt: skip
    wrote = said(
        a, memory=a.memories["gone", "project", "apollo"], kind="misled",
        member=a.members["senior"],
    )  # fmt: skip
    yield Probe(
        "agent weighs what speaks against what it wrote", reviewing_agent, WEIGH,
        [a.rows["conflict written"], wrote["id"]], 0,
        after=(Step(a.who("senior"), SIGNAL, wrote),),
    )  # fmt: skip
