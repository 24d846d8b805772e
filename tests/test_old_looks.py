"""What was seen before is noted, and says nothing of what came after it."""

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from memory.models import Memory, Signal, Verification
from tenants.ids import Prefix, read_id
from tests.admin_login import logged_in
from tests.dirty import at, reported, states, trust, verified
from tests.disputes import resolve
from tests.memories import done, held, kept, posting, refused, replacing, row, seen
from tests.people import WRITE
from tests.test_desk import shown

EVIDENCE = {"method": "command", "evidence": "ran it"}
CONFIRMED = "Confirmed after they were superseded"
PARTS = [{"subject": "app.a", "value": "1"}]


def long_ago(**ago):
    return at(timezone.now() - timedelta(**(ago or {"days": 400})))


def disputes(person):
    return done(person.get("/conflicts"))["results"]


@pytest.mark.rule("VE-04", "VE-01", "SB-03")
@pytest.mark.parametrize("method", ["command", "external_recheck"])
def test_what_was_refuted_before_it_was_written_is_noted_and_disputes_nothing(office, method):
    memory = states(office.senior, "app.a", "1")
    before = seen(office.senior, memory)["evidence_confidence"]
    refuted = {"outcome": "refuted", "method": method, "observed_value": "2"}

    told = done(
        office.colleague.post(f"/memories/{memory}/verify", refuted | {"observed_at": long_ago()})
    )

    assert "conflict" not in told
    assert "before it was written" in told["note"]
    assert told["memory"]["trust_state"] == "verified"
    assert told["memory"]["evidence_confidence"] == before
    assert told["memory"]["verifications"][-1]["outcome"] == "refuted"
    assert not Signal.objects.using("owner").filter(memory=row(memory).id).exists()
    # Looked at since, it is a question.
    told = done(office.colleague.post(f"/memories/{memory}/verify", refuted))
    assert told["conflict"]["state"] == "pending"
    assert "note" not in told


@pytest.mark.rule("TR-06", "TR-01", "VE-03")
@pytest.mark.parametrize("stated", [[], PARTS])
def test_what_was_seen_before_it_was_captured_lifts_nothing(office, stated):
    capture = kept(office.watcher, "Captured by the way.", components=stated)
    nobody = seen(office.senior, capture)["evidence_confidence"]

    told = verified(office.colleague, capture, observed_at=long_ago(), **EVIDENCE)

    assert told["memory"]["trust_state"] == "proposed"
    assert told["memory"]["last_verified_at"] is None
    assert told["memory"]["evidence_confidence"] == nobody
    assert not told["memory"]["verifications"][-1]["weighs"]
    listed = done(office.senior.get("/memories", {"trust_state": "proposed"}))["results"]
    assert [one["id"] for one in listed] == [capture]
    assert verified(office.colleague, capture, **EVIDENCE)["memory"]["trust_state"] == "verified"


@pytest.mark.rule("TR-06", "VE-02")
def test_of_a_capture_what_was_seen_before_a_part_was_stated_does_not_cover_it(office):
    text = {"content": "Captured."}
    capture = done(office.watcher.post("/memories", text | {"components": PARTS}))["memory_id"]
    between = at(timezone.now())
    later = [*PARTS, {"subject": "app.b", "value": "2"}]
    assert done(office.watcher.post("/memories", text | {"components": later}))["absorbed"]

    told = verified(office.colleague, capture, observed_at=between, **EVIDENCE)

    assert told["memory"]["trust_state"] == "proposed"
    assert {one["subject"]: one["verified_at"] is None for one in told["memory"]["components"]} == {
        "app.a": False,
        "app.b": True,
    }
    assert trust(office.senior, capture) == "proposed"
    listed = done(office.senior.get("/memories", {"trust_state": "proposed"}))["results"]
    assert [one["id"] for one in listed] == [capture]


@pytest.mark.rule("TR-04")
def test_what_was_seen_before_it_was_written_makes_nobody_surer(office):
    memory = states(office.senior, "app.a", "1")
    before = seen(office.senior, memory)

    told = verified(
        office.colleague, memory, observed_value="1", observed_at=long_ago(hours=1), **EVIDENCE
    )

    assert "before it was written" in told["note"]
    for name in ("evidence_confidence", "last_verified_at", "trust_state"):
        assert told["memory"][name] == before[name]
    assert (
        verified(office.colleague, memory, observed_value="1", **EVIDENCE)["memory"][
            "evidence_confidence"
        ]
        > before["evidence_confidence"]
    )


@pytest.mark.rule("DI-08", "VE-04")
@pytest.mark.parametrize("first", ["command", "external_recheck"])
@pytest.mark.parametrize("again", ["command", "external_recheck"])
def test_what_was_decided_is_asked_again_on_newer_evidence_alone(office, first, again):
    memory = states(office.senior, "app.a", "1")
    before = at(timezone.now())
    said = {"components": ["app.a"], "observed_value": "2"}
    told = verified(office.contractor, memory, "refuted", method=first, **said)
    done(resolve(office.reviewer, told["conflict"]["id"], keep_both=True))

    for person in (office.contractor, office.colleague):
        older = verified(person, memory, "refuted", method=again, observed_at=before, **said)
        assert "conflict" not in older
        assert "decided about it since" in older["note"]
        assert older["memory"]["trust_state"] == "verified"
    assert disputes(office.reviewer) == []

    newer = verified(office.colleague, memory, "refuted", method=again, **said)
    assert newer["conflict"]["id"] != told["conflict"]["id"]
    assert newer["conflict"]["state"] == "pending"


