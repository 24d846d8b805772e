"""As many new memories as a tenant may have in a day, and what comes of those beyond."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from memory.models import Memory
from tenants.models import Event, Job
from tests.disputes import disputed_pair, resolve
from tests.judging import work
from tests.knocking import many
from tests.memories import done, kept
from tests.people import ALL_SCOPES, REVIEW
from tests.test_judging import due

pytestmark = pytest.mark.rule("T154")

TABLES = (Memory, Event, Job)


def write(person, text, **more):
    return person.post("/memories", {"content": text, "project": "apollo", **more})


def stored(office):
    return Memory.objects.using("owner").filter(tenant=office.tenant)


@pytest.fixture
def full(office, settings):
    """An office that has one memory, and may have no other today."""
    settings.MEMORIES_PER_DAY = 1
    return kept(office.senior, "Deploys go out on Tuesdays.", project="apollo")


def a_day_passes(office):
    stored(office).update(created_at=datetime.now(UTC) - timedelta(days=1, minutes=1))


def test_exactly_as_many_are_stored_as_there_is_room_for(office, other_office, settings):
    settings.MEMORIES_PER_DAY = 100
    writers = (office.senior, office.colleague, office.agent)
    answers = many(150, lambda number: write(writers[number % 3], f"Note {number} of the flood."))

    assert sorted({answer.status_code for answer in answers}) == [201, 429]
    assert sum(answer.status_code == 201 for answer in answers) == 100
    assert stored(office).count() == 100
    assert write(other_office.senior, "Nobody else is kept waiting.").status_code == 201


def test_who_comes_too_late_is_told_when_to_come_and_nothing_has_happened(office, full):
    before = [model.objects.using("owner").filter(tenant=office.tenant).count() for model in TABLES]
    body = {
        "content": "Deploys go out on Fridays.",
        "project": "apollo",
        "links": [{"type": "supersedes", "dst": full}],
    }

    refused = office.senior.post("/memories", body, **{"Idempotency-Key": "friday"})

    told = refused.json()
    assert (refused.status_code, told["code"]) == (429, "quota_exceeded")
    assert "of new memories a day is 1," in told["detail"]
    midnight = datetime.now(UTC) + timedelta(seconds=int(refused.headers["Retry-After"]))
    assert (midnight.hour, midnight.minute) == (0, 0)
    assert f"{midnight:%Y-%m-%dT}" in told["detail"]
    after = [model.objects.using("owner").filter(tenant=office.tenant).count() for model in TABLES]
    assert after == before
    assert done(office.senior.get(f"/memories/{full}"))["lifecycle"] == "live"
    # The same request is done once there is room, and not told what it was told then.
    a_day_passes(office)
    assert done(office.senior.post("/memories", body, **{"Idempotency-Key": "friday"}))


@pytest.mark.usefixtures("full")
def test_what_adds_nothing_is_taken_as_ever(office):
    again = write(office.senior, "Deploys go out on Tuesdays.")

    assert (again.status_code, again.json()["absorbed"]) == (200, True)


def test_people_decide_as_ever(office, settings):
    _, _, dispute = disputed_pair(office)
    settings.MEMORIES_PER_DAY = 1

    assert resolve(office.reviewer, dispute, merge={"content": "Both are so."}).status_code == 200


def test_how_many_may_be_is_told_where_there_is_a_limit(office, settings):
    assert "memories_per_day" not in done(office.viewer.get("/whoami"))["limits"]
    settings.MEMORIES_PER_DAY = 7
    assert done(office.viewer.get("/whoami"))["limits"]["memories_per_day"] == 7


@pytest.mark.parametrize("lifecycle", ["live", "retired"])
def test_an_import_goes_on_where_it_stopped_once_there_is_room(office, settings, lifecycle):
    settings.MEMORIES_PER_DAY = 2
    archivist = office.person("archivist", grants=[(office.apollo, REVIEW)], scopes=ALL_SCOPES)
    lines = [{"content": f"Port {number} is taken.", "lifecycle": lifecycle} for number in range(5)]
    body = {"format": "jsonl", "content": "\n".join(map(json.dumps, lines)), "project": "apollo"}
    started = archivist.post("/import", body)
    assert started.status_code == 202, started.content

    def told():
        work(office)
        return done(archivist.get(f"/transfers/{started.json()['id']}"))

    for so_far in (2, 4):
        waiting = told()
        assert (waiting["state"], waiting["done"]) == ("running", so_far)
        assert "of new memories a day is 2," in waiting["problem"]
        a_day_passes(office)
        due(office)
    ended = told()
    assert (ended["state"], ended["done"], ended["problem"]) == ("done", 5, None)
    assert stored(office).count() == 5
