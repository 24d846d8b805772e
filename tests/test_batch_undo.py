"""Undoing a batch: everything that a sweep did is undone in one call, by whoever may undo it."""

import pytest

from hygiene.judge import Said
from memory.models import Conflict, Corroboration, Link
from tenants.ids import Prefix, read_id, wire_id
from tenants.models import Event
from tests.judging import work
from tests.memories import done, refused, row
from tests.test_removed_meanwhile import elsewhere
from tests.test_sweep import PORTS, judge, start, swept, written

pytestmark = pytest.mark.rule("RE-06", "RE-03")

__all__ = ["judge"]


def undo(person, batch):
    return person.post(f"/batches/{batch}/undo")


def outcomes(answer):
    return sorted(item["outcome"] for item in done(answer)["items"])


def conflicts_of(batch):
    return Conflict.objects.using("owner").filter(batch_id=read_id(Prefix.BATCH, batch))


def replaced(office, judge, *, by=None):
    """Return a sweep in which each later memory took the earlier one's place."""
    judge.relation, judge.confidence = Said.B_SUPERSEDES_A, 1.0
    ids = written(by or office.senior, *PORTS[:2])
    told = swept(office.senior)
    assert told["actions"] == 1
    assert [row(one).lifecycle for one in ids] == ["superseded", "live"]
    return told, ids


def test_who_lost_is_back_and_the_pair_is_settled(office, judge):
    told, (loser, winner) = replaced(office, judge)

    answer = done(undo(office.senior, told["id"]))

    assert answer["undone"] == 1
    assert answer["items"] == [
        {
            "conflict": conflicts_wire(told["id"]),
            "memory": loser,
            "other": winner,
            "outcome": "restored",
        }
    ]
    assert [row(one).lifecycle for one in (loser, winner)] == ["live", "live"]
    judge.prompt_version = "told-2"
    again = swept(office.senior)
    assert (again["pairs"], again["skipped"]) == (0, 2)


def conflicts_wire(batch):
    return wire_id(Prefix.CONFLICT, conflicts_of(batch).get().id)


def test_it_is_told_once_in_the_audit_for_each(office, judge):
    told, (loser, _) = replaced(office, judge)
    undo(office.senior, told["id"])
    undo(office.senior, told["id"])

    events = Event.objects.using("owner").filter(tenant=office.tenant)
    assert (
        events.filter(command="restore_memory", memory_id=read_id(Prefix.MEMORY, loser)).count()
        == 1
    )
    assert events.filter(command="undo_batch").count() == 1


def test_undoing_it_again_does_nothing(office, judge):
    told, _ = replaced(office, judge)
    assert outcomes(undo(office.senior, told["id"])) == ["restored"]

    assert outcomes(undo(office.senior, told["id"])) == ["nothing_to_undo"]


def test_what_a_person_decided_since_is_left_alone(office, judge):
    told, (loser, _) = replaced(office, judge)
    done(office.senior.post(f"/memories/{loser}/restore"))
    done(office.senior.post(f"/memories/{loser}/forget", {"reason": "it is wrong after all"}))

    assert outcomes(undo(office.senior, told["id"])) == ["nothing_to_undo"]
    assert row(loser).invalidated_reason == "forgotten"


def test_disputes_that_wait_are_dismissed(office, judge):
    written(office.senior, *PORTS[:2])
    told = swept(office.senior)
    assert told["disputes"] == 1

    assert outcomes(undo(office.senior, told["id"])) == ["dismissed"]

    conflict = conflicts_of(told["id"]).get()
    assert (conflict.state, conflict.resolved_by_member_id) == (
        "dismissed",
        office.senior.member.id,
    )
    judge.prompt_version = "told-2"
    assert swept(office.senior)["pairs"] == 0


def test_what_is_moot_by_then_does_not_come_back_with_its_memory(office, judge):
    """The sweep opened it: it is undone, and no question again when its side is restored."""
    one, _ = written(office.senior, *PORTS[:2])
    told = swept(office.senior)
    done(office.senior.post(f"/memories/{one}/forget", {"reason": "x"}))
    assert conflicts_of(told["id"]).get().state == "moot"

    assert outcomes(undo(office.senior, told["id"])) == ["dismissed"]

    done(office.senior.post(f"/memories/{one}/restore"))
    assert conflicts_of(told["id"]).get().state == "dismissed"
    judge.prompt_version = "told-2"
    assert swept(office.senior)["pairs"] == 0


def test_links_that_were_drawn_are_taken_away(office, judge):
    judge.relation = Said.COMPLEMENTARY
    ids = [read_id(Prefix.MEMORY, one) for one in written(office.senior, *PORTS[:2])]
    told = swept(office.senior)
    drawn = Link.objects.using("owner").filter(src__in=ids, dst__in=ids, type="relates_to")
    assert drawn.get(removed_at=None).batch_id == read_id(Prefix.BATCH, told["id"])

    assert outcomes(undo(office.senior, told["id"])) == ["unlinked"]

    assert drawn.filter(removed_at=None).count() == 0


