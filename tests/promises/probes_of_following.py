"""
What follows from a statement by a trigger alone: without it, the probe fails.

Some of it is arranged, or read, by who may do anything. So they are asked on such a connection, and
stand beside the battery.
"""

from collections.abc import Iterator
from typing import Any

from tenants.ids import new_id
from tests.promises.disagreeing import NOTE, noted
from tests.promises.probe import Probe
from tests.promises.probes_of_marking import FORGET, MARKED, RESTORE, SUPERSEDE
from tests.promises.probes_of_remembering import MEMORY
from tests.promises.raw import REFUSED, Step, Who
from tests.promises.trusting import CHANGE, VERIFY, said
from tests.promises.world import Side

_DEPEND = (
    "INSERT INTO dependencies (id, tenant_id, memory_id, on_memory_id) VALUES (%s, %s, %s, %s)"
)
_LINK = (
    "INSERT INTO links (id, tenant_id, src_id, dst_id, type) VALUES (%s, %s, %s, %s, 'depends_on')"
)
_SPEAKS = "UPDATE memories SET subjects = ARRAY[%s] WHERE id = %s"
_EVENT = """
INSERT INTO events (id, tenant_id, command, object_type, object_id, member_id, request_id, reason)
VALUES (%s, %s, 'seeded', 'memory', %s, %s, '', '')
"""
_BY_CHANGE = "SELECT memory_id FROM marks WHERE change_id = %s AND cleared_at IS NULL"
_BY_WAY_OF = (
    "SELECT memory_id FROM marks WHERE %s = ANY (path) AND cleared_at IS NULL AND memory_id = %s"
)
_ENDLESS = "SELECT valid_until IS NULL FROM memories WHERE id = %s"


def following(a: Side) -> Iterator[Probe]:
    """Return what follows from what somebody does, of itself."""
    yield from _of_parts(a)
    yield from _of_what_is_said_late(a)
    yield from _of_who_comes(a)
    yield from _of_ends(a)
    yield from _of_what_has_ended(a)
    yield from _of_accepting(a)
    yield from _of_vectors(a)
    yield from _of_disputes(a)
    yield from _of_what_was_done(a)


def anybody(a: Side) -> Who:
    """Return who may do anything, in this tenant."""
    return Who(a.id, a.members["senior"], role="none")


def _changed(a: Side, subject: str, *, ahead: str = "1 minute", project: str = "apollo") -> Any:
    """Return a change that is told as soon as it is seen."""
    return said(
        a, project=a.projects[project], member=a.members["senior"], ahead=ahead, subject=subject,
        summary="x",
    )  # fmt: skip


def _told(a: Side, change: Any) -> tuple[Step, ...]:
    senior = a.who("senior")
    return (
        Step(anybody(a), CHANGE, change),
        Step(senior, "SELECT mark_what_changed(%s)", [change["id"]]),
    )


def _written(a: Side, memory: Any, **more: str) -> Step:
    """Return that the contractor writes a memory in apollo."""
    columns = "".join(f", {name}" for name in more)
    values = "".join(f", {value}" for value in more.values())
    statement = MEMORY.replace("version)", f"version{columns})").replace(", 1)", f", 1{values})")
    owner, where = a.members["contractor"], a.projects["apollo"]
    return Step(a.who("contractor"), statement, [memory, a.id, owner, None, where, "project"])


def _of_parts(a: Side) -> Iterator[Probe]:
    """A part is as old as its memory, and no older."""
    memory, part = new_id(), new_id()
    state = Step(
        a.who("contractor"),
        "INSERT INTO components (id, tenant_id, memory_id, subject, multi, suggested)"
        " VALUES (%s, %s, %s, 'x', false, false)",
        [part, a.id, memory],
    )
    yield Probe(
        "what is stated with a memory is as old as it", a.who("viewer"),
        "SELECT c.created_at = m.created_at FROM components c JOIN memories m ON m.id = c.memory_id"
        " WHERE c.id = %s", [part], {True}, after=(_written(a, memory), state),
    )  # fmt: skip


