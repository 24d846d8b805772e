"""Putting a dispute off, and giving it to somebody who could decide it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Conflict
from tenants.ids import Prefix, moment, new_id, wire_id
from tests.disputes import conflict_row, disputed_pair, kept_in, of, resolve
from tests.memories import done, kept, refused, seen
from tests.people import MOST_SCOPES, REVIEW

pytestmark = pytest.mark.rule("DI-12")

SOON = timedelta(days=2)


def defer(person, dispute, until):
    at = moment(until) if until is not None else None
    return person.post(f"/conflicts/{dispute}/defer", {"until": at})


def assign(person, dispute, member):
    return person.post(f"/conflicts/{dispute}/assign", {"member": member})


def listed(person, **query):
    return [one["id"] for one in done(person.get("/conflicts", query))["results"]]


@pytest.fixture
def dispute(office):
    return disputed_pair(office)[2]


@pytest.mark.rule("DI-01", "DI-10")
def test_put_off_it_waits_elsewhere_and_stays_open(office, dispute):
    until = timezone.now() + SOON

    told = done(defer(office.reviewer, dispute, until))

    assert (told["state"], told["deferred_until"]) == ("pending", moment(until))
    assert listed(office.senior) == [dispute]
    assert listed(office.senior, deferred="true") == [dispute]
    assert listed(office.senior, deferred="false") == []
    assert seen(office.senior, told["memory_a"])["disputed"]


def test_when_the_time_has_come_it_is_back(office, dispute):
    done(defer(office.reviewer, dispute, timezone.now() + SOON))

    Conflict.objects.using("owner").filter(id=conflict_row(dispute).id).update(
        deferred_until=timezone.now() - SOON
    )

    assert listed(office.senior, deferred="false") == [dispute]


def test_it_can_be_taken_up_again(office, dispute):
    done(defer(office.reviewer, dispute, timezone.now() + SOON))

    assert done(defer(office.senior, dispute, None))["deferred_until"] is None

    assert listed(office.senior, deferred="false") == [dispute]


@pytest.mark.rule("DI-12", "DI-10")
def test_it_is_given_to_who_could_decide_it_and_taken_back(office, dispute):
    told = done(assign(office.reviewer, dispute, of(office.senior)))

    assert (told["assigned_to"], told["state"]) == (of(office.senior), "pending")
    assert listed(office.senior, assigned="me") == [dispute]
    assert listed(office.reviewer, assigned="me") == []
    assert done(assign(office.reviewer, dispute, None))["assigned_to"] is None
    assert listed(office.senior, assigned="me") == []


@pytest.mark.rule("VI-04")
@pytest.mark.parametrize("whom", ["colleague", "viewer", "outsider", "admin", "foreign", "made up"])
def test_it_is_given_to_nobody_who_could_not_decide_it(office, other_office, dispute, whom):
    if whom == "made up":
        member = wire_id(Prefix.MEMBER, new_id())
    else:
        member = of(other_office.senior if whom == "foreign" else getattr(office, whom))

    problem = refused(assign(office.reviewer, dispute, member), 400, "validation_failed", "member")

    assert "no such member, or none" in problem["detail"]
    assert conflict_row(dispute).assigned_to_id is None


def test_what_is_private_is_given_to_nobody_else(office):
    private = kept(office.senior, "Mine.", project="apollo", visibility="private")
    dispute = kept_in(office, private, kept(office.senior, "All see it.", project="apollo"))

    refused(assign(office.senior, dispute, of(office.reviewer)), 400, "validation_failed", "member")
    done(assign(office.senior, dispute, of(office.senior)))


@pytest.mark.parametrize(
    ("person", "status", "code"),
    [
        ("colleague", 403, "forbidden"),
        ("viewer", 403, "insufficient_scope"),
        ("outsider", 404, "not_found"),
        ("admin", 404, "not_found"),
    ],
)
def test_who_does_not_review_hands_nothing_on(office, dispute, person, status, code):
    who = getattr(office, person)

    refused(defer(who, dispute, timezone.now() + SOON), status, code)
    refused(assign(who, dispute, of(office.senior)), status, code)
    refused(assign(who, dispute, of(office.outsider)), status, code)
    refused(assign(who, dispute, None), status, code)
    assert conflict_row(dispute).deferred_until is None


@pytest.mark.rule("field-fault-15")
def test_an_agent_puts_off_nothing_of_its_own_side(office):
    sponsor = office.person("sponsor", grants=[(office.apollo, REVIEW)])
    agent = office.bot("triage", sponsor, scopes=MOST_SCOPES)
    memory = kept(office.senior, "Some claim.", project="apollo")
    raised = done(agent.post(f"/memories/{memory}/challenge", {"reason": "no"}))["dispute_id"]
    (_, _, other) = disputed_pair(office)

    refused(defer(agent, raised, timezone.now() + SOON), 403, "forbidden")
    refused(assign(agent, raised, of(office.senior)), 403, "forbidden")
    done(defer(agent, other, timezone.now() + SOON))
    done(assign(agent, other, of(office.senior)))


@pytest.mark.rule("DI-05")
def test_what_is_decided_is_not_handed_on(office, dispute):
    done(resolve(office.reviewer, dispute, keep_both=True))

    refused(defer(office.senior, dispute, timezone.now() + SOON), 409, "already_resolved")
    refused(assign(office.senior, dispute, of(office.senior)), 409, "already_resolved")


@pytest.mark.rule("WR-12")
@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("defer", {}, "until"),
        ("defer", {"until": "tomorrow"}, "until"),
        ("defer", {"until": "2020-01-01T00:00:00Z"}, "until"),
        ("defer", {"until": None, "member": None}, "member"),
        ("assign", {}, "member"),
        ("assign", {"member": "me"}, "member"),
        ("assign", {"member": "mem_01h455vb4pex5vsknk084sn02q"}, "member"),
    ],
    ids=str,
)
def test_wrong_forms_are_refused_by_field(office, dispute, verb, body, field):
    answer = office.reviewer.post(f"/conflicts/{dispute}/{verb}", body)

    refused(answer, 400, "validation_failed", field)


@pytest.mark.rule("HI-03")
def test_both_are_events(office, dispute):
    done(defer(office.reviewer, dispute, timezone.now() + SOON))
    done(assign(office.reviewer, dispute, of(office.senior)))

    memory = done(office.senior.get(f"/conflicts/{dispute}"))["memory_a"]
    events = done(office.senior.get(f"/memories/{memory}/history"))["events"]
    told = {one["command"]: one["after"] for one in events}
    assert told["assign"] == {"member": of(office.senior)}
    assert set(told["defer"]) == {"until"}
