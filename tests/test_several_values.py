"""That a subject has several values belongs to its project: it stays said, whoever said it."""

import pytest
from django.db import connections

from memory.conflict.detect import several_valued
from tenants.context import acting_as
from tests.judging import certify, conflicts, live, lost, says, stating, work
from tests.memories import done, kept, posting, refused, remember, row, together
from tests.test_judging import model, server

__all__ = ["model", "server"]

pytestmark = pytest.mark.rule("DE-04", "field-fault-13")


def formats(person, value, *, multi=False, subject="app.formats", project="apollo", **more):
    """Return the answer to a write that says which format is taken."""
    body = {"project": project} if project else {}
    content = more.pop("content", f"The import of the app reads {value} files.")
    return remember(
        person, content, components=stating(subject, value, multi=multi), **body, **more
    )


def both_stay(person, *answers):
    for answer in answers:
        assert (answer["conflicts"], answer["superseded"]) == ([], [])
        assert {one["via"] for one in answer["conflict_candidates"]} <= {"vector"}
    ids = [answer["memory_id"] for answer in answers]
    assert live(person, ids) == ids


def forgotten(office, memory_id):
    done(office.senior.post(f"/memories/{memory_id}/forget", {"reason": "no longer"}))


def superseded(office, memory_id):
    link = [{"type": "supersedes", "dst": memory_id}]
    kept(office.senior, "Nothing is imported.", project="apollo", links=link)


@pytest.mark.parametrize("gone", [forgotten, superseded])
def test_it_stays_said_when_the_memory_that_says_it_is_gone(office, gone):
    gone(office, formats(office.senior, "CSV", multi=True)["memory_id"])

    beta = formats(office.senior, "PDF")
    gamma = formats(office.senior, "DOCX")

    both_stay(office.viewer, beta, gamma)


def test_it_counts_for_those_too_who_may_not_read_who_says_it(office):
    formats(office.colleague, "CSV", multi=True, visibility="private")

    both_stay(office.viewer, formats(office.senior, "PDF"), formats(office.contractor, "DOCX"))
    assert conflicts(office.senior) == []


def test_it_counts_from_when_it_is_said(office):
    first = formats(office.senior, "CSV")
    second = formats(office.senior, "PDF")
    assert second["superseded"] == [first["memory_id"]]

    formats(office.senior, "DOCX", multi=True)

    both_stay(office.viewer, formats(office.senior, "ODT"))
    assert live(office.viewer, [second["memory_id"]]) == [second["memory_id"]]


def test_a_repeat_may_say_it(office):
    first = formats(office.senior, "CSV")
    again = formats(office.senior, "CSV", multi=True)
    assert (again["absorbed"], again["memory_id"]) == (True, first["memory_id"])
    assert formats(office.senior, "CSV", multi=True)["memory_id"] == first["memory_id"]

    both_stay(office.viewer, first, formats(office.senior, "PDF"))
    told = done(office.senior.get(f"/memories/{first['memory_id']}"))["components"]
    assert [(one["value"], one["multi"]) for one in told] == [("CSV", False), (None, True)]


@pytest.mark.parametrize("more", [{"subject": "app.port"}, {"project": "hermes"}])
def test_another_subject_or_project_is_another_thing(office, more):
    formats(office.reviewer, "CSV", multi=True, **more)
    first = formats(office.reviewer, "PDF")

    assert formats(office.reviewer, "DOCX")["superseded"] == [first["memory_id"]]


def test_of_personal_memories_it_is_their_owners(office):
    formats(office.senior, "CSV", multi=True, project=None)
    both_stay(
        office.senior,
        formats(office.senior, "PDF", project=None),
        formats(office.senior, "DOCX", project=None),
    )
    first = formats(office.colleague, "PDF", project=None)
    second = formats(office.colleague, "DOCX", project=None)
    assert second["superseded"] == [first["memory_id"]]


@pytest.mark.rule("TR-06")
def test_a_proposal_may_say_it_until_it_is_rejected(office):
    capture = formats(office.watcher, "CSV", multi=True)["memory_id"]
    first, second = formats(office.senior, "PDF"), formats(office.senior, "DOCX")
    both_stay(office.viewer, first, second)

    done(office.reviewer.post(f"/memories/{capture}/reject", {"reason": "it is not so"}))

    third = formats(office.senior, "ODT")
    assert set(third["superseded"]) == {first["memory_id"], second["memory_id"]}


