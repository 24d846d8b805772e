"""Who may not read what caused a mark learns that something changed, and nothing of it."""

import pytest

from tests.memories import done, kept

SECRET = "the vault is behind the painting"
QUERY = {"query": "how apollo is deployed", "project": "apollo"}


@pytest.fixture
def resting(office):
    """A memory that apollo reads and that rests on a private one, which is superseded."""
    private = kept(office.senior, SECRET, project="apollo", visibility="private")
    shared = kept(office.senior, "How apollo is deployed.", project="apollo", depends_on=[private])
    successor = kept(
        office.senior,
        f"{SECRET}, and the key under the mat",
        project="apollo",
        visibility="private",
        links=[{"type": "supersedes", "dst": private}],
    )
    return shared, (private, successor)


@pytest.mark.rule("SB-04", "SB-05", "VI-02")
def test_the_owner_is_told_what_happened_to_which(office, resting):
    shared, (private, _) = resting
    (mark,) = done(office.senior.get(f"/memories/{shared}"))["marks"]
    assert (mark["cause"], mark["cause_memory"]) == ("superseded", private)
    assert mark["path"] == [private]


@pytest.mark.rule("SB-04", "VI-02", "DE-08")
@pytest.mark.parametrize("name", ["colleague", "reviewer", "contractor", "viewer", "agent2"])
def test_nothing_of_a_hidden_cause_shows(office, resting, name):
    shared, hidden = resting
    reader = getattr(office, name)
    told = done(reader.get(f"/memories/{shared}"))
    (mark,) = told["marks"]
    assert (mark["cause"], mark["cause_memory"], mark["path"]) == ("superseded", None, [])
    assert told["trust_state"] == "dirty"
    assert told["dirty_reason"]
    answers = [
        reader.get(f"/memories/{shared}"),
        reader.get(f"/memories/{shared}/history"),
        reader.get("/memories", {"lifecycle": "all"}),
        reader.get("/conflicts", {"state": "all"}),
        reader.get("/briefing", {"project": "apollo"}),
        reader.post("/recall", {**QUERY, "mode": "historical"}),
        reader.post("/recall", QUERY),
    ]
    for answer in answers:
        assert answer.status_code == 200, answer.content
        for hint in (SECRET, *hidden):
            assert hint not in answer.content.decode()


@pytest.fixture
def spoken_of(office):
    """The senior's private memory and a shared one, which say something of the same subject."""
    components = [{"subject": "apollo.branch", "value": "main"}]
    return [
        kept(
            office.senior, f"The branch, {how}.", project="apollo", visibility=how,
            components=components,
        )
        for how in ("project", "private")
    ]  # fmt: skip


@pytest.mark.rule("SB-01", "DE-08", "VI-02")
def test_who_reports_a_change_is_not_told_what_hidden_memories_it_marks(office, spoken_of):
    shared, private = spoken_of
    said = {"project": "apollo", "subject": "apollo.branch", "summary": "It is trunk now."}
    told = office.colleague.post("/changes", said)
    assert told.status_code == 201, told.content
    assert [one["memory_id"] for one in told.json()["marked"]] == [shared]
    assert private not in told.content.decode()
    for memory in spoken_of:
        assert len(done(office.senior.get(f"/memories/{memory}"))["marks"]) == 1


@pytest.mark.rule("VE-05", "DE-08", "VI-02")
def test_who_verifies_is_not_told_which_hidden_marks_went_with_it(office):
    ground = kept(office.colleague, "The ground of it all.", project="apollo", subjects=["ground"])
    resting = kept(
        office.senior, "Rests on it.", project="apollo", visibility="private", depends_on=[ground]
    )
    said = {"project": "apollo", "subject": "ground", "summary": "It shook."}
    assert office.colleague.post("/changes", said).status_code == 201
    assert done(office.senior.get(f"/memories/{resting}"))["trust_state"] == "dirty"

    found = {"outcome": "confirmed", "method": "file"}
    answer = office.colleague.post(f"/memories/{ground}/verify", found)

    assert [one["memory_id"] for one in done(answer)["cleared"]] == [ground]
    assert resting not in answer.content.decode()
    assert done(office.senior.get(f"/memories/{resting}"))["trust_state"] == "verified"
