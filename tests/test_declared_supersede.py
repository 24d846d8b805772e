"""Declaring what a new memory replaces: what is retired, what is skipped, what is refused."""

from itertools import pairwise

import pytest

from memory.models import Link, SettledPair
from tests.memories import (
    MISSING,
    commands,
    done,
    kept,
    memories_of,
    recalled,
    refused,
    remember,
    replacing,
    row,
    seen,
)
from tests.people import WRITE

OLD, NEW = (
    "The staging database listens on port 5432.",
    "The staging database listens on port 5433.",
)


def links_to(memory_id):
    """Return the links that lead to a memory, whoever may see them."""
    found = Link.objects.using("owner").filter(dst=row(memory_id).id, removed_at=None)
    return [(link.type, link.src_id) for link in found]


@pytest.mark.rule("SU-01", "SU-02", "SU-03", "SU-04", "field-fault-19")
def test_the_new_memory_is_kept_and_the_old_one_points_to_it(office):
    old = kept(office.agent, OLD)
    before = seen(office.agent, old)

    answer = office.agent.post("/memories", {"content": NEW, "links": replacing(old)})

    assert answer.status_code == 201
    told = answer.json()
    new = told["memory_id"]
    assert (told["superseded"], told["skipped"], told["conflicts"]) == ([old], [], [])
    after = seen(office.agent, old)
    assert after["content"] == before["content"] == OLD
    assert (after["lifecycle"], after["trust_state"]) == ("superseded", "superseded")
    assert (after["superseded_by"], after["invalidated_reason"]) == (new, "superseded")
    assert after["invalidated_at"] == after["superseded_at"] > before["created_at"]
    assert [(link["type"], link["src"], link["dst"]) for link in after["links"]] == [
        ("supersedes", new, old)
    ]
    assert seen(office.agent, new)["supersedes"] == [old]
    assert after["chain"][0]["supersede_reason"] == "declared"
    assert recalled(office.agent, "staging database port") == [NEW]
    low, high = sorted((row(old).id, row(new).id))
    assert SettledPair.objects.using("owner").filter(low=low, high=high).count() == 1
    assert commands(office.agent, old) == ["remember", "supersede"]


@pytest.mark.rule("SU-05")
def test_ten_targets_are_retired_and_eleven_are_refused(office):
    targets = [kept(office.agent, f"Fact {number} about the old office.") for number in range(11)]

    refused(
        office.agent.post(
            "/memories", {"content": "We moved to a new office.", "links": replacing(*targets)}
        ),
        400,
        "validation_failed",
        "links",
    )
    assert memories_of(office) == 11
    assert {seen(office.agent, one)["lifecycle"] for one in targets} == {"live"}

    told = remember(office.agent, "We moved to a new office.", links=replacing(*targets[:10]))
    assert told["superseded"] == targets[:10]


@pytest.mark.rule("SU-05")
def test_the_same_target_said_often_counts_once(office):
    old = kept(office.agent, OLD)

    told = remember(office.agent, NEW, links=replacing(*[old] * 12))

    assert (told["superseded"], told["skipped"]) == ([old], [])
    assert len(links_to(old)) == 1


@pytest.mark.rule("SU-06", "field-fault-2", "field-fault-9")
def test_bad_targets_are_skipped_with_their_reason_and_good_ones_retired(office, other_office):
    dead, good = kept(office.agent, "Dead."), kept(office.agent, OLD)
    done(office.agent.post(f"/memories/{dead}/forget", {"reason": "test"}))
    foreign = kept(other_office.agent, "Elsewhere.")

    told = remember(office.agent, NEW, links=replacing(dead, MISSING, good, foreign))

    assert told["superseded"] == [good]
    assert told["skipped"] == [
        {"id": dead, "reason": "dead"},
        {"id": MISSING, "reason": "missing"},
        {"id": foreign, "reason": "missing"},
    ]
    assert links_to(dead) == links_to(foreign) == []
    assert len(seen(office.agent, told["memory_id"])["links"]) == 1
    assert seen(office.agent, dead)["invalidated_reason"] == "forgotten"
    history = done(office.agent.get(f"/memories/{told['memory_id']}/history"))
    (written,) = [
        one
        for one in history["events"]
        if one["command"] == "remember" and one["after"].get("skipped")
    ]
    assert [one["reason"] for one in written["after"]["skipped"]] == ["dead", "missing", "missing"]
    assert foreign not in str(history)


