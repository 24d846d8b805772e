"""Reviews that are due: by a date, or by a project's interval for a kind."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Activation, Component, Kind, Memory
from memory.trust.needed import overdue
from memory.trust.standing import standings
from tenants.context import acting_as
from tenants.ids import Prefix, new_id, read_id, wire_id
from tenants.project_rules import ReviewIntervals
from tests.dirty import at, reported, states, trust, verified
from tests.memories import done, kept, refused, seen
from tests.people import Office

DAY = timedelta(days=1)


def path_of(office: Office) -> str:
    return f"/projects/{wire_id(Prefix.PROJECT, office.apollo.id)}"


def written_long_ago(memory: str, days: int) -> None:
    Memory.objects.using("owner").filter(id=read_id(Prefix.MEMORY, memory)).update(
        created_at=timezone.now() - days * DAY
    )


def long_ago(memory: str, days: int, due: int | None) -> None:
    """Make it look as if it had been written, and had been due, so many days ago."""
    now = timezone.now()
    written = now - days * DAY
    memory_id = read_id(Prefix.MEMORY, memory)
    Memory.objects.using("owner").filter(id=memory_id).update(
        created_at=written, review_after=None if due is None else now - due * DAY
    )
    Component.objects.using("owner").filter(memory=memory_id).update(created_at=written)


def recalled_often(memory: str, recalls: int) -> None:
    row = Memory.objects.using("owner").get(id=read_id(Prefix.MEMORY, memory))
    Activation.objects.using("owner").update_or_create(
        tenant_id=row.tenant_id,
        memory_id=row.id,
        defaults={"recalls": recalls, "last_recalled_at": timezone.now(), "id": new_id()},
    )


def due(office: Office, **query: object) -> list[str]:
    found = done(office.senior.get("/needs-verification", query))
    assert found["count"] == len(found["results"])
    return [one["id"] for one in found["results"]]


def test_every_kind_may_have_an_interval():
    assert set(ReviewIntervals().fields) == set(Kind.values)


def test_an_administrator_sets_intervals_and_patterns(office):
    told = done(
        office.admin.patch(
            path_of(office),
            {
                "review_intervals": {"fact": 30, "procedure": 90, "task": None},
                "path_subjects": [{"pattern": "deploy/**", "subject": "Deployment"}],
            },
        )
    )

    assert told["review_intervals"] == {"fact": 30, "procedure": 90}
    assert told["path_subjects"] == [{"pattern": "deploy/**", "subject": "deployment"}]
    assert done(office.admin.get(path_of(office))) == told
    cleared = done(office.admin.patch(path_of(office), {"review_intervals": {}}))
    assert cleared["review_intervals"] == {}
    assert cleared["path_subjects"] == told["path_subjects"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"review_intervals": {"fact": 0}}, "review_intervals.fact"),
        ({"review_intervals": {"fact": 3651}}, "review_intervals.fact"),
        ({"review_intervals": {"fact": "30"}}, "review_intervals.fact"),
        ({"review_intervals": {"fact": True}}, "review_intervals.fact"),
        ({"review_intervals": {"rumour": 3}}, "review_intervals.rumour"),
        ({"review_intervals": [30]}, "review_intervals"),
        ({"path_subjects": {"a": "b"}}, "path_subjects"),
        ({"path_subjects": [{"pattern": "a"}]}, "path_subjects[0].subject"),
        ({"path_subjects": [{"pattern": "!a", "subject": "a"}]}, "path_subjects[0].pattern"),
        ({"path_subjects": [{"pattern": "\\", "subject": "a"}]}, "path_subjects[0].pattern"),
        ({"path_subjects": [{"pattern": "a\nb", "subject": "a"}]}, "path_subjects[0].pattern"),
        ({"path_subjects": [{"pattern": "a", "subject": "a..b"}]}, "path_subjects[0].subject"),
        ({"path_subjects": [{"pattern": "a", "subject": "a"}] * 201}, "path_subjects"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_stored(office, body, field):
    before = done(office.admin.get(path_of(office)))

    refused(office.admin.patch(path_of(office), body), 400, "validation_failed", field)

    assert done(office.admin.get(path_of(office))) == before


def test_who_does_not_administer_sets_no_intervals(office):
    body = {"review_intervals": {"fact": 1}}

    refused(office.senior.patch(path_of(office), body), 403, "insufficient_scope")


@pytest.mark.rule("TR-05")
def test_an_interval_that_has_passed_makes_it_due_and_nothing_more(office):
    done(office.admin.patch(path_of(office), {"review_intervals": {"fact": 30}}))
    old = states(office.senior, "app.a", "1")
    other_kind = states(office.senior, "app.b", "1", kind="reference")
    recent = states(office.senior, "app.c", "1")
    for memory, days in ((old, 31), (other_kind, 31), (recent, 29)):
        written_long_ago(memory, days)
    before = seen(office.senior, old)

    assert due(office) == [old]
    assert before["trust_state"] == "verified"
    verified(office.senior, old)
    assert due(office) == []


@pytest.mark.rule("TR-05")
def test_a_date_that_has_passed_makes_it_due_until_somebody_looks(office):
    later, passed = (
        states(office.senior, f"app.{name}", "1", review_after=at(timezone.now() + days * DAY))
        for name, days in (("a", 1), ("b", -1))
    )
    written_long_ago(passed, 2)

    assert due(office) == [passed]
    assert trust(office.senior, passed) == trust(office.senior, later) == "verified"
    verified(office.senior, passed)
    assert due(office) == []


def test_what_is_recalled_most_comes_first(office):
    memories = [states(office.senior, f"app.s{number}", "1") for number in range(4)]
    reported(office.colleague, "app", whole_tree=True)
    for memory, recalls in ((memories[1], 3), (memories[2], 9)):
        recalled_often(memory, recalls)

    assert due(office) == [memories[2], memories[1], memories[3], memories[0]]
    assert done(office.senior.get("/needs-verification", {"limit": 2}))["count"] == 4


def test_it_is_read_page_by_page(office):
    memories = [states(office.senior, f"app.s{number}", "1") for number in range(7)]
    reported(office.colleague, "app", whole_tree=True)
    for memory, recalls in ((memories[1], 3), (memories[4], 3), (memories[2], 9)):
        recalled_often(memory, recalls)
    in_order = due(office)

    pages = [done(office.senior.get("/needs-verification", {"limit": 2}))]
    while pages[-1]["next"] is not None:
        asked = {"limit": 2, "cursor": pages[-1]["next"]}
        pages.append(done(office.senior.get("/needs-verification", asked)))

    assert [one["id"] for page in pages for one in page["results"]] == in_order
    assert [page["count"] for page in pages] == [7] * 4
    foreign = done(office.senior.get("/needs-verification", {"limit": 2}))["next"]
    for who, query in (
        (office.colleague, {}),
        (office.senior, {"project": "apollo"}),
        (office.senior, {"cursor": "nonsense"}),
    ):
        asked = {"cursor": foreign, **query}
        answer = who.get("/needs-verification", asked)
        refused(answer, 400, "validation_failed", "cursor")


def test_only_what_is_in_use_and_was_vouched_for_is_due(office):
    gone = states(office.senior, "app.a", "1")
    proposal = kept(office.watcher, "Captured.", subjects=["app.b"])
    dirty = states(office.senior, "app.c", "1")
    reported(office.colleague, "app", whole_tree=True)
    done(office.senior.post(f"/memories/{gone}/forget", {"reason": "old"}))

    assert due(office) == [dirty]
    assert trust(office.senior, proposal) == "proposed"


def test_a_project_narrows_it_and_the_sight_does(office):
    here = states(office.senior, "app.a", "1")
    mine = kept(office.senior, "Mine.", review_after=at(timezone.now() - DAY))
    written_long_ago(mine, 2)
    reported(office.senior, "app", whole_tree=True)

    elsewhere = kept(office.reviewer, "Elsewhere.", project="hermes", subjects=["app.a"])
    done(
        office.reviewer.post(
            "/changes", {"project": "hermes", "subject": "app.a", "summary": "It moved."}
        )
    )

    assert set(due(office)) == {here, mine}
    # What is in no project belongs to all of them, as in the briefing.
    assert set(due(office, project="apollo")) == {here, mine}
    listed = done(office.reviewer.get("/needs-verification", {"project": "hermes"}))["results"]
    assert [one["id"] for one in listed] == [elsewhere]
    seen_by_outsider = done(office.outsider.get("/needs-verification"))["results"]
    assert [one["id"] for one in seen_by_outsider] == [elsewhere]
    assert done(office.agent.get("/needs-verification"))["count"] == 1
    refused(
        office.outsider.get("/needs-verification", {"project": "apollo"}),
        400,
        "validation_failed",
        "project",
    )


@pytest.mark.rule("TR-05")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_database_finds_what_each_row_says_of_itself(office, seed):
    """Of memories of all ages, dates and looks: those, and no others, that are overdue."""
    chance = random.Random(seed)
    now = timezone.now()
    done(office.admin.patch(path_of(office), {"review_intervals": {"fact": 30, "reference": 60}}))
    for number in range(24):
        some = [f"s{number}.{name}" for name in "ab"[: chance.randint(0, 2)]]
        memory = kept(
            office.senior,
            f"Note {number}.",
            kind=chance.choice(["fact", "reference", "decision"]),
            components=[{"subject": one, "value": "1"} for one in some],
            **chance.choice([{"project": "apollo"}, {"scope": "personal"}]),
        )
        written = chance.randint(0, 90)
        long_ago(memory, written, chance.choice([None, chance.randint(-5, written)]))
        for _ in range(chance.randint(0, 3)):
            verified(
                office.senior,
                memory,
                chance.choice(["confirmed", "confirmed", "inconclusive"]),
                observed_at=at(now - chance.uniform(0, written) * DAY),
                components=chance.sample(some, chance.randint(1, len(some))) if some else None,
            )

    with acting_as(office.senior.caller):
        memories = list(Memory.objects.all())
        stand = standings(memories, now, {})
        everywhere = set(Memory.objects.filter(overdue(now)))
        here = set(Memory.objects.filter(overdue(now, project_id=office.apollo.id)))

    assert everywhere == here == {one for one in memories if stand[one.id].overdue}
    assert 0 < len(everywhere) < len(memories)


@pytest.mark.rule("TR-05", "VE-02")
def test_of_several_components_the_one_seen_longest_ago_decides(office):
    done(office.admin.patch(path_of(office), {"review_intervals": {"fact": 30}}))
    parts = [{"subject": f"app.{name}", "value": "1"} for name in "ab"]
    memory = kept(office.senior, "It is so.", project="apollo", components=parts)
    long_ago(memory, 90, 50)
    now = timezone.now()

    for subject, days, expected in (("app.a", 1, [memory]), ("app.b", 40, [memory])):
        verified(office.senior, memory, components=[subject], observed_at=at(now - days * DAY))
        assert due(office) == expected
    verified(office.senior, memory, components=["app.b"], observed_at=at(now - 2 * DAY))
    assert due(office) == []


@pytest.mark.rule("TR-05", "VI-03")
def test_what_is_overdue_out_of_sight_is_not_found(office):
    done(office.admin.patch(path_of(office), {"review_intervals": {"fact": 30}}))
    private, common = (
        kept(office.senior, f"Note {name}.", project="apollo", visibility=name)
        for name in ("private", "project")
    )
    for memory in (private, common):
        written_long_ago(memory, 31)

    for person, expected in (
        (office.senior, {private, common}),
        (office.colleague, {common}),
        (office.outsider, set()),
    ):
        with acting_as(person.caller):
            found = Memory.objects.raw("SELECT overdue_memories(now(), NULL) AS id")
            assert {wire_id(Prefix.MEMORY, one.id) for one in found} == expected
