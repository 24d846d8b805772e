"""What happens to a pair: the table, row by row, and what no input may ever do."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.conflict.policy import (
    Action,
    Age,
    Bars,
    ConflictKind,
    Deed,
    Pair,
    Relation,
    Resolution,
    Side,
    Verdict,
    decide,
)

RIVALS = {
    Relation.DUPLICATE,
    Relation.NEWER_SUPERSEDES,
    Relation.OLDER_SUPERSEDES,
    Relation.STALE,
    Relation.CONTRADICTION,
}
EDGES = (0.0, 0.8999, 0.90, 0.9499, 0.95, 1.0)


def _loser_and_winner(pair: Pair, relation: Relation) -> tuple[Side | None, Age | None]:
    """Who loses if nothing stands against it, in words of the rules instead of the code's."""
    n, e = pair.newer, pair.older
    if relation not in RIVALS:
        return None, None
    if n.rank == 0 and e.rank == 0:
        winner = "n"
    elif n.rank == 0 or e.rank == 0:
        winner = "n" if e.rank == 0 else "e"
    elif relation == Relation.DUPLICATE:
        winner = "n" if (n.rank, n.level, 1) > (e.rank, e.level, 0) else "e"
    elif relation == Relation.CONTRADICTION:
        winner = "n" if (n.level, 1) > (e.level, 0) else "e"
    else:
        winner = "e" if relation == Relation.OLDER_SUPERSEDES else "n"
    return (e, Age.NEWER) if winner == "n" else (n, Age.OLDER)


@dataclass(frozen=True)
class Outcome:
    """All that an action says, its row apart."""

    deed: str
    winner: Age | None = None
    resolution: Resolution | None = None
    kind: str | None = None
    missing: tuple[str, ...] = ()


def _outcome(action: Action) -> Outcome:
    kind = None if action.kind is None else action.kind.value
    return Outcome(action.deed.value, action.winner, action.resolution, kind, action.missing)


# What a conflict is called: what is out of date may be said in three ways.
KINDS = {
    "duplicate": "duplicate",
    "newer_supersedes": "stale",
    "older_supersedes": "stale",
    "stale": "stale",
    "contradiction": "contradiction",
    "unsure": "unsure",
    "unusable": "unjudged",
}


# A dispute that tells what would be lost.
TOLD = "dispute that tells it"

# The table, first match acts: (number, condition, outcome, how it ended).
Case = tuple[Pair, Verdict, Bars]


def _rank0(pair: Pair) -> int:
    return (pair.newer.rank == 0) + (pair.older.rank == 0)


TABLE: list[tuple[int, Callable[..., bool], str, Resolution | None]] = [
    (2, lambda p, _v, _b, _w, _l: p.closed, "nothing", None),
    (3, lambda _p, v, _b, _w, _l: v.relation == Relation.UNRELATED, "nothing", None),
    (
        4,
        lambda _p, v, _b, _w, _l: v.relation == Relation.COMPLEMENTARY and v.confidence >= 0.90,
        "relate",
        None,
    ),
    (4, lambda _p, v, _b, _w, _l: v.relation == Relation.COMPLEMENTARY, "nothing", None),
    (
        5,
        lambda p, _v, _b, _w, lost: (
            p.newer.challenged or p.older.challenged or (lost is not None and lost.restored)
        ),
        "dispute",
        None,
    ),
    (6, lambda p, _v, _b, _w, _l: not p.same_readers, "dispute", None),
    (
        7,
        lambda p, v, _b, _w, _l: _rank0(p) == 2 and v.relation in RIVALS,
        "supersede",
        Resolution.RECENCY,
    ),
    (
        8,
        lambda p, v, _b, _w, _l: _rank0(p) == 1 and v.relation in RIVALS,
        "supersede",
        Resolution.AUTHORITY,
    ),
    (9, lambda p, v, _b, _w, _l: v.relation == Relation.UNSURE and _rank0(p) == 2, "nothing", None),
    (9, lambda _p, v, _b, _w, _l: v.relation == Relation.UNSURE, "dispute", None),
    (10, lambda _p, v, _b, _w, _l: v.relation == Relation.UNUSABLE, "dispute", None),
    (11, lambda _p, _v, b, _w, _l: not b.certified or b.brake, "dispute", None),
    (
        12,
        lambda _p, v, _b, _w, lost: (
            v.relation == Relation.DUPLICATE and (lost.is_protected or v.confidence < 0.90)
        ),
        "dispute",
        None,
    ),
    (
        12,
        lambda _p, v, _b, _w, lost: v.relation == Relation.DUPLICATE and bool(lost.lost_specifics),
        TOLD,
        None,
    ),
    (
        13,
        lambda _p, v, _b, _w, _l: v.relation == Relation.DUPLICATE,
        "supersede",
        Resolution.DUPLICATE,
    ),
    (14, lambda _p, _v, _b, _w, lost: lost.is_protected, "dispute", None),
    (15, lambda _p, v, _b, _w, _l: v.confidence < 0.95, "dispute", None),
    (16, lambda _p, _v, _b, _w, lost: bool(lost.lost_specifics), TOLD, None),
    (
        17,
        lambda p, v, _b, w, _l: v.relation == Relation.OLDER_SUPERSEDES or p.side(w).outranked,
        "dispute",
        None,
    ),
    (
        18,
        lambda _p, v, _b, _w, _l: v.relation in (Relation.STALE, Relation.NEWER_SUPERSEDES),
        "supersede",
        Resolution.RECENCY,
    ),
    (
        19,
        lambda p, _v, _b, _w, _l: p.newer.level != p.older.level,
        "supersede",
        Resolution.AUTHORITY,
    ),
    (20, lambda p, _v, _b, _w, _l: p.older.verified_since, "dispute", None),
    (20, lambda _p, _v, _b, _w, _l: True, "supersede", Resolution.RECENCY),
]


