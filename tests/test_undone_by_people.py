"""What a person brought back by undoing is theirs to decide about, and no machine's."""

import pytest

from tests.disputes import resolve, undo
from tests.judging import certify, says
from tests.memories import done, kept, remember, row, seen
from tests.test_judging import model, server

__all__ = ["model", "server"]

pytestmark = pytest.mark.rule("RE-03", "RE-06")

SAID = "The staging database listens on port {}."


@pytest.mark.parametrize("is_undone", [True, False])
@pytest.mark.parametrize("relation", ["b_supersedes_a", "contradiction"])
def test_no_automation_takes_it_on_another_pair(office, model, is_undone, relation):
    certify(office)
    says(model, "contradiction", 0.9)
    old = kept(office.contractor, SAID.format(5432), project="apollo")
    answer = remember(office.senior, SAID.format(5433), project="apollo", wait=10)
    (dispute,) = answer["conflicts"]
    if is_undone:
        decided = done(resolve(office.reviewer, dispute["id"], winner=answer["memory_id"]))
        assert seen(office.senior, old)["lifecycle"] == "superseded"
        done(undo(office.reviewer, decided["batch"]))
    assert row(old).restored_by_person_at is None

    says(model, relation, 0.99)
    later = remember(office.colleague, SAID.format(5444), project="apollo", wait=10)

    between = [one for one in later["conflicts"] if old in (one["memory_a"], one["memory_b"])]
    assert [one["state"] for one in between] == ["pending" if is_undone else "resolved"]
    assert seen(office.senior, old)["lifecycle"] == ("live" if is_undone else "superseded")
