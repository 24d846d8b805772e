"""Chapters: this project's own notes are imported and found again."""

from collections import Counter
from typing import Any

from deploy.demo.stage import NOTES_TAG, Stage
from memory.importing import Note, forecast, send

# What somebody may ask, in other words than the file that knows it.
QUESTIONS = (
    ("What happens when a client sends the same request twice?", "0008-"),
    ("How do we notice passwords in what people write?", "0013-"),
    ("Which machine learning model turns texts into vectors?", "0014-"),
)
SENT_AGAIN = 10
AMONG = 3  # the first results, of which one must be the answer


def import_notes(stage: Stage) -> None:
    """Real notes are imported: decisions, glossary, changelog"""
    ahead = forecast(stage.notes)
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(ahead.kinds.items()))
    stage.say(f"The agent sends {ahead.notes} sections of Markdown, one memory each: {kinds}.")
    absorbed = 0
    with stage.teller.progress() as progress:
        task = progress.add_task("importing", total=ahead.notes)
        for sent in send(stage.notes, lambda **fields: _remember_note(stage, fields)):
            absorbed += sent.absorbed
            progress.advance(task)
    stage.say(
        f"New were {ahead.notes - absorbed}; absorbed into what was there already: {absorbed}."
    )
    live = list(stage["reviewer"].feed(tag=NOTES_TAG, lifecycle="live"))
    found = Counter(Note(one["content"], one["kind"], "").key for one in live)
    stage.expect(
        "the reviewer's feed has each distinct note exactly once",
        ahead.distinct,
        sum(found[key] == 1 for key in {note.key for note in stage.notes}),
    )
    words = {one["content"] for one in live}
    stage.expect("word for word", ahead.notes, sum(note.content in words for note in stage.notes))
    sources = {one["source"]["uri"]: one["source"]["hash"] for one in live if one["source"]}
    stage.expect(
        "with the section of the file that each came from",
        len({note.uri for note in stage.notes}),
        len({note.uri for note in stage.notes if note.uri in sources}),
    )
    _import_again(stage, stage.notes[:SENT_AGAIN])


def recall_a_decision(stage: Stage) -> None:
    """A decision is recalled by its meaning, an identifier to the letter"""
    question, note = _question(stage)
    stage.say(f'The contractor asks: "{question}"')
    results = stage["contractor"].recall(question)[:AMONG]
    answers = [one for one in results if one["content"] == note.content]
    stage.expect(
        f"the answer is among the first {AMONG}, in full",
        [_heading(note)],
        [_heading_of(one["content"]) for one in answers],
    )
    stage.expect(
        "and may be relied on", ["current_enough"], [one["temporal_status"] for one in answers]
    )
    name = f"HARBOR_{stage.label.upper()}_DSN"
    stage.say(f"The agent keeps a gotcha about {name}; the contractor asks for that name alone.")
    text = f"Harbor reads {name} at its start only: restart it after a change."
    stage["agent"].remember(text, kind="gotcha", tags=stage.tags)
    first = stage["contractor"].recall(name, k=3)[:1]
    stage.expect("it comes first", [text], [one["content"] for one in first])


def note_to_revise(stage: Stage) -> Note:
    """Return the note of which the story goes on to tell."""
    return _question(stage)[1]


def _import_again(stage: Stage, notes: list[Note]) -> None:
    before = stage["reviewer"].counts(tag=NOTES_TAG)["all"]
    stage.say(f"The agent imports {len(notes)} of them again.")
    for note in notes:
        _remember_note(stage, note.fields())
    after = stage["reviewer"].counts(tag=NOTES_TAG)["all"]
    stage.expect("the feed counts as many notes as before", before, after)


def _question(stage: Stage) -> tuple[str, Note]:
    for question, name in QUESTIONS:
        for note in stage.notes:
            if note.kind == "decision" and name in note.uri:
                return question, note
    # Other notes than the ones we know: ask for the longest by its heading.
    note = max(stage.notes, key=lambda one: len(one.content))
    return _heading(note), note


def _heading(note: Note) -> str:
    return _heading_of(note.content)


def _heading_of(content: str) -> str:
    return content.partition("\n")[0].strip("# ")


def _remember_note(stage: Stage, fields: dict[str, Any]) -> dict[str, Any]:
    return stage["agent"].remember(**fields, tags=[NOTES_TAG])
