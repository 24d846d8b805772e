"""Several doing the same thing at the same moment, each on a connection of its own."""

import threading
from dataclasses import replace

import pytest

from memory.models import Link, Memory, SettledPair
from tenants.caller import Once
from tenants.models import Event, IdempotencyKey
from tenants.once import writing_as
from tests.memories import (
    commands,
    done,
    held,
    kept,
    memories_of,
    posting,
    refused,
    remember,
    replacing,
    row,
    seen,
    together,
)

OLD, NEW = (
    "The staging database listens on port 5432.",
    "The staging database listens on port 5433.",
)


def told(answers):
    """Return the answers to writes, none of which may have failed."""
    assert {answer.status_code for answer in answers} <= {200, 201}, [
        one.content for one in answers
    ]
    return [answer.json() for answer in answers]


def links_to(memory_id):
    found = Link.objects.using("owner").filter(dst=row(memory_id).id, removed_at=None)
    return found.filter(type="supersedes").count()


def goes_round(office):
    """Return whether some chain of successors comes back to where it began."""
    stored = Memory.objects.using("owner").filter(tenant=office.tenant)
    after = dict(stored.values_list("id", "superseded_by_id"))
    for one in after:
        walked, here = set(), one
        while here is not None:
            if here in walked:
                return True
            walked.add(here)
            here = after[here]
    return False


@pytest.mark.rule("SU-16", "T143")
@pytest.mark.parametrize("turn", range(3))
def test_of_two_that_replace_one_memory_one_does(office, turn):
    old = kept(office.agent, OLD)
    body = {"links": replacing(old), "project": "apollo"}
    writes = [
        posting(person, "/memories", {**body, "content": f"{NEW} Says {person.name}, {turn}."})
        for person in (office.senior, office.colleague)
    ]

    with held(old):
        answers = told(together(*writes))

    winners = [one for one in answers if one["superseded"] == [old]]
    losers = [one for one in answers if one["skipped"] == [{"id": old, "reason": "dead"}]]
    assert (len(winners), len(losers)) == (1, 1)
    assert seen(office.agent, old)["superseded_by"] == winners[0]["memory_id"]
    assert links_to(old) == 1
    assert commands(office.agent, old) == ["remember", "supersede"]
    assert memories_of(office) == 3


@pytest.mark.rule("SU-16", "WR-06", "T144")
def test_the_same_supersede_twice_at_once_has_one_effect(office):
    old = kept(office.agent, OLD)
    body = {"content": NEW, "links": replacing(old)}

    with held(old):
        first, second = told(together(*[posting(office.agent, "/memories", body)] * 2))

    assert first["memory_id"] == second["memory_id"]
    assert {first["absorbed"], second["absorbed"]} == {True, False}
    assert sorted([first["superseded"], second["superseded"]]) == [[], [old]]
    assert links_to(old) == 1
    assert memories_of(office) == 2


@pytest.mark.rule("WR-05", "T144", "T153")
def test_the_same_supersede_with_one_key_is_answered_alike(office):
    old = kept(office.agent, OLD)
    body = {"content": NEW, "links": replacing(old)}

    calls = [posting(office.agent, "/memories", body, **{"Idempotency-Key": "k"}) for _ in range(2)]
    first, second = told(together(*calls))

    assert first == second
    assert (first["absorbed"], first["superseded"]) == (False, [old])
    assert commands(office.agent, old) == ["remember", "supersede"]


@pytest.mark.rule("SU-15", "T145")
@pytest.mark.parametrize("turn", range(3))
def test_two_that_replace_each_other_make_no_circle(office, turn):
    one, other = kept(office.agent, f"{OLD} {turn}."), kept(office.agent, f"{NEW} {turn}.")

    with held(one, other):
        answers = told(
            together(
                posting(
                    office.agent,
                    "/memories",
                    {"content": f"{OLD} {turn}.", "links": replacing(other)},
                ),
                posting(
                    office.agent,
                    "/memories",
                    {"content": f"{NEW} {turn}.", "links": replacing(one)},
                ),
            )
        )

    assert not goes_round(office)
    live = Memory.objects.using("owner").filter(tenant=office.tenant, lifecycle="live")
    assert live.count() == 1
    assert sum(len(answer["superseded"]) for answer in answers) in (1, 2)