def _of_what_is_said_late(a: Side) -> Iterator[Probe]:
    """What is said after the world has moved is marked, and what is taken back no more."""
    shared, theirs = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    wide, contractor, viewer = (
        a.memories["contractor", "tenant", "apollo"], a.who("contractor"), a.who("viewer"),
    )  # fmt: skip
    change = _changed(a, "suggested")
    take_up = Step(a.who("senior"), "UPDATE components SET suggested = false")
    yield Probe(
        "a component that is accepted late is marked", viewer, _BY_CHANGE, [change["id"]], {shared},
        after=(*_told(a, change), take_up),
    )  # fmt: skip
    change = _changed(a, "late")
    yield Probe(
        "a subject that is said late is marked", viewer, _BY_CHANGE, [change["id"]], {wide},
        after=(*_told(a, change), Step(contractor, _SPEAKS, ["late", wide])),
    )  # fmt: skip
    edge = [new_id(), a.id, wide, theirs]
    depend, link = (Step(contractor, statement, edge) for statement in (_DEPEND, _LINK))
    cut = Step(contractor, "UPDATE links SET removed_at = now() WHERE id = %s", edge[:1])
    for name, steps, found in (
        ("a dependency that is said late is marked", (depend,), {wide}),
        ("a link that is drawn late is marked", (link,), {wide}),
        ("a link takes its marks away", (link, cut), set()),
    ):
        yield Probe(name, viewer, _BY_WAY_OF, [theirs, wide], found, after=steps)


def _of_who_comes(a: Side) -> Iterator[Probe]:
    """Who is let in, comes back, or shows what is theirs, is told of what changed before."""
    everybody = anybody(a)
    for name, comes in (
        (
            "outsider",
            Step(
                everybody,
                "INSERT INTO project_permissions (tenant_id, user_id, content_object_id,"
                " permission_id) SELECT %s, %s, %s, id FROM auth_permission"
                " WHERE codename = 'see_project'",
                [a.id, a.users["outsider"], a.projects["apollo"]],
            ),
        ),
        (
            "gone",
            Step(everybody, "UPDATE members SET active = true WHERE id = %s", [a.members["gone"]]),
        ),
    ):
        mine, change = a.memories[name, "private", None], _changed(a, "late")
        speaks = Step(everybody, _SPEAKS, ["late", mine])
        yield Probe(
            f"{name} comes, and is told", everybody, _BY_CHANGE, [change["id"]], {mine},
            after=(speaks, *_told(a, change), comes),
        )  # fmt: skip
    mine, change = a.memories["contractor", "private", None], _changed(a, "late", project="hermes")
    steps = (
        Step(everybody, _SPEAKS, ["late", mine]),
        *_told(a, change),
        Step(everybody, "UPDATE memories SET visibility = 'tenant' WHERE id = %s", [mine]),
    )
    yield Probe(
        "what is shown to all is marked", everybody, _BY_CHANGE, [change["id"]], {mine}, after=steps
    )


def _of_ends(a: Side) -> Iterator[Probe]:
    """What was to end for something else goes on, if that comes to nothing."""
    shared, coming = a.memories["senior", "project", "apollo"], new_id()
    contractor, senior, viewer = a.who("contractor"), a.who("senior"), a.who("viewer")
    ends = (
        _written(a, coming, valid_from="now() + interval '1 day'"),
        Step(a.judge("senior"), "SELECT let_it_end(%s, %s)", [shared, coming]),
    )
    challenge = noted(a, shared, None, kind="challenged", raised_by=a.members["senior"])
    gone, back = Step(senior, SUPERSEDE, [coming, shared]), Step(senior, RESTORE, [shared])
    for name, steps, is_endless in (
        ("ends as that begins", (), False),
        ("ends no more, as somebody challenges it", (Step(senior, NOTE, challenge),), True),
        ("ends no more, as that is gone", (Step(contractor, FORGET, [coming]),), True),
        ("still ends, though it was superseded", (gone,), False),
        ("goes on, once it is back", (gone, back), True),
    ):
        yield Probe(
            f"a memory {name}", viewer, _ENDLESS, [shared], {is_endless}, after=(*ends, *steps)
        )