def test_a_link_that_stood_there_before_stays(office, judge):
    judge.relation = Said.COMPLEMENTARY
    one, other = written(office.senior, *PORTS[:2])
    for src, dst in ((one, other), (other, one)):
        done_link = {"src": src, "dst": dst, "type": "relates_to"}
        assert office.senior.post("/links", done_link).status_code == 201
    told = swept(office.senior)

    refused(undo(office.senior, told["id"]), 404, "not_found")

    ids = [read_id(Prefix.MEMORY, each) for each in (one, other)]
    drawn = Link.objects.using("owner").filter(src__in=ids, dst__in=ids, removed_at=None)
    assert drawn.count() == 2


def test_who_writes_and_does_not_review_undoes_nothing(office, judge):
    told, (loser, _) = replaced(office, judge)

    assert outcomes(undo(office.colleague, told["id"])) == ["not_allowed"]
    assert row(loser).lifecycle == "superseded"


def test_who_may_not_restore_is_told_so(office, judge):
    told, (loser, _) = replaced(office, judge)
    below = office.person(
        "below", level=10, grants=[(office.apollo, ("see_project", "write_project"))]
    )

    assert outcomes(undo(below, told["id"])) == ["not_allowed"]
    assert row(loser).lifecycle == "superseded"
    # A reviewer of the project may, whoever swept.
    assert outcomes(undo(office.reviewer, told["id"])) == ["restored"]


def test_who_may_only_look_dismisses_nothing(office, judge):
    written(office.senior, *PORTS[:2])
    told = swept(office.senior)
    looking = office.person("looking", level=50, grants=[(office.apollo, ("see_project",))])

    assert outcomes(undo(looking, told["id"])) == ["not_allowed"]
    assert conflicts_of(told["id"]).get().state == "pending"


def test_a_batch_out_of_sight_is_not_there(office, other_office, judge):
    told, _ = replaced(office, judge)

    for person in (office.outsider, other_office.senior):
        refused(undo(person, told["id"]), 404, "not_found")
    refused(undo(office.viewer, told["id"]), 403, "insufficient_scope")
    bot = office.bot("undoer", office.senior, scopes=list(office.senior.caller.scopes))
    refused(undo(bot, told["id"]), 403, "forbidden")


def patched_while_asked(office, judge, memory):
    """Have somebody change the memory during the judge's first answer."""
    answer = judge.compare

    def changed_meanwhile(older, newer):
        judge.compare = answer
        elsewhere(lambda: done(office.senior.patch(f"/memories/{memory}", {"importance": 0.9})))
        return answer(older, newer)

    judge.compare = changed_meanwhile


@pytest.mark.rule("JU-08", "PO-15")
@pytest.mark.parametrize("which", [0, 1])
def test_what_follows_from_a_sweep_because_something_changed_is_undone_with_it(
    office, judge, which
):
    judge.relation, judge.confidence = Said.B_SUPERSEDES_A, 1.0
    ids = written(office.senior, *PORTS[:2])
    told = start(office.senior)
    patched_while_asked(office, judge, ids[which])
    work(office)
    assert [row(one).lifecycle for one in ids] == ["superseded", "live"]
    assert conflicts_of(told["id"]).count() == 1

    assert outcomes(undo(office.senior, told["id"])) == ["restored"]

    assert [row(one).lifecycle for one in ids] == ["live", "live"]


SAME = "The indexer of apollo listens on port 8080, and on no other."


def confidences(person, ids):
    return [done(person.get(f"/memories/{one}"))["evidence_confidence"] for one in ids]


@pytest.mark.rule("VE-08", "PO-06")
@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_what_a_sweep_found_to_say_the_same_speaks_for_it_no_more(office, judge, confidence):
    judge.relation, judge.confidence = Said.DUPLICATE, confidence
    ids = [*written(office.colleague, PORTS[0]), *written(office.senior, SAME)]
    before = confidences(office.viewer, ids)
    told = swept(office.senior)
    live = [number for number, one in enumerate(ids) if row(one).lifecycle == "live"]
    after = confidences(office.viewer, ids)
    raised = all(after[number] > before[number] for number in live)
    assert raised == (confidence > 0.9)

    done(undo(office.senior, told["id"]))

    assert [row(one).lifecycle for one in ids] == ["live", "live"]
    assert confidences(office.viewer, ids) == before
    assert not Corroboration.objects.using("owner").filter(tenant=office.tenant).exists()


def test_what_spoke_for_it_before_the_sweep_does_so_still(office, judge):
    ids = [*written(office.colleague, PORTS[0]), *written(office.senior, PORTS[0])]
    spoken = Corroboration.objects.using("owner").filter(tenant=office.tenant).count()
    assert spoken > 0
    judge.relation, judge.confidence = Said.DUPLICATE, 0.95
    told = swept(office.senior)

    undo(office.senior, told["id"])

    assert Corroboration.objects.using("owner").filter(tenant=office.tenant).count() == spoken
    assert ids
