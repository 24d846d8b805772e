"""What the functions and triggers that write what tells of memories do, and for whom."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from tenants.ids import new_id
from tests.promises.disagreeing import NOTE, noted
from tests.promises.probe import Probe
from tests.promises.probes_of_remembering import MEMORY
from tests.promises.raw import DOOR_ROLES, JUDGE, REFUSED, Step, Who
from tests.promises.trusting import CHANGE, VERIFY, said
from tests.promises.world import Side

SUPERSEDE = """
UPDATE memories SET invalidated_at = now(), invalidated_reason = 'superseded',
    superseded_by_id = %s, superseded_at = now(), supersede_reason = 'manual' WHERE id = %s
"""
RESTORE = """
UPDATE memories SET invalidated_at = NULL, invalidated_reason = NULL, superseded_by_id = NULL,
    superseded_at = NULL, supersede_reason = NULL WHERE id = %s
"""
FORGET = (
    "UPDATE memories SET invalidated_at = now(), invalidated_reason = 'forgotten' WHERE id = %s"
)
_MARK_DEPENDENTS = "SELECT mark_dependents_of(%s, %s, %s)"
_CLOSE = "SELECT close_marks_caused_by(%s, '{superseded,conflicted,expired,rejected,change}')"
_CLEAR = "SELECT clear_marks_by(%s)"
_CORROBORATE = "SELECT corroborate(%s, %s, NULL)"
MARKED = "SELECT memory_id FROM marks WHERE cause = %s AND cleared_at IS NULL"


def marking(a: Side, b: Side) -> Iterator[Probe]:
    """Return who marks and clears what by which function."""
    yield from _by_a_change(a, b)
    yield from _by_what_happened(a, b)
    yield from _over(a)
    yield from _by_looking(a, b)
    yield from _corroborating(a)
    yield from _expiring(a)
    yield from _keeping_times(a)
    yield from _calling(a)


def _by_a_change(a: Side, b: Side) -> Iterator[Probe]:
    """A change in apollo marks what apollo says of its subject, and what rests on that."""
    shared, theirs = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    private = a.memories["senior", "private", "apollo"]
    change = said(
        a, project=a.projects["apollo"], member=a.members["senior"], ahead="1 minute",
        subject=a.canary.lower(), summary="x",
    )  # fmt: skip
    reported = Step(a.who("senior"), CHANGE, change)
    mark, marked = (
        "SELECT mark_what_changed(%s)",
        "SELECT memory_id FROM marks WHERE change_id = %s",
    )
    for name, who, reader, found in (
        ("senior", a.who("senior"), a.who("senior"), {theirs, private, shared}),
        ("senior", a.who("senior"), a.who("contractor"), {theirs, shared}),
        ("senior's agent", a.who("agent"), a.who("contractor"), {theirs, shared}),
        ("contractor", a.who("contractor"), a.who("senior"), set()),
        ("another tenant's senior", b.who("senior"), a.who("senior"), set()),
        ("retired agent", a.who("retired"), a.who("senior"), set()),
        ("nobody", Who(a.id), a.who("senior"), set()),
    ):
        steps = (reported, Step(who, mark, [change["id"]]))
        yield Probe(
            f"{name} marks what changed, as {reader.member} sees", reader, marked, [change["id"]],
            found, after=steps,
        )  # fmt: skip


def _by_what_happened(a: Side, b: Side) -> Iterator[Probe]:
    """What happens to a memory marks what depends on it, whoever says so, and only if it is so."""
    shared, theirs = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    private, distant = (
        a.memories["senior", "private", "apollo"],
        a.memories["outsider", "project", "hermes"],
    )
    contractor = a.who("contractor")
    winner = a.memories["contractor", "tenant", "apollo"]
    found: set[UUID]
    for name, step, found in (
        ("superseded", Step(contractor, SUPERSEDE, [winner, theirs]), {shared}),
        ("superseded by what depends on it", Step(contractor, SUPERSEDE, [shared, theirs]), set()),
        ("forgotten", Step(contractor, FORGET, [theirs]), set()),
    ):
        yield Probe(
            f"what depends on what is {name}", a.who("viewer"), MARKED, ["superseded"], found,
            after=(step,),
        )  # fmt: skip
    for name, who, hit, why, spared, found in (
        ("contractor", contractor, theirs, "conflicted", [], {shared}),
        ("judge", a.judge("viewer"), theirs, "conflicted", [], {shared}),
        ("reviewer", a.reviewing("reviewer"), theirs, "conflicted", [], {shared}),
        ("outsider", a.who("outsider"), distant, "conflicted", [], {shared}),
        ("contractor, sparing it", contractor, theirs, "conflicted", [shared], set()),
        ("gone", a.who("gone"), theirs, "conflicted", [], set()),
        ("nobody", Who(a.id), theirs, "conflicted", [], set()),
        ("another tenant's", b.who("contractor"), theirs, "conflicted", [], set()),
        ("contractor, as superseded", contractor, theirs, "superseded", [], set()),
        ("contractor, as rejected", contractor, theirs, "rejected", [], set()),
        ("contractor, as retired", contractor, theirs, "retired", [], set()),
        ("contractor, as expired", contractor, theirs, "expired", [], set()),
        # It is in dispute with what not all who read it may read, and that must not show.
        ("senior, in a hidden dispute", a.who("senior"), private, "conflicted", [], set()),
    ):
        steps = (Step(who, _MARK_DEPENDENTS, [[hit], why, spared]),)
        yield Probe(
            f"{name} marks dependents: {why}", a.who("senior"), MARKED, [why], found, after=steps
        )


def _over(a: Side) -> Iterator[Probe]:
    """Marks close when what caused them is over, and not because somebody asks."""
    shared, theirs = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    contractor, senior = a.who("contractor"), a.reviewing("senior")
    gone = Step(contractor, SUPERSEDE, [a.memories["contractor", "tenant", "apollo"], theirs])
    back = Step(contractor, RESTORE, [theirs])
    disputed = Step(contractor, _MARK_DEPENDENTS, [[theirs], "conflicted", []])
    question = noted(
        a, a.memories["senior", "private", "apollo"], None, kind="challenged",
        raised_by=a.members["senior"],
    )  # fmt: skip
    yield Probe(
        "a challenge marks what depends on it", a.who("senior"), MARKED, ["conflicted"], {shared},
        after=(Step(a.who("senior"), NOTE, question),),
    )  # fmt: skip
    settle = (
        "UPDATE conflicts SET state = 'dismissed', resolved_by_member_id = %s"
        " WHERE state = 'pending' AND %s IN (memory_a_id, memory_b_id)"
    )
    over = Step(senior, settle, [a.members["senior"], theirs])
    close = Step(contractor, _CLOSE, [[theirs]])
    for name, why, steps, left in (
        ("while it is superseded", "superseded", (gone, close), {shared}),
        ("as a viewer", "superseded", (gone, Step(a.who("viewer"), _CLOSE, [[theirs]])), {shared}),
        ("once it is restored", "superseded", (gone, back), set()),
        ("while it is in dispute", "conflicted", (disputed, close), {shared}),
        ("once no dispute is left", "conflicted", (disputed, over), set()),
    ):
        yield Probe(f"marks close {name}", a.who("senior"), MARKED, [why], left, after=steps)


def _by_looking(a: Side, b: Side) -> Iterator[Probe]:
    theirs = a.memories["contractor", "project", "apollo"]
    distant = a.memories["outsider", "project", "hermes"]
    cleared = "SELECT id FROM marks WHERE cleared_at IS NOT NULL"
    for name, who, looker, expected in (
        ("senior", a.who("senior"), "senior", {a.rows["mark shared"]}),
        ("senior's agent", a.who("agent"), "senior", {a.rows["mark shared"]}),
        ("contractor by another's", a.who("contractor"), "senior", set()),
        ("another tenant's senior", b.who("senior"), "senior", set()),
        ("retired agent", a.who("retired"), "senior", set()),
        ("nobody", Who(a.id), "senior", set()),
    ):
        looked = said(a, memory=theirs, member=a.members[looker], ahead="1 minute")
        steps = (Step(a.who(looker), VERIFY, looked),)
        yield Probe(f"{name} clears marks", who, _CLEAR, [looked["id"]], expected, after=steps)
        tried = (*steps, Step(who, _CLEAR, [looked["id"]]))
        yield Probe(
            f"after {name}, what is cleared", a.who("senior"), cleared, (), expected, after=tried
        )
    # What came by it to apollo goes, too, and the outsider does not hear of it.
    looked = said(a, memory=distant, member=a.members["outsider"], ahead="1 minute")
    seen = Step(a.who("outsider"), VERIFY, looked)
    yield Probe(
        "outsider clears marks", a.who("outsider"), _CLEAR, [looked["id"]],
        {a.rows["mark distant"]}, after=(seen,),
    )  # fmt: skip
    yield Probe(
        "after outsider, what is cleared in apollo", a.who("senior"), cleared, (),
        {a.rows["mark spread"]}, after=(seen, Step(a.who("outsider"), _CLEAR, [looked["id"]])),
    )  # fmt: skip
    early = said(a, memory=theirs, member=a.members["senior"])
    yield Probe(
        "senior clears marks by what they saw before", a.who("senior"), _CLEAR, [early["id"]],
        set(), after=(Step(a.who("senior"), VERIFY, early),),
    )  # fmt: skip


def _corroborating(a: Side) -> Iterator[Probe]:
    senior, contractor = a.who("senior"), a.who("contractor")
    shared, theirs = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    wide, by_agent = (
        a.memories["contractor", "tenant", "apollo"],
        a.memories["senior", "tenant", "apollo"],
    )
    was_its, gone = a.memories["gone", "project", "apollo"], a.memories["gone", "tenant", None]
    other_text = a.memories["admin", "tenant", "apollo"]
    for name, who, what, by_what, before, reader, counts in (
        ("contractor", contractor, shared, wide, (), senior, True),
        ("contractor, of the project", contractor, shared, theirs, (), senior, True),
        ("judge for contractor", a.judge("contractor"), shared, wide, (), senior, True),
        ("senior, by the same text", senior, shared, wide, (), senior, True),
        ("senior, by another text", senior, shared, other_text, (), senior, False),
        ("judge for senior, by another text", a.judge("senior"), shared, other_text, (), senior,
         True),
        ("viewer with contractor's", a.who("viewer"), shared, wide, (), senior, False),
        ("judge for viewer", a.judge("viewer"), shared, wide, (), senior, False),
        ("senior of their own", senior, shared, a.memories["senior", "tenant", "hermes"], (),
         senior, False),
        ("contractor with what is private", contractor, shared,
         a.memories["contractor", "private", "apollo"], (), senior, False),
        ("contractor with hermes's", contractor, shared,
         a.memories["contractor", "project", "hermes"], (), senior, False),
        ("contractor of what is hidden", contractor, a.memories["senior", "private", "apollo"],
         wide, (), senior, False),
        ("contractor of what is over", contractor, shared, wide,
         (Step(senior, FORGET, [shared]),), senior, False),
        ("contractor with what is over", contractor, shared, wide,
         (Step(contractor, FORGET, [wide]),), senior, False),
        ("senior, of gone's", senior, was_its, a.memories["senior", "tenant", None], (), senior,
         True),
        ("senior, whose agent wrote both", senior, was_its, by_agent, (), senior, False),
        ("gone", a.who("gone"), shared, gone, (), senior, False),
    ):  # fmt: skip
        steps: tuple[Step, ...] = (*before, Step(who, _CORROBORATE, [what, by_what]))
        found: set[Any] = {by_what} if counts else set()
        yield Probe(
            f"{name} corroborates", reader,
            "SELECT by_memory_id FROM corroborations WHERE memory_id = %s AND by_memory_id = %s",
            [what, by_what], found, after=steps,
        )  # fmt: skip
    twice = tuple(Step(contractor, _CORROBORATE, [shared, one]) for one in (wide, theirs))
    yield Probe(
        "contractor corroborates twice", senior,
        "SELECT by_memory_id FROM corroborations WHERE memory_id = %s", [shared], {wide},
        after=twice,
    )  # fmt: skip


def _expiring(a: Side) -> Iterator[Probe]:
    """What has come to its end marks what depends on it, when a worker asks."""
    shared, ended = a.memories["senior", "project", "apollo"], new_id()
    contractor, apollo = a.members["contractor"], a.projects["apollo"]
    columns = MEMORY.replace("version)", "version, valid_until)").replace(", 1)", ", 1, now())")
    before = (
        Step(
            a.who("contractor"), columns,
            [ended, a.id, contractor, None, apollo, "project"],
        ),
        Step(
            a.who("senior"),
            "INSERT INTO dependencies (id, tenant_id, memory_id, on_memory_id)"
            " VALUES (%s, %s, %s, %s)",
            [new_id(), a.id, shared, ended],
        ),
    )  # fmt: skip
    told = Step(Who(role="none"), "SELECT mark_what_expired(1000)")
    yield Probe(
        "what depends on what has expired", a.who("senior"), MARKED, ["expired"], {shared},
        after=(*before, told),
    )  # fmt: skip


def _keeping_times(a: Side) -> Iterator[Probe]:
    """Retirements, acceptances and disputes leave their times behind, whoever made them."""
    shared, theirs = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    winner = a.memories["contractor", "tenant", "apollo"]
    retired = Step(a.who("contractor"), SUPERSEDE, [winner, theirs])
    restored = Step(a.who("contractor"), RESTORE, [theirs])
    over = (
        "SELECT ended_at IS NOT NULL FROM retirements WHERE memory_id = %s AND door = 'superseded'"
    )
    yield Probe("a retirement begins", a.who("viewer"), over, [theirs], {False}, after=(retired,))
    yield Probe(
        "a retirement ends", a.who("viewer"), over, [theirs], {True}, after=(retired, restored)
    )
    state = "SELECT state FROM conflicts WHERE id = %s"
    raised = a.rows["conflict raised"]
    yield Probe("its dispute is open", a.who("viewer"), state, [raised], {"pending"})
    yield Probe(
        "its dispute ends with it", a.who("viewer"), state, [raised], {"moot"}, after=(retired,)
    )
    accept = "UPDATE memories SET accepted_at = now() WHERE id = %s"
    undo = "UPDATE memories SET accepted_at = NULL WHERE id = %s"
    accepted, undone = (Step(a.reviewing("senior"), what, [theirs]) for what in (accept, undo))
    over = (
        "SELECT ended_at IS NOT NULL FROM acceptances WHERE memory_id = %s"
        " ORDER BY began_at DESC, id DESC LIMIT 1"
    )
    viewer = a.who("viewer")
    yield Probe("an acceptance begins", viewer, over, [theirs], {False}, after=(accepted,))
    yield Probe("an acceptance ends", viewer, over, [theirs], {True}, after=(accepted, undone))
    take_up = Step(a.who("senior"), "UPDATE components SET suggested = false")
    stated = "SELECT accepted_at IS NOT NULL FROM components WHERE id = %s"
    suggested = [a.rows["component suggested"]]
    yield Probe("a suggestion is stated at a time", viewer, stated, suggested, {True},
                after=(take_up,))  # fmt: skip
    note = noted(a, shared, None, kind="challenged", raised_by=a.members["senior"])
    asked = Step(a.who("senior"), NOTE, note)
    decided = Step(
        a.reviewing("reviewer"),
        "UPDATE conflicts SET state = 'dismissed', resolved_by_member_id = %s WHERE id = %s",
        [a.members["reviewer"], note["id"]],
    )
    over = "SELECT ended_at IS NOT NULL FROM dispute_periods WHERE conflict_id = %s"
    this = [note["id"]]
    yield Probe("a dispute begins", viewer, over, this, {False}, after=(asked,))
    yield Probe("a dispute ends", viewer, over, this, {True}, after=(asked, decided))


def _calling(a: Side) -> Iterator[Probe]:
    """Return who may not even call what."""
    shared = a.memories["senior", "project", "apollo"]
    for role in DOOR_ROLES:
        who = a.who("senior", role=role)
        for call, params in (
            ("spread_marks(%s, 'change', NULL, NULL, now(), '{}')", [[shared]]),
            ("is_so(%s, 'superseded')", [shared]),
            ("openly_disputed_since(%s)", [shared]),
            ("mark_what_expired(9)", []),
            ("tell_dependents_of(%s, 'superseded', '{}')", [[shared]]),
            ("clear_what_was_vouched_for(%s, NULL)", [shared]),
            ("vouched_since(%s, NULL, now())", [shared]),
            ("push_source(%s)", [a.rows["source apollo"]]),
            ("lift_ends(%s)", [[shared]]),
            ("tell_of_ends(%s)", [[shared]]),
        ):
            yield Probe(f"{role} calls {call}", who, f"SELECT {call}", params, REFUSED)
    vouched = "SELECT last_vouched_for(%s, NULL) IS NULL"
    hidden = a.memories["outsider", "project", "hermes"]
    for one, nothing in ((shared, False), (hidden, True)):
        yield Probe(
            "viewer asks when it was vouched for", a.who("viewer"), vouched, [one], {nothing}
        )
    for role in set(DOOR_ROLES) - {JUDGE}:
        yield Probe(
            f"{role} lets it end", a.who("senior", role=role), "SELECT let_it_end(%s, %s)",
            [shared, hidden], REFUSED,
        )  # fmt: skip
    yield Probe("judge takes an end back", a.who("senior", role=JUDGE),
                "SELECT take_back_end(%s)", [shared], REFUSED)  # fmt: skip
    for call in ("mark_what_changed(%s)", "clear_marks_by(%s)"):
        row = [a.rows["change apollo"]]
        yield Probe(f"judge calls {call}", a.who("senior", role=JUDGE), f"SELECT {call}", row,
                    REFUSED)  # fmt: skip