@pytest.mark.rule("SU-06")
def test_a_memory_does_not_replace_itself(office):
    first = kept(office.agent, OLD)

    told = remember(office.agent, OLD, links=replacing(first))

    assert (told["absorbed"], told["memory_id"], told["superseded"]) == (True, first, [])
    assert told["skipped"] == [{"id": first, "reason": "self"}]
    assert links_to(first) == []
    assert seen(office.agent, first)["lifecycle"] == "live"


@pytest.mark.rule("SU-07", "VI-04")
@pytest.mark.parametrize("hidden_by", ["privacy", "project", "personal"])
def test_a_hidden_target_fails_the_whole_write_and_tells_nothing(office, hidden_by):
    good = kept(office.agent, "A good target.")
    secretive = {
        "privacy": (office.colleague, {"project": "apollo", "visibility": "private"}),
        "project": (office.outsider, {"project": "hermes"}),
        "personal": (office.senior, {}),
    }
    owner, where = secretive[hidden_by]
    hidden = kept(owner, "The merger is called Marmalade.", **where)

    answer = office.agent.post("/memories", {"content": NEW, "links": replacing(good, hidden)})

    problem = refused(answer, 403, "supersede_target_not_visible")
    assert not any(word in str(problem) for word in ("Marmalade", hidden, good, "privat"))
    assert memories_of(office) == 2
    assert seen(office.agent, good)["lifecycle"] == "live"
    untouched = row(hidden)
    assert (untouched.lifecycle, untouched.version, links_to(hidden)) == ("live", 1, [])
    # Who may see it may replace it, with the same words.
    told = remember(owner, NEW, links=replacing(hidden), **where)
    assert told["superseded"] == [hidden]


@pytest.mark.rule("SU-07")
def test_a_hidden_target_is_refused_alike_whether_live_or_dead(office):
    hidden = kept(office.outsider, "Hermes listens on port 1.", project="hermes")
    body = {"content": NEW, "links": replacing(hidden)}

    live = refused(office.agent.post("/memories", body), 403, "supersede_target_not_visible")
    done(office.outsider.post(f"/memories/{hidden}/forget", {"reason": "test"}))
    dead = refused(office.agent.post("/memories", body), 403, "supersede_target_not_visible")

    assert (live["detail"], live["errors"]) == (dead["detail"], dead["errors"])


@pytest.mark.rule("SU-09")
def test_a_provisional_writer_declares_nothing(office):
    old = kept(office.watcher, OLD)
    body = {"content": NEW, "links": replacing(old)}

    refused(office.watcher.post("/memories", body), 403, "provisional_writer")

    assert memories_of(office) == 1
    assert seen(office.agent, old)["lifecycle"] == "live"
    assert remember(office.agent, NEW, links=replacing(old))["superseded"] == [old]


@pytest.mark.rule("SU-10", "field-fault-2")
@pytest.mark.parametrize(
    ("writer", "allowed"),
    [
        ("senior", True),
        ("agent", True),
        ("colleague", True),
        ("contractor", False),
        ("agent2", False),
    ],
)
def test_the_owner_or_who_is_of_the_authors_level_replaces_it(office, writer, allowed):
    old = kept(office.senior, OLD, project="apollo")

    told = remember(getattr(office, writer), NEW, project="apollo", links=replacing(old))

    if allowed:
        assert (told["superseded"], told["skipped"]) == ([old], [])
        assert seen(office.senior, old)["superseded_by"] == told["memory_id"]
        return
    assert told["superseded"] == []
    assert told["skipped"] == [{"id": old, "reason": "insufficient_authority"}]
    assert seen(office.senior, old)["lifecycle"] == "live"
    assert links_to(old) == []
    assert seen(office.senior, told["memory_id"])["lifecycle"] == "live"