def _expected(pair: Pair, verdict: Verdict, bars: Bars) -> Outcome:
    loser, winner = _loser_and_winner(pair, verdict.relation)
    for _, condition, deed, resolution in TABLE:
        if not condition(pair, verdict, bars, winner, loser):
            continue
        if deed in ("nothing", "relate"):
            return Outcome(deed)
        kind = KINDS[verdict.relation.value]
        if deed == TOLD:
            assert loser is not None
            return Outcome("dispute", winner, None, kind, loser.lost_specifics)
        return Outcome(deed, winner, resolution, kind)
    raise AssertionError("no row matches")


@pytest.mark.rule("PO-01", "PO-02", "PO-03", "PO-04", "PO-05", "PO-06", "PO-07", "PO-08", "PO-09")
@pytest.mark.rule("PO-11", "PO-12", "PO-14", "DE-02", "DE-06")
def test_the_table_is_followed_for_all_ranks_levels_kinds_relations_and_confidences_at_the_edges():
    tried = 0
    for ranks, levels, protected, relation, confidence in product(
        product((0, 1, 2), repeat=2),
        ((10, 10), (10, 30), (30, 10)),
        product((False, True), repeat=2),
        Relation,
        EDGES,
    ):
        for certified, brake, lost in product((True, False), (False, True), ((), ("--flag",))):
            # Told apart, or a dispute could list what the wrong side would lose.
            pair = Pair(
                newer=Side(ranks[0], levels[0], protected[0], lost_specifics=lost),
                older=Side(ranks[1], levels[1], protected[1], lost_specifics=lost and ("5433",)),
            )
            case = (pair, Verdict(relation, confidence), Bars(certified=certified, brake=brake))
            assert _outcome(decide(*case)) == _expected(*case), case
            tried += 1
    assert tried == 9 * 3 * 4 * 9 * 6 * 8


sides = st.builds(
    Side,
    rank=st.sampled_from((0, 1, 2)),
    level=st.sampled_from((10, 20, 30)),
    protected_kind=st.booleans(),
    restored=st.booleans(),
    challenged=st.booleans(),
    verified_since=st.booleans(),
    outranked=st.booleans(),
    lost_specifics=st.sampled_from(((), ("5433",), ("make up", "2.1"))),
)
pairs = st.builds(Pair, newer=sides, older=sides, closed=st.booleans(), same_readers=st.booleans())
verdicts = st.builds(
    Verdict,
    relation=st.sampled_from(Relation),
    confidence=st.one_of(st.sampled_from(EDGES), st.floats(0, 1)),
)
lower_bars = st.builds(
    Bars,
    certified=st.booleans(),
    brake=st.booleans(),
    drop_duplicate=st.floats(0, 1),
    hide_content=st.floats(0, 1),
)


