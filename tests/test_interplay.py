"""
Seven people and agents do what comes to their minds, a model that judges says whatever it likes,
and what must hold of conflicts holds after every step. INTERPLAY_SEEDS=5,6 plays other games.
"""

import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import pytest

from hygiene.stub import Rule
from memory.models import Component, Conflict, Memory, SettledPair
from memory.rival_values import rules_out
from tenants.ids import Prefix, read_id, wire_id
from tenants.models import Job
from tests.judging import certified, stating, work
from tests.memories import done
from tests.people import Office, Person
from tests.test_judging import due, model, server

__all__ = ["certified", "model", "server"]

SEEDS = [int(seed) for seed in os.environ.get("INTERPLAY_SEEDS", "1,2").split(",")]
STEPS = 100
SOON = 0.4  # seconds, in which something ends or begins
TEXTS = (
    "Deploys go out from main.",
    "Deploys go out from main",
    "Deploys go out from release.",
    "The deploys always go out from trunk!",
    "Backups of the database are kept for 14 days.",
    "Backups of the database are kept for 30 days.",
    "The API of apollo listens on port 8080.",
    "The API listens on port 8080, at apollo.",
    "The API of apollo listens on port 9090.",
)
RELATIONS = (
    "unrelated",
    "complementary",
    "duplicate",
    "contradiction",
    "a_supersedes_b",
    "b_supersedes_a",
    "unsure",
)
BY_ITSELF = ("authority", "recency", "duplicate")
REFUSED = (400, 403, 404, 409)


class Game:
    """An office, the tables behind it, and what has been done in it so far."""

    def __init__(self, office: Office, model: Any, seed: int) -> None:
        self.office, self.model = office, model
        self.chance = random.Random(seed)
        self.humans = [office.senior, office.colleague, office.contractor, office.reviewer]
        self.all = [*self.humans, office.agent, office.agent2, office.watcher]
        self.log: list[tuple[str, str, int]] = []
        self.ids: list[str] = []
        self.batches: list[str] = []

    def play(self) -> None:
        """Do a step that chance picks."""
        step = self.chance.choices(list(STEPS_AND_WEIGHTS), list(STEPS_AND_WEIGHTS.values()))[0]
        relation = self.chance.choice(RELATIONS)
        confidence = self.chance.choice((0.3, 0.9, 0.95, 1.0))
        self.model.script = [Rule(answer={"relation": relation, "confidence": confidence})]
        step(self)

    def ask(self, person: Person, verb: str, path: str, body: Any = None) -> Any:
        """Return what somebody is answered; they may be refused, and no more than that."""
        answer = getattr(person, verb)(path, *([] if verb == "delete" else [body]))
        self.log.append((f"{verb} {path} {body}", person.name, answer.status_code))
        assert answer.status_code in (200, 201, 202, 204, *REFUSED), answer.content
        told = answer.json() if answer.content else {}
        self.batches += [told["batch"]] if told.get("batch") else []
        return told

    def rows(self, table: Any, **which: Any) -> list[Any]:
        return list(table.objects.using("owner").filter(tenant=self.office.tenant, **which))

    def dispute(self) -> Any:
        pending = sorted(self.rows(Conflict, state="pending"), key=lambda one: one.id)
        return self.chance.choice(pending) if pending else None

    def later(self, *seconds: float) -> str:
        return (datetime.now(UTC) + timedelta(seconds=self.chance.choice(seconds))).isoformat()


def remember(game: Game) -> None:
    chance, happens = game.chance, lambda share: game.chance.random() < share
    body: dict[str, Any] = {"content": chance.choice(TEXTS), "project": "apollo"}
    if happens(0.5):
        subject = chance.choice(["deploy.branch", "backup.days"])
        value = chance.choice(["main", "release", "trunk"])
        body["components"] = stating(subject, value, multi=happens(0.04))
    if happens(0.2):
        body["kind"] = chance.choice(["gotcha", "decision", "task", "episode"])
    if happens(0.15):
        body["valid_until"] = game.later(SOON, 3600)
    elif happens(0.15):
        body["valid_from"] = game.later(SOON, 3600)
    if happens(0.2):
        body["visibility"] = chance.choice(["private", "tenant", "project"])
    if happens(0.15) and game.ids:
        kind = chance.choice(["supersedes", "relates_to", "depends_on"])
        body["links"] = [{"type": kind, "dst": chance.choice(game.ids)}]
    told = game.ask(chance.choice(game.all), "post", "/memories", body | {"wait": 2 * happens(0.2)})
    if told.get("memory_id") and told["memory_id"] not in game.ids:
        game.ids.append(told["memory_id"])


def to_one(verb: str, **body: Any) -> Callable[[Game], None]:
    """Return the step that does this to a memory."""

    def step(game: Game) -> None:
        if game.ids:
            one = game.chance.choice(game.ids)
            game.ask(game.chance.choice(game.all), "post", f"/memories/{one}/{verb}", body)

    return step