def test_what_is_merely_suggested_does_not_say_it(office):
    """A watcher adds nothing but suggestions to what somebody wrote deliberately."""
    first = formats(office.senior, "PDF")
    again = formats(office.watcher, "PDF", multi=True)
    assert (again["absorbed"], again["memory_id"]) == (True, first["memory_id"])

    assert formats(office.senior, "DOCX")["superseded"] == [first["memory_id"]]


@pytest.mark.rule("JU-07")
def test_the_rules_hold_two_declared_values_for_no_clash(office):
    """They compare by likeness as well, and would call it proven."""
    forgotten(office, formats(office.senior, "CSV", multi=True)["memory_id"])
    both_stay(office.viewer, formats(office.senior, "PDF"), formats(office.colleague, "TSV"))

    work(office)

    assert conflicts(office.senior) == []


@pytest.mark.rule("JU-02")
def test_what_a_model_says_of_two_values_is_no_proof(office, model):
    certify(office)
    says(model, "complementary")
    forgotten(office, formats(office.senior, "CSV", multi=True)["memory_id"])
    answers = [formats(office.senior, "PDF"), formats(office.colleague, "TSV")]
    work(office)
    both_stay(office.viewer, *answers)


def test_it_is_told_only_of_what_a_memory_in_sight_states(office):
    hidden = formats(office.colleague, "CSV", multi=True, visibility="private")["memory_id"]
    other = formats(office.colleague, "80", multi=True, subject="app.port", visibility="private")
    shared = formats(office.senior, "PDF")["memory_id"]
    ids = [row(one).id for one in (hidden, other["memory_id"], shared)]

    for person, told in (
        (office.colleague, [{"app.formats"}, {"app.port"}, {"app.formats"}]),
        (office.viewer, [set(), set(), {"app.formats"}]),
        (office.outsider, [set(), set(), set()]),
    ):
        with acting_as(person.caller):
            found = several_valued(ids)
        assert [set(found[one]) for one in ids] == told


def test_two_who_say_it_and_contradict_it_at_once(office):
    said = {"project": "apollo", "components": stating("app.formats", "CSV", multi=True)}
    other = {"project": "apollo", "components": stating("app.formats", "PDF")}
    answers = together(
        posting(office.senior, "/memories", {"content": "It reads CSV.", **said}),
        posting(office.colleague, "/memories", {"content": "PDF is read.", **other}),
    )
    assert [done(answer)["conflicts"] for answer in answers] == [[], []]
    both_stay(office.viewer, *(answer.json() for answer in answers))


def test_it_is_found_by_an_index_of_its_own():
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE indexname = 'components_of_several_values'"
        )
        (definition,) = cursor.fetchone()
    assert definition.endswith("WHERE multi")


@pytest.mark.rule("PO-21")
def test_who_does_not_contradict_the_successor_any_more_is_an_orphan(office):
    loser = formats(office.colleague, "CSV")["memory_id"]
    winner = formats(office.senior, "PDF")["memory_id"]
    formats(office.senior, "ODT", links=[{"type": "supersedes", "dst": winner}])
    assert [(one["side_b"]["id"], one["orphaned"]) for one in lost(office.viewer)] == [
        (loser, False)
    ]

    formats(office.senior, "DOCX", multi=True)

    assert [one["orphaned"] for one in lost(office.viewer)] == [True]


@pytest.mark.rule("VE-04")
def test_a_value_that_is_none_of_several_refutes_nothing(office):
    memory = formats(office.senior, "CSV")["memory_id"]
    body = {"outcome": "confirmed", "method": "file", "observed_value": "PDF"}
    path = f"/memories/{memory}/verify"
    problem = refused(office.colleague.post(path, body), 400, "validation_failed", "observed_value")
    assert "then the outcome is refuted" in problem["errors"][0]["message"]

    formats(office.senior, "DOCX", multi=True)

    problem = refused(office.colleague.post(path, body), 400, "validation_failed", "observed_value")
    assert "is remembered by itself" in problem["errors"][0]["message"]
