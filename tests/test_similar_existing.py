"""What a writer is shown of its own that is alike."""

import pytest

from tests.memories import done, kept, recalled, remember, replacing, seen

SAID = "The staging database listens on port 5433."
ALIKE = "The staging database listens on port 5432."


@pytest.mark.rule("NE-01", "NE-02", "NE-03")
def test_what_the_owner_said_before_is_shown_nearest_first(office):
    far = kept(office.agent, "Ich trinke gern Tee.", kind="preference")
    near = kept(office.senior, ALIKE, project="apollo", kind="gotcha")

    told = remember(office.agent, SAID)

    assert [one["id"] for one in told["similar_existing"]] == [near, far]
    first, last = told["similar_existing"]
    assert set(first) == {"id", "kind", "age_days", "similarity", "preview"}
    assert (first["kind"], first["age_days"], first["preview"]) == ("gotcha", 0, ALIKE)
    assert 1 >= first["similarity"] > 0.8 > last["similarity"]
    assert "supersedes" in told["hint"]
    assert "link" in told["hint"]
    assert told["memory_id"] not in (near, far)


@pytest.mark.rule("NE-01")
def test_with_nothing_to_show_there_is_neither_list_nor_hint(office):
    kept(office.colleague, ALIKE, project="apollo")

    told = remember(office.agent, SAID)

    assert (told["similar_existing"], told["hint"]) == ([], None)


@pytest.mark.rule("NE-01")
def test_at_most_ten_are_shown_and_of_a_long_one_the_beginning(office):
    for number in range(12):
        kept(office.agent, f"Note {number}: " + "the staging database is slow. " * 20)

    shown = remember(office.agent, SAID)["similar_existing"]

    assert len(shown) == 10
    assert {len(one["preview"]) for one in shown} == {200}
    similarities = [one["similarity"] for one in shown]
    assert similarities == sorted(similarities, reverse=True)


@pytest.mark.rule("NE-01")
def test_only_what_is_live_is_shown(office):
    forgotten, replaced = kept(office.agent, "Port 1 is old."), kept(office.agent, "Port 2 is old.")
    expired = kept(office.agent, "Port 3 is old.", valid_until="2020-01-01T00:00:00Z")
    done(office.agent.post(f"/memories/{forgotten}/forget", {"reason": "test"}))
    successor = remember(office.agent, "Port 4 is new.", links=replacing(replaced))["memory_id"]

    shown = [one["id"] for one in remember(office.agent, SAID)["similar_existing"]]

    assert shown == [successor]
    assert expired not in shown


@pytest.mark.rule("NE-03", "VI-03")
def test_personal_ones_appear_in_a_project_and_a_projects_not_in_a_personal_write(office):
    granted = office.bot("granted", office.senior, personal=True)
    in_project = kept(office.senior, ALIKE, project="apollo")
    personal = kept(office.senior, "My own database listens on port 5431.")

    def shown(person, **where):
        told = remember(person, f"Staging of {person.name} is on {len(where)}.", **where)
        return {one["id"] for one in told["similar_existing"]} & {in_project, personal}

    assert shown(office.senior, project="apollo") == {in_project, personal}
    assert shown(office.senior) == {personal}
    assert shown(granted) == {in_project, personal}
    assert shown(granted, scope="personal") == {personal}
    assert shown(office.agent) == {in_project}


@pytest.mark.rule("NE-03")
def test_nothing_of_another_project_is_shown(office):
    there = kept(office.reviewer, ALIKE, project="hermes")
    wide = kept(office.reviewer, ALIKE, project="hermes", visibility="tenant")

    told = remember(office.reviewer, SAID, project="apollo")

    assert told["similar_existing"] == []
    assert [
        one["id"] for one in remember(office.reviewer, SAID, project="hermes")["similar_existing"]
    ]
    assert there != wide


@pytest.mark.rule("NE-04", "field-fault-20")
def test_likeness_retires_nothing_and_an_id_from_the_list_can(office):
    first = kept(office.agent, ALIKE)
    told = remember(office.agent, SAID)
    shown = told["similar_existing"][0]

    assert (shown["id"], told["superseded"]) == (first, [])
    assert set(recalled(office.agent, "staging port")) == {SAID, ALIKE}

    again = remember(office.agent, SAID, links=replacing(shown["id"]))
    assert again["superseded"] == [first]
    assert recalled(office.agent, "staging port") == [SAID]


@pytest.mark.rule("NE-05")
def test_who_declares_is_shown_no_list(office):
    first = kept(office.agent, ALIKE)
    kept(office.agent, "The staging database is slow.")

    told = remember(office.agent, SAID, links=replacing(first))
    skipped = remember(office.agent, "Staging is slow.", links=replacing(first))

    assert (told["similar_existing"], told["hint"]) == ([], None)
    assert (skipped["similar_existing"], skipped["hint"]) == ([], None)
    assert seen(office.agent, first)["lifecycle"] == "superseded"
