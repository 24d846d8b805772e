"""Chapters: a newer text takes the place of an older one, or says the same once more."""

from deploy.demo.noting import note_to_revise
from deploy.demo.stage import LONGEST_ASKED, NOTES_TAG, Stage, Unexpected, replaces
from memory.importing import Note

GENERATIONS = ("first", "second", "third")


def supersede_twice(stage: Stage) -> None:
    """An imported decision is superseded by declaration, over three generations"""
    note = note_to_revise(stage)
    ids = [_imported(stage, note)]
    texts = [note.content]
    stage.say(
        "The reviewer revises it and declares what that replaces; so does the senior after that."
    )
    for name, remark in (("reviewer", "Revised"), ("senior", "Revised once more")):
        texts.append(f"{note.content}\n\n{remark} in the demo's run {stage.label}.")
        fields = {"kind": note.kind, "tags": stage.tags, "links": replaces(ids[-1])}
        ids.append(stage[name].remember(texts[-1], **fields)["memory_id"])
    stage.chain = ids
    named = dict(zip(ids, GENERATIONS, strict=True))
    for end, memory_id in (("newest", ids[-1]), ("oldest", ids[0])):
        chain = stage["viewer"].read(memory_id)["chain"]
        stage.expect(
            f"seen from the {end}, the chain has three generations",
            ["first superseded", "second superseded", "third live"],
            [f"{named.get(version['id'])} {version['lifecycle']}" for version in chain],
        )
        unchanged = sum(version["content"] in texts for version in chain)
        stage.expect("all three are kept word for word", 3, unchanged)
    successors = [stage["viewer"].read(one)["superseded_by"] for one in ids]
    stage.expect(
        "each names its successor",
        ["second", "third", None],
        [named.get(successor) for successor in successors],
    )
    results = stage["contractor"].recall(note.content[:LONGEST_ASKED], k=20)
    recalled = [one for one in results if one["memory_id"] in named]
    stage.expect(
        "recall brings the newest alone", ["third"], [named[one["memory_id"]] for one in recalled]
    )
    stage.expect(
        "and says that there is a history", [True], [one["history_available"] for one in recalled]
    )


def absorb_a_repeat(stage: Stage) -> None:
    """An exact repeat is absorbed"""
    text = f"Harbor-{stage.label} deploys on Tuesdays after the stand-up."
    tag = f"{stage.run_tag}-repeated"
    stage.say("The agent says the same twice, the second time with one more tag.")
    stage["agent"].remember(text, tags=stage.tags)
    before = stage.written()
    stage["agent"].remember(text, tags=[*stage.tags, tag])
    stage.expect("the feed counts as many memories of this run as before", before, stage.written())
    kept = list(stage["senior"].feed(tag=tag))
    stage.expect("the memory has the tag of the repeat", [text], [one["content"] for one in kept])
    stage.expect(
        "its history tells of both",
        ["remember", "absorb"],
        [command for one in kept for command in stage["senior"].events(one["id"])],
    )


def repeat_with_more_authority(stage: Stage) -> None:
    """A person repeats what an agent said, and vouches for it from then on"""
    text = f"Harbor-{stage.label} keeps its backups for 35 days."
    stage.say("The agent writes it; the senior, who sponsors the agent, says the same.")
    lower = stage["agent"].remember(text, tags=stage.tags)["memory_id"]
    higher = stage["senior"].remember(text, tags=stage.tags)["memory_id"]
    agents, persons = stage["viewer"].read(lower), stage["viewer"].read(higher)
    stage.expect("the agent's memory is superseded", "superseded", agents["lifecycle"])
    stage.expect("by the person's", higher, agents["superseded_by"])
    stage.expect(
        "which is live and of a person's rank",
        ("live", 2),
        (persons["lifecycle"], persons["provenance_rank"]),
    )


def retry(stage: Stage) -> None:
    """A request that is sent again stores once"""
    key = f"demo-{stage.label}"
    text = f"Harbor-{stage.label} answers on port 7443."
    stage.say("The agent loses the answer and sends the request again with its Idempotency-Key.")
    before = stage.written()
    first = stage["agent"].try_to_remember(text, key=key, tags=stage.tags)
    again = stage["agent"].try_to_remember(text, key=key, tags=stage.tags)
    other = stage["agent"].try_to_remember(f"{text} Or not.", key=key, tags=stage.tags)
    stage.expect("the feed counts one memory more", before + 1, stage.written())
    memory_id = first.body.get("memory_id", "")
    stage.expect("both answers name the same", memory_id, again.body.get("memory_id"))
    stage.expect("its history tells of one write", ["remember"], stage["senior"].events(memory_id))
    stage.expect("another text with that key is refused", "409 idempotency_mismatch", other.outcome)


def _imported(stage: Stage, note: Note) -> str:
    """Return the id of the memory that the note became."""
    for one in stage["senior"].feed(tag=NOTES_TAG, lifecycle="live", kind=note.kind):
        if one["content"] == note.content:
            return str(one["id"])
    raise Unexpected("The imported note that was to be superseded is not there.")
