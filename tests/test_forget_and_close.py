"""Taking a memory out of use, and closing what is done."""

import pytest

from tests.memories import MISSING, commands, done, kept, recalled, refused, row, seen

SAID = "The staging database listens on port 5432."


@pytest.mark.rule("RC-08", "HI-03")
def test_what_is_forgotten_is_kept_and_recalled_no_more(office):
    memory_id = kept(office.agent, SAID)

    told = done(office.agent.post(f"/memories/{memory_id}/forget", {"reason": "wrong port"}))

    assert (told["lifecycle"], told["invalidated_reason"]) == ("retired", "forgotten")
    assert (told["content"], told["trust_state"], told["superseded_by"]) == (SAID, "verified", None)
    assert recalled(office.agent, "staging port") == []
    events = done(office.agent.get(f"/memories/{memory_id}/history"))["events"]
    assert [(one["command"], one["reason"]) for one in events] == [
        ("remember", ""),
        ("forget", "wrong port"),
    ]
    assert events[-1]["before"] == {"lifecycle": "live"}
    assert events[-1]["after"] == {"lifecycle": "retired", "invalidated_reason": "forgotten"}


def test_forgetting_takes_a_reason_and_happens_once(office):
    memory_id = kept(office.agent, SAID)

    refused(office.agent.post(f"/memories/{memory_id}/forget"), 400, "validation_failed", "reason")
    done(office.agent.post(f"/memories/{memory_id}/forget", {"reason": "wrong"}))
    refused(
        office.agent.post(f"/memories/{memory_id}/forget", {"reason": "wrong"}),
        409,
        "already_retired",
    )
    assert commands(office.agent, memory_id) == ["remember", "forget"]


@pytest.mark.rule("WR-07", "SU-09")
def test_a_watcher_takes_back_captures_and_nothing_else(office):
    captured = kept(office.watcher, SAID)
    written = kept(office.agent, "Releases go out on Tuesdays.")
    task = kept(office.agent, "Renew the certificate.", kind="task")

    for path, body in (
        (f"/memories/{written}/forget", {"reason": "no"}),
        (f"/memories/{task}/close", {}),
    ):
        refused(office.watcher.post(path, body), 403, "provisional_writer")
    assert seen(office.agent, written)["lifecycle"] == "live"
    assert commands(office.agent, task) == ["remember"]
    done(office.watcher.post(f"/memories/{captured}/forget", {"reason": "seen wrongly"}))


@pytest.mark.rule("VI-04", "field-fault-9")
@pytest.mark.parametrize(
    ("person", "status"),
    [
        *(("senior", 200), ("agent", 200), ("colleague", 200), ("reviewer", 200)),
        *(("contractor", 403), ("agent2", 403), ("outsider", 404)),
    ],
)
def test_who_may_forget_what_is_of_a_project(office, person, status):
    memory_id = kept(office.senior, SAID, project="apollo")

    answer = getattr(office, person).post(f"/memories/{memory_id}/forget", {"reason": "test"})

    assert answer.status_code == status, answer.content
    assert row(memory_id).lifecycle == ("retired" if status == 200 else "live")


@pytest.mark.rule("VI-04", "field-fault-9")
@pytest.mark.parametrize("verb", ["forget", "close"])
def test_what_is_hidden_or_missing_is_not_there(office, other_office, verb):
    private = kept(office.senior, SAID, project="apollo", visibility="private", kind="task")
    foreign = kept(other_office.agent, SAID, kind="task")
    body = {"reason": "x"} if verb == "forget" else {}

    for one in (private, foreign, MISSING, "mem_1"):
        refused(office.colleague.post(f"/memories/{one}/{verb}", body), 404, "not_found")
    assert (row(private).lifecycle, row(foreign).lifecycle) == ("live", "live")
    done(office.senior.post(f"/memories/{private}/{verb}", body))


@pytest.mark.rule("RE-02")
@pytest.mark.parametrize("kind", ["task", "open_question"])
def test_a_loop_is_closed_with_a_note_and_restoring_reopens_it(office, kind):
    loop = kept(office.agent, "Find out who owns the staging database.", kind=kind)

    told = done(office.agent.post(f"/memories/{loop}/close", {"note": "Ops do"}))
    assert (told["lifecycle"], told["invalidated_reason"]) == ("retired", "closed")
    refused(office.agent.post(f"/memories/{loop}/close"), 409, "already_retired")
    assert recalled(office.agent, "staging database") == []

    done(office.agent.post(f"/memories/{loop}/restore"))
    assert seen(office.agent, loop)["invalidated_reason"] is None
    assert len(recalled(office.agent, "staging database")) == 1
    assert commands(office.agent, loop) == ["remember", "close_loop", "restore_memory"]


def test_what_is_no_loop_cannot_be_closed(office):
    memory_id = kept(office.agent, SAID)

    refused(
        office.agent.post(f"/memories/{memory_id}/close"), 400, "validation_failed", "memory_id"
    )
    assert seen(office.agent, memory_id)["lifecycle"] == "live"
