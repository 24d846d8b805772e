"""Writing a memory."""

import pytest


def test_a_memory_is_kept_word_for_word_and_recalled(office):
    said = "The staging database listens on port 5433,\nnot 5432.  Ask *Ops*."

    answer = office.agent.post("/memories", {"content": said, "kind": "gotcha"})

    assert answer.status_code == 201, answer.content
    kept = office.senior.get(f"/memories/{answer.json()['memory_id']}")
    assert kept.status_code == 200, kept.content
    assert kept.json()["content"] == said
    found = office.colleague.post("/recall", {"query": "staging port", "project": "apollo"})
    assert found.status_code == 200, found.content
    assert [one["content"] for one in found.json()["results"]] == [said]
    print(found.json())