def _of_what_has_ended(a: Side) -> Iterator[Probe]:
    """Whatever happens next, what was told of an end is stored first."""
    shared, theirs = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    wide, other = (a.memories["contractor", one, "apollo"] for one in ("tenant", "private"))
    contractor, outsider = a.who("contractor"), a.who("outsider")
    ended = Step(anybody(a), "UPDATE memories SET valid_until = now() WHERE id = %s", [theirs])
    look = said(a, memory=a.memories["outsider", "project", "hermes"], member=a.members["outsider"])
    row = [new_id(), a.id, wide, other]
    for name, steps, found in (
        ("nothing happens", (), set()),
        ("somebody looks", (Step(outsider, VERIFY, look),), {shared}),
        ("something depends", (Step(contractor, _DEPEND, row),), {shared}),
        ("a link is drawn", (Step(contractor, _LINK, row),), {shared}),
        ("something is forgotten", (Step(contractor, FORGET, [other]),), {shared}),
    ):
        yield Probe(
            f"it has ended, and {name}", a.who("senior"), MARKED, ["expired"], found,
            after=(ended, *steps),
        )  # fmt: skip


def _of_accepting(a: Side) -> Iterator[Probe]:
    """Accepting vouches for what is marked, and not when it is taken back."""
    theirs, change = a.memories["contractor", "project", "apollo"], _changed(a, "late", ahead="0")
    marked = (Step(anybody(a), _SPEAKS, ["late", theirs]), *_told(a, change))
    accept = "UPDATE memories SET accepted_at = statement_timestamp() WHERE id = %s"
    undo = "UPDATE memories SET accepted_at = NULL WHERE id = %s"
    accepted, undone = (Step(a.reviewing("senior"), one, [theirs]) for one in (accept, undo))
    for name, steps, found in (
        ("is marked", (), {theirs}),
        ("is accepted, and clear", (accepted,), set()),
        ("is marked, once that is taken back", (accepted, undone), {theirs}),
    ):
        yield Probe(
            f"a proposal {name}", a.who("viewer"), f"{_BY_CHANGE} AND memory_id = %s",
            [change["id"], theirs], found, after=(*marked, *steps),
        )  # fmt: skip


def _of_vectors(a: Side) -> Iterator[Probe]:
    """A vector has its memory's place, and follows it."""
    memory, wide, vector = new_id(), a.memories["contractor", "tenant", "apollo"], new_id()
    add = Step(
        a.who("contractor"),
        "INSERT INTO embeddings (id, tenant_id, memory_id, space, vector, owner_id, visibility,"
        " kind, lifecycle) VALUES (%s, %s, %s, 'x', '[0,1,0]', %s, '', '', '')",
        [vector, a.id, memory, a.members["contractor"]],
    )
    yield Probe(
        "a vector has its memory's place", anybody(a),
        "SELECT visibility || ' ' || lifecycle FROM embeddings WHERE id = %s", [vector],
        {"project live"}, after=(_written(a, memory), add),
    )  # fmt: skip
    yield Probe(
        "a vector goes with its memory", anybody(a),
        "SELECT lifecycle FROM embeddings WHERE memory_id = %s", [wide], {"retired"},
        after=(Step(a.who("contractor"), FORGET, [wide]),),
    )  # fmt: skip


def _of_disputes(a: Side) -> Iterator[Probe]:
    """What was moot waits again, once its memory is back."""
    shared, senior = a.memories["senior", "project", "apollo"], a.who("senior")
    question = noted(a, shared, None, kind="challenged", raised_by=a.members["senior"])
    gone, back = Step(senior, FORGET, [shared]), Step(senior, RESTORE, [shared])
    for name, steps, state in (
        ("is moot without its memory", (gone,), "moot"),
        ("waits again with it", (gone, back), "pending"),
    ):
        yield Probe(
            f"a dispute {name}", a.who("viewer"), "SELECT state FROM conflicts WHERE id = %s",
            [question["id"]], {state}, after=(Step(senior, NOTE, question), *steps),
        )  # fmt: skip


def _of_what_was_done(a: Side) -> Iterator[Probe]:
    """What was done waits for its seal, and not even who may do anything changes it."""
    event, wide = new_id(), a.memories["contractor", "tenant", "apollo"]
    done = Step(a.who("contractor"), _EVENT, [event, a.id, wide, a.members["contractor"]])
    yield Probe(
        "an event waits for its seal", anybody(a),
        "SELECT event_id FROM unsealed_events WHERE event_id = %s", [event], {event}, after=(done,),
    )  # fmt: skip
    for statement in (
        "UPDATE events SET reason = ''",
        "DELETE FROM events",
        "UPDATE event_chain SET place = place + 1",
        "DELETE FROM event_chain",
    ):
        yield Probe(f"anybody: {statement}", anybody(a), statement, (), REFUSED)
