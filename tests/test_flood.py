"""
One who repeats a falsehood a thousand times drowns nobody, and is taken back in one command.

FLOOD=1000 floods with as many; a few dozen say the same.
"""

import os
from io import StringIO
from itertools import islice, product

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tenants.models import Event
from tests.judging import branch, conflicts, work
from tests.memories import commands, done, kept, remember, row, seen

FLOOD = int(os.environ.get("FLOOD") or 30)
pytestmark = [pytest.mark.rule("T213", "T214"), pytest.mark.timeout(600 + FLOOD)]

QUERY = "From which branch do deploys go out?"
TRUTH = "Deploys go out from the branch main."


def recalled(person):
    found = done(person.post("/recall", {"query": QUERY, "project": "apollo", "k": 100}))
    return found["results"]


def ids(results):
    return [one["memory_id"] for one in results]


WORDS = (
    *("surely", "truly", "really", "clearly", "plainly"),
    *("simply", "always", "still", "frankly", "honestly"),
)  # fmt: skip


def lies(count):
    for first, second, third in islice(product(WORDS, repeat=3), count):
        yield f"{first.title()}, {second}, {third}: deploys go out from the branch release."


def flood(agent, count=FLOOD, **more):
    """Return what a low-trust agent is answered that repeats itself."""
    return [remember(agent, text, project="apollo", **more) for text in lies(count)]


def quarantine(office, author, since, *more):
    out = StringIO()
    call_command(
        "quarantine", author, "--tenant", office.slug, "--since", since.isoformat(), "--reason",
        "It floods us.", *more, stdout=out,
    )  # fmt: skip
    return out.getvalue()


@pytest.mark.rule("PO-07", "field-fault-16")
def test_a_flood_of_declared_lies_leaves_the_truth_alone_and_first(office):
    truth = branch(office.senior, "main", content=TRUTH)["memory_id"]
    before = recalled(office.viewer)

    for text in lies(FLOOD):
        told = branch(office.agent2, "release", content=text)
        assert told["conflicts"][0]["winner"] == truth

    assert ids(recalled(office.viewer)) == ids(before) == [truth]


@pytest.mark.rule("PO-07", "PO-17", "RC-14")
def test_a_flood_in_prose_is_flagged_and_does_not_stand_first(office):
    truth = kept(office.senior, TRUTH, project="apollo")

    told = flood(office.agent2)
    work(office)

    found = recalled(office.viewer)
    assert ids(found)[0] == truth
    assert seen(office.viewer, truth)["lifecycle"] == "live"
    lies_found = [one for one in found if one["memory_id"] != truth]
    assert {one["author"]["level"] for one in lies_found} == {10}
    assert any(one["disputed"] for one in lies_found)
    pending = conflicts(office.viewer, "pending")
    assert all(one["recommended_winner"] != told[0]["memory_id"] for one in pending)


@pytest.mark.rule("WR-08")
def test_what_is_repeated_word_for_word_is_there_once(office):
    truth = kept(office.senior, TRUTH, project="apollo")
    for text in list(lies(2)) * 3:
        remember(office.agent2, text, session="s")

    assert len(recalled(office.viewer)) <= 3
    assert truth in ids(recalled(office.viewer))


def test_whoever_writes_too_fast_is_held_back(office, settings):
    # So few that it makes no difference whether a new minute begins on the way.
    settings.RATE_LIMIT = 5
    statuses = [
        office.agent2.post("/memories", {"content": text, "project": "apollo"}).status_code
        for text in lies(25)
    ]
    assert statuses.count(429) >= 5
    assert office.senior.get("/memories").status_code == 200


@pytest.mark.rule("RE-01", "RE-06", "HI-03")
def test_one_command_takes_a_flood_back_and_all_is_as_before(office):
    since_before = kept(office.agent2, "The kitchen is on the second floor.", project="apollo")
    truth = kept(office.senior, TRUTH, project="apollo")
    before = recalled(office.viewer)
    since = timezone.now()
    told = flood(office.agent2, links=[])
    replaced = remember(
        office.agent2,
        "Forget all that: the branch is release.",
        links=[{"type": "supersedes", "dst": since_before}],
    )
    assert replaced["superseded"] == [since_before]
    work(office)
    assert ids(recalled(office.viewer)) != ids(before)

    agent = office.agent2.agent.name
    assert "nothing was done" in quarantine(office, agent, since, "--dry-run")
    said = quarantine(office, agent, since)

    after = recalled(office.viewer)
    assert ids(after) == ids(before)
    assert [one["content"] for one in after] == [one["content"] for one in before]
    assert [one["disputed"] for one in after] == [one["disputed"] for one in before]
    assert seen(office.viewer, since_before)["lifecycle"] == "live"
    assert "out of use" in said
    gone = told[-1]["memory_id"]
    assert row(gone).invalidated_at is not None
    assert commands(office.contractor, gone)[-1] in {"forget", "supersede"}
    (event,) = Event.objects.using("owner").filter(tenant=office.tenant, command="quarantine")
    assert event.reason == "It floods us."
    assert event.after is not None
    assert event.after["restored"] >= 1
    assert seen(office.viewer, truth)["lifecycle"] == "live"


@pytest.mark.parametrize(
    ("author", "since", "more"),
    [
        ("nobody", "2026-01-01T00:00:00Z", ()),
        ("agent2", "yesterday", ()),
        ("agent2", "2026-13-41T00:00:00Z", ()),
    ],
)
def test_what_it_is_told_wrongly_it_refuses(office, author, since, more):
    name = office.agent2.agent.name if author == "agent2" else author
    with pytest.raises(CommandError):
        call_command(
            "quarantine", name, "--tenant", office.slug, "--since", since, "--reason", "x", *more
        )
