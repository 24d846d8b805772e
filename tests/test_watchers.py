"""What watchers capture is provisional, whichever watcher it was."""

import pytest

from tests.memories import done, kept, refused, remember, replacing, seen


@pytest.mark.rule("field-fault-6", "TR-02", "PO-02", "SU-09")
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


@pytest.fixture
def task(office):
    """What the agent wrote deliberately, for the watcher's sponsor."""
    return kept(office.agent, "Renew the certificate of the cache on port 11211.", kind="task")


@pytest.mark.rule("WR-07", "RE-04")
@pytest.mark.parametrize(
    "change",
    [{"visibility": "private"}, {"tags": []}, {"importance": 0}, {"review_after": None}],
    ids=str,
)
def test_a_watcher_changes_nothing_that_somebody_stands_for(office, task, change):
    before = seen(office.agent, task)

    refused(office.watcher.patch(f"/memories/{task}", change), 403, "provisional_writer")

    assert seen(office.agent, task) == before
    done(office.agent.patch(f"/memories/{task}", change))


@pytest.mark.rule("WR-07", "RE-04")
@pytest.mark.parametrize("verb", ["forget", "close"])
def test_a_watcher_neither_takes_away_nor_brings_back_what_somebody_stands_for(office, task, verb):
    body = {"reason": "done"} if verb == "forget" else {}
    refused(office.watcher.post(f"/memories/{task}/{verb}", body), 403, "provisional_writer")
    done(office.agent.post(f"/memories/{task}/{verb}", body))

    refused(office.watcher.post(f"/memories/{task}/restore"), 403, "provisional_writer")

    assert seen(office.agent, task)["lifecycle"] == "retired"
    done(office.agent.post(f"/memories/{task}/restore"))


@pytest.mark.rule("WR-07", "RE-04")
def test_a_watcher_does_all_that_with_captures_until_they_are_accepted(office):
    captured = kept(office.watcher, "The crane creaks.", kind="task")
    path = f"/memories/{captured}"
    done(office.watcher.patch(path, {"tags": ["noise"]}))
    for verb, body in (("forget", {"reason": "x"}), ("close", {})):
        done(office.watcher.post(f"{path}/{verb}", body))
        done(office.watcher.post(f"{path}/restore"))

    done(office.reviewer.post(f"{path}/accept", {"reason": "heard it, too"}))

    refused(office.watcher.patch(path, {"tags": []}), 403, "provisional_writer")
    refused(office.watcher.post(f"{path}/forget", {"reason": "x"}), 403, "provisional_writer")
    done(office.agent.post(f"{path}/forget", {"reason": "x"}))


@pytest.mark.rule("WR-07", "DE-04")
@pytest.mark.parametrize("verb", ["accept", "dismiss"])
def test_a_watcher_says_of_no_others_words_what_they_state(office, verb):
    memory = remember(office.agent, "The staging database listens on port 5432.")["memory"]
    (suggested,) = memory["suggested_components"]
    path = f"/components/{suggested['id']}/{verb}"

    refused(office.watcher.post(path), 403, "provisional_writer")

    done(office.agent.post(path))


@pytest.mark.rule("WR-07", "WR-06", "DE-04")
def test_what_a_watchers_repeat_states_of_anothers_words_is_a_suggestion(office):
    """Declared, it would be judged with certainty, and retire what others wrote."""
    said = "The staging port is as agreed."
    memory = kept(office.agent, said, project="apollo")
    other = kept(office.agent, "It is 5432.", project="apollo", components=[stated("5432")])
    repeat = {"content": said, "project": "apollo", "components": [stated("5433")]}

    told = done(office.watcher.post("/memories", repeat))

    assert (told["memory_id"], told["absorbed"], told["conflicts"]) == (memory, True, [])
    now = seen(office.agent, memory)
    assert [one["value"] for one in now["suggested_components"]] == ["5433"]
    assert now["components"] == []
    assert seen(office.agent, other)["lifecycle"] == "live"
    # Who stands for it says the same, and it is stated.
    assert done(office.agent.post("/memories", repeat))["conflicts"] != []
    assert [one["value"] for one in seen(office.agent, memory)["components"]] == ["5433"]


def stated(value):
    return {"subject": "staging.port", "value": value}


@pytest.mark.rule("WR-07", "SB-05")
def test_a_watcher_takes_no_link_away_from_what_somebody_stands_for(office, task):
    on = kept(office.agent, "The certificate is by ZeroSSL.")
    said = {"src": task, "dst": on, "type": "depends_on"}
    link = done(office.agent.post("/links", said))["id"]

    refused(office.watcher.delete(f"/links/{link}"), 403, "provisional_writer")

    done(office.agent.delete(f"/links/{link}"))
    captured = kept(office.watcher, "The certificate was seen.")
    own = done(office.watcher.post("/links", {**said, "src": captured}))["id"]
    done(office.watcher.delete(f"/links/{own}"))


@pytest.mark.rule("VE-06", "DI-02")
def test_a_watcher_may_say_what_it_saw(office, task):
    body = {"outcome": "confirmed", "method": "command", "evidence": "It runs out in May."}
    done(office.watcher.post(f"/memories/{task}/verify", body))
    done(office.watcher.post(f"/memories/{task}/challenge", {"reason": "It was renewed."}))
    assert seen(office.agent, task)["disputed"]
