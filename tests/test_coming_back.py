"""What was a question about a memory when it went is one again when it comes back."""

import pytest

from tests.disputes import conflict_row, disputed_pair, kept_in, resolve, undo
from tests.memories import done, kept, refused, remember, replacing, row, seen
from tests.test_undo import challenged, settled

pytestmark = pytest.mark.rule("DI-09", "RE-02")


def state(dispute):
    return conflict_row(dispute).state


def forget(office, memory):
    done(office.senior.post(f"/memories/{memory}/forget", {"reason": "x"}))


def restore(office, memory):
    return done(office.senior.post(f"/memories/{memory}/restore"))


def test_the_dispute_waits_again_as_soon_as_its_side_is_back(office):
    one, other, dispute = disputed_pair(office)
    forget(office, one)
    assert state(dispute) == "moot"

    restored = restore(office, one)["memory"]

    assert (state(dispute), conflict_row(dispute).resolved_at) == ("pending", None)
    assert (restored["disputed"], restored["dispute_id"]) == (True, dispute)
    assert seen(office.viewer, other)["dispute_id"] == dispute
    done(resolve(office.reviewer, dispute, winner=other))


def test_it_waits_till_both_are_back(office):
    one, other, dispute = disputed_pair(office)
    for memory in (one, other):
        forget(office, memory)

    restore(office, other)

    assert state(dispute) == "moot"
    restore(office, one)
    assert state(dispute) == "pending"


@pytest.mark.rule("DE-08")
def test_it_waits_again_also_where_who_restores_does_not_see_the_other_side(office):
    shared = kept(office.senior, "It is 5432.", project="apollo")
    private = kept(office.contractor, "It is 6000.", project="apollo", visibility="private")
    dispute = kept_in(office, private, shared)
    forget(office, shared)

    answer = restore(office, shared)["memory"]

    assert (answer["disputed"], answer["dispute_id"]) == (False, None)
    assert state(dispute) == "pending"
    assert seen(office.contractor, private)["dispute_id"] == dispute


@pytest.mark.rule("DI-06")
def test_what_was_challenged_is_challenged_still(office):
    memory = kept(office.senior, "It is 5432.", project="apollo")
    first = challenged(office, memory)
    forget(office, memory)

    restore(office, memory)

    assert (state(first), challenged(office, memory)) == ("pending", first)


def test_what_was_decided_since_stays_decided(office):
    """Of the questions about one memory the last counts."""
    memory = kept(office.senior, "It is 5432.", project="apollo")
    first = challenged(office, memory)
    done(resolve(office.reviewer, first, keep_both=True))
    second = challenged(office, memory)
    forget(office, memory)

    restore(office, memory)

    assert (state(first), state(second)) == ("resolved", "pending")


@pytest.mark.rule("RE-03")
@pytest.mark.parametrize("versions", [1, 2])
def test_a_settled_pair_is_no_question_again(office, versions):
    """Who came after it, and had been in dispute with it, is settled with what comes back."""
    one, other, dispute = disputed_pair(office)
    if versions == 1:
        kept_from = remember(office.colleague, "Both.", project="apollo", links=replacing(one))
        last = kept_in(office, kept_from["memory_id"], one, state="moot")
    else:
        last = dispute
        between = kept(office.colleague, "So.", project="apollo", links=replacing(one))
        done(office.colleague.post("/memories", {
            "content": row(other).content, "project": "apollo", "links": replacing(between),
        }))  # fmt: skip

    restored = restore(office, one)["memory"]

    assert state(last) == "moot"
    if versions == 1:
        # And of the others, nobody has settled anything.
        assert restored["dispute_id"] == dispute


@pytest.mark.rule("RE-06", "RE-03")
@pytest.mark.parametrize("choice", ["winner", "merge"])
def test_what_somebody_restored_stays_settled_when_the_decision_is_undone(office, choice):
    """The restore settled it for good: the batch did not, and undoing the batch undoes it not."""
    one, other, dispute = disputed_pair(office)
    said = {"winner": one} if choice == "winner" else {"merge": {"content": "It is 5434."}}
    batch = done(resolve(office.reviewer, dispute, **said))["batch"]
    successor = one if choice == "winner" else seen(office.senior, other)["superseded_by"]
    restore(office, other)

    assert [each["outcome"] for each in done(undo(office.reviewer, batch))["items"]] == ["reopened"]

    assert state(dispute) == "pending"
    assert settled(office) == [tuple(sorted((row(other).id, row(successor).id)))]


@pytest.mark.rule("RE-06")
def test_what_nobody_restored_is_as_it_was_before_the_decision(office):
    one, _, dispute = disputed_pair(office)
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]
    assert len(settled(office)) == 1

    done(undo(office.reviewer, batch))

    assert settled(office) == []


@pytest.mark.rule("RE-04")
def test_who_may_not_restore_asks_nothing_again(office):
    one, _, dispute = disputed_pair(office)
    forget(office, one)
    refused(office.contractor.post(f"/memories/{one}/restore"), 403, "forbidden")
    assert state(dispute) == "moot"
