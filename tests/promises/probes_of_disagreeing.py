"""Who learns of conflicts, verdicts and sweeps, and what the machine's role may do to them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

from tenants.ids import new_id
from tests.promises.disagreeing import CERTIFY, JUDGE_A_PAIR, NOTE, SWEEP, noted
from tests.promises.probe import Probe, sees
from tests.promises.raw import JUDGE, REFUSED, REVIEWER, Step, Who
from tests.promises.sight import readable
from tests.promises.world import Side, World

_RETIRE = """
UPDATE memories SET invalidated_at = now(), invalidated_reason = 'superseded',
    superseded_by_id = %s, superseded_at = now(), supersede_reason = 'duplicate'
"""
_WAIT = JUDGE_A_PAIR.replace("'nothing'", "'waiting'")


def disagreeing(world: World) -> Iterator[Probe]:
    """Return who learns of what is in conflict, and what the machine may do about it."""
    yield from _reading(world.a)
    yield from _noting(world.a, world.b)
    yield from _settling(world.a)
    yield from _retiring(world)
    yield from _judging(world.a, world.b)
    yield from _concluding(world.a)
    yield from _sweeping(world.a, world.b)
    yield from _counting(world.a)


def _reading(a: Side) -> Iterator[Probe]:
    near = {"shared", "decided", "closed", "others", "raised", "asked", "written"}
    nearer = {*near, "private"}
    for name, who, known in (
        ("senior", a.who("senior"), nearer),
        ("contractor", a.who("contractor"), {*near, "personal"}),
        ("contractor in apollo", a.confined("contractor", "apollo"), near),
        ("viewer", a.who("viewer"), near),
        ("agent", a.who("agent"), nearer),
        ("judge for viewer", a.judge("viewer"), near),
        ("reviewer of both", a.reviewing("reviewer"), {*near, "distant", "alone"}),
        ("outsider", a.who("outsider"), {"alone"}),
        ("admin", a.who("admin"), set()),
        ("gone", a.who("gone"), set()),
    ):
        conflicts = {a.rows[f"conflict {one}"] for one in known}
        judged = {a.rows[f"judgement {one}"] for one in known & {"shared", "private", "distant"}}
        yield sees(name, who, "conflicts", conflicts)
        periods = {a.rows[f"period {one}"] for one in known - {"decided", "closed"}}
        yield sees(name, who, "dispute_periods", periods)
        yield sees(name, who, "judgements", judged)
    certificate = {a.rows["certificate"]}
    for who in (a.who("viewer"), a.judge("agent")):
        yield sees(f"{who.role} for a member", who, "certificates", certificate)
    yield sees("gone", a.who("gone"), "certificates", set())
    own = {a.rows["sweep everywhere"], a.rows["sweep within"]}
    for name, who, sweeps in (
        ("senior", a.who("senior"), own),
        ("agent", a.who("agent"), {a.rows["sweep within"]}),
        ("senior in hermes", a.confined("senior", "hermes"), set()),
        ("judge", a.judge("senior"), own),
        ("viewer", a.who("viewer"), set()),
        ("admin", a.who("admin"), {*own, a.rows["sweep another's"]}),
        ("admin in apollo", a.confined("admin", "apollo"), set()),
        ("gone", a.who("gone"), set()),
    ):
        yield sees(name, who, "sweeps", sweeps)


def _noting(a: Side, b: Side) -> Iterator[Probe]:
    shared, wide = (
        a.memories["senior", "project", "apollo"],
        a.memories["admin", "tenant", "hermes"],
    )
    hidden, third = a.memories["outsider", "private", "hermes"], a.memories["gone", "tenant", None]
    senior, judge = a.members["senior"], a.judge("senior")
    for name, who, note, expected in (
        ("judge", judge, noted(a, shared, wide), 1),
        ("judge of one", judge, noted(a, shared, None), 1),
        ("judge of who wins", judge, noted(a, shared, wide, winner=wide, recommended=wide), 1),
        ("judge for its member", judge, noted(a, shared, wide, raised_by=senior), 1),
        ("judge of what is hidden", judge, noted(a, shared, hidden), REFUSED),
        ("judge of a hidden one", judge, noted(a, hidden, shared), REFUSED),
        ("judge of a hidden one alone", judge, noted(a, hidden, None), REFUSED),
        ("judge of another tenant's", judge, noted(a, shared, b.memories["senior", "tenant", None]),
         REFUSED),
        ("judge abroad", judge, noted(b, b.memories["senior", "tenant", None], None), REFUSED),
        ("judge in a hidden pair's place", judge, noted(a, shared, wide, low=hidden), REFUSED),
        ("judge in another pair's place", judge, noted(a, shared, wide, high=third), REFUSED),
        ("judge in an agent's name", judge,
         noted(a, shared, wide, resolved_by_agent=a.agents["agent"]), REFUSED),
        ("judge for another's agent", judge,
         noted(a, shared, wide, raised_by=senior, raised_by_agent=a.agents["agent"]), REFUSED),
        ("judge of one that is over", judge,
         noted(a, shared, None, state="resolved"), REFUSED),
        ("judge of a third that wins", judge, noted(a, shared, wide, winner=third), REFUSED),
        ("judge of a third it wants", judge, noted(a, shared, wide, recommended=hidden), REFUSED),
        ("judge in a person's name", judge, noted(a, shared, wide, resolved_by=senior), REFUSED),
        ("judge for another", judge, noted(a, shared, wide, raised_by=a.members["gone"]), REFUSED),
        ("member", a.who("senior"), noted(a, shared, wide), REFUSED),
        ("agent", a.who("agent"), noted(a, shared, wide), REFUSED),
        ("reviewer", a.reviewing("senior"), noted(a, shared, wide), REFUSED),
        ("judge for gone", a.judge("gone"), noted(a, wide, third), REFUSED),
    ):  # fmt: skip
        yield Probe(f"{name} notes a conflict", who, NOTE, note, expected)


def _settling(a: Side) -> Iterator[Probe]:
    every = "UPDATE conflicts SET state = 'moot', resolved_by_member_id = NULL"
    # Pairs that nobody has decided: none of one memory, and nothing over a person's head.
    for name, who, expected in (
        ("judge", a.judge("senior"), 3),
        ("judge for viewer", a.judge("viewer"), 2),
        ("judge for outsider", a.judge("outsider"), 0),
        ("judge for contractor", a.judge("contractor"), 2),
        ("judge for gone", a.judge("gone"), 0),
        ("member", a.who("senior"), REFUSED),
        ("agent", a.who("agent"), REFUSED),
        ("admin", a.who("admin"), REFUSED),
    ):
        yield Probe(f"{name} settles all conflicts", who, every, (), expected)
    yield Probe(
        "judge decides in a person's name", a.judge("senior"),
        "UPDATE conflicts SET resolved_by_member_id = %s", [a.members["senior"]], REFUSED,
    )  # fmt: skip
    mine, shared = a.rows["conflict shared"], a.memories["senior", "project", "apollo"]
    hidden = a.memories["outsider", "private", "hermes"]
    for what, value, expected in (
        ("winner_id", shared, 1),
        ("winner_id", hidden, REFUSED),
        ("recommended_winner_id", hidden, REFUSED),
        ("memory_b_id", hidden, REFUSED),
        ("low_id", hidden, REFUSED),
        ("resolved_by_member_id", a.members["senior"], REFUSED),
        ("reason", "x", REFUSED),
    ):
        yield Probe(
            f"judge sets {what} of a conflict to {value}", a.judge("senior"),
            f"UPDATE conflicts SET {what} = %s WHERE id = %s", [value, mine], expected,
        )  # fmt: skip


def _retiring(world: World) -> Iterator[Probe]:
    a = world.a
    # Read by none of them, or it would be among what they retire: no condition may be said.
    wide = a.memories["admin", "private", None]
    for name, who in (
        ("judge", a.judge("senior")),
        ("judge for viewer", a.judge("viewer")),
        ("judge for gone", a.judge("gone")),
        ("judge without the personal layer", a.who("senior", role=JUDGE, personal=False)),
        ("judge in hermes", _in_role(a.confined("outsider", "hermes"), JUDGE)),
        ("judge for agent", _in_role(a.who("agent"), JUDGE)),
    ):
        count = len(readable(world, who))
        yield Probe(f"{name} retires all that it can", who, _RETIRE, [wide], count)
    judge = a.judge("senior")
    for what, expected in (
        ("invalidated_at = now(), invalidated_reason = 'forgotten'", REFUSED),
        (
            f"invalidated_at = now(), invalidated_reason = 'retired', superseded_by_id = '{wide}'",
            REFUSED,
        ),
        ("invalidated_at = now(), invalidated_reason = 'superseded'", REFUSED),
        (f"superseded_by_id = '{wide}'", REFUSED),
        ("version = 9", REFUSED),
        ("visibility = 'tenant'", REFUSED),
        ("restored_by_person_at = NULL", REFUSED),
    ):
        yield Probe(f"judge sets {what}", judge, f"UPDATE memories SET {what}", (), expected)
    shared, other = (
        a.memories["senior", "project", "apollo"],
        a.memories["gone", "tenant", "apollo"],
    )
    hidden = a.memories["outsider", "private", "hermes"]
    draw = "INSERT INTO links (id, tenant_id, src_id, dst_id, type) VALUES (%s, %s, %s, %s, %s)"
    links: list[tuple[UUID, UUID, str, int | str]] = [
        (shared, other, "supersedes", 1),
        (shared, other, "relates_to", 1),
        (shared, other, "depends_on", REFUSED),
        (shared, hidden, "supersedes", REFUSED),
        (hidden, shared, "relates_to", REFUSED),
    ]
    for src, dst, kind, outcome in links:
        yield Probe(f"judge draws {kind}", judge, draw, [new_id(), a.id, src, dst, kind], outcome)
    yield Probe("judge takes links away", judge, "UPDATE links SET removed_at = now()", (), REFUSED)


def _in_role(who: Who, role: str) -> Who:
    return replace(who, role=role)


def _judging(a: Side, b: Side) -> Iterator[Probe]:
    shared, wide = (
        a.memories["senior", "project", "apollo"],
        a.memories["admin", "tenant", "hermes"],
    )
    hidden, foreign = (
        a.memories["outsider", "private", "hermes"],
        b.memories["senior", "tenant", None],
    )
    for name, who, older, newer, expected in (
        ("judge", a.judge("senior"), shared, wide, 1),
        ("judge", a.judge("senior"), shared, hidden, REFUSED),
        ("judge", a.judge("senior"), hidden, shared, REFUSED),
        ("judge abroad", a.judge("senior"), shared, foreign, REFUSED),
        ("judge for gone", a.judge("gone"), shared, wide, REFUSED),
        ("member", a.who("senior"), shared, wide, REFUSED),
        ("reviewer", a.reviewing("senior"), shared, wide, REFUSED),
    ):
        yield Probe(
            f"{name} keeps a verdict",
            who,
            JUDGE_A_PAIR,
            [new_id(), a.id, older, newer, "x"],
            expected,
        )
    rewrite = "UPDATE judgements SET relation = 'duplicate'"
    for role in ("palimpsest_member", JUDGE, REVIEWER):
        who = a.who("admin", role=role)
        yield Probe(f"{role} certifies", who, CERTIFY, [new_id(), a.id, "x"], REFUSED)
        yield Probe(f"{role} vouches", who, "UPDATE certificates SET passed = true", (), REFUSED)
        over = 0 if role == JUDGE else REFUSED
        yield Probe(f"{role} rewrites verdicts", who, rewrite, (), over)
        for table in ("conflicts", "judgements", "certificates", "sweeps"):
            yield Probe(f"{role} deletes {table}", who, f"DELETE FROM {table}", (), REFUSED)


def _concluding(a: Side) -> Iterator[Probe]:
    """Return who acts upon a verdict that waited, and what upon one that did not."""
    pair = (a.memories["senior", "project", "apollo"], a.memories["admin", "tenant", "hermes"])
    hidden = (pair[0], a.memories["senior", "private", "apollo"])
    conclude = "UPDATE judgements SET deed = %s"
    for name, who, kept, deed, expected in (
        ("judge", a.judge("senior"), pair, "supersede", 1),
        ("judge for viewer", a.judge("viewer"), pair, "supersede", 1),
        ("judge, of one side", a.judge("viewer"), hidden, "supersede", 0),
        ("judge, of the other side", a.judge("viewer"), hidden[::-1], "supersede", 0),
        ("judge for gone", a.judge("gone"), pair, "supersede", 0),
        ("judge, to wait on", a.judge("senior"), pair, "waiting", 1),
        ("senior", a.who("senior"), pair, "supersede", REFUSED),
        ("reviewer", a.reviewing("senior"), pair, "supersede", REFUSED),
    ):
        waits = Step(a.judge("senior"), _WAIT, [new_id(), a.id, *kept, "x"])
        for kept_as in ("waiting", "late", "supersede"):
            steps = (waits, Step(a.judge("senior"), conclude, [kept_as]))
            then = 0 if kept_as == "supersede" and expected == 1 else expected
            yield Probe(f"{name} concludes {kept_as}", who, conclude, [deed], then, steps)


def _sweeping(a: Side, b: Side) -> Iterator[Probe]:
    senior, apollo = a.members["senior"], a.projects["apollo"]
    for name, who, tenant, member, project, expected in (
        ("senior", a.who("senior"), a, senior, None, 1),
        ("senior in apollo", a.confined("senior", "apollo"), a, senior, apollo, 1),
        ("senior in apollo everywhere", a.confined("senior", "apollo"), a, senior, None, REFUSED),
        ("agent", a.who("agent"), a, senior, apollo, REFUSED),
        ("agent everywhere", a.who("agent"), a, senior, None, REFUSED),
        ("senior for another", a.who("senior"), a, a.members["contractor"], None, REFUSED),
        ("judge for another", a.judge("senior"), a, a.members["contractor"], None, REFUSED),
        ("senior abroad", a.who("senior"), b, senior, None, REFUSED),
        ("gone", a.who("gone"), a, a.members["gone"], None, REFUSED),
    ):
        yield Probe(f"{name} sweeps", who, SWEEP, [new_id(), tenant.id, member, project], expected)
    for name, who, expected in (
        ("judge", a.judge("senior"), 2),
        ("judge for viewer", a.judge("viewer"), 0),
        ("senior", a.who("senior"), REFUSED),
        ("admin", a.who("admin"), REFUSED),
    ):
        yield Probe(f"{name} moves sweeps on", who, "UPDATE sweeps SET pairs = 1", (), expected)


def _counting(a: Side) -> Iterator[Probe]:
    """Return what the counting functions, which look past the policies, tell to whom."""
    tokens = "SELECT tokens_in FROM judge_tokens_since('-infinity', %s)"
    everything: list[tuple[str, Who, str, list[Any], set[Any] | str]] = [
        ("judge", a.judge("viewer"), tokens, [a.canary], {3}),
        ("judge for gone", a.judge("gone"), tokens, [a.canary], {0}),
        ("member", a.who("senior"), tokens, [a.canary], REFUSED),
    ]
    live = "SELECT live FROM retired_by_policy('-infinity')"
    judged = "SELECT pairs FROM judged_lately('-infinity')"
    held = "SELECT held_by_the_tenant(%s) = '{}'"
    room = "SELECT has_at_most_today(%s)"
    ids = list(a.memories.values())
    everything += [
        ("viewer", a.who("viewer"), room, [len(ids) - 1], {False}),
        ("viewer", a.who("viewer"), room, [len(ids)], {True}),
        ("gone", a.who("gone"), room, [len(ids)], {False}),
        ("judge", a.judge("viewer"), room, [len(ids)], REFUSED),
    ]
    for name, who, is_in in (
        ("viewer", a.who("viewer"), True),
        ("gone", a.who("gone"), False),
        ("retired agent", a.who("retired"), False),
    ):
        everything += [
            (name, who, live, [], {len(ids) if is_in else 0}),
            (name, who, judged, [], {3} if is_in else set()),
            (name, who, held, [ids], {not is_in}),
        ]
    for name, who, statement, params, expected in everything:
        yield Probe(f"{name} counts by {statement}", who, statement, params, expected)