@pytest.mark.rule("PO-13", "PO-17", "PO-18", "RE-03")
@given(pairs, verdicts, st.booleans(), st.booleans())
@settings(max_examples=1500)
def test_the_table_is_followed_whatever_else_is_true_of_the_pair(pair, verdict, certified, brake):
    case = (pair, verdict, Bars(certified=certified, brake=brake))

    assert _outcome(decide(*case)) == _expected(*case)


@pytest.mark.rule("PO-01")
@given(pairs, verdicts, lower_bars)
@settings(max_examples=1500)
def test_no_input_retires_a_protected_memory(pair, verdict, bars):
    action = decide(pair, verdict, bars)

    if action.deed is Deed.SUPERSEDE:
        assert action.winner is not None
        assert not pair.side(action.winner.other).is_protected


@pytest.mark.rule("PO-05")
@given(pairs, verdicts, lower_bars)
@settings(max_examples=1500)
def test_bars_can_only_be_raised(pair, verdict, bars):
    as_low_as_possible = Bars(bars.certified, bars.brake, 0.0, 0.0)
    default = Bars(bars.certified, bars.brake)
    raised = decide(pair, verdict, bars)

    assert decide(pair, verdict, as_low_as_possible) == decide(pair, verdict, default)
    if raised.deed is Deed.SUPERSEDE:
        assert decide(pair, verdict, default).deed is Deed.SUPERSEDE


@pytest.mark.rule("RE-03", "DI-06", "PO-13", "DE-08")
@given(pairs, verdicts, lower_bars)
@settings(max_examples=1500)
def test_what_is_restored_challenged_or_not_read_by_all_is_never_retired(pair, verdict, bars):
    action = decide(pair, verdict, bars)

    if action.deed is Deed.SUPERSEDE:
        assert action.winner is not None
        assert pair.same_readers
        assert not pair.closed
        assert not pair.newer.challenged
        assert not pair.older.challenged
        assert not pair.side(action.winner.other).restored


@pytest.mark.rule("PO-10")
def test_the_table_knows_no_date_no_role_and_no_caller():
    """What a client could claim cannot count: the server's order alone tells the two apart."""
    assert {one.name for one in fields(Side)} == {
        *("rank", "level", "protected_kind", "restored", "challenged"),
        *("verified_since", "outranked", "lost_specifics"),
    }
    assert {one.name for one in fields(Pair)} == {"newer", "older", "closed", "same_readers"}
    assert {one.name for one in fields(Verdict)} == {"relation", "confidence"}


@pytest.mark.rule("PO-10", "PO-08", "PO-09")
@pytest.mark.parametrize("relation", ["contradiction", "duplicate", "stale"])
def test_of_two_alike_in_all_else_the_newer_wins(relation):
    action = decide(Pair(Side(1, 30), Side(1, 30)), Verdict(Relation(relation), 1.0), Bars())

    assert (action.deed, action.winner) == (Deed.SUPERSEDE, Age.NEWER)


@pytest.mark.rule("PO-20")
@pytest.mark.parametrize("confidence", [0.90, 0.92, 0.9499])
def test_a_broad_summary_over_a_narrow_gotcha_is_stopped_by_the_bar_alone(confidence):
    pair = Pair(newer=Side(1, 30), older=Side(1, 30))

    action = decide(pair, Verdict(Relation.NEWER_SUPERSEDES, confidence), Bars())

    assert (action.deed, action.kind) == (Deed.DISPUTE, ConflictKind.STALE)


@pytest.mark.rule("PO-20")
def test_and_by_protection_alone():
    pair = Pair(newer=Side(1, 30), older=Side(1, 30, protected_kind=True))

    action = decide(pair, Verdict(Relation.NEWER_SUPERSEDES, 0.99), Bars())

    assert (action.deed, action.row) == (Deed.DISPUTE, "the loser is protected")


@pytest.mark.rule("PO-20", "PO-11")
def test_and_by_the_coverage_guard_alone():
    pair = Pair(newer=Side(1, 30), older=Side(1, 30, lost_specifics=("kubectl rollout",)))

    action = decide(pair, Verdict(Relation.NEWER_SUPERSEDES, 0.99), Bars())

    assert (action.deed, action.missing) == (Deed.DISPUTE, ("kubectl rollout",))