@pytest.mark.rule("SU-15", "T145")
@pytest.mark.parametrize("turn", range(3))
def test_two_links_that_close_a_circle_together_are_one(office, turn):
    one, other = kept(office.agent, f"{OLD} {turn}."), kept(office.agent, f"{NEW} {turn}.")

    answers = together(
        posting(office.agent, "/links", {"src": one, "dst": other, "type": "supersedes"}),
        posting(office.agent, "/links", {"src": other, "dst": one, "type": "supersedes"}),
    )

    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert links_to(one) + links_to(other) == 1


@pytest.mark.rule("HI-03")
def test_the_same_link_drawn_often_at_once_is_one(office):
    one, other = kept(office.agent, OLD), kept(office.agent, NEW)
    body = {"src": one, "dst": other, "type": "relates_to"}

    answers = told(together(*[posting(office.agent, "/links", body) for _ in range(6)]))

    assert len({answer["id"] for answer in answers}) == 1
    assert commands(office.agent, one) == ["remember", "link"]


@pytest.mark.rule("SU-16")
@pytest.mark.parametrize("turn", range(4))
def test_writes_that_replace_and_relate_crosswise_do_not_wait_in_a_circle(office, turn):
    one, other = kept(office.agent, f"{OLD} {turn}."), kept(office.agent, f"{NEW} {turn}.")

    def crossing(person, takes, names):
        links = [*replacing(takes), {"type": "relates_to", "dst": names}]
        body = {"content": f"New from {person.name}.", "project": "apollo", "links": links}
        return posting(person, "/memories", body | {"depends_on": [names]})

    with held(one, other):
        answers = told(
            together(
                crossing(office.senior, one, other),
                crossing(office.colleague, other, one),
                posting(office.senior, "/links", {"src": one, "dst": other, "type": "contradicts"}),
            )
        )

    assert [answer["superseded"] for answer in answers[:2]] == [[one], [other]]


@pytest.mark.rule("RE-02", "T146")
@pytest.mark.parametrize("turn", range(4))
def test_restoring_and_replacing_at_once_come_one_after_the_other(office, turn):
    old = kept(office.agent, f"{OLD} {turn}.")
    first = remember(office.agent, f"{NEW} {turn}.", links=replacing(old))["memory_id"]

    with held(old):
        restored, written = together(
            posting(office.senior, f"/memories/{old}/restore"),
            posting(
                office.agent, "/memories", {"content": f"Later {turn}.", "links": replacing(old)}
            ),
        )

    assert restored.status_code == 200
    second = done(written)
    after = seen(office.agent, old)
    if second["superseded"]:
        assert (after["superseded_by"], links_to(old)) == (second["memory_id"], 1)
    else:
        assert second["skipped"] == [{"id": old, "reason": "dead"}]
        assert (after["lifecycle"], after["superseded_by"], links_to(old)) == ("live", None, 0)
    assert seen(office.agent, first)["lifecycle"] == "live"


@pytest.mark.rule("RE-04", "T147")
@pytest.mark.parametrize("turn", range(3))
def test_of_two_that_restore_one_does(office, turn):
    old = kept(office.agent, f"{OLD} {turn}.")
    new = remember(office.agent, f"{NEW} {turn}.", links=replacing(old))["memory_id"]

    with held(old):
        answers = together(
            posting(office.senior, f"/memories/{old}/restore"),
            posting(office.colleague, f"/memories/{old}/restore"),
        )

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    refused(next(one for one in answers if one.status_code == 409), 409, "already_live")
    assert commands(office.agent, old) == ["remember", "supersede", "restore_memory"]
    low, high = sorted((row(old).id, row(new).id))
    assert SettledPair.objects.using("owner").filter(low=low, high=high).count() == 1


