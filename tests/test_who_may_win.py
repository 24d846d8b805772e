"""Of a pair, only that is named as a winner which would be taken, and all the rest is refused."""

import re
from datetime import UTC, datetime
from itertools import count

import pytest

from memory.models import Memory
from memory.winning import decision_of
from tenants.ids import Prefix, wire_id
from tests.memories import done, remember, row

NUMBERS = count(1)


def two(office, *places):
    """Return two memories that contradict each other, and their dispute, open."""
    subject = f"winner.n{next(NUMBERS)}"
    ids = [
        remember(
            office.senior,
            f"The {animal} of {subject}.",
            kind="convention",
            components=[{"subject": subject, "value": animal}],
            **place,
        )["memory_id"]
        for animal, place in zip(("wombat", "numbat"), places, strict=True)
    ]
    assert told(office.senior, ids[0])["disputed"]
    return ids


def told(person, memory):
    body = {"query": "Which wombat or numbat?", "k": 100, "consequence": "high"}
    found = done(person.post("/recall", body))["results"]
    return next(one for one in found if one["memory_id"] == memory)


def ended(memory):
    Memory.objects.using("owner").filter(id=row(memory).id).update(valid_until=datetime.now(UTC))


PROJECT = {"project": "apollo"}
PRIVATE = {"project": "apollo", "visibility": "private"}
TENANT = {"project": "apollo", "visibility": "tenant"}


@pytest.mark.rule("RC-07", "DI-04", "SU-18", "DE-08")
@pytest.mark.parametrize(
    ("places", "winners"),
    [
        ((PROJECT, PROJECT), {0, 1}),
        ((PROJECT, PRIVATE), {0}),
        ((PRIVATE, PROJECT), {1}),
        ((PROJECT, TENANT), {1}),
        ((TENANT, PRIVATE), {0}),
    ],
)
def test_that_is_named_as_a_winner_which_would_be_taken(office, places, winners):
    ids = two(office, *places)

    how = told(office.senior, ids[0])["how_to_verify"]

    assert how["yours"]
    named = set(re.findall(r"mem_\w+", how["arguments"]["winner"]))
    assert named == {ids[one] for one in winners}
    assert (len(winners) == 2) != ("keep_both: true" in how["arguments"]["winner"])
    path = how["path"].removeprefix("/api/v1")
    for other in set(ids) - named:
        refused = office.senior.post(path, how["arguments"] | {"winner": other})
        assert refused.json()["errors"][0]["code"] == "narrower_audience"
    done(office.senior.post(path, how["arguments"] | {"winner": named.pop()}))


@pytest.mark.rule("RC-07", "DI-04")
def test_where_either_would_be_refused_both_are_kept(office):
    """The one has ended by its own word, and the other is not read by all who read it."""
    wide, narrow = two(office, PROJECT, PRIVATE)
    ended(wide)

    how = told(office.senior, narrow)["how_to_verify"]

    assert how["arguments"] == {"keep_both": True, "note": "what you saw"}
    done(office.senior.post(how["path"].removeprefix("/api/v1"), how["arguments"]))
    assert told(office.senior, narrow)["how_to_verify"] is None


@pytest.mark.rule("RC-07", "DI-12")
def test_nothing_wins_over_what_whoever_decides_may_not_retire(office):
    one, other = (row(memory) for memory in two(office, PROJECT, PROJECT))

    said = decision_of((one, other), lambda memory: memory.id == one.id)

    assert re.findall(r"mem_\w+", said["winner"]) == [wire_id(Prefix.MEMORY, other.id)]
    assert decision_of((one, other), lambda _: False) == {"keep_both": True}