@pytest.mark.rule("SU-10")
def test_the_level_counts_that_the_author_had_then(office):
    old = kept(office.contractor, OLD, project="apollo")
    member = office.contractor.member
    type(member).objects.using("owner").filter(id=member.id).update(level=50)

    told = remember(office.colleague, NEW, project="apollo", links=replacing(old))

    assert told["superseded"] == [old]


@pytest.mark.rule("SU-10")
def test_seeing_something_tenant_wide_is_no_right_to_replace_it(office):
    wide = kept(office.senior, OLD, visibility="tenant")
    in_hermes = kept(office.outsider, "Hermes is closed.", project="hermes", visibility="tenant")

    told = remember(
        office.colleague,
        NEW,
        project="apollo",
        visibility="tenant",
        links=replacing(wide, in_hermes),
    )

    assert told["superseded"] == []
    assert {one["reason"] for one in told["skipped"]} == {"insufficient_authority"}


@pytest.mark.rule("SU-11")
@pytest.mark.parametrize("kind", ["gotcha", "convention", "decision", "preference"])
def test_protected_kinds_are_replaced_by_declaration(office, kind):
    old = kept(office.agent, OLD, kind=kind)

    assert remember(office.agent, NEW, links=replacing(old))["superseded"] == [old]


@pytest.mark.rule("SU-12", "RE-02")
@pytest.mark.parametrize("kind", ["task", "open_question"])
def test_replacing_a_loop_closes_it_and_restoring_reopens_it(office, kind):
    loop = kept(office.agent, "Move the database to port 5433?", kind=kind)
    remember(office.agent, NEW, links=replacing(loop))
    closed = office.agent.post(f"/memories/{loop}/close")
    assert seen(office.agent, loop)["lifecycle"] == "superseded"
    refused(closed, 409, "already_retired")

    done(office.agent.post(f"/memories/{loop}/restore"))

    assert seen(office.agent, loop)["lifecycle"] == "live"
    assert done(office.agent.post(f"/memories/{loop}/close"))["invalidated_reason"] == "closed"


@pytest.mark.rule("SU-13")
def test_what_absorbs_the_write_succeeds_every_target(office):
    first, second = kept(office.agent, OLD), kept(office.agent, "Staging: port 5431.")
    known = kept(office.agent, NEW)

    told = remember(office.agent, NEW, links=replacing(first, second))

    assert (told["absorbed"], told["memory_id"]) == (True, known)
    assert told["superseded"] == [first, second]
    assert seen(office.agent, known)["supersedes"] == [first, second]


@pytest.mark.rule("SU-14")
def test_a_bare_link_retires_nothing_until_the_declaration_is_repeated(office):
    task = kept(office.agent, "Ask for the new port.", kind="task")
    new = kept(office.agent, NEW)

    drawn = office.agent.post("/links", {"src": new, "dst": task, "type": "supersedes"})

    assert drawn.status_code == 201
    still = seen(office.agent, task)
    assert (still["lifecycle"], still["superseded_by"], still["version"]) == ("live", None, 1)
    found = done(office.agent.post("/recall", {"query": "port"}))["results"]
    assert {one["memory_id"]: one["history_available"] for one in found} == {
        new: False,
        task: False,
    }

    told = remember(office.agent, NEW, links=replacing(task))
    assert (told["absorbed"], told["superseded"]) == (True, [task])
    assert len(links_to(task)) == 1


@pytest.mark.rule("SU-15", "T145")
@pytest.mark.parametrize("length", [2, 3, 10])
def test_a_supersede_that_would_go_round_is_skipped(office, length):
    texts = [f"Wording {number} of the same rule." for number in range(length)]
    ring = [kept(office.agent, text) for text in texts]
    for src, dst in pairwise(ring):
        done(office.agent.post("/links", {"src": src, "dst": dst, "type": "supersedes"}))

    told = remember(office.agent, texts[-1], links=replacing(ring[0]))

    assert (told["absorbed"], told["superseded"]) == (True, [])
    assert told["skipped"] == [{"id": ring[0], "reason": "cycle"}]
    assert seen(office.agent, ring[0])["lifecycle"] == "live"
    # The other way round it is the repeat of a declaration.
    assert remember(office.agent, texts[0], links=replacing(ring[-1]))["superseded"] == [ring[-1]]


