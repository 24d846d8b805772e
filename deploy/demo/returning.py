"""Chapters: what was taken away comes back, and the feed knows of all of it."""

from deploy.demo.stage import Stage, replaces


def forget_and_restore(stage: Stage) -> None:
    """What was forgotten is restored"""
    text = f"Harbor-{stage.label} rotates its logs at midnight UTC."
    memory_id = stage["agent"].remember(text, kind="procedure", tags=stage.tags)["memory_id"]
    stage.say("The senior forgets what the agent wrote, and thinks better of it.")
    stage["senior"].do(memory_id, "forget", reason="thought to be wrong")
    stage.expect("forgotten, it is out of use", ("retired", "forgotten"), _how(stage, memory_id))
    stage.expect("and not recalled any more", 0, _recalled(stage, text).count(memory_id))
    stage["senior"].do(memory_id, "restore", reason="was right after all")
    stage.expect("restored, it is live", ("live", None), _how(stage, memory_id))
    stage.expect("and recalled again", 1, _recalled(stage, text).count(memory_id))
    stage.expect("word for word", text, stage["viewer"].read(memory_id)["content"])
    stage.expect(
        "its history tells all of it",
        ["remember", "forget", "restore_memory"],
        stage["viewer"].events(memory_id),
    )


def restore_the_middle(stage: Stage) -> None:
    """The middle one of three generations is restored, and that one alone"""
    ids: list[str] = []
    stage.say(
        "Of three versions, each declared to replace the last, the senior restores the second."
    )
    for size in (20, 50, 80):
        fields = {"kind": "convention", "tags": stage.tags, "links": replaces(*ids[-1:])}
        text = f"Harbor-{stage.label} opens at most {size} connections."
        ids.append(stage["senior"].remember(text, **fields)["memory_id"])
    stage.expect(
        "before, the third alone is live",
        ["superseded", "superseded", "live"],
        [_how(stage, one)[0] for one in ids],
    )
    successor = stage["senior"].do(ids[1], "restore", reason="for comparison")["successor"]
    stage.expect(
        "after, the second is live beside it",
        ["superseded", "live", "live"],
        [_how(stage, one)[0] for one in ids],
    )
    stage.expect("the answer names the live successor", ids[2], successor)
    recalled = _recalled(stage, f"How many connections does harbor-{stage.label} open?")
    stage.expect(
        "recall brings the second and the third", [0, 1, 1], [recalled.count(one) for one in ids]
    )


def count_lifecycles(stage: Stage) -> None:
    """The feed counts each lifecycle"""
    tag = f"{stage.run_tag}-counted"
    tags = [*stage.tags, tag]
    agent, name = stage["agent"], f"Harbor-{stage.label}"
    stage.say("Of four new memories one is superseded by another, and one is forgotten.")
    first, second, _ = (
        agent.remember(f"{name} has a {thing}.", tags=tags)["memory_id"]
        for thing in ("cron table", "status page", "pager")
    )
    agent.remember(
        f"{name} has a job queue in place of its cron table.", tags=tags, links=replaces(first)
    )
    agent.do(second, "forget", reason="never was one")
    stage.expect(
        "the counts of the feed",
        {"current": 3, "live": 2, "superseded": 1, "retired": 1, "expired": 0, "all": 4},
        stage["reviewer"].counts(tag=tag),
    )
    for lifecycle, expected in (("current", 3), ("superseded", 1), ("retired", 1), ("all", 4)):
        shown = sum(1 for _ in stage["reviewer"].feed(tag=tag, lifecycle=lifecycle))
        stage.expect(f"and what it lists as {lifecycle}", expected, shown)


def _how(stage: Stage, memory_id: str) -> tuple[str, str | None]:
    memory = stage["viewer"].read(memory_id)
    return memory["lifecycle"], memory["invalidated_reason"]


def _recalled(stage: Stage, query: str) -> list[str]:
    return [one["memory_id"] for one in stage["contractor"].recall(query, k=50)]
