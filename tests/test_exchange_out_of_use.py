"""What comes in by a file retires nothing for being old: what was over stays over."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from hygiene.asking import exhibits_of
from memory.models import Link
from tenants.context import acting_as
from tests.judging import branch, conflicts, lost, records, stating
from tests.memories import done, kept, memories_of, recalled, refused, replacing, row, seen
from tests.people import ALL_SCOPES, REVIEW, Office, Person
from tests.test_exchange import carried_out, files_of

pytestmark = pytest.mark.rule("PO-10", "field-fault-29")
QUESTION = "From which branch is deployed?"
LONG_AGO = "2020-01-01T00:00:00Z"


def keeper(office: Office) -> Person:
    return office.person("archivist", grants=[(office.apollo, REVIEW)], scopes=ALL_SCOPES)


@pytest.fixture
def archivist(office: Office) -> Person:
    return keeper(office)


@pytest.fixture
def elsewhere(other_office: Office) -> Person:
    return keeper(other_office)


def exported(office: Office, person: Person, **body: Any) -> str:
    (file,) = files_of(office, person, project="apollo", **body)
    return file["content"]


def brought_in(office: Office, person: Person, content: str) -> dict[str, int]:
    body = {"format": "jsonl", "content": content, "project": "apollo"}
    ended = carried_out(office, person, "/import", body)
    assert ended["state"] == "done", ended
    counts: dict[str, int] = ended["counts"]
    return counts


def line(**said: Any) -> dict[str, Any]:
    """Return a memory of a file that says from which branch is deployed."""
    value = said.pop("value", "main")
    return {
        "content": f"Deploys go out from {value}.",
        "components": stating("deploy.branch", value),
    } | said


def file_of(*lines: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, lines))


@pytest.mark.parametrize(
    "ways",
    [
        {"lifecycle": "retired", "invalidated_reason": "forgotten"},
        {"lifecycle": "retired", "invalidated_reason": "closed"},
        {"lifecycle": "superseded"},
        {"lifecycle": "superseded", "superseded_by": "mem_next"},
        {"lifecycle": "retired", "valid_until": LONG_AGO},
    ],
)
@pytest.mark.parametrize("whose", ["the same", "another"])
def test_what_was_out_of_use_takes_nothing_out_of_use(office, archivist, ways, whose):
    owner = archivist if whose == "the same" else office.colleague
    known = branch(owner, "dev")["memory_id"]
    lines = [line(id="mem_old", **ways)]
    if "superseded_by" in ways:
        lines.append({"id": "mem_next", "content": "The canteen is closed on Friday."})

    brought_in(office, archivist, file_of(*lines))

    assert seen(owner, known)["lifecycle"] == "live"
    assert recalled(owner, QUESTION, project="apollo")[0] == "Deploys go out from dev."
    assert (records(office), lost(owner)) == (0, [])
    listed = done(archivist.get("/memories", {"lifecycle": "all"}))["results"]
    (old,) = [one for one in listed if "main" in one["content"]]
    is_superseded = "superseded_by" in ways
    assert old["lifecycle"] == ("superseded" if is_superseded else "retired")
    # It was never in use, not even for a moment.
    assert old["components"][0]["value"] == "main"


def test_what_was_forgotten_there_stays_known_here_in_the_same_words(office, archivist):
    known = branch(archivist, "main")["memory_id"]

    brought_in(office, archivist, file_of(line(id="mem_a", lifecycle="retired")))

    assert seen(archivist, known)["lifecycle"] == "live"
    assert memories_of(office) == 2


def test_what_has_expired_takes_the_place_of_no_capture(office, archivist):
    watcher = office.bot("archivists-watcher", archivist, kind="watcher")
    captured = kept(watcher, "Deploys go out from main.", project="apollo")

    brought_in(office, archivist, file_of(line(valid_until=LONG_AGO)))

    assert seen(archivist, captured)["lifecycle"] == "live"
    brought_in(office, archivist, file_of(line(id="mem_now")))
    assert seen(archivist, captured)["lifecycle"] == "superseded"


@pytest.mark.parametrize("format_", ["jsonl", "markdown"])
def test_an_export_brought_into_its_own_project_changes_nothing(office, archivist, format_):
    branch(archivist, "main")
    head = branch(archivist, "dev")["memory_id"]
    other = kept(office.colleague, "The canteen is closed on Friday.", project="apollo")
    gone = kept(archivist, "Nobody needs this.", project="apollo")
    done(archivist.post(f"/memories/{gone}/forget", {"reason": "nobody does"}))
    out = files_of(office, archivist, project="apollo", format=format_)
    back = kept(archivist, "This came later.", project="apollo")
    done(archivist.post(f"/memories/{gone}/restore"))
    before = {one: seen(archivist, one) for one in (head, other, gone, back)}
    number, conflicting = memories_of(office), conflicts(archivist)
    body: dict[str, Any] = {"format": format_, "project": "apollo"}
    body |= {"files": out} if format_ == "markdown" else {"content": out[0]["content"]}

    counted = archivist.post("/import", body | {"dry_run": True}).json()["counts"]
    ended = carried_out(office, archivist, "/import", body)

    assert counted == {"known": 4, "new": 0}
    assert ended["counts"] == {"stored": 0, "absorbed": 0, "known": 4}
    assert {one: seen(archivist, one) for one in before} == before
    assert (memories_of(office), conflicts(archivist)) == (number, conflicting)


def test_what_the_file_tells_otherwise_is_not_the_same(office, archivist):
    branch(archivist, "main")
    content = exported(office, archivist).replace("go out from main", "go out from Main")

    assert brought_in(office, archivist, content)["known"] == 0


def test_an_old_fact_that_comes_late_is_a_question_to_people(
    office, other_office, archivist, elsewhere
):
    branch(archivist, "main")
    content = exported(office, archivist)
    here = branch(elsewhere, "dev")["memory_id"]

    brought_in(other_office, elsewhere, content)

    assert seen(elsewhere, here)["lifecycle"] == "live"
    assert lost(elsewhere) == []
    (conflict,) = conflicts(elsewhere)
    assert (conflict["state"], conflict["kind"]) == ("pending", "stale")


def test_a_fact_that_is_newer_there_still_takes_the_place_of_an_older_one(
    office, other_office, archivist, elsewhere
):
    here = branch(elsewhere, "dev")["memory_id"]
    branch(archivist, "main")

    brought_in(other_office, elsewhere, exported(office, archivist))

    assert seen(elsewhere, here)["lifecycle"] == "superseded"


def test_a_date_to_come_counts_for_nothing(office, archivist):
    later = (timezone.now() + timedelta(days=400)).isoformat()

    brought_in(office, archivist, file_of(line(created_at=later)))

    (told,) = done(archivist.get("/memories"))["results"]
    assert row(told["id"]).asserted_at is None


@pytest.mark.parametrize("told", ["yesterday", 5, "2020-01-01", "2020-01-01T00:00:00", ["x"]])
def test_an_age_that_is_none_is_refused_by_its_place(archivist, told):
    body = {"format": "jsonl", "project": "apollo", "content": file_of(line(created_at=told))}

    refused(archivist.post("/import", body), 400, "validation_failed", "line 1")


def test_a_judge_is_told_the_age_and_an_export_hands_it_on(office, archivist):
    content = file_of(line(id="mem_a", created_at=LONG_AGO))
    brought_in(office, archivist, content)
    (told,) = done(archivist.get("/memories", {"project": "apollo"}))["results"]

    with acting_as(archivist.caller):
        memory = row(told["id"])
        assert exhibits_of([memory])[memory.id].written_at.year == 2020
    assert told["created_at"][:4] != "2020"
    assert '"created_at": "2020-01-01T00:00:00' in exported(office, archivist)


def test_what_has_changed_since_the_first_time_stays_so(office, other_office, archivist, elsewhere):
    old = kept(archivist, "The port is 5432", project="apollo")
    new = kept(archivist, "The port is 5433", project="apollo", links=replacing(old))
    linked = kept(
        archivist,
        "Connect, then migrate.",
        project="apollo",
        links=[{"type": "derived_from", "dst": new}],
    )
    assert linked
    content = exported(office, archivist)
    brought_in(other_office, elsewhere, content)
    listed = done(elsewhere.get("/memories", {"lifecycle": "all"}))["results"]
    ids = {one["content"]: one["id"] for one in listed}
    done(elsewhere.post(f"/memories/{ids['The port is 5432']}/restore"))
    with acting_as(elsewhere.caller):
        drawn = Link.objects.filter(src=row(ids["Connect, then migrate."]).id).get()
    Link.objects.using("owner").filter(id=drawn.id).update(removed_at=timezone.now())
    before = {one: seen(elsewhere, one) for one in ids.values()}

    counts = brought_in(other_office, elsewhere, content)

    assert counts == {"stored": 0, "absorbed": 0, "known": 3}
    assert {one: seen(elsewhere, one) for one in ids.values()} == before
