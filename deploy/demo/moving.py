"""Chapters: the world moves; what may not hold any more is told with care, and looked at again."""

import hashlib
import hmac
import json
import uuid
from typing import Any

from deploy.demo.stage import Stage, Unexpected

HOST, COMMAND, STYLE = "deployment.host", "build.command", "docs.style"
# Which subjects the files of the demo's repository tell of.
PATH_SUBJECTS = [
    {"pattern": "deploy/**", "subject": HOST},
    {"pattern": "Makefile", "subject": COMMAND},
    {"pattern": "docs/**", "subject": STYLE},
]


def mark_by_a_push(stage: Stage) -> None:
    """A push marks what its files tell of, and nothing else"""
    name, senior = f"Harbor-{stage.label}", stage["senior"]
    stage.say(
        "The senior writes down where something runs and how it is built; the agent a procedure "
        "that depends on five things."
    )
    stage.moved = {
        "setup": senior.remember(
            f"{name} runs in Dublin and is built with make dist.",
            tags=stage.tags,
            components=[
                {"subject": HOST, "value": "Dublin"},
                {"subject": COMMAND, "value": "make dist"},
            ],
        )["memory_id"],
        "style": senior.remember(
            f"{name}'s handbook is terse.",
            tags=stage.tags,
            components=[{"subject": STYLE, "value": "terse"}],
        )["memory_id"],
        "procedure": stage["agent"].remember(
            f"To release {name}: build, take the artifact, and deploy it from the branch.",
            kind="procedure",
            tags=stage.tags,
            depends_on=[HOST, COMMAND, "deployment.branch", "artifact.path", "app.directory"],
        )["memory_id"],
    }
    stage.released_at = senior.read(stage.moved["procedure"])["created_at"]
    stage.expect("all of it is verified", ["verified"] * 3, _states(stage))
    stage.say("Somebody pushes a change of the handbook, and then one of deploy/ and the Makefile.")
    told = _push(stage, "docs/handbook.md")
    stage.expect("the push was taken at one subject", [STYLE], told["changes"])
    stage.expect(
        "the procedure is untouched by it", ["verified", "dirty", "verified"], _states(stage)
    )
    told = _push(stage, "deploy/frankfurt.toml", "Makefile")
    stage.expect("the other at two", [HOST, COMMAND], told["changes"])
    stage.expect("now that is dirty, too", ["dirty"] * 3, _states(stage))
    marks = senior.read(stage.moved["setup"])["marks"]
    stage.expect("with a mark for each of its components", 2, len(marks))
    lives = [senior.read(one)["lifecycle"] for one in stage.moved.values()]
    stage.expect("but dirty is not false: all of it is live", ["live"] * 3, lives)


def ask_at_different_times(stage: Stage) -> None:
    """Asked for now, for the last release, for a grave decision"""
    query = f"Where does harbor-{stage.label} run?"
    now = _found(stage, query)
    stage.expect("now: verify before use", "verify_before_use", now["temporal_status"])
    stage.expect(
        "said as what was last verified, and not as what is so",
        True,
        "last verified as Dublin" in now["safe_rendering"],
    )
    then = _found(stage, query, as_of=stage.released_at)
    stage.expect("at the last release: it was so", "valid_as_historical", then["temporal_status"])
    grave = _found(stage, query, consequence="high")
    stage.expect(
        "for a grave decision it is withheld", (True, None), (grave["withheld"], grave["content"])
    )
    tool = (grave["how_to_verify"] or {}).get("tool")
    stage.expect("and the call to verify it comes in its place", "verify", tool)


def look_again(stage: Stage) -> None:
    """Looking again clears what was looked at, and no more"""
    setup, procedure = stage.moved["setup"], stage.moved["procedure"]
    senior = stage["senior"]
    stage.say("The senior looks at the build command, which is still the same.")
    answer = senior.do(
        setup,
        "verify",
        outcome="confirmed",
        method="file",
        components=[COMMAND],
        observed_value="make dist",
    )
    stage.expect(
        "its mark is cleared, and that of the procedure which relies on it",
        {(setup, COMMAND), (procedure, COMMAND)},
        {(one["memory_id"], one["subject"]) for one in answer["cleared"]},
    )
    stage.expect("both stay dirty for the other", ["dirty"] * 3, _states(stage))
    stage.say("The host is another one by now, so the senior says what replaces it.")
    moved = senior.remember(
        f"Harbor-{stage.label} runs in Frankfurt and is built with make dist.",
        tags=stage.tags,
        links=[{"type": "supersedes", "dst": setup}],
        components=[
            {"subject": HOST, "value": "Frankfurt"},
            {"subject": COMMAND, "value": "make dist"},
        ],
    )["memory_id"]
    found = _found(stage, f"Where does harbor-{stage.label} run?", of=moved)
    stage.expect("the new one is current", "current_enough", found["temporal_status"])
    answer = senior.do(
        procedure, "verify", outcome="confirmed", method="command", evidence="ran it"
    )
    stage.expect(
        "the procedure was tried and is verified again", "verified", answer["memory"]["trust_state"]
    )


def _states(stage: Stage) -> list[str]:
    return [stage["viewer"].read(one)["trust_state"] for one in stage.moved.values()]


def _found(stage: Stage, query: str, of: str | None = None, **fields: Any) -> dict[str, Any]:
    wanted = of or stage.moved["setup"]
    for one in stage["contractor"].recall(query, k=100, **fields):
        if one["memory_id"] == wanted:
            return one
    raise Unexpected(f"recall did not bring {wanted}")


def _push(stage: Stage, *files: str) -> dict[str, Any]:
    """Send a push as GitHub does, signed with the demo's secret."""
    body = json.dumps(
        {
            "ref": "refs/heads/main",
            "after": uuid.uuid4().hex + "0" * 8,
            "repository": {"full_name": "demo/palimpsest"},
            "commits": [{"message": "Move on", "added": [], "modified": files, "removed": []}],
        }
    ).encode()
    signature = hmac.new(stage.push["secret"].encode(), body, hashlib.sha256).hexdigest()
    return stage.deliver(
        stage.push["path"],
        body,
        {
            "Content-Type": "application/json",
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-Hub-Signature-256": f"sha256={signature}",
        },
    )