@pytest.mark.rule("DI-08")
def test_what_became_moot_nobody_has_decided(office):
    memory = states(office.senior, "app.a", "1")
    before = at(timezone.now())
    verified(office.colleague, memory, "refuted", **EVIDENCE)
    done(office.senior.post(f"/memories/{memory}/forget", {"reason": "x"}))
    done(office.senior.post(f"/memories/{memory}/restore"))

    told = verified(office.contractor, memory, "refuted", observed_at=before, **EVIDENCE)

    assert told["conflict"]["state"] == "pending"


@pytest.mark.rule("VE-03")
@pytest.mark.parametrize("waits", [True, False])
def test_what_moves_while_a_verification_waits_is_not_vouched_for(office, waits):
    memory = states(office.senior, "app.a", "1")
    answers = {}

    def looking():
        try:
            body = {"outcome": "confirmed", "method": "self"}
            answers["told"] = posting(office.senior, f"/memories/{memory}/verify", body)()
        finally:
            connections.close_all()

    office.colleague  # noqa: B018  seated before anybody waits
    thread = threading.Thread(target=looking)
    with held(memory, seconds=1.0):
        if waits:
            thread.start()
            threading.Event().wait(0.3)
        reported(office.colleague, "app.a")
    if not waits:
        thread.start()
    thread.join()

    done(answers["told"])
    assert trust(office.senior, memory) == ("dirty" if waits else "verified")
    (look,) = Verification.objects.using("owner").filter(memory=row(memory).id)
    assert (look.observed_at < look.created_at) or not waits


@pytest.mark.rule("TR-08")
def test_where_nothing_is_left_in_its_place_that_is_said_and_people_find_it(office):
    old = states(office.senior, "app.a", "1")
    new = kept(office.senior, "It is another now.", project="apollo", links=replacing(old))
    done(office.senior.post(f"/memories/{new}/forget", {"reason": "it was a mistake"}))

    told = verified(office.colleague, old, observed_value="1", **EVIDENCE)

    assert "conflict" not in told
    assert "restore it" in told["note"]
    assert told["memory"]["trust_state"] == "superseded"
    assert told["memory"]["verifications"][-1]["outcome"] == "confirmed"
    desk = logged_in(office.reviewer)
    assert old in shown(desk, state="automatic").partition(CONFIRMED)[2]
    assert CONFIRMED not in shown(logged_in(office.outsider), state="automatic")
    done(office.senior.post(f"/memories/{old}/restore"))
    assert CONFIRMED not in shown(desk, state="automatic")
    assert trust(office.senior, old) == "verified"


@pytest.mark.rule("TR-08", "DI-02")
def test_what_took_its_place_is_disputed_also_by_who_does_not_write_there(office):
    boss = office.person("boss", grants=[(office.apollo, WRITE), (office.hermes, WRITE)])
    old = kept(boss, "It stands in Dublin.", project="apollo", components=PARTS)
    new = kept(
        boss,
        "It stands in Frankfurt.",
        project="hermes",
        visibility="tenant",
        links=replacing(old),
    )
    challenge = office.colleague.post(f"/memories/{new}/challenge", {"reason": "no"})
    refused(challenge, 403, "forbidden")

    told = verified(office.colleague, old, observed_value="1", **EVIDENCE)

    assert told["conflict"]["memory_a"] == new
    assert told["conflict"]["state"] == "pending"
    # Everybody reads the successor, and not everybody what was found where they do not see.
    assert told["conflict"]["reason"] == f"{old}, which it replaced, was confirmed."
    assert told["conflict"]["evidence"] == ""
    assert seen(boss, new)["lifecycle"] == "live"
    # It is one dispute, however many confirm it, and no licence to dispute anything else.
    again = verified(office.senior, old, observed_value="1", **EVIDENCE)
    assert again["conflict"]["id"] == told["conflict"]["id"]
    other = kept(boss, "Something else.", project="hermes", visibility="tenant")
    refused(
        office.colleague.post(f"/memories/{other}/challenge", {"reason": "no"}), 403, "forbidden"
    )
    assert [one["memory_a"] for one in disputes(boss)] == [new]


@pytest.mark.rule("TR-08", "VI-04")
def test_of_what_is_out_of_sight_in_its_place_nothing_is_told(office):
    boss = office.person("boss", grants=[(office.apollo, WRITE), (office.hermes, WRITE)])
    old = kept(boss, "It stands in Dublin.", components=PARTS, project="apollo")
    new = kept(
        boss,
        "It stands in Frankfurt.",
        project="hermes",
        visibility="tenant",
        links=replacing(old),
    )
    Memory.objects.using("owner").filter(id=read_id(Prefix.MEMORY, new)).update(
        visibility="project"
    )

    told = verified(office.colleague, old, observed_value="1", **EVIDENCE)

    assert "conflict" not in told
    assert "Nothing that you may see" in told["note"]
    assert new not in str(told)
    assert disputes(boss) == []


@pytest.mark.rule("TR-08", "SB-03")
def test_what_was_seen_before_its_successor_was_written_does_not_speak_against_that(office):
    old = states(office.senior, "app.a", "1")
    before = at(timezone.now())
    new = kept(office.senior, "It is another now.", project="apollo", links=replacing(old))

    told = verified(office.colleague, old, observed_value="1", observed_at=before, **EVIDENCE)

    assert "conflict" not in told
    assert "before it was written" in told["note"]
    assert trust(office.senior, new) == "verified"
    told = verified(office.colleague, old, observed_value="1", **EVIDENCE)
    assert told["conflict"]["memory_a"] == new
