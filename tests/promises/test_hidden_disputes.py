"""Who may not read both sides learns nothing of a dispute; who is confined acts nowhere else."""

import pytest

from tenants.founding import OWNER, give_token
from tenants.models import Member
from tests.memories import done, kept
from tests.people import MOST_SCOPES, WRITE

QUERY = {"query": "which port does staging listen on", "project": "apollo"}


def _port(value, **more):
    return {
        "content": f"The port of staging is {value}.",
        "project": "apollo",
        "components": [{"subject": "staging.port", "value": value}],
        **more,
    }


@pytest.fixture
def disputed(office):
    """A memory that all of apollo reads, and its owner's private one that says otherwise."""
    shared = done(office.senior.post("/memories", _port("5432")))["memory_id"]
    private = done(office.senior.post("/memories", _port("pgbouncer", visibility="private")))
    assert private["superseded"] == []
    (conflict,) = private["conflicts"]
    assert conflict["state"] == "pending"
    return shared, private["memory_id"], conflict["id"]


@pytest.mark.rule("DE-08", "VI-02")
def test_who_reads_both_sides_is_told_of_the_dispute(office, disputed):
    shared, private, conflict = disputed
    for person in (office.senior, office.agent):
        told = done(person.get(f"/memories/{shared}"))
        assert (told["disputed"], told["dispute_id"]) == (True, conflict)
        assert done(person.get(f"/conflicts/{conflict}"))["side_b"] is not None
        (found,) = (
            one
            for one in done(person.post("/recall", QUERY))["results"]
            if one["memory_id"] == shared
        )
        assert found["disputed"]
        assert [one["memory_id"] for one in found["competing_claims"]] == [private]


@pytest.mark.rule("DE-08", "VI-02", "T198")
@pytest.mark.parametrize(
    "name", ["colleague", "reviewer", "contractor", "viewer", "agent2", "admin"]
)
def test_nothing_of_a_hidden_side_shows(office, disputed, name):
    shared, private, conflict = disputed
    reader = getattr(office, name)
    answers = [
        reader.get("/memories", {"lifecycle": "all"}),
        reader.get("/conflicts", {"state": "all"}),
        reader.get("/conflicts", {"memory": shared}),
        reader.get("/conflicts", {"memory": private}),
        reader.get("/auto-resolved"),
    ]
    missing = reader.get(f"/conflicts/{conflict}")
    assert missing.status_code == 404
    if name != "admin":
        answers.append(reader.post("/recall", QUERY))
        answers.append(reader.post("/recall", {**QUERY, "mode": "historical", "explain": True}))
        answers.append(reader.get(f"/memories/{shared}/history"))
        told = done(reader.get(f"/memories/{shared}"))
        assert (told["disputed"], told["dispute_id"]) == (False, None)
        assert told["trust_state"] != "conflicted"
        for one in done(reader.post("/recall", QUERY))["results"]:
            assert not one["disputed"]
            assert one["competing_claims"] == []
            assert one["temporal_status"] != "conflicted"
    for answer in answers:
        text = answer.content.decode()
        assert answer.status_code == 200, text
        for hidden in (private, conflict, "pgbouncer"):
            assert hidden not in text, answer.request
    assert done(reader.get("/conflicts", {"state": "all"}))["count"] == 0


@pytest.mark.rule("DE-08")
def test_a_write_is_compared_with_nothing_that_its_writer_may_not_read(office, disputed):
    _, private, conflict = disputed

    told = office.colleague.post("/memories", _port("5432", content="Staging: port 5432."))

    assert told.status_code == 201
    assert private not in told.content.decode()
    assert conflict not in told.content.decode()
    assert told.json()["memory"]["disputed"] is False


@pytest.mark.rule("DE-08")
def test_a_dispute_ends_with_a_side_that_others_do_not_see(office, disputed):
    shared, _, conflict = disputed

    done(office.colleague.post(f"/memories/{shared}/forget", {"reason": "wrong"}))

    assert done(office.senior.get(f"/conflicts/{conflict}"))["state"] == "moot"
    assert conflict not in office.colleague.get(f"/memories/{shared}/history").content.decode()


@pytest.fixture
def confined(office):
    """The senior with a token for apollo alone, who writes in hermes too."""
    return office.person(
        "confined", grants=[(office.apollo, WRITE), (office.hermes, WRITE)], project=office.apollo
    )


@pytest.fixture
def elsewhere(office, confined):
    """What the same member has written for the tenant in another project, with another token."""
    member = Member.objects.using(OWNER).get(id=confined.caller.member_id)
    _, secret = give_token(member, "everywhere", scopes=MOST_SCOPES)
    told = confined.client.post(
        "/api/v1/memories",
        {"content": "Hermes deploys at noon.", "project": "hermes", "visibility": "tenant"},
        "application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert told.status_code == 201, told.content
    return told.json()["memory_id"]


@pytest.mark.rule("VI-03")
def test_who_is_confined_changes_nothing_of_their_own_elsewhere(office, confined, elsewhere):
    assert confined.get(f"/memories/{elsewhere}").status_code == 200

    for answer in (
        confined.patch(f"/memories/{elsewhere}", {"importance": 0.1}),
        confined.patch(f"/memories/{elsewhere}", {"visibility": "project"}),
        confined.post(f"/memories/{elsewhere}/forget", {"reason": "x"}),
    ):
        assert answer.status_code == 403, answer.content
    assert done(confined.get(f"/memories/{elsewhere}"))["version"] == 1


@pytest.mark.rule("VI-03", "SU-06")
def test_who_is_confined_replaces_nothing_of_their_own_elsewhere(office, confined, elsewhere):
    told = done(
        confined.post(
            "/memories",
            {
                "content": "Hermes deploys at night.",
                "project": "apollo",
                "visibility": "tenant",
                "links": [{"type": "supersedes", "dst": elsewhere}],
            },
        )
    )

    assert told["superseded"] == []
    assert told["skipped"] == [{"id": elsewhere, "reason": "insufficient_authority"}]
    assert done(confined.get(f"/memories/{elsewhere}"))["lifecycle"] == "live"


@pytest.mark.rule("VI-03")
def test_who_is_confined_links_nothing_of_their_own_elsewhere(office, confined, elsewhere):
    mine = kept(confined, "Apollo deploys at night.", project="apollo")

    from_there = {"src": elsewhere, "dst": mine, "type": "relates_to"}
    from_here = {"src": mine, "dst": elsewhere, "type": "relates_to"}

    assert confined.post("/links", from_there).status_code == 403
    assert confined.post("/links", from_here).status_code == 201
