"""Who calls what into question, who decides it, and who takes back what was decided."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tenants.ids import new_id
from tests.promises.disagreeing import NOTE, noted
from tests.promises.probe import Probe
from tests.promises.raw import JUDGE, REFUSED, REVIEWER, Step, Who
from tests.promises.trusting import ATTRIBUTE, SIGNAL, said
from tests.promises.world import Side

DECIDE = "UPDATE conflicts SET state = %s, resolved_by_member_id = %s, resolved_by_agent_id = %s"
TAKE_BACK = """
UPDATE conflicts SET state = 'pending', resolved_by_member_id = NULL, resolved_by_agent_id = NULL,
    winner_id = NULL, resolution = NULL, resolved_at = NULL WHERE state = 'resolved'
"""
WIN = "UPDATE conflicts SET state = 'resolved', resolved_by_member_id = %s, winner_id = %s"


def reviewing(a: Side, b: Side) -> Iterator[Probe]:
    """Return who does what about disputes, proposals, and what misled somebody."""
    yield from _challenging(a, b)
    yield from _deciding(a)
    yield from _deciding_as_what(a)
    yield from _taking_back(a)
    yield from _accepting(a)
    yield from _restoring(a)
    yield from _saying_what_misled(a, b)
    yield from _attributing(a, b)


def _reviewing(who: Who) -> Who:
    return replace(who, role=REVIEWER)


def _challenging(a: Side, b: Side) -> Iterator[Probe]:
    shared, hidden = (
        a.memories["senior", "project", "apollo"],
        a.memories["outsider", "private", "hermes"],
    )
    wide, elsewhere = (a.memories["senior", "tenant", one] for one in ("apollo", "hermes"))
    senior, agent = a.members["senior"], a.agents["agent"]
    mine = {"kind": "challenged", "raised_by": senior}
    by_agent = {**mine, "raised_by_agent": agent}
    theirs = {"kind": "challenged", "raised_by": a.members["contractor"]}
    of_reviewer = {"kind": "challenged", "raised_by": a.members["reviewer"]}
    for name, who, note, expected in (
        ("senior", a.who("senior"), noted(a, shared, None, **mine), 1),
        ("senior, suspecting", a.who("senior"),
         noted(a, shared, None, **{**mine, "kind": "stale_suspect"}), 1),
        ("contractor", a.who("contractor"), noted(a, shared, None, **theirs), 1),
        ("agent", a.who("agent"), noted(a, shared, None, **by_agent), 1),
        ("reviewer", a.reviewing("reviewer"), noted(a, shared, None, **of_reviewer), 1),
        ("reviewer in their plain role", a.who("reviewer"), noted(a, shared, None, **of_reviewer),
         REFUSED),
        ("viewer", a.who("viewer"),
         noted(a, shared, None, kind="challenged", raised_by=a.members["viewer"]), REFUSED),
        ("gone", a.who("gone"),
         noted(a, a.memories["gone", "tenant", None], None, kind="challenged",
               raised_by=a.members["gone"]), REFUSED),
        ("contractor of what is hidden", a.who("contractor"), noted(a, hidden, None, **theirs),
         REFUSED),
        ("senior elsewhere", a.who("senior"), noted(a, elsewhere, None, **mine), 1),
        ("senior, confined, elsewhere", a.confined("senior", "apollo"),
         noted(a, elsewhere, None, **mine), REFUSED),
        ("senior abroad", a.who("senior"),
         noted(b, b.memories["senior", "tenant", None], None, **mine), REFUSED),
        ("senior for another", a.who("senior"), noted(a, shared, None, **theirs), REFUSED),
        ("senior for nobody", a.who("senior"), noted(a, shared, None, kind="challenged"), REFUSED),
        ("senior as agent", a.who("senior"), noted(a, shared, None, **by_agent), REFUSED),
        ("agent as its sponsor", a.who("agent"), noted(a, shared, None, **mine), REFUSED),
        ("senior as a pair", a.who("senior"), noted(a, shared, wide, **mine), REFUSED),
        ("senior as a contradiction", a.who("senior"),
         noted(a, shared, None, raised_by=senior), REFUSED),
        ("senior in a hidden one's place", a.who("senior"),
         noted(a, shared, None, **mine, low=hidden), REFUSED),
        ("senior in another's place", a.who("senior"),
         noted(a, shared, None, **mine, high=wide), REFUSED),
    ):  # fmt: skip
        yield Probe(f"{name} challenges", who, NOTE, note, expected)
    for what, value in (
        ("state", "resolved"), ("winner", shared), ("recommended", shared), ("resolved_by", senior),
        ("resolved_by_agent", agent), ("batch", new_id()), ("assigned_to", senior),
        ("deferred_until", "2030-01-01"),
    ):  # fmt: skip
        note = noted(a, shared, None, **{**mine, what: value})
        yield Probe(f"senior challenges with {what}", a.who("senior"), NOTE, note, REFUSED)


def _deciding(a: Side) -> Iterator[Probe]:
    agent = a.agents["agent"]
    pending = f"{DECIDE} WHERE state = 'pending'"
    for name, who, by, by_agent, expected in (
        ("senior", a.reviewing("senior"), "senior", None, 6),
        ("senior in apollo", _reviewing(a.confined("senior", "apollo")), "senior", None, 6),
        ("senior in hermes", _reviewing(a.confined("senior", "hermes")), "senior", None, 0),
        ("contractor, of their personal one", a.reviewing("contractor"), "contractor", None, 1),
        ("contractor in apollo", _reviewing(a.confined("contractor", "apollo")), "contractor",
         None, 0),
        ("reviewer", a.reviewing("reviewer"), "reviewer", None, 7),
        ("viewer", a.reviewing("viewer"), "viewer", None, 0),
        ("outsider", a.reviewing("outsider"), "outsider", None, 0),
        ("admin", a.reviewing("admin"), "admin", None, 0),
        ("gone", a.reviewing("gone"), "gone", None, 0),
        # Not of its sponsor's, nor what its sponsor raised, nor what itself wrote or raised before.
        ("agent", _reviewing(a.who("agent")), "senior", agent, 1),
        ("retired agent", _reviewing(a.who("retired")), "senior", a.agents["retired"], 0),
        ("agent as its sponsor", _reviewing(a.who("agent")), "senior", None, REFUSED),
        ("senior as agent", a.reviewing("senior"), "senior", agent, REFUSED),
        ("senior in another's name", a.reviewing("senior"), "contractor", None, REFUSED),
        ("member", a.who("senior"), "senior", None, REFUSED),
        ("judge", a.judge("senior"), "senior", None, REFUSED),
    ):  # fmt: skip
        params = ["dismissed", a.members[by], by_agent]
        yield Probe(f"{name} dismisses what waits", who, pending, params, expected)
    yield Probe(
        "senior dismisses without asking what waits", a.reviewing("senior"), DECIDE,
        ["dismissed", a.members["senior"], None], REFUSED,
    )  # fmt: skip


def _deciding_as_what(a: Side) -> Iterator[Probe]:
    """Return what a decision may say, of the pair that senior and contractor disagree in."""
    senior, who = a.members["senior"], a.reviewing("senior")
    shared, theirs = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    this = f"id = '{a.rows['conflict shared']}'"
    for winner, resolution, expected in (
        (shared, "manual", 1),
        (theirs, "manual", 1),
        (None, "keep_both", 1),
        (a.memories["senior", "tenant", "apollo"], "manual", REFUSED),
        (None, "merged", 1),
        (a.memories["outsider", "private", "hermes"], "merged", REFUSED),
    ):
        yield Probe(
            f"senior resolves as {resolution} with {winner}", who,
            f"{WIN}, resolution = %s WHERE {this}", [senior, winner, resolution], expected,
        )  # fmt: skip
    for change, expected in (
        ("deferred_until = now(), assigned_to_id = resolved_by_member_id, note = 'x'", 1),
        ("state = 'moot'", REFUSED),
        ("state = 'resolved'", REFUSED),
        (f"winner_id = '{shared}'", REFUSED),
        ("resolution = 'manual'", REFUSED),
        ("resolved_at = now()", REFUSED),
        (f"resolved_by_member_id = '{senior}'", REFUSED),
        (f"resolved_by_agent_id = '{a.agents['agent']}'", REFUSED),
        (f"memory_b_id = '{a.memories['senior', 'tenant', 'apollo']}'", REFUSED),
        ("kind = 'unsure'", REFUSED),
        ("level_a = 99", REFUSED),
        ("verdict = '{}'", REFUSED),
        ("raised_by_member_id = NULL", REFUSED),
    ):
        yield Probe(
            f"senior sets {change} where it waits", who,
            f"UPDATE conflicts SET {change} WHERE {this}", (), expected,
        )  # fmt: skip


def _taking_back(a: Side) -> Iterator[Probe]:
    for name, who, expected in (
        ("senior", a.reviewing("senior"), 2),
        ("reviewer", a.reviewing("reviewer"), 2),
        ("contractor", a.reviewing("contractor"), 0),
        ("viewer", a.reviewing("viewer"), 0),
        ("agent", _reviewing(a.who("agent")), 0),
        ("member", a.who("senior"), REFUSED),
        ("judge", a.judge("senior"), REFUSED),
    ):
        yield Probe(f"{name} takes decisions back", who, TAKE_BACK, (), expected)
    this = f"WHERE id = '{a.rows['conflict closed']}'"
    yield Probe(
        "reviewer decides over another's head", a.reviewing("reviewer"), f"{WIN} {this}",
        [a.members["reviewer"], None], REFUSED,
    )  # fmt: skip
    yield Probe(
        "senior thinks better of it", a.reviewing("senior"), f"{WIN} {this}",
        [a.members["senior"], None], REFUSED,
    )  # fmt: skip
    yield Probe(
        "senior decides anew", a.reviewing("senior"), f"{WIN} {this}",
        [a.members["senior"], None], 1, after=(Step(a.reviewing("reviewer"), TAKE_BACK),),
    )  # fmt: skip
    yield Probe(
        "judge decides over a person's head", a.judge("senior"),
        f"UPDATE conflicts SET state = 'resolved', resolved_by_member_id = NULL {this}", (), 0,
    )  # fmt: skip
    again = "UPDATE settled_pairs SET reopened_at = now()"
    for name, who, expected in (
        ("senior", a.reviewing("senior"), 2),
        ("senior in hermes", _reviewing(a.confined("senior", "hermes")), 0),
        ("reviewer", a.reviewing("reviewer"), 2),
        ("contractor", a.reviewing("contractor"), 0),
        ("viewer", a.reviewing("viewer"), 0),
        ("agent", _reviewing(a.who("agent")), 0),
        ("gone", a.reviewing("gone"), 0),
        ("member", a.who("senior"), REFUSED),
        ("judge", a.judge("senior"), REFUSED),
    ):
        yield Probe(f"{name} takes pairs up again", who, again, (), expected)
    for change in ("reopened_at = NULL", "why = ''", "settled_at = now()"):
        yield Probe(
            f"senior sets {change} of a pair", a.reviewing("senior"),
            f"UPDATE settled_pairs SET {change}", (), REFUSED,
        )  # fmt: skip


def _accepting(a: Side) -> Iterator[Probe]:
    shared, theirs = (a.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    own_agents, was_its = (
        a.memories["senior", "tenant", "apollo"],
        a.memories["gone", "project", "apollo"],
    )
    accept = "UPDATE memories SET accepted_at = now() WHERE id = %s"
    reject = (
        "UPDATE memories SET invalidated_at = now(), invalidated_reason = 'rejected' WHERE id = %s"
    )
    for name, who, memory, expected in (
        ("senior", a.reviewing("senior"), theirs, 1),
        ("reviewer", a.reviewing("reviewer"), shared, 1),
        ("senior, of their own", a.reviewing("senior"), shared, REFUSED),
        ("senior, of their agent's", a.reviewing("senior"), own_agents, 1),
        ("agent", _reviewing(a.who("agent")), theirs, 1),
        ("agent, of its sponsor's", _reviewing(a.who("agent")), shared, REFUSED),
        ("agent, of its own", _reviewing(a.who("agent")), own_agents, REFUSED),
        ("agent, of what it wrote for another", _reviewing(a.who("agent")), was_its, REFUSED),
        ("contractor", a.reviewing("contractor"), shared, REFUSED),
        ("contractor, of their own", a.reviewing("contractor"), theirs, REFUSED),
        ("senior, as a member", a.who("senior"), theirs, REFUSED),
        ("owner, as a member", a.who("contractor"), theirs, REFUSED),
        ("viewer", a.reviewing("viewer"), theirs, 0),
    ):
        yield Probe(f"{name} accepts", who, accept, [memory], expected)
        yield Probe(f"{name} rejects", who, reject, [memory], expected)
    yield Probe("judge accepts", a.judge("senior"), accept, [theirs], REFUSED)
    yield Probe("judge rejects", a.judge("senior"), reject, [theirs], REFUSED)


def _restoring(a: Side) -> Iterator[Probe]:
    """Return who says that a person brought something back."""
    theirs = a.memories["contractor", "project", "apollo"]
    said_so = "UPDATE memories SET restored_by_person_at = now() WHERE id = %s"
    restore = (
        "UPDATE memories SET invalidated_at = NULL, invalidated_reason = NULL,"
        " restored_by_person_at = %s WHERE id = %s"
    )
    forget = (
        "UPDATE memories SET invalidated_at = now(), invalidated_reason = 'forgotten' WHERE id = %s"
    )
    gone = (Step(a.who("contractor"), forget, [theirs]),)
    back = (*gone, Step(a.who("contractor"), restore, ["now", theirs]))
    for name, who, statement, params, before, expected in (
        ("contractor restores", a.who("contractor"), restore, ["now", theirs], gone, 1),
        ("senior restores", a.reviewing("senior"), restore, ["now", theirs], gone, 1),
        ("agent restores", a.who("agent"), restore, [None, theirs], gone, 1),
        ("agent restores as a person", a.who("agent"), restore, ["now", theirs], gone, REFUSED),
        ("contractor says so of what is live", a.who("contractor"), said_so, [theirs], (), REFUSED),
        ("contractor says so of what is gone", a.who("contractor"), said_so, [theirs], gone,
         REFUSED),
        ("contractor says that it was not so", a.who("contractor"), restore, [None, theirs], back,
         REFUSED),
    ):  # fmt: skip
        yield Probe(name, who, statement, params, expected, after=before)


def _saying_what_misled(a: Side, b: Side) -> Iterator[Probe]:
    shared, hidden = (
        a.memories["senior", "project", "apollo"],
        a.memories["outsider", "private", "hermes"],
    )
    elsewhere = a.memories["senior", "tenant", "hermes"]
    senior, agent = a.members["senior"], a.agents["agent"]
    mine: dict[str, Any] = {"memory": shared, "kind": "misled", "member": senior}
    of_reviewer = {**mine, "member": a.members["reviewer"]}
    judged = {"memory": shared, "kind": "judged_misled"}
    for name, who, what, expected in (
        ("senior", a.who("senior"), mine, 1),
        ("contractor", a.who("contractor"), {**mine, "member": a.members["contractor"]}, 1),
        ("agent", a.who("agent"), {**mine, "agent": agent}, 1),
        ("reviewer", a.reviewing("reviewer"), of_reviewer, 1),
        ("reviewer in their plain role", a.who("reviewer"), of_reviewer, REFUSED),
        ("viewer", a.who("viewer"), {**mine, "member": a.members["viewer"]}, REFUSED),
        ("senior of what is hidden", a.who("senior"), {**mine, "memory": hidden}, REFUSED),
        ("senior, confined", a.confined("senior", "apollo"), {**mine, "memory": elsewhere},
         REFUSED),
        ("senior for another", a.who("senior"), {**mine, "member": a.members["gone"]}, REFUSED),
        ("senior for nobody", a.who("senior"), {**mine, "member": None}, REFUSED),
        ("senior as agent", a.who("senior"), {**mine, "agent": agent}, REFUSED),
        ("agent as its sponsor", a.who("agent"), mine, REFUSED),
        ("senior, as judged", a.who("senior"), {**mine, "kind": "judged_misled"}, REFUSED),
        ("senior, tomorrow", a.who("senior"), {**mine, "ahead": "1 day"}, REFUSED),
        ("gone", a.who("gone"), {**mine, "member": a.members["gone"]}, REFUSED),
        ("judge", a.judge("viewer"), judged, 1),
        ("judge of what is hidden", a.judge("viewer"), {**judged, "memory": hidden}, REFUSED),
        ("judge in a person's name", a.judge("senior"), {**judged, "member": senior}, REFUSED),
        ("judge, as a person would", a.judge("senior"), {**judged, "kind": "misled"}, REFUSED),
        ("judge, tomorrow", a.judge("senior"), {**judged, "ahead": "1 day"}, REFUSED),
        ("judge for gone", a.judge("gone"), judged, REFUSED),
    ):  # fmt: skip
        yield Probe(f"{name} says that it misled", who, SIGNAL, said(a, **what), expected)
    abroad = said(b, **{**mine, "memory": b.memories["senior", "tenant", None]})
    yield Probe("senior says so abroad", a.who("senior"), SIGNAL, abroad, REFUSED)


def _attributing(a: Side, b: Side) -> Iterator[Probe]:
    """Return who notes what a judge said of a report."""
    of_senior: dict[str, Any] = {"kind": "misled", "member": a.members["senior"]}
    shown = said(a, memory=a.memories["senior", "project", "apollo"], **of_senior)
    private = said(a, memory=a.memories["senior", "private", "apollo"], **of_senior)
    challenged = {**shown, "id": new_id(), "kind": "challenge"}
    for name, who, tenant, report, expected in (
        ("judge", a.judge("senior"), a, shown, 1),
        ("judge for another reader", a.judge("viewer"), a, shown, 1),
        ("judge of what its member may not read", a.judge("viewer"), a, private, REFUSED),
        ("judge of a challenge", a.judge("senior"), a, challenged, REFUSED),
        ("judge abroad", a.judge("senior"), b, shown, REFUSED),
        ("judge for gone", a.judge("gone"), a, shown, REFUSED),
        ("senior", a.who("senior"), a, shown, REFUSED),
        ("reviewer", a.reviewing("senior"), a, shown, REFUSED),
    ):
        reported = Step(a.who("senior"), SIGNAL, report)
        row = [new_id(), tenant.id, report["id"], "x"]
        yield Probe(f"{name} attributes", who, ATTRIBUTE, row, expected, after=(reported,))
    for role in ("palimpsest_member", JUDGE, REVIEWER):
        who, change = a.who("senior", role=role), "UPDATE attributions SET blame = 'misled'"
        yield Probe(f"{role} rewrites what the judge said of reports", who, change, (), REFUSED)