@pytest.mark.rule("HI-03", "T147")
@pytest.mark.parametrize("verbs", [("forget", "forget"), ("forget", "close"), ("close", "close")])
def test_of_two_that_retire_one_does(office, verbs):
    memory_id = kept(office.agent, OLD, kind="task")
    bodies = {"forget": {"reason": "x"}, "close": {}}

    with held(memory_id):
        answers = together(
            *[
                posting(office.agent, f"/memories/{memory_id}/{verb}", bodies[verb])
                for verb in verbs
            ]
        )

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert len(commands(office.agent, memory_id)) == 2


@pytest.mark.rule("WR-06", "T151")
def test_the_same_text_written_often_at_once_is_one_memory(office, other_office):
    body = {"content": OLD}
    writes = [posting(office.agent, "/memories", body) for _ in range(25)]
    private = [posting(office.agent, "/memories", {**body, "visibility": "private"})]
    elsewhere = [posting(other_office.agent, "/memories", body) for _ in range(2)]
    another = [posting(office.agent2, "/memories", body) for _ in range(2)]

    answers = told(together(*writes, *private, *elsewhere, *another))

    assert len({answer["memory_id"] for answer in answers[:25]}) == 1
    assert [answer["absorbed"] for answer in answers[:25]].count(False) == 1
    assert len({answer["memory_id"] for answer in answers}) == 4
    assert (memories_of(office), memories_of(other_office)) == (3, 1)
    events = Event.objects.using("owner").filter(memory_id=row(answers[0]["memory_id"]).id)
    assert events.count() == 25


@pytest.mark.rule("WR-06")
@pytest.mark.parametrize("turn", range(2))
def test_writers_of_every_rank_at_once_leave_one_memory_of_the_highest(office, turn):
    text = f"{OLD} {turn}."
    answers = told(
        together(
            posting(office.watcher, "/memories", {"content": text}),
            posting(office.agent, "/memories", {"content": text}),
            posting(office.senior, "/memories", {"content": text, "project": "apollo"}),
        )
    )

    live = Memory.objects.using("owner").filter(tenant=office.tenant, lifecycle="live")
    assert [memory.provenance_rank for memory in live] == [2]
    assert answers[2]["absorbed"] is False
    assert not goes_round(office)


@pytest.mark.rule("WR-06", "T152")
@pytest.mark.parametrize("turn", range(4))
def test_repeating_and_forgetting_at_once_leave_what_one_order_would(office, turn):
    text = f"{OLD} {turn}."
    known = kept(office.agent, text)

    with held(known):
        repeated, forgotten = together(
            posting(office.agent, "/memories", {"content": text}),
            posting(office.senior, f"/memories/{known}/forget", {"reason": "x"}),
        )

    assert forgotten.status_code == 200
    answer = done(repeated)
    live = Memory.objects.using("owner").filter(tenant=office.tenant, lifecycle="live")
    if answer["absorbed"]:
        assert commands(office.senior, known) == ["remember", "absorb", "forget"]
        assert live.count() == 0
    else:
        assert [memory.id for memory in live] == [row(answer["memory_id"]).id]


@pytest.mark.rule("WR-06", "T152")
@pytest.mark.parametrize("turn", range(4))
def test_repeating_and_replacing_at_once_never_lose_both(office, turn):
    text = f"{OLD} {turn}."
    known = kept(office.agent, text)

    with held(known):
        repeated, replaced = told(
            together(
                posting(office.agent, "/memories", {"content": text}),
                posting(office.agent, "/memories", {"content": NEW, "links": replacing(known)}),
            )
        )

    live = set(
        Memory.objects.using("owner")
        .filter(tenant=office.tenant, lifecycle="live")
        .values_list("content", flat=True)
    )
    assert replaced["superseded"] == [known]
    assert live == ({NEW} if repeated["absorbed"] else {NEW, text})