def verify(game: Game) -> None:
    outcome = game.chance.choice(["confirmed", "refuted"])
    to_one("verify", outcome=outcome, method="command", evidence="I looked.")(game)


def show(game: Game) -> None:
    if game.ids:
        one, to = game.chance.choice(game.ids), game.chance.choice(["private", "project", "tenant"])
        game.ask(game.chance.choice(game.all), "patch", f"/memories/{one}", {"visibility": to})


def link(game: Game) -> None:
    if len(game.ids) > 1:
        src, dst = game.chance.sample(game.ids, 2)
        kind = game.chance.choice(["supersedes", "relates_to", "contradicts", "depends_on"])
        body = {"src": src, "dst": dst, "type": kind}
        game.ask(game.chance.choice(game.all), "post", "/links", body)


def resolve(game: Game) -> None:
    dispute = game.dispute()
    if dispute is not None:
        sides = [wire_id(Prefix.MEMORY, one) for one in sides_of(dispute)]
        choices: list[dict[str, Any]] = [
            {"winner": game.chance.choice(sides)},
            {"keep_both": True},
            {"retire": True},
            {"merge": {"content": f"{game.chance.choice(TEXTS)} Merged."}},
        ]
        path = f"/conflicts/{wire_id(Prefix.CONFLICT, dispute.id)}/resolve"
        game.ask(game.chance.choice(game.humans), "post", path, game.chance.choice(choices))


def resolve_all(game: Game) -> None:
    policy = game.chance.choice(["newest_wins", "oldest_wins", "keep_both"])
    game.ask(game.chance.choice(game.humans), "post", "/conflicts/resolve", {"policy": policy})


def defer(game: Game) -> None:
    dispute = game.dispute()
    if dispute is not None:
        path = f"/conflicts/{wire_id(Prefix.CONFLICT, dispute.id)}/defer"
        until = game.chance.choice([game.later(3600), None])
        game.ask(game.chance.choice(game.humans), "post", path, {"until": until})


def undo(game: Game) -> None:
    if game.batches:
        batch = game.chance.choice(game.batches)
        game.ask(game.chance.choice(game.humans), "post", f"/batches/{batch}/undo")


def sweep(game: Game) -> None:
    told = game.ask(game.chance.choice(game.humans), "post", "/hygiene/sweeps", {})
    game.batches += [told["id"]] if "id" in told else []


def do_jobs(game: Game) -> None:
    work(game.office)


STEPS_AND_WEIGHTS: dict[Callable[[Game], None], float] = {
    remember: 10,
    to_one("forget", reason="No longer."): 1.5,
    to_one("restore", reason="It is so."): 3,
    to_one("challenge", reason="It misled me."): 0.7,
    to_one("misled", reason="It misled me."): 0.7,
    to_one("accept", reason="I looked."): 2,
    to_one("reject", reason="I looked."): 0.7,
    to_one("close"): 0.5,
    verify: 1,
    show: 2,
    link: 1,
    resolve: 3,
    resolve_all: 0.7,
    defer: 0.5,
    undo: 3,
    sweep: 1.5,
    do_jobs: 6,
}


def sides_of(dispute: Conflict) -> list[Any]:
    return [one for one in (dispute.memory_a_id, dispute.memory_b_id) if one is not None]


def wrong_disputes(game: Game, memories: dict[Any, Memory]) -> Iterator[str]:
    """Tell of disputes that wait for what is gone, ended for nothing, or were decided by nobody."""
    settled = settled_pairs(game)
    for one in game.rows(Conflict):
        live = [memories[side].invalidated_at is None for side in sides_of(one)]
        if one.state == "pending" and not all(live):
            yield f"a dispute waits for what is gone: {one.id} {one.kind}"
        if one.state == "pending" and (one.winner_id or one.resolution or one.resolved_at):
            yield f"a dispute waits and is decided: {one.id}"
        # What is over because of a verdict on the pair since, or of what became of the winner, has
        # a record of its own.
        told_elsewhere = one.row in ("judged since", "the winner lost itself")
        pair = frozenset((one.low_id, one.high_id))
        is_moot = one.state == "moot" and not told_elsewhere and pair not in settled
        if is_moot and len(live) == 2 and all(live):
            yield f"a dispute is moot, and both sides are there: {one.id} {one.row}"
        if one.state == "resolved" and one.resolved_by_member_id is None and not one.winner_id:
            yield f"the policy decided for nobody: {one.id}"