@pytest.mark.rule("SU-15")
def test_taking_turns_makes_a_chain_and_no_circle(office):
    first = kept(office.agent, OLD)
    second = remember(office.agent, NEW, links=replacing(first))["memory_id"]
    third = remember(office.agent, OLD, links=replacing(second))["memory_id"]

    assert third != first
    chain = seen(office.agent, first)["chain"]
    assert [(one["id"], one["superseded_by"]) for one in chain] == [
        (first, second),
        (second, third),
        (third, None),
    ]


@pytest.mark.rule("SU-18")
@pytest.mark.parametrize(
    ("target", "successor", "allowed"),
    [
        ({"project": "apollo"}, {"project": "apollo"}, True),
        ({"project": "apollo"}, {"project": "apollo", "visibility": "tenant"}, True),
        ({"project": "apollo", "visibility": "private"}, {"project": "apollo"}, True),
        ({}, {"project": "apollo"}, True),
        ({}, {}, True),
        ({"project": "apollo"}, {"project": "apollo", "visibility": "private"}, False),
        ({"project": "apollo"}, {}, False),
        ({"project": "apollo"}, {"project": "hermes"}, False),
        ({"project": "apollo", "visibility": "tenant"}, {"project": "apollo"}, False),
        ({"visibility": "tenant"}, {}, False),
    ],
)
def test_a_successor_that_fewer_may_read_replaces_nothing(office, target, successor, allowed):
    writer = office.person("both", grants=[(office.apollo, WRITE), (office.hermes, WRITE)])
    old = kept(writer, OLD, **target)

    told = remember(writer, NEW, links=replacing(old), **successor)

    assert told["superseded"] == ([old] if allowed else [])
    assert told["skipped"] == ([] if allowed else [{"id": old, "reason": "narrower_audience"}])
    assert seen(writer, old)["lifecycle"] == ("superseded" if allowed else "live")
    assert len(links_to(old)) == (1 if allowed else 0)


@pytest.mark.rule("SU-18", "VI-05")
def test_who_may_not_read_the_successor_learns_nothing_of_it(office):
    both = office.person("both", grants=[(office.apollo, WRITE), (office.hermes, WRITE)])
    helper = office.bot("helper", both, personal=True)
    old = kept(both, OLD)
    new = remember(both, NEW, links=replacing(old), project="hermes")["memory_id"]

    told = seen(helper, old)
    history = done(helper.get(f"/memories/{old}/history"))

    assert (told["lifecycle"], told["superseded_by"], told["links"]) == ("superseded", None, [])
    assert new not in str((told, history))
    found = done(helper.post("/recall", {"query": "staging port", "mode": "historical"}))
    assert [one["superseded_by"] for one in found["results"]] == [None]
    assert new not in str(found)
    assert seen(both, old)["superseded_by"] == new
    assert new in str(done(both.get(f"/memories/{old}/history")))


@pytest.mark.rule("SU-18")
def test_a_successor_cannot_be_hidden_afterwards_from_readers_of_what_it_replaced(office):
    old = kept(office.senior, OLD, project="apollo")
    new = remember(office.senior, NEW, project="apollo", links=replacing(old))["memory_id"]

    refused(office.senior.patch(f"/memories/{new}", {"visibility": "private"}), 409, "conflict")
    assert seen(office.colleague, new)["visibility"] == "project"
    done(office.senior.post(f"/memories/{old}/restore"))
    done(office.senior.patch(f"/memories/{new}", {"visibility": "private"}))
    refused(office.colleague.get(f"/memories/{new}"), 404, "not_found")
