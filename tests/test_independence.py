"""Whose word about a memory is its author's own, whoever the author's sponsor is by now."""

from io import StringIO

import pytest
from django.core.management import call_command

from memory.independence import is_independent
from memory.models import Memory
from tenants.context import acting_as
from tenants.ids import Prefix, read_id, wire_id
from tests.dirty import reported, states, verified
from tests.judging import certified, conflicts, says, work
from tests.memories import done, kept, remember, seen
from tests.test_judging import model, server

__all__ = ["certified", "model", "server"]

EVIDENCE = {"method": "command", "evidence": "ran it"}


def goes_over_to(office, bot, sponsor):
    """Have an agent go on under another sponsor."""
    answer = office.admin.patch(
        f"/agents/{wire_id(Prefix.AGENT, bot.agent.id)}",
        {"sponsor": wire_id(Prefix.MEMBER, sponsor.member.id)},
    )
    done(answer)


def confidence(office, memory):
    """Return the evidence confidence as it is told, which the command works out to be the same."""
    told = float(seen(office.reviewer, memory)["evidence_confidence"])
    out = StringIO()
    call_command("evidence_confidence", memory, stdout=out)
    assert out.getvalue().splitlines()[-1] == f"evidence_confidence {told}"
    return told


def parts(subject, value="1"):
    return [{"subject": subject, "value": value}]


@pytest.mark.rule("TR-04", "TR-02")
def test_an_author_stays_its_author_under_another_sponsor(office):
    memory = kept(office.agent, "Written by an agent.", components=parts("app.a"))
    before = confidence(office, memory)
    goes_over_to(office, office.agent, office.colleague)

    told = verified(office.agent, memory, observed_value="1", **EVIDENCE)

    assert [one["independent"] for one in told["memory"]["verifications"]] == [False, False]
    assert confidence(office, memory) == before
    # Its sponsor now has written nothing of it, and looks for themselves.
    told = verified(office.colleague, memory, observed_value="1", **EVIDENCE)
    assert told["memory"]["verifications"][-1]["independent"]
    assert confidence(office, memory) > before


@pytest.mark.rule("TR-06", "TR-01")
@pytest.mark.parametrize("stated", [[], parts("app.a")])
def test_a_capture_is_not_lifted_by_its_author_under_another_sponsor(office, stated):
    capture = kept(office.watcher, "Captured by the way.", components=stated)
    goes_over_to(office, office.watcher, office.colleague)
    value = {"observed_value": "1"} if stated else {}

    told = verified(office.watcher, capture, **EVIDENCE, **value)

    assert told["memory"]["trust_state"] == "proposed"
    listed = done(office.senior.get("/memories", {"trust_state": "proposed"}))["results"]
    assert [one["id"] for one in listed] == [capture]
    assert verified(office.colleague, capture, **EVIDENCE)["memory"]["trust_state"] == "verified"
    listed = done(office.senior.get("/memories", {"trust_state": "verified"}))["results"]
    assert [one["id"] for one in listed] == [capture]


@pytest.mark.rule("TR-04")
def test_an_agent_is_one_source_under_however_many_sponsors(office):
    memory = kept(office.colleague, "Three look.", project="apollo", components=parts("app.a"))
    other = kept(office.colleague, "One looks.", project="apollo", components=parts("app.b"))
    rover = office.bot("rover", office.senior)
    verified(rover, other, observed_value="1", **EVIDENCE)

    for sponsor in (office.senior, office.contractor, office.reviewer):
        goes_over_to(office, rover, sponsor)
        verified(rover, memory, observed_value="1", **EVIDENCE)

    assert confidence(office, memory) == confidence(office, other)
    # Two of its sponsors look for themselves: the first is the one for whom it spoke.
    verified(office.senior, memory, observed_value="1", **EVIDENCE)
    assert confidence(office, memory) == confidence(office, other)
    verified(office.reviewer, memory, observed_value="1", **EVIDENCE)
    assert confidence(office, memory) > confidence(office, other)


@pytest.mark.rule("TR-04", "WR-09")
def test_an_agent_that_wrote_the_same_twice_is_one_source(office):
    text = {"content": "Invoices are sent on the first.", "project": "apollo"}
    memory = kept(office.colleague, text["content"], project="apollo")
    rover = office.bot("rover", office.senior)
    done(rover.post("/memories", text))
    once = confidence(office, memory)
    assert once > 0.5

    goes_over_to(office, rover, office.reviewer)
    done(rover.post("/memories", text))

    assert confidence(office, memory) == once
    # Having looked as well it is one who has looked, and no other beside.
    verified(rover, memory, **EVIDENCE)
    assert confidence(office, memory) == confidence_of_one_who_looked(office)


def confidence_of_one_who_looked(office):
    memory = kept(office.colleague, "Looked at by one alone.", project="apollo")
    verified(office.reviewer, memory, **EVIDENCE)
    return confidence(office, memory)


@pytest.mark.rule("VE-06")
def test_the_bare_word_of_an_author_counts_under_another_sponsor(office):
    low = office.bot("low", office.contractor, level=10)
    memory = kept(low, "Written by an agent.", components=parts("app.a"))
    above = states(office.senior, "app.a", "1", content="senior: app.a is 1, too.")
    reported(office.reviewer, "app.a")
    goes_over_to(office, low, office.colleague)

    assert verified(low, memory)["memory"]["trust_state"] == "verified"
    assert verified(low, above)["memory"]["trust_state"] == "dirty"


@pytest.mark.rule("PO-08", "TR-04")
@pytest.mark.parametrize("who", ["author", "another"])
def test_where_two_contradict_each_other_only_others_are_asked(office, certified, who):
    says(certified, "contradiction")
    bot = office.bot("author", office.senior)
    old = remember(bot, "The site goes out from the branch main.")["memory_id"]
    new = remember(office.colleague, "The site goes out from the branch release.", project="apollo")
    goes_over_to(office, bot, office.reviewer)
    verified(bot if who == "author" else office.reviewer, old, **EVIDENCE)

    work(office)

    (found,) = conflicts(office.viewer)
    assert found["state"] == ("resolved" if who == "author" else "pending")
    assert found["winner"] == (new["memory_id"] if who == "author" else None)


@pytest.mark.rule("TR-04", "TR-06")
def test_python_and_the_database_say_the_same(office):
    written = [states(office.senior, "app.a", "1"), kept(office.agent, "By an agent.")]
    speakers = [
        (office.senior.member.id, None),
        (office.senior.member.id, office.agent.agent.id),
        (office.senior.member.id, office.watcher.agent.id),
        (office.colleague.member.id, None),
        (office.colleague.member.id, office.agent.agent.id),
        (office.colleague.member.id, office.agent2.agent.id),
    ]
    with acting_as(office.senior.caller):
        memories = Memory.objects.filter(id__in=[read_id(Prefix.MEMORY, one) for one in written])
        for memory in memories:
            for member, agent in speakers:
                said = Memory.objects.raw(
                    "SELECT id, is_independent(%s, %s, owner_id, author_agent_id) AS said "
                    "FROM memories WHERE id = %s",
                    [member, agent, memory.id],
                )
                assert vars(said[0])["said"] == is_independent(memory, member, agent)
