"""Chapters: two say different things; what the policy does about it, and what people do."""

from typing import Any

from deploy.demo.stage import Stage, awaited

# Long enough for a worker that has other things to do.
WAIT = 20  # seconds


def decide_by_level_and_age(stage: Stage) -> None:
    """Two state different values: level decides, among equals the newer"""
    stage.say("The senior declares a value; the contractor another; then so does the reviewer.")
    seniors = _keeps_traces(stage, "senior", 30)["memory_id"]
    answer = _keeps_traces(stage, "contractor", 7)
    contractors = answer["memory_id"]
    stage.expect(
        "the contractor's loses to the senior's, though it is newer",
        ("superseded", "authority", seniors),
        _end_of(stage, contractors),
    )
    stage.expect("the senior's stands", ("live", None, None), _end_of(stage, seniors))
    told = [stage["viewer"].get(f"/conflicts/{one['id']}").body for one in answer["conflicts"]]
    stage.expect(
        "the write's answer told of a conflict, which reads",
        [("contradiction", "authority", seniors, "policy")],
        [(one["kind"], one["resolution"], one["winner"], one["resolved_by"]) for one in told],
    )
    reviewers = _keeps_traces(stage, "reviewer", 14)["memory_id"]
    stage.expect(
        "the senior's gives way to an equal's newer one",
        ("superseded", "recency", reviewers),
        _end_of(stage, seniors),
    )
    since = stage["senior"].read(seniors)["created_at"]
    lost = [_loser(one) for one in stage["senior"].page("/auto-resolved", since=since, limit=100)]
    stage.expect(
        "both are listed as resolved without a person, each once",
        (1, 1),
        (lost.count(seniors), lost.count(contractors)),
    )
    found = stage["contractor"].recall(f"How long does harbor-{stage.label} keep traces?", k=50)
    recalled = [one["memory_id"] for one in found]
    stage.expect(
        "recall brings the one that stands alone",
        (0, 0, 1),
        tuple(recalled.count(one) for one in (seniors, contractors, reviewers)),
    )


def bring_back_a_loser(stage: Stage) -> None:
    """What lost comes back in one call, and no automation takes it again"""
    older, newer = (
        _retries(stage, name, times) for name, times in (("senior", 3), ("reviewer", 5))
    )
    both = (older, newer)
    stage.expect("the newer has won", ["superseded", "live"], _lifecycles(stage, *both))
    stage.say("The senior restores what lost; the reviewer says the same once more.")
    stage["senior"].do(older, "restore", reason="it is still so on the old machines")
    stage.expect("both are live", ["live", "live"], _lifecycles(stage, *both))
    _retries(stage, "reviewer", 5)
    stage.expect("the repeat has retired nothing", ["live", "live"], _lifecycles(stage, *both))
    stage.expect("nor opened a dispute", [], stage["senior"].conflicts(older))
    stage.say("The reviewer says it in other words, which makes it a new memory.")
    words = f"Five times: that is how often harbor-{stage.label} tries a failed transfer again."
    third = stage["reviewer"].remember(words, tags=stage.tags, components=_retry(stage, 5))
    stage.expect(
        "that waits for a person, since a person restored the other",
        [("contradiction", {older, third["memory_id"]})],
        [(one["kind"], _sides(one)) for one in stage["senior"].conflicts(older)],
    )
    three = (*both, third["memory_id"])
    stage.expect("and all are live", ["live"] * 3, _lifecycles(stage, *three))


def dispute_a_number(stage: Stage) -> None:
    """A number has changed in prose: the judge leaves it to people"""
    if not _is_judged_by_rules(stage):
        return
    name = f"Harbor-{stage.label}"
    stage.say("The senior and the reviewer write it in plain sentences. A worker compares them.")
    older = stage["senior"].remember(f"{name} keeps a lock for 20 seconds.", tags=stage.tags)
    newer = stage["reviewer"].remember(f"{name} keeps a lock for 90 seconds.", tags=stage.tags)
    both = [older["memory_id"], newer["memory_id"]]
    found = awaited(lambda: stage["viewer"].conflicts(both[1]), within=WAIT)
    stage.expect(
        "a dispute is open between the two",
        [("contradiction", "pending", None, set(both))],
        [(one["kind"], one["state"], one["winner"], _sides(one)) for one in found],
    )
    stage.expect("both are live", ["live", "live"], _lifecycles(stage, *both))
    results = stage["contractor"].recall(f"How long does {name} keep a lock?", k=20)
    recalled = {one["memory_id"]: one for one in results if one["memory_id"] in both}
    stage.expect("recall brings both", set(both), set(recalled))
    stage.expect(
        "each as disputed, beside what the other claims",
        [(True, "conflicted", [both[1]]), (True, "conflicted", [both[0]])],
        [_as_disputed(recalled.get(one, {})) for one in both],
    )
    safely = [one["safe_rendering"] for one in recalled.values()]
    stage.expect(
        "and what is safe to repeat names both numbers",
        [True, True],
        [one.startswith("Sources disagree") and "20" in one and "90" in one for one in safely],
    )


