"""Who reads what tells whether a memory still holds, and who says so in whose name."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tenants.ids import new_id
from tests.promises.probe import Probe, sees
from tests.promises.raw import DOOR_ROLES, JUDGE, REFUSED, REVIEWER, Step
from tests.promises.trusting import (
    ACCEPTANCE,
    CHANGE,
    CORROBORATE,
    COUNT,
    MARK,
    PUSH_SOURCE,
    RETIREMENT,
    VERIFY,
    said,
)
from tests.promises.world import Side

# What is read as the memory that it tells of.
_OF_A_MEMORY = {
    "components": "component",
    "marks": "mark",
    "verifications": "verification",
    "corroborations": "corroboration",
    "activations": "activation",
    "retirements": "retirement",
    "acceptances": "acceptance",
    "signals": "signal",
    "attributions": "attribution",
}


def trusting(a: Side, b: Side) -> Iterator[Probe]:
    """Return who reads and says what about whether memories hold."""
    yield from _reading(a)
    yield from _reading_changes(a)
    yield from _reporting(a, b)
    yield from _verifying(a, b)
    yield from _counting(a)
    yield from _taking_up(a)
    yield from _letting_pushes_in(a, b)
    yield from _writing_past_the_functions(a)


def _reading(a: Side) -> Iterator[Probe]:
    shared, private = {"shared"}, {"shared", "private"}
    for name, who, tied in (
        ("senior", a.who("senior"), private),
        ("senior in hermes", a.confined("senior", "hermes"), set()),
        ("contractor", a.who("contractor"), shared),
        ("viewer", a.who("viewer"), shared),
        ("agent", a.who("agent"), private),
        ("retired agent", a.who("retired"), set()),
        ("outsider", a.who("outsider"), {"distant"}),
        ("reviewer", a.who("reviewer"), {"shared", "distant"}),
        ("admin", a.who("admin"), set()),
        ("gone", a.who("gone"), set()),
        ("judge for viewer", a.judge("viewer"), shared),
        ("viewer as reviewer", a.reviewing("viewer"), shared),
    ):
        in_apollo = "shared" in tied
        for table, what in _OF_A_MEMORY.items():
            ids = {a.rows[f"{what} {one}"] for one in tied}
            if table == "marks" and in_apollo:
                ids.add(a.rows["mark spread"])
            if table == "components" and in_apollo:
                ids.add(a.rows["component suggested"])
            yield sees(name, who, table, ids)


def _reading_changes(a: Side) -> Iterator[Probe]:
    for name, who, projects in (
        ("senior", a.who("senior"), {"apollo"}),
        ("senior in hermes", a.confined("senior", "hermes"), set()),
        ("viewer", a.who("viewer"), {"apollo"}),
        ("agent", a.who("agent"), {"apollo"}),
        ("reviewer", a.who("reviewer"), {"apollo", "hermes"}),
        ("judge for outsider", a.judge("outsider"), {"hermes"}),
        ("viewer as reviewer", a.reviewing("viewer"), {"apollo"}),
        ("admin", a.who("admin"), set()),
        ("gone", a.who("gone"), set()),
    ):
        yield sees(name, who, "changes", {a.rows[f"change {one}"] for one in projects})
        reported = "SELECT id FROM events WHERE object_type = 'change'"
        ids = {a.rows[f"reported {one}"] for one in projects}
        yield Probe(f"{name} reads of changes", who, reported, (), ids)
    every = {a.rows["source apollo"], a.rows["source hermes"]}
    for name, who, sources in (
        ("admin", a.who("admin"), every),
        ("admin as reviewer", a.reviewing("admin"), every),
        ("admin in apollo", a.confined("admin", "apollo"), set()),
        ("senior", a.who("senior"), set()),
        ("gone", a.who("gone"), set()),
    ):
        yield sees(name, who, "push_sources", sources)
    judge = a.judge("admin")
    yield Probe("judge reads sources", judge, "SELECT id FROM push_sources", (), REFUSED)


def _reporting(a: Side, b: Side) -> Iterator[Probe]:
    apollo, senior, agent = a.projects["apollo"], a.members["senior"], a.agents["agent"]
    mine: dict[str, Any] = {"project": apollo, "member": senior, "subject": "x", "summary": "x"}
    shared, hidden = (
        a.memories["senior", "project", "apollo"],
        a.memories["outsider", "private", "hermes"],
    )
    for name, who, what, expected in (
        ("senior", a.who("senior"), mine, 1),
        ("senior as reviewer", a.reviewing("senior"), mine, 1),
        ("senior in apollo", a.confined("senior", "apollo"), mine, 1),
        ("senior in hermes", a.confined("senior", "hermes"), mine, REFUSED),
        ("contractor", a.who("contractor"), {**mine, "member": a.members["contractor"]}, 1),
        ("agent", a.who("agent"), {**mine, "agent": agent}, 1),
        ("with a memory, senior", a.who("senior"), {**mine, "memory": shared}, 1),
        ("with a hidden memory, senior", a.who("senior"), {**mine, "memory": hidden}, REFUSED),
        ("in a moment, senior", a.who("senior"), {**mine, "ahead": "1 minute"}, 1),
        ("tomorrow, senior", a.who("senior"), {**mine, "ahead": "1 day"}, REFUSED),
        ("viewer", a.who("viewer"), {**mine, "member": a.members["viewer"]}, REFUSED),
        ("reviewer", a.reviewing("reviewer"), {**mine, "member": a.members["reviewer"]}, REFUSED),
        ("admin", a.who("admin"), {**mine, "member": a.members["admin"]}, REFUSED),
        ("gone", a.who("gone"), {**mine, "member": a.members["gone"]}, REFUSED),
        ("elsewhere, senior", a.who("senior"), {**mine, "project": a.projects["hermes"]}, REFUSED),
        ("for another, senior", a.who("senior"), {**mine, "member": a.members["gone"]}, REFUSED),
        ("as agent, senior", a.who("senior"), {**mine, "agent": agent}, REFUSED),
        ("as its sponsor, agent", a.who("agent"), mine, REFUSED),
        ("judge", a.judge("senior"), mine, REFUSED),
    ):
        yield Probe(f"{name} reports a change", who, CHANGE, said(a, **what), expected)
    abroad = said(b, **{**mine, "project": b.projects["apollo"]})
    yield Probe("senior reports abroad", a.who("senior"), CHANGE, abroad, REFUSED)


def _verifying(a: Side, b: Side) -> Iterator[Probe]:
    shared, hidden = (
        a.memories["senior", "project", "apollo"],
        a.memories["outsider", "private", "hermes"],
    )
    elsewhere = a.memories["senior", "tenant", "hermes"]
    senior, agent = a.members["senior"], a.agents["agent"]
    mine: dict[str, Any] = {"memory": shared, "member": senior}
    of_reviewer = {**mine, "member": a.members["reviewer"]}
    for name, who, what, expected in (
        ("senior", a.who("senior"), mine, 1),
        ("contractor", a.who("contractor"), {**mine, "member": a.members["contractor"]}, 1),
        ("agent", a.who("agent"), {**mine, "agent": agent}, 1),
        ("reviewer", a.reviewing("reviewer"), of_reviewer, 1),
        ("reviewer in their plain role", a.who("reviewer"), of_reviewer, REFUSED),
        ("in a moment, senior", a.who("senior"), {**mine, "ahead": "1 minute"}, 1),
        ("tomorrow, senior", a.who("senior"), {**mine, "ahead": "1 day"}, REFUSED),
        ("viewer", a.who("viewer"), {**mine, "member": a.members["viewer"]}, REFUSED),
        ("admin", a.who("admin"), {**mine, "member": a.members["admin"]}, REFUSED),
        ("gone", a.who("gone"),
         {"memory": a.memories["gone", "tenant", None], "member": a.members["gone"]}, REFUSED),
        ("of what is hidden, senior", a.who("senior"), {**mine, "memory": hidden}, REFUSED),
        ("elsewhere, senior", a.who("senior"), {**mine, "memory": elsewhere}, 1),
        ("confined, senior", a.confined("senior", "apollo"), {**mine, "memory": elsewhere},
         REFUSED),
        ("for another, senior", a.who("senior"), {**mine, "member": a.members["gone"]}, REFUSED),
        ("as agent, senior", a.who("senior"), {**mine, "agent": agent}, REFUSED),
        ("as its sponsor, agent", a.who("agent"), mine, REFUSED),
        ("judge", a.judge("senior"), mine, REFUSED),
    ):  # fmt: skip
        yield Probe(f"{name} verifies", who, VERIFY, said(a, **what), expected)
    abroad = said(b, memory=b.memories["senior", "tenant", None], member=senior)
    yield Probe("senior verifies abroad", a.who("senior"), VERIFY, abroad, REFUSED)


def _counting(a: Side) -> Iterator[Probe]:
    shared, hidden = (
        a.memories["senior", "project", "apollo"],
        a.memories["outsider", "private", "hermes"],
    )
    for name, who, memory, expected in (
        ("viewer", a.who("viewer"), shared, 1),
        ("reviewer", a.reviewing("reviewer"), shared, 1),
        ("viewer of what is hidden", a.who("viewer"), hidden, REFUSED),
        ("gone", a.who("gone"), a.memories["gone", "tenant", None], REFUSED),
        ("judge", a.judge("viewer"), shared, REFUSED),
    ):
        yield Probe(f"{name} counts", who, COUNT, [new_id(), a.id, memory], expected)
    for name, who, expected in (
        ("senior", a.who("senior"), 2),
        ("viewer", a.who("viewer"), 1),
        ("outsider", a.reviewing("outsider"), 1),
        ("gone", a.who("gone"), 0),
        ("judge", a.judge("viewer"), REFUSED),
    ):
        on = "UPDATE activations SET recalls = recalls + 1, last_recalled_at = now()"
        yield Probe(f"{name} counts on", who, on, (), expected)
    # Without a look at what was there, so that no policy of reading stands in the way.
    for name, change, expected in (
        ("viewer", "recalls = 9", 1),
        ("viewer", "recalls = 0", REFUSED),
        ("viewer", "last_recalled_at = '1999-01-01'", REFUSED),
        ("gone", "recalls = 9", 0),
    ):
        update = f"UPDATE activations SET {change}"
        yield Probe(f"{name} sets {change}", a.who(name), update, (), expected)
    other = "UPDATE activations SET memory_id = %s"
    yield Probe("viewer counts as another's", a.who("viewer"), other, [shared], REFUSED)


def _taking_up(a: Side) -> Iterator[Probe]:
    for name, who, expected in (
        ("senior", a.who("senior"), 1),
        ("contractor", a.who("contractor"), 1),
        ("agent", a.who("agent"), 1),
        ("reviewer", a.reviewing("reviewer"), 1),
        ("reviewer in their plain role", a.who("reviewer"), 0),
        ("viewer", a.who("viewer"), 0),
        ("outsider", a.who("outsider"), 0),
        ("gone", a.who("gone"), 0),
        ("judge", a.judge("senior"), REFUSED),
    ):
        take_up = "UPDATE components SET suggested = false"
        dismiss = "UPDATE components SET dismissed_at = now()"
        yield Probe(f"{name} takes up what was suggested", who, take_up, (), expected)
        yield Probe(f"{name} dismisses what was suggested", who, dismiss, (), expected)
        again = (Step(a.who("senior"), dismiss),)
        # Theirs to state, whatever somebody thought of it; the agent writes for the senior.
        left = expected if name in ("senior", "agent", "judge") else 0
        yield Probe(f"{name} takes up what was dismissed", who, take_up, (), left, after=again)
    for change in ("value = 'x'", "multi = true", "subject = 'x'", "memory_id = NULL"):
        yield Probe(
            f"senior sets {change} of a component", a.who("senior"),
            f"UPDATE components SET {change}", (), REFUSED,
        )  # fmt: skip


def _letting_pushes_in(a: Side, b: Side) -> Iterator[Probe]:
    admin = a.who("admin")
    for name, who, side, expected in (
        ("admin", admin, a, 1),
        ("admin as reviewer", a.reviewing("admin"), a, 1),
        ("admin in apollo", a.confined("admin", "apollo"), a, REFUSED),
        ("admin abroad", admin, b, REFUSED),
        ("senior", a.who("senior"), a, REFUSED),
        ("gone", a.who("gone"), a, REFUSED),
        ("judge", a.judge("admin"), a, REFUSED),
    ):
        source = [new_id(), side.id, side.projects["apollo"], "new", side.members["senior"]]
        yield Probe(f"{name} lets pushes in", who, PUSH_SOURCE, source, expected)
    change = "UPDATE push_sources SET active = false"
    for name, who, expected in (
        ("admin", admin, 2),
        ("admin in apollo", a.confined("admin", "apollo"), 0),
        ("senior", a.who("senior"), 0),
        ("judge", a.judge("admin"), REFUSED),
    ):
        yield Probe(f"{name} shuts pushes out", who, change, (), expected)
    for what in ("member_id = NULL", "project_id = NULL", f"tenant_id = '{b.id}'"):
        yield Probe(
            f"admin sets {what} of a source", admin, f"UPDATE push_sources SET {what}", (), REFUSED
        )


def _writing_past_the_functions(a: Side) -> Iterator[Probe]:
    shared, other = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    change = a.rows["change apollo"]
    rows: dict[str, tuple[str, list[Any]]] = {
        "marks": (MARK, [new_id(), a.id, shared, change, [], True]),
        "corroborations": (CORROBORATE, [new_id(), a.id, shared, a.members["contractor"], other]),
        "retirements": (RETIREMENT, [new_id(), a.id, shared]),
        "acceptances": (ACCEPTANCE, [new_id(), a.id, shared]),
        "dispute_periods": (
            (
                "INSERT INTO dispute_periods (id, tenant_id, conflict_id, kind, began_at)"
                " VALUES (%s, %s, %s, 'challenged', now())"
            ),
            [new_id(), a.id, a.rows["conflict decided"]],
        ),
    }
    for role in DOOR_ROLES:
        who = replace(a.who("senior"), role=role)
        for table, (statement, params) in rows.items():
            yield Probe(f"{role} writes {table}", who, statement, params, REFUSED)
        for table in (*rows, "verifications", "changes"):
            update = f"UPDATE {table} SET tenant_id = tenant_id"
            yield Probe(f"{role} changes {table}", who, update, (), REFUSED)
        for table in (*rows, "verifications", "changes", "signals", "activations", "push_sources",
                      "settled_pairs", "components", "attributions"):  # fmt: skip
            yield Probe(f"{role} deletes {table}", who, f"DELETE FROM {table}", (), REFUSED)
    for role in (JUDGE, REVIEWER):
        who = a.who("senior", role=role)
        clear = "UPDATE marks SET cleared_at = now()"
        yield Probe(f"{role} clears marks", who, clear, (), REFUSED)
