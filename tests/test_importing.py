"""Markdown files become memories, a section each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.importing import (
    KINDS,
    LONGEST,
    Note,
    Unreadable,
    forecast,
    memories_in,
    notes_of,
    pieces,
    send,
)
from memory.models import Kind
from memory.requests import LONGEST_CONTENT, RememberBody

GUIDE = """\
Before everything.

# Guide

## Install

Run `make up`.

```sh
# no heading, but a comment
make up
```

> # no heading either, but a quotation

## Empty

## Use
### Recall
Ask first.

Setext
------
Underlined.

## Use
Again.
"""


def test_each_section_is_a_note_with_its_text_as_it_stands():
    notes = list(notes_of(GUIDE, "docs/guide.md"))

    assert [(note.uri, note.content.partition("\n")[0]) for note in notes] == [
        ("docs/guide.md", "Before everything."),
        ("docs/guide.md#guide/install", "## Install"),
        ("docs/guide.md#guide/use/recall", "### Recall"),
        ("docs/guide.md#guide/setext", "Setext"),
        ("docs/guide.md#guide/use", "## Use"),
    ]
    assert all(note.content in GUIDE for note in notes)
    assert "# no heading, but a comment" in notes[1].content


def test_two_sections_with_one_title_have_two_addresses():
    text = "# Log\nOne.\n# Log\nTwo.\n"

    assert [note.uri for note in notes_of(text, "log.md")] == ["log.md#log", "log.md#log-2"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("docs/decisions/0001-one-door.md", "decision"),
        ("docs/adr/2024/0001.md", "decision"),
        ("docs/glossary.md", "reference"),
        ("CHANGELOG.md", "episode"),
        ("README.md", "fact"),
    ],
)
def test_the_place_of_a_file_says_the_kind(name, kind):
    assert [note.kind for note in notes_of("# A\nText.\n", name)] == [kind]


def test_the_front_matter_says_the_kind_and_is_no_text():
    (note,) = notes_of("---\ntitle: Ports\nkind: convention\n---\n# Ports\nUse 54xx.\n", "a.md")

    assert (note.kind, note.content) == ("convention", "# Ports\nUse 54xx.")


def test_a_line_says_the_kind_of_its_section_and_of_those_inside():
    text = "# A\nFact.\n## B\nKind: gotcha\n\nTrap.\n### C\nInner trap.\n## D\n**Kind:** nonsense\n"

    assert [note.kind for note in notes_of(text, "a.md")] == ["fact", "gotcha", "gotcha", "fact"]


def test_the_kinds_and_limits_are_the_ones_of_the_product():
    assert list(KINDS) == Kind.values
    assert LONGEST == LONGEST_CONTENT


def test_a_section_that_is_too_long_is_cut_between_paragraphs():
    paragraphs = [f"Paragraph {number}. {'word ' * 1000}".strip() for number in range(20)]
    text = "# Long\n\n" + "\n\n".join(paragraphs)

    notes = list(notes_of(text, "long.md"))

    assert len(notes) > 1
    assert [note.uri for note in notes[:2]] == ["long.md#long/part-1", "long.md#long/part-2"]
    assert all(len(note.content.encode()) <= LONGEST for note in notes)
    assert "\n\n".join(note.content for note in notes) == text


@given(st.text(alphabet="aé字 \n\t", max_size=300), st.integers(min_value=4, max_value=40))
def test_cutting_loses_nothing_but_empty_lines(text, longest):
    found = list(pieces(text, longest))

    assert all(len(piece.encode()) <= longest for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())


def test_the_same_files_give_the_same_notes(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.md").write_text("# Two\n2\n")
    (tmp_path / "a.markdown").write_text("\ufeff# One\r\n1\r\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")

    notes = memories_in(tmp_path, root=tmp_path)

    assert notes == memories_in(tmp_path, tmp_path / "b" / "two.md", root=tmp_path)
    assert [(note.uri, note.content) for note in notes] == [
        ("a.markdown#one", "# One\n1"),
        ("b/two.md#two", "# Two\n2"),
    ]


def test_what_is_not_there_or_no_text_is_named(tmp_path):
    (tmp_path / "bad.md").write_bytes(b"# \xff\xfe\n")

    with pytest.raises(FileNotFoundError, match="missing"):
        memories_in(tmp_path / "missing.md", root=tmp_path)
    with pytest.raises(Unreadable, match=r"bad\.md"):
        memories_in(tmp_path, root=tmp_path)


def test_a_forecast_sends_nothing_and_counts_all():
    notes = [Note("One", "fact", "a"), Note("One", "fact", "b"), Note("Zwölf", "gotcha", "c")]

    ahead = forecast(notes)

    assert (ahead.notes, ahead.distinct, ahead.bytes) == (3, 2, 12)
    assert ahead.kinds == {"fact": 2, "gotcha": 1}


def test_every_note_is_fit_to_be_remembered():
    for note in notes_of(GUIDE, "docs/guide.md"):
        body = RememberBody(data=note.fields())
        assert body.is_valid(), body.errors


@pytest.mark.rule("WR-01", "WR-06")
def test_notes_are_kept_word_for_word_and_importing_them_again_adds_nothing(office):
    notes = list(notes_of(GUIDE, "docs/guide.md"))

    def remember(**fields):
        answer = office.agent.post("/memories", fields)
        assert answer.status_code in (200, 201), answer.content
        return answer.json()

    first = list(send(notes, remember))
    again = list(send(notes, remember))

    assert [sent.absorbed for sent in first] == [False] * len(notes)
    assert [sent.absorbed for sent in again] == [True] * len(notes)
    feed = office.colleague.get("/memories").json()
    assert {(one["content"], one["source"]["uri"]) for one in feed["results"]} == {
        (note.content, note.uri) for note in notes
    }
    assert feed["count"] == len(notes)
