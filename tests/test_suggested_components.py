"""What is read out of a text about subjects: suggested, and stated only once it is accepted."""

from pathlib import Path

import pytest

from memory.trust.suggest import Suggestion, suggested_components
from tests.memories import done, kept, refused, seen

LABELLED = Path(__file__).parent / "data" / "suggestions.tsv"
SAID = "The staging database port is 5433."


def labelled() -> list[tuple[str, set[Suggestion]]]:
    rows = [
        line.split("\t")
        for line in LABELLED.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    return [
        (
            text.replace("\\n", "\n"),
            set()
            if label == "-"
            else {Suggestion(*one.split(" = ", 1)) for one in label.split(" ; ")},
        )
        for text, label in rows
    ]


def test_nine_of_ten_suggestions_are_right_and_most_of_what_is_said_is_found():
    sentences = labelled()
    told = [(set(suggested_components(text)), wanted) for text, wanted in sentences]
    suggested = sum(len(found) for found, _ in told)
    right = sum(len(found & wanted) for found, wanted in told)
    assert len(sentences) >= 200
    assert right / suggested >= 0.9
    assert right / sum(len(wanted) for _, wanted in sentences) >= 0.6
    assert sum(not wanted for _, wanted in sentences) >= 80


@pytest.mark.parametrize(
    "text",
    ["a" * 20_000, "The " * 5_000, "x: " * 5_000, "`" * 9_000, "The port is " + "1," * 9_000],
)
def test_no_text_is_looked_at_for_long(text):
    assert suggested_components(text) == []


def test_a_secret_is_never_suggested():
    assert suggested_components("The database password is hunter22.\nDB_TOKEN=abc-123") == []


@pytest.mark.rule("DE-04")
def test_a_suggestion_is_told_apart_and_states_nothing(office):
    first = kept(office.senior, SAID, project="apollo")
    second = done(
        office.senior.post(
            "/memories", {"content": "Staging database port: 6000", "project": "apollo"}
        )
    )

    memory = seen(office.senior, first)
    assert memory["components"] == []
    (suggested,) = memory["suggested_components"]
    assert (suggested["subject"], suggested["value"]) == ("staging_database.port", "5433")
    assert second["conflicts"] == []
    assert seen(office.senior, first)["lifecycle"] == "live"


def test_who_states_components_is_suggested_none(office):
    stated = [{"subject": "db.port", "value": "5433"}]
    memory = seen(office.senior, kept(office.senior, SAID, project="apollo", components=stated))

    assert [one["subject"] for one in memory["components"]] == ["db.port"]
    assert memory["suggested_components"] == []


@pytest.mark.rule("DE-04")
def test_an_accepted_suggestion_is_stated_and_clashes_at_once(office):
    told = [{"subject": "staging_database.port", "value": "6000"}]
    older = kept(office.senior, "It moved to 6000.", project="apollo", components=told)
    newer = kept(office.senior, SAID, project="apollo")
    (suggested,) = seen(office.senior, newer)["suggested_components"]

    answer = done(office.senior.post(f"/components/{suggested['id']}/accept"))

    assert [one["value"] for one in answer["memory"]["components"]] == ["5433"]
    assert answer["memory"]["suggested_components"] == []
    assert [one["winner"] for one in answer["conflicts"]] == [newer]
    assert seen(office.senior, older)["superseded_by"] == newer
    again = office.senior.post(f"/components/{suggested['id']}/accept")
    refused(again, 409, "conflict")


def test_a_dismissed_suggestion_is_gone(office):
    memory = kept(office.senior, SAID, project="apollo")
    (suggested,) = seen(office.senior, memory)["suggested_components"]

    answer = done(office.senior.post(f"/components/{suggested['id']}/dismiss"))

    assert answer["memory"]["components"] == []
    assert answer["memory"]["suggested_components"] == []
    refused(office.senior.post(f"/components/{suggested['id']}/accept"), 409, "conflict")


def test_only_who_may_replace_the_memory_takes_up_what_was_suggested(office):
    memory = kept(office.senior, SAID, project="apollo")
    (suggested,) = seen(office.senior, memory)["suggested_components"]
    path = f"/components/{suggested['id']}/accept"

    refused(office.contractor.post(path), 403, "forbidden")
    refused(office.outsider.post(path), 404, "not_found")
    assert seen(office.senior, memory)["components"] == []
    done(office.colleague.post(path))