def wrong_losses(game: Game, memories: dict[Any, Memory]) -> Iterator[str]:
    """Tell of what was lost by itself and may not be, or without a record, and of circles."""
    recorded = {frozenset(sides_of(one)): one.row for one in game.rows(Conflict) if one.memory_b_id}
    for one in memories.values():
        passed, last = set(), one
        while last.superseded_by_id and last.id not in passed:
            passed.add(last.id)
            last = memories[last.superseded_by_id]
        if last.id in passed:
            yield f"a chain leads in a circle: {one.id}"
        if one.supersede_reason not in BY_ITSELF:
            continue
        row = recorded.get(frozenset((one.id, one.superseded_by_id)))
        if row is None:
            yield f"nothing tells why it went: {one.id} {one.supersede_reason}"
        # What its own author says again in better words is no verdict of a machine.
        if row != "said again" and (one.is_protected or one.restored_by_person_at):
            yield f"a machine's verdict took it: {one.id} {one.kind} {row}"


def wrong_ends(game: Game, memories: dict[Any, Memory]) -> Iterator[str]:
    """Tell of what is to end with the beginning of something that will not begin."""
    for one in memories.values():
        if one.ends_with_id is None or one.invalidated_at is not None:
            continue
        successor = memories[one.ends_with_id]
        if successor.invalidated_at and successor.invalidated_reason != "superseded":
            yield f"it ends with what is gone: {one.id}"
        if one.valid_until != successor.valid_from:
            yield f"it does not end when the other begins: {one.id}"


def failed_jobs(game: Game, _: dict[Any, Memory]) -> Iterator[str]:
    for job in game.rows(Job):
        if job.state == "failed" or "Error" in job.last_error or "Exception" in job.last_error:
            yield f"a job failed: {job.kind} {job.last_error}"


def plain_contradictions(game: Game) -> Iterator[str]:
    """Tell of two declared values that cannot both be, both served, of which nobody is told."""
    memories = {one.id: one for one in game.rows(Memory, invalidated_at=None)}
    told = settled_pairs(game) | {
        frozenset(sides_of(one))
        for one in game.rows(Conflict)
        if one.state in ("pending", "dismissed") or one.resolved_by_member_id
    }
    stated: dict[str, list[tuple[str, Memory]]] = {}
    for one in game.rows(Component, suggested=False, dismissed_at=None, value__isnull=False):
        if one.memory_id in memories:
            stated.setdefault(one.subject, []).append((one.value, memories[one.memory_id]))
    several = {one.subject for one in game.rows(Component, multi=True)}
    for subject in stated.keys() - several:
        for (value, one), (other_value, other) in combinations(stated[subject], 2):
            if not rules_out(value, other_value) or not holds_for_all(one, other):
                continue
            # A text that is said again is settled as what it repeats was.
            twins = twins_of(game, one, other)
            if not any(pair <= twins for pair in told):
                yield f"{subject}: {one.id} {one.content!r}, {other.id} {other.content!r}"


def settled_pairs(game: Game) -> set[frozenset[Any]]:
    settled = game.rows(SettledPair, reopened_at=None)
    return {frozenset((one.low_id, one.high_id)) for one in settled}


def holds_for_all(*memories: Memory) -> bool:
    now = datetime.now(UTC)
    return all(
        (one.valid_from is None or one.valid_from <= now)
        and (one.valid_until is None or one.valid_until > now)
        and one.visibility != "private"
        for one in memories
    )


def twins_of(game: Game, *memories: Memory) -> set[Any]:
    texts = {bytes(one.text_key) for one in memories}
    return {one.id for one in game.rows(Memory) if bytes(one.text_key) in texts}


def wrong_recalls(game: Game) -> Iterator[str]:
    """Tell of what a recall serves that is gone, or whose dispute it keeps to itself."""
    memories = {one.id: one for one in game.rows(Memory)}
    pending = [  # nothing is told of what somebody keeps to themselves
        one
        for one in game.rows(Conflict, state="pending")
        if all(memories[side].visibility != "private" for side in sides_of(one))
    ]
    disputed = {side for one in pending for side in sides_of(one)}
    contradicted = {
        side for one in pending if one.kind in ("contradiction", "stale") for side in sides_of(one)
    }
    for text in TEXTS:
        body = {"query": text, "project": "apollo", "k": 50}
        for result in done(game.office.reviewer.post("/recall", body))["results"]:
            memory = memories[read_id(Prefix.MEMORY, result["memory_id"])]
            if memory.invalidated_at is not None:
                yield f"it is gone: {memory.id}"
            if memory.id in disputed and not result["disputed"]:
                yield f"it is disputed, and not told so: {memory.id}"
            if memory.id in contradicted and result["temporal_status"] == "current_enough":
                yield f"it is contradicted, and served as if it were not: {memory.id}"


@pytest.mark.rule("PO-01", "PO-16", "RE-03", "SU-15", "RC-06")
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_done_in_whatever_order(office, certified, seed):
    game = Game(office, certified, seed)
    for _ in range(STEPS):
        game.play()
        memories = {one.id: one for one in game.rows(Memory)}
        for wrong in (wrong_disputes, wrong_losses, wrong_ends, failed_jobs):
            assert list(wrong(game, memories)) == [], game.log[-20:]
    due(office)
    work(office)

    assert list(plain_contradictions(game)) == [], game.log
    assert list(wrong_recalls(game)) == [], game.log
