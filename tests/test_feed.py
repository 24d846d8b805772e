"""The feed of memories: what each choice shows, its counts, its pages."""

import pytest

from tests.memories import done, kept, refused, remember, replacing

CHOICES = ("current", "live", "superseded", "retired", "expired", "all")


@pytest.fixture
def lives(office):
    """One memory in every state, by its state."""
    superseded = kept(office.agent, "The port is 5432.")
    live = remember(office.agent, "The port is 5433.", links=replacing(superseded))["memory_id"]
    forgotten = kept(office.agent, "The port is 1.")
    done(office.agent.post(f"/memories/{forgotten}/forget", {"reason": "test"}))
    expired = kept(office.agent, "The port is frozen.", valid_until="2020-01-01T00:00:00Z")
    return {"live": live, "superseded": superseded, "retired": forgotten, "expired": expired}


def listed(person, **query):
    return [one["id"] for one in done(person.get("/memories", query))["results"]]


@pytest.mark.rule("HI-02")
def test_by_default_superseded_versions_are_hidden_and_what_was_retired_is_shown(office, lives):
    told = done(office.colleague.get("/memories"))

    assert [one["id"] for one in told["results"]] == [
        lives["expired"],
        lives["retired"],
        lives["live"],
    ]
    assert [one["lifecycle"] for one in told["results"]] == ["retired", "retired", "live"]
    assert [one["trust_state"] for one in told["results"]] == ["expired", "verified", "verified"]
    assert (told["count"], told["next"]) == (3, None)


@pytest.mark.rule("HI-02")
def test_every_choice_shows_as_many_as_its_count_says(office, lives):
    wanted = {
        "current": {"live", "retired", "expired"},
        "live": {"live"},
        "superseded": {"superseded"},
        "retired": {"retired"},
        "expired": {"expired"},
        "all": set(lives),
    }
    counts = done(office.colleague.get("/memories"))["counts"]

    assert set(counts) == set(CHOICES)
    for choice in CHOICES:
        told = done(office.colleague.get("/memories", {"lifecycle": choice}))
        assert {one["id"] for one in told["results"]} == {lives[one] for one in wanted[choice]}
        assert (told["count"], told["counts"]) == (counts[choice], counts)
    refused(
        office.colleague.get("/memories", {"lifecycle": "dead"}),
        400,
        "validation_failed",
        "lifecycle",
    )


@pytest.mark.rule("HI-02")
def test_filters_narrow_the_list_and_its_counts(office):
    fact = kept(office.senior, "The cache lives in Redis.", project="apollo", tags=["cache"])
    task = kept(office.senior, "Move the cache.", project="apollo", kind="task")
    personal = kept(office.senior, "I like tea.", kind="preference")
    captured = kept(office.watcher, "Somebody restarted the cache.")

    assert listed(office.senior) == [captured, personal, task, fact]
    assert listed(office.senior, kind="task") == [task]
    assert listed(office.senior, tag="cache") == [fact]
    assert listed(office.senior, visibility="private") == [personal]
    assert listed(office.senior, project="apollo") == [captured, task, fact]
    assert listed(office.senior, q="cache") == [captured, task, fact]
    assert listed(office.senior, q="redis", kind="task") == []
    assert listed(office.senior, trust_state="proposed") == [captured]
    assert listed(office.senior, trust_state="verified", project="apollo") == [task, fact]
    counts = done(office.senior.get("/memories", {"kind": "task"}))["counts"]
    assert (counts["all"], counts["live"], counts["superseded"]) == (1, 1, 0)
    refused(
        office.senior.get("/memories", {"project": "nowhere"}), 400, "validation_failed", "project"
    )
    refused(office.senior.get("/memories", {"order": "owner"}), 400, "validation_failed", "order")


@pytest.mark.rule("field-fault-5", "VI-02", "T006")
def test_pages_are_cut_after_sight_so_that_nobody_hides_anothers_rows(office, other_office):
    mine = [kept(office.contractor, f"Note {number}.", project="apollo") for number in range(5)]
    for number in range(12):
        kept(office.outsider, f"Hermes {number}.", project="hermes")
        kept(office.senior, f"Private {number}.", project="apollo", visibility="private")
        kept(other_office.agent, f"Elsewhere {number}.")

    pages, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        told = done(office.contractor.get("/memories", query))
        assert (told["count"], told["counts"]["all"]) == (5, 5)
        pages.append([one["id"] for one in told["results"]])
        cursor = told["next"]
        if cursor is None:
            break

    assert [len(page) for page in pages] == [2, 2, 1]
    assert [one for page in pages for one in page] == mine[::-1]


@pytest.mark.rule("T011", "VI-02")
def test_a_cursor_is_for_the_one_it_was_given_to(office, other_office):
    for person in (office.contractor, office.senior, other_office.senior):
        for number in range(3):
            kept(person, f"Note {number} of {person.name}.")
    cursor = done(office.contractor.get("/memories", {"limit": 1}))["next"]

    assert office.contractor.get("/memories", {"limit": 1, "cursor": cursor}).status_code == 200
    for person in (office.senior, other_office.senior):
        refused(person.get("/memories", {"cursor": cursor}), 400, "validation_failed", "cursor")
    refused(
        office.contractor.get("/memories", {"cursor": f"{cursor}x"}),
        400,
        "validation_failed",
        "cursor",
    )