@pytest.mark.rule("WR-05", "T153", "field-fault-23")
def test_one_key_sent_often_at_once_is_one_write(office):
    body = {"content": OLD, "kind": "episode"}

    calls = [
        posting(office.agent, "/memories", body, **{"Idempotency-Key": "k"}) for _ in range(15)
    ]
    answers = together(*calls)

    assert {answer.status_code for answer in answers} == {201}
    assert all(answer.json() == answers[0].json() for answer in answers)
    assert memories_of(office) == 1
    assert commands(office.agent, answers[0].json()["memory_id"]) == ["remember"]
    assert IdempotencyKey.objects.using("owner").filter(tenant=office.tenant).count() == 1


@pytest.mark.rule("WR-05", "T153")
def test_when_the_first_with_a_key_fails_the_next_does_the_work(office):
    body = {"content": OLD}
    claimed, others_wait = threading.Event(), threading.Event()
    key = Once("remember", "k", b"x" * 32)

    def fail_in_the_middle():
        with writing_as(replace(office.agent.caller, once=key)):
            claimed.set()
            others_wait.wait(0.5)
            raise RuntimeError("killed in the middle")

    def crash():
        with pytest.raises(RuntimeError, match="in the middle"):
            fail_in_the_middle()

    def retry():
        claimed.wait(10)
        return posting(office.agent, "/memories", body, **{"Idempotency-Key": "k"})()

    _, retried = together(crash, retry)

    assert retried.status_code == 201
    assert memories_of(office) == 1


@pytest.mark.rule("T158")
@pytest.mark.parametrize("turn", range(3))
def test_of_two_changes_of_one_version_one_is_made(office, turn):
    memory_id = kept(office.agent, f"{OLD} {turn}.")
    path = f"/memories/{memory_id}"

    def patching(person, tags):
        own = replace(person, client=type(person.client)())
        return lambda: own.patch(path, {"tags": tags}, **{"If-Match": "1"})

    with held(memory_id):
        answers = together(patching(office.senior, ["one"]), patching(office.agent, ["two"]))

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    made = next(answer for answer in answers if answer.status_code == 200).json()
    after = seen(office.agent, memory_id)
    assert (after["tags"], after["version"]) == (made["tags"], 2)
    assert commands(office.agent, memory_id) == ["remember", "patch_memory"]


@pytest.mark.rule("T158", "WR-06")
def test_changes_without_a_version_are_all_made(office):
    memory_id = kept(office.agent, OLD)
    path = f"/memories/{memory_id}"

    def absorbing(tag):
        return posting(office.agent, "/memories", {"content": OLD, "tags": [tag]})

    def patching():
        own = replace(office.senior, client=type(office.senior.client)())
        return own.patch(path, {"importance": 0.9})

    with held(memory_id):
        answers = together(*[absorbing(f"t{number}") for number in range(4)], patching)

    assert {answer.status_code for answer in answers} == {200}
    after = seen(office.agent, memory_id)
    assert sorted(after["tags"]) == ["t0", "t1", "t2", "t3"]
    assert (after["importance"], after["version"]) == (0.9, 6)


@pytest.mark.rule("SU-18")
@pytest.mark.parametrize("turn", range(3))
def test_a_target_shown_to_more_meanwhile_is_weighed_again(office, turn):
    old = kept(office.senior, f"{OLD} {turn}.", project="apollo", visibility="private")
    own = replace(office.senior, client=type(office.senior.client)())
    body = {
        "content": f"{NEW} {turn}.",
        "project": "apollo",
        "visibility": "private",
        "links": replacing(old),
    }

    with held(old):
        patched, written = together(
            lambda: own.patch(f"/memories/{old}", {"visibility": "project"}),
            posting(office.senior, "/memories", body),
        )

    after = seen(office.senior, old)
    answer = done(written)
    if answer["superseded"]:
        # Replaced first: then it is shown to nobody who could not read what replaced it.
        assert (after["lifecycle"], patched.status_code) == ("superseded", 409)
    else:
        assert answer["skipped"] == [{"id": old, "reason": "narrower_audience"}]
        assert (after["lifecycle"], after["visibility"]) == ("live", "project")
    assert patched.status_code in (200, 409)
    if after["lifecycle"] == "superseded":
        assert after["visibility"] == "private"
