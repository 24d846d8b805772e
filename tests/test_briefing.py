"""What somebody is told before they begin: rules first, within bounds, and nothing that is over."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from memory import sections
from memory.models import Memory
from memory.trust.activation import count_recall, write_counts
from tests.memories import done, kept, refused, remember, replacing, row


def brief(person, **query):
    return done(person.get("/briefing", {"project": "apollo", **query}))


def ids(items):
    return [one["memory_id"] for one in items]


def aged(memory_id, days):
    """Make it look as if the memory had been written so long ago."""
    written = datetime.now(UTC) - timedelta(days=days)
    Memory.objects.using("owner").filter(id=row(memory_id).id).update(created_at=written)


def write(office, content, **more):
    return kept(office.senior, content, project="apollo", **more)


@pytest.mark.rule("RC-15")
def test_each_section_has_what_belongs_there(office):
    rules = {
        kind: write(office, f"About {kind}: always ask first.", kind=kind)
        for kind in ("gotcha", "convention", "decision", "preference")
    }
    fact = write(office, "The staging host is web1.")
    task = write(office, "Rotate the signing key.", kind="task")
    question = write(office, "Who owns the wiki?", kind="open_question")

    told = brief(office.agent)

    assert set(ids(told["rules"])) == set(rules.values())
    assert ids(told["recent"]) == [fact]
    assert ids(told["open_loops"]["items"]) == [task, question]
    assert (told["open_loops"]["total"], told["open_loops"]["older"]) == (2, 0)
    assert (told["to_verify"], told["disputes"], told["lost"], told["relevant"]) == ([], [], [], [])
    assert told["omitted"] == {}
    assert told["recent"][0]["safe_rendering"] == "The staging host is web1."
    assert told["recent"][0]["author"]["name"] == "senior"
    assert "instruction" in told["content_is"]


@pytest.mark.rule("RC-15", "SU-12")
def test_of_open_loops_ten_are_told_oldest_first_with_their_number(office):
    loops = [write(office, f"Task {number} is to be done.", kind="task") for number in range(13)]
    for days, memory in ((13, loops[12]), (15, loops[0]), (40, loops[1])):
        aged(memory, days)
    done(office.senior.post(f"/memories/{loops[2]}/close"))

    told = brief(office.agent)["open_loops"]

    assert ids(told["items"]) == loops[3:13]
    assert (told["total"], told["older"]) == (10, 2)
    # What is too old for the briefing stays open all the same.
    for old in loops[:2]:
        assert done(office.agent.get(f"/memories/{old}"))["lifecycle"] == "live"
    done(office.senior.post(f"/memories/{loops[2]}/restore"))
    again = brief(office.agent)["open_loops"]
    assert ids(again["items"]) == loops[2:12]
    assert again["total"] == 11


@pytest.mark.rule("RC-15", "SU-04", "RE-02", "RC-08")
def test_what_was_replaced_is_not_there_and_its_successor_is(office):
    old = write(office, "Deploys go out on Monday.", kind="convention")
    new = write(office, "Deploys go out on Friday.", kind="convention", links=replacing(old))
    gone = write(office, "The staging host is web1.")
    done(office.senior.post(f"/memories/{gone}/forget", {"reason": "x"}))
    over = write(office, "The office is closed.", valid_until="2020-01-01T00:00:00Z")

    told = brief(office.agent, task="deploy to the staging host")

    assert ids(told["rules"]) == [new]
    for absent in (old, gone, over, "Monday"):
        assert absent not in json.dumps(told)
    done(office.senior.post(f"/memories/{old}/restore"))
    assert set(ids(brief(office.agent)["rules"])) == {old, new}


@pytest.mark.rule("RC-15", "TR-06")
def test_what_nobody_vouched_for_is_left_out(office):
    for kind in ("convention", "fact", "task"):
        remember(office.watcher, f"A captured {kind} on signing.", kind=kind)

    told = brief(office.agent, task="signing")

    assert (told["rules"], told["recent"], told["relevant"]) == ([], [], [])
    assert told["open_loops"] == {"items": [], "total": 0, "older": 0}


@pytest.mark.rule("RC-15", "TR-02")
def test_what_somebody_else_confirmed_is_told(office):
    captured = remember(office.watcher, "Always sign the release.", kind="convention")["memory_id"]
    found = {"outcome": "confirmed", "method": "document", "evidence": "The handbook says so."}
    done(office.colleague.post(f"/memories/{captured}/verify", found))

    assert ids(brief(office.agent)["rules"]) == [captured]


@pytest.mark.rule("RC-15", "RC-05")
def test_what_is_in_doubt_is_to_be_verified_most_recalled_first(office):
    names = ("port", "host", "branch")
    doubtful = [
        write(
            office,
            f"The {name} of staging.",
            components=[{"subject": f"staging.{name}", "value": name}],
        )
        for name in names
    ]
    due = write(office, "The wiki is at wiki.example.", review_after="2999-01-01T00:00:00Z")
    clean = write(office, "The logo is green.")
    done(office.senior.patch(f"/memories/{due}", {"review_after": datetime.now(UTC).isoformat()}))
    for name in names:
        body = {"project": "apollo", "subject": f"staging.{name}", "summary": "It moved."}
        done(office.colleague.post("/changes", body))
    count_recall(office.agent.caller, [row(doubtful[1]).id] * 5)
    count_recall(office.agent.caller, [row(due).id] * 2)
    count_recall(office.agent.caller, [row(clean).id] * 9)
    write_counts()

    told = brief(office.agent)["to_verify"]

    assert ids(told) == [doubtful[1], due, doubtful[2], doubtful[0]]
    assert [one["temporal_status"] for one in told][:2] == ["verify_before_use", "qualified"]
    assert told[0]["safe_rendering"].startswith("staging.host was last verified as host on ")
    assert told[0]["how_to_verify"]["tool"] == "verify"
    found = {"outcome": "confirmed", "method": "file", "evidence": "I looked."}
    done(office.colleague.post(f"/memories/{doubtful[1]}/verify", found))
    assert doubtful[1] not in ids(brief(office.agent)["to_verify"])


@pytest.mark.rule("RC-15", "DI-01")
def test_disputes_are_told_with_both_sides(office):
    sides = [
        write(
            office,
            f"Branches are cut from {value}.",
            kind="convention",
            components=[{"subject": "git.base", "value": value}],
        )
        for value in ("trunk", "main")
    ]

    (told,) = brief(office.agent)["disputes"]

    assert set(told["memory_ids"]) == set(sides)
    assert told["safe_rendering"].startswith("Sources disagree: (a) ")
    assert brief(office.outsider, project="hermes")["disputes"] == []


@pytest.mark.rule("PO-16", "RC-15")
def test_whoever_lost_automatically_is_told_without_the_text(office):
    lost = write(
        office, "The staging port is 5432.", components=[{"subject": "db.port", "value": "5432"}]
    )
    won = kept(
        office.colleague,
        "The staging port is 5433.",
        project="apollo",
        components=[{"subject": "db.port", "value": "5433"}],
    )

    (told,) = brief(office.senior)["lost"]

    assert (told["memory_id"], told["superseded_by"]) == (lost, won)
    assert "restore" in told["safe_rendering"]
    assert "5432" not in json.dumps(brief(office.senior))
    assert brief(office.colleague)["lost"] == []
    done(office.senior.post(f"/memories/{lost}/restore"))
    assert brief(office.senior)["lost"] == []


@pytest.mark.rule("RC-15", "RC-12")
def test_it_stays_within_its_length_and_says_what_was_left_out(office):
    for number in range(12):
        write(office, f"Rule {number}: " + "mind the gap, " * 30, kind="convention")
        write(office, f"Fact {number}: " + "it is so, " * 30)
    task = write(office, "Rotate the signing key.", kind="task")

    whole = brief(office.agent, max_tokens=100_000)
    short = brief(office.agent, max_tokens=2000)
    nothing = brief(office.agent, max_tokens=1)

    assert (len(whole["rules"]), whole["omitted"]) == (12, {})
    assert short["tokens"] <= 2000 < whole["tokens"]
    # Rules come first, and leave room for the rest.
    assert short["rules"]
    assert ids(short["open_loops"]["items"]) == [task]
    assert short["omitted"]["rules"] == 12 - len(short["rules"])
    assert short["omitted"]["recent"] == len(whole["recent"]) - len(short["recent"])
    assert ids(short["rules"]) == [one for one in ids(whole["rules"]) if one in ids(short["rules"])]
    assert (nothing["tokens"], nothing["rules"]) == (0, [])
    assert nothing["omitted"]["rules"] == 12


@pytest.mark.rule("RC-15")
def test_a_task_brings_what_is_relevant_also_without_an_embedder(office, settings):
    about = write(office, "Invoices are printed by the service billing-print.")
    other = write(office, "The logo is green.")

    assert ids(brief(office.agent, task="print an invoice")["relevant"])[0] == about
    settings.EMBEDDER, settings.EMBEDDER_BASE_URL = "openai:nobody-there", "http://127.0.0.1:9/v1"
    words = brief(office.agent, task="invoices")
    assert ids(words["relevant"]) == [about]
    assert ids(words["recent"]) == [other]


@pytest.mark.rule("RC-15", "VI-03", "T002")
def test_it_covers_the_project_the_tenant_and_ones_own_and_nothing_else(office):
    personal = {
        name: kept(getattr(office, name), f"{name} likes tea.", kind="preference")
        for name in ("senior", "colleague")
    }
    shared = kept(office.outsider, "Write plainly.", kind="convention", visibility="tenant")
    elsewhere = kept(office.outsider, "Use tabs.", kind="convention", project="hermes")
    here = write(office, "Use spaces.", kind="convention")

    def rules(person, **query):
        return set(ids(brief(person, **query)["rules"]))

    assert rules(office.senior) == {personal["senior"], shared, here}
    assert rules(office.agent) == {shared, here}
    assert rules(office.reviewer, project="hermes") == {shared, elsewhere}


@pytest.mark.rule("RC-15")
def test_an_agent_is_briefed_on_its_own_project_and_a_person_names_one(office):
    rule = write(office, "Use spaces.", kind="convention")

    assert ids(done(office.agent.get("/briefing"))["rules"]) == [rule]
    refused(office.senior.get("/briefing"), 400, "validation_failed", "project")
    for wrong, field in (
        ({"project": "hermes"}, "project"),
        ({"project": "prj_x"}, "project"),
        ({"project": "apollo", "max_tokens": "0"}, "max_tokens"),
        ({"project": "apollo", "colour": "red"}, "colour"),
        ({"project": "apollo", "task": "x" * 8193}, "task"),
    ):
        refused(office.senior.get("/briefing", wrong), 400, "validation_failed", field)
    assert office.person("blind", scopes=()).get("/briefing").status_code == 403


@pytest.mark.rule("RC-15", "TR-06")
def test_captures_crowd_nothing_out_of_what_is_to_be_verified(office):
    stated = [{"subject": "crowd.x", "value": "1"}]
    known = write(office, "The crowd is known.", components=stated)
    for number in range(55):
        said = [{"subject": "crowd.x", "value": f"{number}", "multi": True}]
        remember(office.watcher, f"Capture {number} of a crowd.", components=said)
    done(
        office.colleague.post(
            "/changes", {"project": "apollo", "subject": "crowd.x", "summary": "It moved."}
        )
    )

    assert ids(brief(office.senior)["to_verify"]) == [known]


@pytest.mark.rule("RC-15")
def test_how_much_more_is_to_be_verified_is_said(office):
    memories = [write(office, f"Part {one} of it.", subjects=["many.x"]) for one in range(13)]
    done(
        office.colleague.post(
            "/changes", {"project": "apollo", "subject": "many.x", "summary": "It moved."}
        )
    )

    told = brief(office.senior)

    assert len(told["to_verify"]) + told["omitted"]["to_verify"] == len(memories)
    assert brief(office.senior, max_tokens=20_000)["omitted"]["to_verify"] == 3


@pytest.mark.rule("RC-12", "RC-15")
@pytest.mark.parametrize("most", [4, 6, 7])
def test_what_was_not_even_looked_at_is_counted_as_left_out(office, monkeypatch, most):
    """There may be more of both than a briefing looks at."""
    monkeypatch.setattr(sections, "MOST_RULES", most)
    monkeypatch.setattr(sections, "MOST_IN_DOUBT", most)
    for number in range(6):
        write(office, f"Rule {number}.", kind="convention")
        write(office, f"Part {number}.", subjects=["many.x"])
    change = {"project": "apollo", "subject": "many.x", "summary": "It moved."}
    done(office.colleague.post("/changes", change))
    listed = done(office.senior.get("/needs-verification", {"project": "apollo"}))["count"]

    told = brief(office.senior, max_tokens=20_000)

    assert len(told["rules"]) + told["omitted"].get("rules", 0) == 6
    assert len(told["to_verify"]) + told["omitted"].get("to_verify", 0) == listed == 6


@pytest.mark.rule("RC-15", "SB-01", "VI-03")
def test_the_list_and_the_briefing_know_of_the_same(office):
    """What its changes mark outside of it is there, too; nothing of another project is."""
    stated = {"components": [{"subject": "same.x", "value": "1"}]}
    inside = write(office, "In the project.", **stated)
    personal = kept(office.senior, "Mine alone.", scope="personal", **stated)
    shared = kept(office.senior, "For everybody.", scope="personal", visibility="tenant", **stated)
    foreign = kept(office.reviewer, "Elsewhere.", project="hermes", **stated)
    for project in ("apollo", "hermes"):
        change = {"project": project, "subject": "same.x", "summary": "It moved."}
        done(office.reviewer.post("/changes", change))
    captured = remember(office.watcher, "Captured only.", **stated)["memory_id"]
    disputed = write(office, "In dispute.", subjects=["same.y"])
    done(
        office.colleague.post(
            "/changes", {"project": "apollo", "subject": "same.y", "summary": "It moved."}
        )
    )
    done(office.colleague.post(f"/memories/{disputed}/challenge", {"reason": "I doubt it."}))
    bot = office.bot("mine", office.senior, personal=True)

    for person, expected in (
        (office.senior, {inside, personal, shared}),
        (bot, {inside, personal, shared}),
        (office.agent, {inside, shared}),
        (office.colleague, {inside, shared}),
        (office.reviewer, {inside, shared}),
    ):
        listed = done(person.get("/needs-verification", {"project": "apollo"}))["results"]
        assert {one["id"] for one in listed} == expected, person.name
        assert set(ids(brief(person)["to_verify"])) == expected, person.name
    elsewhere = done(office.reviewer.get("/needs-verification", {"project": "hermes"}))["results"]
    assert {one["id"] for one in elsewhere} == {foreign, shared}
    assert captured not in {inside, personal, shared}
