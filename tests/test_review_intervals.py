"""Reviews that are due: by a date, or by a project's interval for a kind."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Activation, Kind, Memory
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

    assert set(due(office)) == {here, mine}
    assert due(office, project="apollo") == [here]
    assert done(office.outsider.get("/needs-verification"))["results"] == []
    assert done(office.agent.get("/needs-verification"))["count"] == 1
    refused(
        office.outsider.get("/needs-verification", {"project": "apollo"}),
        400,
        "validation_failed",
        "project",
    )
