"""What max_tokens bounds is what is sent: the whole answer, whatever is written in it."""

import json
from datetime import UTC, datetime

import pytest
import time_machine

from deploy.mcp.text import as_text
from memory.answering import size_of, tokens_of
from memory.trust.activation import write_counts
from tests.dirty import reported, states
from tests.memories import done, kept

TEXTS = {
    "plain": "The database of staging is slow. " * 3,
    "accented": "Die Datenbank für Staging läuft übermäßig träge. " * 3,
    "Chinese": "暂存环境的数据库很慢。" * 9,
    "lines": "staging\n\t- slow\n\n" * 9,
    "quoted": '"staging" \\ "slow" ' * 9,
    "deceptive": "staging\u2028is\u2029slow\u202e " * 9,
}


def sent(answer):
    """Return about how many tokens the body of an answer is, as it came."""
    return tokens_of(answer.content.decode())


def ask(person, **more):
    return person.post("/recall", {"query": "staging database 暂存环境", "k": 100, **more})


@pytest.fixture
def noted(office):
    """Notes of each sort, and a doubt, a rule, a loop and a dispute about them."""
    for name, text in TEXTS.items():
        for kind in ("fact", "convention"):
            kept(office.senior, f"{kind} {name}: {text}", project="apollo", kind=kind)
    kept(office.senior, "Rotate the key of staging.", project="apollo", kind="task")
    states(office.senior, "staging.port", "5432")
    reported(office.colleague, "staging.port")
    for value in ("trunk", "main"):
        said = [{"subject": "git.base", "value": value}]
        content = f"The staging base is {value}."
        kept(office.senior, content, project="apollo", kind="convention", components=said)


@pytest.mark.rule("RC-12")
@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("暂", 1), ("暂存", 2), ("ü", 1), ("üabc", 2)],
)
def test_a_token_is_four_plain_characters_or_three_bytes_of_another_script(text, tokens):
    assert tokens_of(text) == tokens


@pytest.mark.rule("RC-12")
def test_all_that_is_sent_of_an_item_counts_and_the_parts_are_no_less_than_the_whole():
    item = {"memory_id": "mem_x", "content": "It is so.", "how_to_verify": {"tool": "verify"}}
    json_text = json.dumps(item, separators=(",", ":"))

    assert size_of(item) == tokens_of(json_text + ",") > tokens_of("It is so.")
    assert 5 * size_of(item) >= tokens_of(json.dumps([item] * 5, separators=(",", ":"))[1:-1])
    assert size_of({"content": "\u2028"}) > size_of({"content": "x"})


@pytest.mark.rule("RC-12")
@pytest.mark.usefixtures("noted")
def test_no_recall_is_longer_than_was_asked_for(office):
    whole = ask(office.agent).json()
    empty = sent(ask(office.agent, max_tokens=1))

    for more in ({}, {"explain": True}, {"consequence": "high"}):
        for bound in range(empty + 150, whole["tokens"] + 300, 97):
            answer = ask(office.agent, max_tokens=bound, **more)
            told = done(answer)
            assert sent(answer) <= bound
            # As text for an agent's model it says the same in less.
            assert tokens_of(as_text("recall", told)) <= bound
            assert told["tokens"] <= bound
            assert len(told["results"]) + told["omitted"] == len(whole["results"])
        assert not done(ask(office.agent, max_tokens=whole["tokens"] + 300))["omitted"]


@pytest.fixture
def still(monkeypatch):
    """A moment in which nothing ages and no recall counts: the same answer is as long again."""
    monkeypatch.setattr("memory.recall.count_recall", lambda *_: None)
    write_counts()
    with time_machine.travel(datetime.now(UTC), tick=False):
        yield


@pytest.mark.rule("RC-12")
@pytest.mark.usefixtures("noted", "still")
def test_one_token_less_than_a_result_takes_leaves_it_out(office):
    first = ask(office.agent, k=1).json()
    around = size_of({**ask(office.agent, k=1, max_tokens=1).json(), "tokens": 999})
    exact = around + first["tokens"]

    assert first["tokens"] == size_of(first["results"][0])
    assert done(ask(office.agent, k=1, max_tokens=exact))["omitted"] == 0
    short = done(ask(office.agent, k=1, max_tokens=exact - 1))
    assert (short["results"], short["omitted"], short["tokens"]) == ([], 1, 0)
    assert "Not even the first" in short["interpretation"]["note"]


@pytest.mark.rule("RC-12", "RC-15")
@pytest.mark.usefixtures("noted")
def test_no_briefing_is_longer_than_was_asked_for(office):
    whole = office.agent.get("/briefing", {"max_tokens": 100_000, "task": "staging"})
    empty = office.agent.get("/briefing", {"max_tokens": 1, "task": "staging"})
    names = ("rules", "recent", "relevant", "to_verify", "disputes", "lost")

    assert done(whole)["omitted"] == {}
    assert all(whole.json()[name] for name in names if name != "lost")
    assert not any(done(empty)[name] for name in names)
    for bound in range(sent(empty) + 20, sent(whole) + 200, 103):
        answer = office.agent.get("/briefing", {"max_tokens": bound, "task": "staging"})
        told = done(answer)
        assert sent(answer) <= bound
        assert tokens_of(as_text("build_context", told)) <= bound
        assert told["tokens"] <= bound
        for name in (*names, "open_loops"):
            kept_of_it = told[name]["items"] if name == "open_loops" else told[name]
            all_of_it = whole.json()[name]
            all_of_it = all_of_it["items"] if name == "open_loops" else all_of_it
            assert len(kept_of_it) + told["omitted"].get(name, 0) == len(all_of_it)
    enough = {"max_tokens": sent(whole) + 200, "task": "staging"}
    assert done(office.agent.get("/briefing", enough))["omitted"] == {}
