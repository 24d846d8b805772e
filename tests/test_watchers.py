"""What watchers capture is provisional, whichever watcher it was."""

import pytest

from tests.memories import done, kept, refused, replacing, seen

pytestmark = pytest.mark.rule("field-fault-6", "TR-02", "PO-02", "SU-09")


def test_every_watcher_is_one(office):
    other = office.bot("second-watcher", office.colleague, kind="watcher")
    known = kept(office.senior, "The harbor crane lifts forty tons.", project="apollo")

    heard = ((office.watcher, "The crane creaks."), (other, "The crane groans."))
    captured = [(who, kept(who, text, project="apollo")) for who, text in heard]

    for who, memory_id in captured:
        memory = seen(office.senior, memory_id)
        assert (memory["provenance_rank"], memory["trust_state"]) == (0, "proposed")
        body = {"content": "It lifts fifty.", "project": "apollo", "links": replacing(known)}
        refused(who.post("/memories", body), 403, "provisional_writer")
    asked = {"query": "What does the crane do?", "project": "apollo", "k": 50}
    found = {one["memory_id"]: one for one in done(office.agent.post("/recall", asked))["results"]}
    weights = [found[one]["score_parts"]["rank"] for _, one in captured]
    assert weights[0] == weights[1] < found[known]["score_parts"]["rank"]
    told = done(office.agent.get("/briefing", {"project": "apollo"}))
    recent = {one["memory_id"] for one in told["recent"]}
    assert known in recent
    assert not recent & {one for _, one in captured}
