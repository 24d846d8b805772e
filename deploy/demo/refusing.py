"""Chapters: what is refused, and that nothing comes of it."""

import secrets
import string
from typing import Any

from deploy.demo.stage import Stage, replaces


def refuse_a_hidden_target(stage: Stage) -> None:
    """Nobody replaces what they may not see"""
    plan = f"Private plan {stage.label}: move harbor to another provider in spring."
    stage.say(
        "The senior has a private memory. The contractor and the contractor's agent declare to "
        "replace it, together with one that they may replace."
    )
    hidden = stage["senior"].remember(plan, visibility="private", tags=stage.tags)["memory_id"]
    stage.hidden = hidden
    own = stage["contractor"].remember(
        f"Harbor-{stage.label} is watched by the night shift.", tags=stage.tags
    )["memory_id"]
    before = stage.written()
    for name in ("contractor", "agent2"):
        read = stage[name].get(f"/memories/{hidden}")
        stage.expect(f"for {name} it is not there", "404 not_found", read.outcome)
        refused = stage[name].try_to_remember(
            f"Harbor-{stage.label} stays where it is, says {name}.",
            links=replaces(own, hidden),
            tags=stage.tags,
        )
        stage.expect("the write is refused", "403 supersede_target_not_visible", refused.outcome)
        told = [word for word in ("provider", "spring", "senior") if word in refused.text.lower()]
        stage.expect("the answer tells nothing of it", [], told)
    _expect_nothing_stored(stage, before)
    stage.expect(
        "its owner reads it as before", ("live", None, plan), _state(stage["senior"].read(hidden))
    )
    kept = stage["contractor"].read(own)
    stage.expect("the other target is untouched, too", "live", kept["lifecycle"])


def refuse_a_watcher(stage: Stage) -> None:
    """What is captured in passing replaces nothing"""
    stage.say("The watcher declares to replace what the agent wrote deliberately.")
    text = f"Harbor-{stage.label} needs 4 GB of memory."
    target = stage["agent"].remember(text, tags=stage.tags)["memory_id"]
    before = stage.written()
    refused = stage["watcher"].try_to_remember(
        f"Harbor-{stage.label} needs 2 GB of memory.", links=replaces(target), tags=stage.tags
    )
    stage.expect("the write is refused", "403 provisional_writer", refused.outcome)
    _expect_nothing_stored(stage, before)
    stage.expect(
        "the target reads as before", ("live", None, text), _state(stage["viewer"].read(target))
    )


def refuse_a_secret(stage: Stage) -> None:
    """A secret is not even stored"""
    # Made up here and now: a key that stood in this file would be one that somebody leaked.
    key = "AKIA" + "".join(secrets.choice(string.ascii_uppercase) for _ in range(16))
    stage.say("The agent writes down an access key that it came across.")
    before = stage.written()
    refused = stage["agent"].try_to_remember(
        f"Harbor-{stage.label} logs in to the archive with {key}.", tags=stage.tags
    )
    stage.expect("the write is refused", "422 secret_content_rejected", refused.outcome)
    stage.expect("the answer does not repeat the key", 0, refused.text.count(key))
    _expect_nothing_stored(stage, before)
    found = stage["senior"].recall(key, k=20)
    stage.expect("no recalled text has it", 0, sum(key in one["content"] for one in found))


def _expect_nothing_stored(stage: Stage, before: int) -> None:
    stage.expect("the feed counts as many memories of this run as before", before, stage.written())


def _state(memory: dict[str, Any]) -> tuple[str, str | None, str]:
    return memory["lifecycle"], memory["superseded_by"], memory["content"]
