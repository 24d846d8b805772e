"""What was done to a memory and its versions, by whom and why."""

import pytest

from memory.models import Memory
from tenants.models import Event
from tests.memories import MISSING, commands, done, kept, refused, remember, replacing, seen


@pytest.mark.rule("HI-01")
def test_the_whole_chain_is_told_from_any_version_in_both_directions(office):
    texts = [f"Version {number} of the deployment rule." for number in range(4)]
    ids = [kept(office.agent, texts[0])]
    for text in texts[1:]:
        ids.append(remember(office.agent, text, links=replacing(ids[-1]))["memory_id"])

    for one in ids:
        for chain in (
            seen(office.colleague, one)["chain"],
            done(office.colleague.get(f"/memories/{one}/history"))["chain"],
        ):
            assert [version["id"] for version in chain] == ids
            assert [version["content"] for version in chain] == texts
            assert [version["superseded_by"] for version in chain] == [*ids[1:], None]
            reasons = [version["supersede_reason"] for version in chain]
            assert reasons == ["declared", "declared", "declared", None]
            assert {version["author"]["name"] for version in chain} == {f"agent-{office.slug}"}
            assert all(version["superseded_at"] for version in chain[:-1])
    assert done(office.colleague.get(f"/memories/{ids[0]}"))["content"] == texts[0]


@pytest.mark.rule("HI-01")
def test_one_memory_may_follow_several(office):
    first, second = kept(office.agent, "Port 1 is in use."), kept(office.agent, "Port 2 is in use.")
    third = remember(office.agent, "All ports are free.", links=replacing(first, second))[
        "memory_id"
    ]

    chain = seen(office.agent, second)["chain"]
    assert {one["id"]: one["superseded_by"] for one in chain} == {
        first: third,
        second: third,
        third: None,
    }


@pytest.mark.rule("HI-03")
def test_every_change_leaves_exactly_one_event_with_who_what_and_why(office):
    memory_id = kept(office.agent, "Deploy on Mondays.", kind="task")
    path = f"/memories/{memory_id}"
    done(office.agent.patch(path, {"tags": ["deploy"], "importance": 0.9}))
    done(office.agent.post(f"{path}/close", {"note": "done"}))
    done(office.senior.post(f"{path}/restore", {"reason": "not done"}))
    remember(office.agent, "Deploy on Mondays.", kind="task")
    done(office.senior.patch(path, {"visibility": "tenant"}))
    done(office.senior.post(f"{path}/forget", {"reason": "given up"}))
    done(office.senior.post(f"{path}/restore"))
    remember(office.senior, "Deploy daily.", visibility="tenant", links=replacing(memory_id))

    events = done(office.senior.get(f"{path}/history"))["events"]
    own = [event for event in events if event["memory_id"] == memory_id]
    assert [event["command"] for event in own] == [
        *(
            "remember",
            "patch_memory",
            "close_loop",
            "restore_memory",
            "absorb",
            "patch_memory",
            "forget",
            "restore_memory",
        ),
        "supersede",
    ]
    assert [event["actor"]["type"] for event in own[:4]] == ["agent", "agent", "agent", "member"]
    assert [event["reason"] for event in own[2:4]] == ["done", "not done"]
    assert own[1]["before"] == {"tags": [], "importance": 0.5}
    assert own[1]["after"] == {"tags": ["deploy"], "importance": 0.9}
    assert own[5]["before"] == {"visibility": "project"}
    for event in events:
        assert event["id"].startswith("evt_")
        assert event["token"].startswith("tok_")
        assert event["request_id"]
        assert event["at"].endswith("Z")
    assert len({event["request_id"] for event in own}) == len(own)
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)


@pytest.mark.rule("HI-03")
def test_what_changes_nothing_leaves_no_event(office):
    memory_id = kept(office.agent, "Deploy on Mondays.")
    path = f"/memories/{memory_id}"
    before = Event.objects.using("owner").filter(tenant=office.tenant).count()

    done(office.agent.get(path))
    done(office.agent.post("/recall", {"query": "deploy"}))
    refused(office.agent.post(f"{path}/restore"), 409, "already_live")
    refused(office.agent.post(f"{path}/close"), 400, "validation_failed")
    refused(office.agent2.post(f"{path}/forget", {"reason": "x"}), 403, "forbidden")
    refused(office.agent.patch(path, {}), 400, "validation_failed")

    assert Event.objects.using("owner").filter(tenant=office.tenant).count() == before
    assert seen(office.agent, memory_id)["version"] == 1


@pytest.mark.rule("VI-04", "VI-02")
def test_the_history_of_what_is_hidden_is_not_there(office, other_office):
    private = kept(office.senior, "My notes.", project="apollo", visibility="private")
    foreign = kept(other_office.agent, "Their notes.")

    for one in (private, foreign, MISSING, "mem_x"):
        refused(office.colleague.get(f"/memories/{one}/history"), 404, "not_found")
    assert commands(office.senior, private) == ["remember"]


@pytest.mark.rule("HI-01", "VI-02")
def test_a_hidden_version_is_left_out_of_the_chain(office):
    private = kept(office.senior, "Draft of the rule.", project="apollo", visibility="private")
    shared = remember(office.senior, "The rule.", project="apollo", links=replacing(private))[
        "memory_id"
    ]

    told = seen(office.colleague, shared)
    history = done(office.colleague.get(f"/memories/{shared}/history"))

    assert [one["id"] for one in told["chain"]] == [shared]
    assert (told["supersedes"], told["links"]) == ([], [])
    assert private not in str(history)
    assert [one["id"] for one in seen(office.senior, shared)["chain"]] == [private, shared]


@pytest.mark.rule("HI-01")
def test_nothing_replaced_is_ever_deleted(office):
    texts = ["One wording.", "Another wording.", "A third wording."]
    ids = [kept(office.agent, texts[0])]
    for text in texts[1:]:
        ids.append(remember(office.agent, text, links=replacing(ids[-1]))["memory_id"])

    stored = Memory.objects.using("owner").filter(tenant=office.tenant).order_by("sequence")
    assert [memory.content for memory in stored] == texts
