"""What would go with the loser, in words or declared, and keeps a machine from retiring it."""

from typing import Any

import pytest

from tests.judging import branch, certify, conflicts, live, says, stating, work
from tests.memories import done, kept, remember, row
from tests.test_judging import model, server

__all__ = ["model", "server"]

TEXT = "Rotate the signing key."


def pair(office, model, relation, older, newer):
    """Return the conflict of two, of which the judge says this, and whether both are live."""
    certify(office)
    says(model, relation, 0.99)
    old = remember(office.colleague, project="apollo", **older)["memory_id"]
    answer = remember(office.senior, project="apollo", wait=10, **newer)
    (conflict,) = answer["conflicts"]
    return conflict, live(office.senior, [old, answer["memory_id"]]) == [old, answer["memory_id"]]


def on_call(name, *, multi):
    return {
        "content": f"The on-call engineer of the staging database is {name}.",
        "components": stating("staging.oncall", name, multi=multi),
    }


@pytest.mark.rule("DE-04", "PO-11", "field-fault-13")
@pytest.mark.parametrize("relation", ["contradiction", "b_supersedes_a"])
@pytest.mark.parametrize("multi", [True, False])
def test_of_several_values_none_is_the_one_that_changed(office, model, relation, multi):
    conflict, both = pair(
        office, model, relation, on_call("Ada", multi=multi), on_call("Grace", multi=multi)
    )
    assert both is multi
    assert conflict["state"] == ("pending" if multi else "resolved")
    assert conflict["missing_specifics"] == (["Ada"] if multi else [])


@pytest.mark.rule("DE-04", "field-fault-13")
def test_it_belongs_to_the_subject_and_not_to_the_two(office, model):
    """A third has said it, and neither of the two."""
    kept(
        office.contractor,
        "Alan is there at the weekend.",
        project="apollo",
        components=stating("staging.oncall", "Alan", multi=True),
    )
    conflict, both = pair(
        office,
        model,
        "contradiction",
        on_call("Ada", multi=False),
        on_call("Grace", multi=False),
    )
    assert (conflict["missing_specifics"], both) == (["Ada"], True)


@pytest.mark.rule("DE-04", "PO-11")
def test_what_says_all_of_the_values_may_replace_it(office, model):
    newer = on_call("Ada and Grace", multi=True) | {
        "components": stating("staging.oncall", "Ada", "Grace", multi=True)
    }
    conflict, both = pair(office, model, "b_supersedes_a", on_call("Ada", multi=True), newer)
    assert (conflict["state"], both) == ("resolved", False)


BESIDE: dict[str, dict[str, Any]] = {
    "component": {"components": stating("db.port", "5432")},
    "subject": {"subjects": ["signing.key"]},
    "dependency": {"depends_on": ["db.port"]},
}
NAMED = {"component": ["db.port"], "subject": ["signing.key"], "dependency": ["db.port"]}


@pytest.mark.rule("PO-11", "JU-07")
@pytest.mark.parametrize("what", BESIDE)
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_duplicate_goes_only_if_nothing_declared_goes_with_it(office, what, is_kept):
    old = kept(office.colleague, TEXT, project="apollo", **BESIDE[what])
    new = kept(office.senior, TEXT, project="apollo", **(BESIDE[what] if is_kept else {}))
    work(office)
    (conflict,) = conflicts(office.senior)
    assert (conflict["kind"], conflict["state"]) == (
        "duplicate",
        "resolved" if is_kept else "pending",
    )
    assert conflict["missing_specifics"] == ([] if is_kept else NAMED[what])
    assert live(office.senior, [old, new]) == ([new] if is_kept else [old, new])


@pytest.mark.rule("PO-11")
def test_what_it_depends_on_is_not_named_if_that_is_a_memory(office):
    needed = kept(office.colleague, "The vault is open to operators.", project="apollo")
    kept(office.colleague, TEXT, project="apollo", depends_on=[needed])
    kept(office.senior, TEXT, project="apollo")
    work(office)
    assert [one["missing_specifics"] for one in conflicts(office.senior)] == [["depends_on"]]


@pytest.mark.rule("WR-06", "SU-12", "JU-07")
@pytest.mark.parametrize("writer", ["colleague", "senior"])
@pytest.mark.parametrize(("kind", "other"), [("task", "episode"), ("open_question", "fact")])
def test_the_same_words_of_another_kind_are_no_duplicate(office, writer, kind, other):
    old = kept(getattr(office, writer), TEXT, project="apollo", kind=kind)
    new = kept(office.senior, TEXT, project="apollo", kind=other)
    work(office)
    assert live(office.senior, [old, new]) == [old, new]
    assert conflicts(office.senior) == []


@pytest.mark.rule("SU-12", "PO-11")
def test_a_model_that_calls_them_duplicates_only_asks(office, model):
    conflict, both = pair(
        office,
        model,
        "duplicate",
        {"content": TEXT, "kind": "task"},
        {"content": TEXT, "kind": "episode"},
    )
    assert (conflict["state"], conflict["missing_specifics"], both) == ("pending", ["task"], True)


def resent(office, by=None):
    """Return what was restored and what its text was beaten by, after that is sent again."""
    old = branch(office.agent, "main")["memory_id"]
    beat = branch(office.agent, "dev")["memory_id"]
    done(office.agent.post(f"/memories/{old}/restore"))
    assert row(old).restored_by_person_at is None
    done(office.agent.post(f"/memories/{beat}/forget", {"reason": "not so"}))
    return old, branch(by or office.agent, "dev")


@pytest.mark.rule("RE-03", "PO-14", "field-fault-4")
def test_a_text_that_is_sent_again_retires_nothing_that_came_back_from_it(office):
    old, again = resent(office)
    work(office)
    assert (again["absorbed"], again["conflicts"], again["superseded"]) == (False, [], [])
    assert live(office.senior, [old, again["memory_id"]]) == [old, again["memory_id"]]


@pytest.mark.rule("RE-03", "PO-14")
def test_it_is_settled_also_if_the_other_is_what_is_looked_at(office):
    old, again = resent(office)
    # It is compared with what it missed while it was away.
    done(office.agent.post(f"/memories/{old}/forget", {"reason": "not so"}))
    done(office.agent.post(f"/memories/{old}/restore"))
    work(office)
    assert live(office.senior, [old, again["memory_id"]]) == [old, again["memory_id"]]


@pytest.mark.rule("PO-08", "RE-03")
def test_what_others_say_in_the_same_words_is_another_matter(office):
    old, again = resent(office, by=office.colleague)
    assert again["superseded"] == [old]


@pytest.mark.rule("PO-07", "RE-03")
def test_a_text_that_has_lost_loses_again(office):
    best = branch(office.senior, "main")["memory_id"]
    said = [branch(office.contractor, "dev") for _ in range(2)]
    for answer in said:
        assert [one["winner"] for one in answer["conflicts"]] == [best]
    assert live(office.senior, [best, said[-1]["memory_id"]]) == [best]
