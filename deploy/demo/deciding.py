"""Chapters: people call something into question, decide, and take it back."""

from deploy.demo.stage import Stage


def challenge_and_decide(stage: Stage) -> None:
    """What misled somebody is challenged, and waits for a person"""
    text = f"Harbor-{stage.label} keeps its sessions for a year."
    memory_id = stage["senior"].remember(text, tags=stage.tags)["memory_id"]
    stage.say("The contractor was misled by it, and says so.")
    told = stage["contractor"].do(memory_id, "challenge", reason="they were gone after a week")
    again = stage["contractor"].do(memory_id, "challenge", reason="still gone")
    stage.expect(
        "saying so twice opens one dispute",
        (told["dispute_id"], True),
        (again["dispute_id"], again["already_pending"]),
    )
    stage.expect("it stays live, and is conflicted", ("live", "conflicted"), _how(stage, memory_id))
    recalled = {one["memory_id"]: one for one in stage["agent"].recall(text, k=100)}
    found = recalled.get(memory_id, {})
    stage.expect("recall brings it, and says that it is disputed", True, found.get("disputed"))
    path = f"/conflicts/{told['dispute_id']}/resolve"
    stage.expect(
        "the contractor may not decide",
        "403 insufficient_scope",
        stage["contractor"].post(path, {"retire": True}).outcome,
    )
    decided = stage["reviewer"].post(path, {"retire": True, "note": "a week it is"})
    stage.expect(
        "the reviewer retires it", ("200", "retired"), (decided.outcome, decided.body["resolution"])
    )
    stage.expect("it is out of use", "retired", _how(stage, memory_id)[0])
    second = stage["senior"].post(path, {"keep_both": True})
    stage.expect("who decides second is told so", "409 already_resolved", second.outcome)
    stage.say("The reviewer thinks better of it, and takes the decision back.")
    stage["reviewer"].post(f"/batches/{decided.body['batch']}/undo", {})
    stage.expect(
        "it is live and in dispute as before", ("live", "conflicted"), _how(stage, memory_id)
    )
    kept = stage["reviewer"].post(path, {"winner": memory_id, "note": "right for robots"})
    stage.expect("upheld, the question is closed", "200", kept.outcome)
    stage.expect("and it is as good as before", ("live", "verified"), _how(stage, memory_id))


def accept_a_proposal(stage: Stage) -> None:
    """A watcher's capture is proposed until somebody else accepts it"""
    text = f"Somebody said that harbor-{stage.label} pages Ana at night."
    memory_id = stage["watcher"].remember(text, tags=stage.tags)["memory_id"]
    stage.expect("it is proposed", ("live", "proposed"), _how(stage, memory_id))
    path = f"/memories/{memory_id}/accept"
    own = stage["senior"].post(path, {"reason": "mine"})
    stage.expect("its sponsor may not accept it", "403 forbidden", own.outcome)
    taken = stage["reviewer"].post(path, {"reason": "Ana says so"})
    stage.expect("another reviewer may", "200", taken.outcome)
    stage.expect("then it is verified", ("live", "verified"), _how(stage, memory_id))


def _how(stage: Stage, memory_id: str) -> tuple[str, str]:
    memory = stage["viewer"].read(memory_id)
    return memory["lifecycle"], memory["trust_state"]