def keep_what_agrees(stage: Stage) -> None:
    """What is near and compatible is left alone, also for who waits"""
    if not _is_judged_by_rules(stage):
        return
    name = f"Harbor-{stage.label}"
    near = (
        (
            "more detail",
            f"{name} rejects uploads that are too large.",
            f"{name} rejects uploads of more than 25 MB, and answers 413.",
        ),
        (
            "production and staging",
            f"{name} listens on port 8443 in production.",
            f"{name} listens on port 9443 in staging.",
        ),
    )
    stage.say("The reviewer writes beside what the senior wrote, and waits for the judge.")
    for what, first, second in near:
        older = stage["senior"].remember(first, tags=stage.tags)["memory_id"]
        newer = stage["reviewer"].remember(second, tags=stage.tags, wait=WAIT)
        similar = [one["memory_id"] for one in newer["conflict_candidates"]]
        stage.expect(f"{what}: near enough to be judged", True, older in similar)
        _expect_left_alone(stage, what, older, newer["memory_id"])
    stage.say("With another number in the same sentence a dispute is there when the answer is.")
    stage["senior"].remember(f"{name} sends at most 100 mails a minute.", tags=stage.tags)
    text = f"{name} sends at most 250 mails a minute."
    disputed = stage["reviewer"].remember(text, tags=stage.tags, wait=WAIT)["memory_id"]
    kinds = [one["kind"] for one in stage["viewer"].conflicts(disputed)]
    stage.expect("read right after it", ["contradiction"], kinds)


def protect_a_gotcha(stage: Stage) -> None:
    """A gotcha is protected: whoever disagrees with it, it stays"""
    stage.say("The contractor's gotcha has a value. The senior, of a higher level, says another.")
    subject = f"harbor_{stage.label}.start.wait"
    written = []
    for author, kind, seconds in (("contractor", "gotcha", 40), ("senior", "fact", 5)):
        written.append(
            stage[author].remember(
                f"Harbor-{stage.label} needs {seconds} s after a start before it answers.",
                kind=kind,
                tags=stage.tags,
                components=[{"subject": subject, "value": f"{seconds} s"}],
            )["memory_id"]
        )
    gotcha, fact = written
    stage.expect("both are live", ["live", "live"], _lifecycles(stage, *written))
    disputes = stage["viewer"].conflicts(gotcha)
    stage.expect(
        "a dispute waits for a person, and recommends the senior's",
        [("contradiction", "pending", fact)],
        [(one["kind"], one["state"], one["recommended_winner"]) for one in disputes],
    )
    stage.expect("the gotcha is shown as disputed", True, stage["viewer"].read(gotcha)["disputed"])


def _is_judged_by_rules(stage: Stage) -> bool:
    judge = stage["senior"].get("/hygiene/health").body.get("judge")
    if judge != "rules":
        stage.say(f"Left out: the judge here is {judge}, and this is what `rules` makes of it.")
    return judge == "rules"


def _keeps_traces(stage: Stage, name: str, days: int) -> dict[str, Any]:
    return stage[name].remember(
        f"Harbor-{stage.label} keeps its traces for {days} days.",
        tags=stage.tags,
        components=[{"subject": f"harbor_{stage.label}.traces", "value": f"{days} days"}],
    )


def _retries(stage: Stage, name: str, times: int) -> str:
    text = f"Harbor-{stage.label} repeats a failed transfer {times} times."
    written = stage[name].remember(text, tags=stage.tags, components=_retry(stage, times))
    return str(written["memory_id"])


def _retry(stage: Stage, times: int) -> list[dict[str, str]]:
    return [{"subject": f"harbor_{stage.label}.retries", "value": str(times)}]


def _expect_left_alone(stage: Stage, what: str, older: str, newer: str) -> None:
    between = [one for one in stage["viewer"].conflicts(newer) if older in _sides(one)]
    stage.expect("no conflict between them", [], [one["kind"] for one in between])
    stage.expect("both live", ["live", "live"], _lifecycles(stage, older, newer))


def _end_of(stage: Stage, memory_id: str) -> tuple[str, str | None, str | None]:
    memory = stage["viewer"].read(memory_id)
    (version,) = (one for one in memory["chain"] if one["id"] == memory_id)
    return memory["lifecycle"], version["supersede_reason"], memory["superseded_by"]


def _lifecycles(stage: Stage, *memory_ids: str) -> list[str]:
    return [stage["viewer"].read(one)["lifecycle"] for one in memory_ids]


def _sides(conflict: dict[str, Any]) -> set[str]:
    return {conflict["memory_a"], conflict["memory_b"]}


def _loser(conflict: dict[str, Any]) -> str:
    (loser,) = _sides(conflict) - {conflict["winner"]}
    return loser


def _as_disputed(result: dict[str, Any]) -> tuple[bool | None, str | None, list[str]]:
    claims = [one["memory_id"] for one in result.get("competing_claims") or ()]
    return result.get("disputed"), result.get("temporal_status"), claims
