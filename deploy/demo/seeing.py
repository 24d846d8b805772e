"""Chapters: what others see, who belong to the project less or not at all."""

from deploy.demo.stage import LONGEST_ASKED, Stage, Unexpected


def show_an_outsider(stage: Stage) -> None:
    """For who does not belong here, none of it exists"""
    shared, hidden = _told_of(stage)
    project = stage["senior"].read(shared)["project"]
    stage.say("Somebody of another project and somebody of another tenant know the ids, and try.")
    for name in ("outsider", "other_tenant"):
        person = stage[name]
        tries = {
            "read": person.get(f"/memories/{shared}"),
            "history": person.get(f"/memories/{shared}/history"),
            "read private": person.get(f"/memories/{hidden}"),
            "forget": person.post(f"/memories/{shared}/forget", {"reason": "trying"}),
            "restore": person.post(f"/memories/{stage.chain[0]}/restore", {}),
        }
        stage.expect(
            f"for {name} there is nothing",
            dict.fromkeys(tries, "404"),
            {what: str(reply.status) for what, reply in tries.items()},
        )
        listed = person.get("/memories", project=project)
        stage.expect("not even the project", "400 validation_failed", listed.outcome)
        counted = person.counts(tag=stage.run_tag)
        stage.expect("the feed counts nothing of this run", 0, sum(counted.values()))
        found = person.recall(f"harbor-{stage.label}", k=100)
        told = sum(stage.label in one["content"] for one in found)
        stage.expect("and recall brings nothing of it", 0, told)
    stage.expect(
        "nothing came of the attempts",
        ["superseded", "superseded", "live"],
        [stage["viewer"].read(one)["lifecycle"] for one in stage.chain],
    )


def let_the_viewer_read(stage: Stage) -> None:
    """The viewer reads and does not write"""
    shared, hidden = _told_of(stage)
    viewer = stage["viewer"]
    stage.say("The viewer of the project reads, recalls, writes and forgets.")
    before = stage.written()
    tries = {
        "read": viewer.get(f"/memories/{shared}"),
        "read private": viewer.get(f"/memories/{hidden}"),
        "write": viewer.try_to_remember(f"Harbor-{stage.label} is mine.", tags=stage.tags),
        "forget": viewer.post(f"/memories/{shared}/forget", {"reason": "trying"}),
    }
    stage.expect(
        "only reading is answered",
        {
            "read": "200",
            "read private": "404 not_found",
            "write": "403 insufficient_scope",
            "forget": "403 insufficient_scope",
        },
        {what: reply.outcome for what, reply in tries.items()},
    )
    asked = [f"Private plan {stage.label}", viewer.read(shared)["content"][:LONGEST_ASKED]]
    found = [one["memory_id"] for query in asked for one in viewer.recall(query, k=20)]
    stage.expect("recall brings nothing private", 0, found.count(hidden))
    stage.expect("but it brings what the project shares", True, shared in found)
    stage.expect("the feed counts as many memories of this run as before", before, stage.written())
    stage.expect(
        "what was to be forgotten is live", "live", stage["senior"].read(shared)["lifecycle"]
    )


def _told_of(stage: Stage) -> tuple[str, str]:
    """Return a memory that the project sees, and one that its owner alone sees."""
    if not stage.chain or stage.hidden is None:
        raise Unexpected("The memories of earlier chapters are missing.")
    return stage.chain[-1], stage.hidden
