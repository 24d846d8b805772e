"""Several deciding the same at the same moment, each on a connection of its own."""

import pytest

from memory.models import Conflict, Memory
from tenants.models import Event
from tests.disputes import ONE, conflict_row, disputed_pair, kept_in, of, resolve
from tests.judging import jobs_of
from tests.memories import done, held, kept, posting, refused, row, seen, together
from tests.people import REVIEW


def decisions(office):
    found = Event.objects.using("owner").filter(tenant=office.tenant, command="resolve_conflict")
    return found.count()


@pytest.mark.rule("DI-05", "T148", "T210")
@pytest.mark.parametrize("turn", range(3))
def test_of_two_decisions_one_counts_and_the_other_is_told_it(office, turn):
    one, other, dispute = disputed_pair(office, f"{ONE} {turn}", f"Port 5433, says {turn}.")
    path = f"/conflicts/{dispute}/resolve"

    with held(one, other):
        answers = together(
            posting(office.reviewer, path, {"winner": one}),
            posting(office.senior, path, {"winner": other}),
            posting(office.reviewer, path, {"keep_both": True}),
        )

    assert sorted(answer.status_code for answer in answers) == [200, 409, 409]
    won = next(answer.json() for answer in answers if answer.status_code == 200)
    for lost in answers:
        if lost.status_code == 409:
            problem = refused(lost, 409, "already_resolved")
            told = {error["field"]: error["message"] for error in problem["errors"]}
            assert told["resolution"] == won["resolution"]
            assert told["resolved_by"] == won["resolved_by"]
    assert decisions(office) == 1


@pytest.mark.rule("T210", "WR-05")
def test_a_double_click_has_one_effect(office):
    one, _, dispute = disputed_pair(office)
    path = f"/conflicts/{dispute}/resolve"

    answers = together(*[posting(office.reviewer, path, {"winner": one})] * 4)

    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert decisions(office) == 1


@pytest.mark.rule("T147", "DI-09")
@pytest.mark.parametrize("turn", range(3))
def test_a_decision_and_another_door_leave_one_story(office, turn):
    one, other, dispute = disputed_pair(office, f"{ONE} {turn}", f"Port 5433, says {turn}.")

    resolved, forgotten = together(
        posting(office.reviewer, f"/conflicts/{dispute}/resolve", {"winner": one}),
        posting(office.senior, f"/memories/{other}/forget", {"reason": "x"}),
    )

    gone = row(other)
    if resolved.status_code == 200:
        refused(forgotten, 409, "already_retired")
        assert (gone.superseded_by_id, conflict_row(dispute).state) == (row(one).id, "resolved")
    else:
        refused(resolved, 409, "already_resolved")
        done(forgotten)
        assert (gone.invalidated_reason, conflict_row(dispute).state) == ("forgotten", "moot")


@pytest.mark.rule("T147", "RE-06")
@pytest.mark.parametrize("turn", range(3))
def test_undoing_and_restoring_at_once_bring_it_back_once(office, turn):
    one, other, dispute = disputed_pair(office, f"{ONE} {turn}", f"Port 5433, says {turn}.")
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]

    with held(other):
        undone, restored = together(
            posting(office.reviewer, f"/batches/{batch}/undo"),
            posting(office.senior, f"/memories/{other}/restore"),
        )

    assert undone.status_code == 200
    assert restored.status_code in (200, 409)
    assert row(other).lifecycle == "live"
    by_hand = restored.status_code == 200
    assert (row(other).restored_by_person_at is not None) is by_hand


@pytest.mark.rule("RE-06", "T210")
def test_undoing_twice_at_once_has_one_effect(office):
    one, other, dispute = disputed_pair(office)
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]

    answers = together(*[posting(office.reviewer, f"/batches/{batch}/undo")] * 4)

    assert sorted(done(answer)["undone"] for answer in answers) == [0, 0, 0, 1]
    assert conflict_row(dispute).state == "pending"
    assert row(other).version == 3


@pytest.mark.rule("T149", "PO-14", "DI-05")
@pytest.mark.parametrize("turn", range(2))
def test_a_person_who_decides_while_the_judge_does_counts(office, turn):
    """Whoever comes first: in the end a person has decided, and no more is done to the pair."""
    from tests.judging import branch

    old = branch(office.contractor, "main", kind="decision")["memory_id"]
    new = branch(office.senior, "release")
    (conflict,) = new["conflicts"]
    assert conflict["state"] == "pending"

    answers = together(
        posting(office.reviewer, f"/conflicts/{conflict['id']}/resolve", {"keep_both": True}),
        posting(
            office.senior,
            "/memories",
            {
                "content": f"Deploys go out from release, as of turn {turn}.",
                "project": "apollo",
                "components": [{"subject": "deploy.branch", "value": "release"}],
            },
        ),
    )

    assert [one.status_code for one in answers] == [200, 201]
    decided = conflict_row(conflict["id"])
    assert (decided.state, decided.resolution) == ("resolved", "keep_both")
    assert decided.resolved_by_member_id == office.reviewer.member.id
    assert [row(one).lifecycle for one in (old, new["memory_id"])] == ["live", "live"]
    assert jobs_of(office) is not None


@pytest.mark.rule("DI-05", "T148")
def test_decisions_that_share_a_memory_do_not_wait_in_a_circle(office):
    other_reviewer = office.person("second", grants=[(office.apollo, REVIEW)])
    ids = [kept(office.senior, f"Claim {number} of four.", project="apollo") for number in range(4)]
    pairs = [(a, b) for a in ids for b in ids if a < b]
    disputes = [kept_in(office, a, b) for a, b in pairs]

    answers = together(
        *(
            posting(
                other_reviewer if turn % 2 else office.reviewer,
                f"/conflicts/{dispute}/resolve",
                {"winner": pairs[turn][turn % 2]},
            )
            for turn, dispute in enumerate(disputes)
        ),
        posting(office.senior, "/conflicts/resolve", {"policy": "oldest_wins"}),
    )

    assert {answer.status_code for answer in answers} <= {200, 409}
    states = Conflict.objects.using("owner").filter(tenant=office.tenant)
    assert set(states.values_list("state", flat=True)) <= {"resolved", "moot"}
    live = Memory.objects.using("owner").filter(tenant=office.tenant, invalidated_at=None)
    assert live.count() == 1
    assert not seen(office.senior, str(_wire(live.get().id)))["disputed"]


def _wire(memory_id):
    from tenants.ids import Prefix, wire_id

    return wire_id(Prefix.MEMORY, memory_id)


@pytest.mark.rule("T148", "DI-02")
def test_a_challenge_and_its_end_leave_no_open_question_about_what_is_gone(office):
    memory = kept(office.senior, ONE, project="apollo")

    challenge, forget = together(
        posting(office.colleague, f"/memories/{memory}/challenge", {"reason": "x"}),
        posting(office.senior, f"/memories/{memory}/forget", {"reason": "y"}),
    )

    assert forget.status_code == 200
    assert challenge.status_code in (200, 409)
    assert row(memory).lifecycle == "retired"
    open_ones = Conflict.objects.using("owner").filter(tenant=office.tenant, state="pending")
    assert not open_ones.exists()
    assert of(office.senior)
