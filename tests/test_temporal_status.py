"""The table of temporal status, cell by cell, and as recall tells it."""

from itertools import product

import pytest

from memory.trust.marks import meets
from memory.trust.state import TrustState
from memory.trust.temporal import LEFT_OUT, Footing, TemporalStatus, Use, use_of

CURRENT, HIGH, HISTORICAL = (
    {"historical": False, "high": False},
    {"historical": False, "high": True},
    {"historical": True, "high": False},
)

# State and what else is known; then current, with high consequence, historical. A star: withheld.
TABLE = [
    ("verified", {}, "current_enough", "current_enough", "valid_as_historical"),
    ("verified", {"overdue": True}, "qualified", "verify_before_use", "valid_as_historical"),
    (
        "dirty",
        {"marked_where_asked": True},
        *("verify_before_use", "verify_before_use*", "valid_as_historical"),
    ),
    ("dirty", {}, "qualified", "verify_before_use*", "valid_as_historical"),
    (
        "dirty",
        {"uncheckable": True},
        *("unverifiable", "unverifiable*", "valid_as_historical"),
    ),
    (
        "proposed",
        {"uncheckable": True},
        *("unverifiable", "unverifiable*", "valid_as_historical"),
    ),
    ("proposed", {}, "qualified", "verify_before_use*", "valid_as_historical"),
    ("conflicted", {}, "conflicted", "conflicted*", "conflicted"),
    ("superseded", {}, "superseded", None, "valid_as_historical"),
    ("expired", {}, "expired", None, "valid_as_historical"),
    ("rejected", {}, None, None, None),
    ("verified", {"retired": True}, None, None, "valid_as_historical"),
    ("dirty", {"retired": True}, None, None, "valid_as_historical"),
    ("proposed", {"retired": True}, None, None, "valid_as_historical"),
    # What it says had yet to become so then: it is told with its beginning, and never plainly.
    ("verified", {"still_to_come": True}, "qualified", "verify_before_use*", "qualified"),
    (
        "verified",
        {"still_to_come": True, "overdue": True},
        *("qualified", "verify_before_use*", "qualified"),
    ),
    (
        "dirty",
        {"still_to_come": True, "marked_where_asked": True},
        *("verify_before_use", "verify_before_use*", "qualified"),
    ),
    (
        "proposed",
        {"still_to_come": True, "uncheckable": True},
        *("unverifiable", "unverifiable*", "qualified"),
    ),
    ("conflicted", {"still_to_come": True}, "conflicted", "conflicted*", "conflicted"),
    ("superseded", {"still_to_come": True}, "superseded", None, "qualified"),
    ("rejected", {"still_to_come": True}, None, None, None),
    ("verified", {"still_to_come": True, "retired": True}, None, None, "qualified"),
]


def as_written(use: Use) -> str | None:
    """Return a cell as the table above writes it."""
    return None if use.status is None else use.status.value + "*" * use.withheld


@pytest.mark.rule("RC-02", "RC-03", "RC-07")
@pytest.mark.parametrize(("state", "known", "current", "high", "historical"), TABLE)
def test_each_cell_of_the_table(state, known, current, high, historical):
    footing = Footing(TrustState(state), **known)

    assert as_written(use_of(footing, **CURRENT)) == current
    assert as_written(use_of(footing, **HIGH)) == high
    assert as_written(use_of(footing, **HISTORICAL)) == historical


EVERY_FOOTING = [
    Footing(state, *known) for state in TrustState for known in product((False, True), repeat=5)
]


@pytest.mark.rule("RC-02", "RC-07", "TR-05")
def test_every_combination_has_one_status_and_none_says_more_than_is_known():
    """All 224 standings by the four ways to ask."""
    for footing in EVERY_FOOTING:
        for historical, high in product((False, True), repeat=2):
            use = use_of(footing, historical=historical, high=high)

            assert use == LEFT_OUT or use.status in TemporalStatus
            # Clean and checked is the only way to be told as current.
            if use.status == TemporalStatus.CURRENT_ENOUGH:
                assert footing.state == TrustState.VERIFIED
                assert not footing.overdue
                assert not footing.still_to_come
            if use.status == TemporalStatus.VALID_AS_HISTORICAL:
                assert not footing.still_to_come
            # Nothing is kept back unless much hangs on it, and then all that is in doubt.
            assert not use.withheld or high
            in_doubt = footing.state in (
                TrustState.DIRTY,
                TrustState.CONFLICTED,
                TrustState.PROPOSED,
            )
            if high and not historical and use.status is not None:
                assert use.withheld == (in_doubt or footing.still_to_come)


@pytest.mark.rule("RC-02", "RC-07")
def test_more_consequence_never_makes_it_safer():
    order = ["current_enough", "qualified", "verify_before_use", "unverifiable", "conflicted"]
    for footing in EVERY_FOOTING:
        low = use_of(footing, **CURRENT).status
        high = use_of(footing, **HIGH).status
        if low in order and high in order:
            assert order.index(high) >= order.index(low)


@pytest.mark.rule("RC-02")
@pytest.mark.parametrize(
    ("subject", "asked", "met"),
    [
        ("deployment.branch", "deployment.branch", True),
        ("deployment.branch", "deployment", True),
        ("deployment", "deployment.branch", True),
        ("deployment.branch", "deployment.provider", False),
        ("deployment.branch", "deployment.branches", False),
        ("deployment.branches", "deployment.branch", False),
        ("database", "deployment", False),
    ],
)
def test_a_subject_meets_itself_and_what_lies_above_and_below(subject, asked, met):
    assert meets(subject, ["elsewhere", asked]) is met
    assert meets(subject, []) is False
