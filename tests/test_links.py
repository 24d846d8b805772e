"""Edges between memories: drawn, read by who reads both ends, taken away."""

from itertools import pairwise

import pytest

from tests.memories import MISSING, commands, done, kept, refused, row, seen

ONE, OTHER = "The staging database is slow.", "The staging database has no index."


def drawn(person, src, dst, link_type="relates_to"):
    answer = person.post("/links", {"src": src, "dst": dst, "type": link_type})
    assert answer.status_code == 201, answer.content
    return answer.json()


@pytest.mark.rule("HI-03")
def test_a_link_is_drawn_once_and_shown_at_both_ends(office):
    src, dst = kept(office.agent, ONE), kept(office.agent, OTHER)

    link = drawn(office.agent, src, dst)
    again = drawn(office.agent, src, dst)

    assert link == again == {"id": link["id"], "type": "relates_to", "src": src, "dst": dst}
    assert seen(office.colleague, src)["links"] == seen(office.colleague, dst)["links"] == [link]
    assert commands(office.agent, src) == ["remember", "link"]
    assert (row(src).version, row(dst).version) == (1, 1)


@pytest.mark.rule("HI-03")
def test_a_link_is_taken_away_once_and_can_be_drawn_again(office):
    src, dst = kept(office.agent, ONE), kept(office.agent, OTHER)
    link = drawn(office.agent, src, dst)

    done(office.agent.delete(f"/links/{link['id']}"))
    refused(office.agent.delete(f"/links/{link['id']}"), 404, "not_found")
    assert seen(office.agent, src)["links"] == []
    assert drawn(office.agent, src, dst)["id"] != link["id"]
    assert commands(office.agent, src) == ["remember", "link", "unlink", "link"]


@pytest.mark.rule("VI-05")
def test_only_who_reads_both_ends_reads_the_link_or_hears_of_it(office):
    src = kept(office.reviewer, ONE, project="apollo")
    dst = kept(office.reviewer, OTHER, project="hermes")
    link = drawn(office.reviewer, src, dst)

    for blind, end, other in ((office.senior, src, dst), (office.outsider, dst, src)):
        assert seen(blind, end)["links"] == []
        refused(blind.delete(f"/links/{link['id']}"), 404, "not_found")
        history = done(blind.get(f"/memories/{end}/history"))
        assert other not in str(history)
        assert link["id"] not in str(history)
        assert {event["command"] for event in history["events"]} == {"remember"}
    assert seen(office.reviewer, src)["links"] == [link]
    assert commands(office.reviewer, src) == ["remember", "link"]


@pytest.mark.rule("VI-05", "VI-04")
@pytest.mark.parametrize("end", ["src", "dst"])
def test_an_end_that_is_hidden_is_refused_as_a_missing_one(office, other_office, end):
    own = kept(office.senior, ONE, project="apollo")
    hidden = kept(office.colleague, OTHER, project="apollo", visibility="private")
    foreign = kept(other_office.senior, OTHER)
    body = {"src": own, "dst": own, "type": "relates_to"}

    details = {
        refused(office.senior.post("/links", body | {end: one}), 400, "validation_failed", end)[
            "detail"
        ]
        for one in (hidden, foreign, MISSING)
    }
    assert len(details) == 1
    refused(office.senior.post("/links", body | {end: "mem_1"}), 400, "validation_failed", end)


def test_a_link_is_drawn_by_who_writes_where_it_starts(office):
    src = kept(office.senior, ONE, project="apollo")
    wide = kept(office.senior, OTHER, visibility="tenant")
    body = {"src": src, "dst": wide, "type": "relates_to"}

    onlooker = office.person("onlooker", grants=[(office.apollo, ("see_project",))])
    refused(onlooker.post("/links", body), 403, "forbidden")
    refused(office.colleague.post("/links", {**body, "src": wide, "dst": src}), 403, "forbidden")
    link = drawn(office.colleague, src, wide)
    refused(onlooker.delete(f"/links/{link['id']}"), 403, "forbidden")
    done(office.colleague.delete(f"/links/{link['id']}"))


def test_a_link_has_two_ends_and_a_known_type(office):
    src, dst = kept(office.agent, ONE), kept(office.agent, OTHER)
    body = {"src": src, "dst": dst, "type": "relates_to"}

    refused(office.agent.post("/links", body | {"dst": src}), 400, "validation_failed", "dst")
    refused(office.agent.post("/links", body | {"type": "likes"}), 400, "validation_failed", "type")
    for link_type in ("relates_to", "supersedes", "contradicts", "derived_from", "depends_on"):
        drawn(office.agent, src, dst, link_type)


@pytest.mark.rule("SU-15", "T145")
@pytest.mark.parametrize("length", [2, 3, 10])
def test_supersedes_links_do_not_go_round(office, length):
    ring = [kept(office.agent, f"Wording {number} of the rule.") for number in range(length)]
    for src, dst in pairwise(ring):
        drawn(office.agent, src, dst, "supersedes")

    closing = {"src": ring[-1], "dst": ring[0], "type": "supersedes"}
    refused(office.agent.post("/links", closing), 409, "conflict")
    drawn(office.agent, ring[-1], ring[0], "relates_to")
