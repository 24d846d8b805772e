"""A dispute about what is private, in a project: its owner decides, as far as it is theirs."""

import pytest

from tests.admin_login import logged_in
from tests.desk import DESK
from tests.disputes import ONE, OTHER, conflict_row, kept_in, of, resolve, undo
from tests.memories import done, kept, refused, row, seen
from tests.people import MOST_SCOPES
from tests.test_undo import stored

pytestmark = pytest.mark.rule("DI-12", "VI-03")


@pytest.fixture
def shared(office):
    """What all of the project read."""
    return kept(office.senior, ONE, project="apollo")


@pytest.fixture
def private(office):
    """What the colleague alone reads, who writes there and reviews nothing."""
    return kept(office.colleague, OTHER, project="apollo", visibility="private")


@pytest.fixture
def dispute(office, shared, private):
    return kept_in(office, private, shared)


def test_its_owner_has_it_in_their_queue_and_nobody_else(office, shared, private, dispute):
    (found,) = done(office.colleague.get("/conflicts"))["results"]
    assert (found["id"], found["memory_a"], found["memory_b"]) == (dispute, private, shared)
    for person in (office.senior, office.reviewer, office.contractor, office.viewer):
        assert done(person.get("/conflicts"))["results"] == []
        refused(person.get(f"/conflicts/{dispute}"), 404, "not_found")
    for person in (office.senior, office.reviewer):
        refused(resolve(person, dispute, keep_both=True), 404, "not_found")


@pytest.mark.rule("DI-04", "RE-06")
@pytest.mark.parametrize("choice", ["keep_both", "the other"])
def test_its_owner_settles_what_touches_their_own_alone(office, shared, private, dispute, choice):
    before = stored(office)
    said = {"keep_both": True} if choice == "keep_both" else {"winner": shared}

    told = done(resolve(office.colleague, dispute, **said))

    assert told["resolved_by"] == of(office.colleague)
    gone = choice == "the other"
    assert row(private).lifecycle == ("superseded" if gone else "live")
    untouched = seen(office.senior, shared)
    assert (untouched["lifecycle"], untouched["version"]) == ("live", 1)
    assert [one["outcome"] for one in done(undo(office.colleague, told["batch"]))["items"]] == [
        "reopened"
    ]
    assert stored(office) == before


@pytest.mark.rule("SU-18")
def test_nothing_of_the_projects_goes_by_it(office, shared, private, dispute):
    refused(resolve(office.colleague, dispute, merge={"content": "Both."}), 403, "forbidden")
    refused(resolve(office.colleague, dispute, winner=private), 400, "validation_failed", "winner")

    assert (row(shared).version, conflict_row(dispute).state) == (1, "pending")


def test_two_of_ones_own_are_decided_in_every_way(office, private):
    other = kept(office.colleague, ONE, project="apollo", visibility="private")
    dispute = kept_in(office, other, private)

    told = done(resolve(office.colleague, dispute, merge={"content": "It is 5432, was 5433."}))

    assert told["side_a"]["superseded_by"] == told["side_b"]["superseded_by"]
    merged = row(told["side_a"]["superseded_by"])
    assert (merged.visibility, merged.owner_id) == ("private", office.colleague.member.id)


@pytest.mark.rule("DI-07")
def test_what_is_disputed_alone_is_retired_and_its_reports_weighed(office, private):
    path = f"/memories/{private}"
    done(office.colleague.post(f"{path}/misled", {"reason": "refused"}))
    alone = done(office.colleague.post(f"{path}/challenge", {"reason": "no"}))["dispute_id"]

    done(resolve(office.colleague, alone, keep_both=True))

    assert done(office.colleague.post(f"{path}/misled", {"reason": "x"}))["opened"] is False
    alone = done(office.colleague.post(f"{path}/challenge", {"reason": "no"}))["dispute_id"]
    done(resolve(office.colleague, alone, retire=True))
    assert row(private).invalidated_reason == "retired"


def test_it_is_put_off_and_given_to_its_owner_alone(office, dispute):
    path = f"/conflicts/{dispute}"
    done(office.colleague.post(f"{path}/defer", {"until": "2031-01-01T00:00:00Z"}))
    done(office.colleague.post(f"{path}/assign", {"member": of(office.colleague)}))

    answer = office.colleague.post(f"{path}/assign", {"member": of(office.reviewer)})
    refused(answer, 400, "validation_failed", "member")


@pytest.mark.rule("VI-03")
def test_who_is_confined_elsewhere_and_agents_do_not_decide_it(office, dispute):
    from tenants.founding import give_token
    from tests.people import Person, _caller

    member = office.colleague.member
    token, text = give_token(member, "elsewhere", scopes=MOST_SCOPES, project=office.hermes)
    elsewhere = Person("elsewhere", _caller(token, member), text, member)
    refused(resolve(elsewhere, dispute, keep_both=True), 404, "not_found")
    bot = office.bot("triage", office.colleague, scopes=MOST_SCOPES)
    refused(resolve(bot, dispute, keep_both=True), 403, "forbidden")
    done(resolve(office.colleague, dispute, keep_both=True))


@pytest.mark.rule("DI-11")
def test_many_at_once_are_decided_as_far_as_they_are_ones_own(office, shared, private, dispute):
    told = done(office.colleague.post("/conflicts/resolve", {"policy": "newest_wins"}))
    assert [one["outcome"] for one in told["items"]] == ["failed"]

    told = done(office.colleague.post("/conflicts/resolve", {"policy": "oldest_wins"}))

    assert [one["outcome"] for one in told["items"]] == ["resolved"]
    assert [row(one).lifecycle for one in (shared, private)] == ["live", "superseded"]


@pytest.mark.rule("VI-06", "T206")
def test_the_desk_shows_it_to_its_owner_with_the_buttons_that_work(office, shared, dispute):
    client = logged_in(office.colleague)
    assert dispute in client.get(DESK).content.decode()
    page = client.get(f"{DESK}{dispute}/change/").content.decode()
    assert "A wins" in page
    assert "left with nothing" in page  # why the private one cannot win

    client.post(f"{DESK}{dispute}/decide/", {"winner": shared})

    assert conflict_row(dispute).state == "resolved"
    assert dispute not in logged_in(office.reviewer).get(DESK).content.decode()
