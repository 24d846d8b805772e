"""How a memory is said: never as more than is known of it, and without a model."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from memory.models import Change, Component, Mark, Memory
from memory.trust.rendering import Telling, in_dispute, safe_rendering
from memory.trust.standing import Standing
from memory.trust.state import TrustState

CLAIM = "Staging is deployed from the branch main."
WRITTEN, SEEN = datetime(2026, 3, 1, 9, tzinfo=UTC), datetime(2026, 4, 2, 9, tzinfo=UTC)
CHANGED = "deployment.branch changed (seen 2026-05-03): It is trunk now"
AUTHOR = {"name": "Ada", "level": 30}


def memory(**more):
    return Memory(**{"content": CLAIM, "kind": "fact", "created_at": WRITTEN, **more})


def mark(subject=None, *, direct=True):
    component = None if subject is None else Component(id=uuid4(), subject=subject)
    return Mark(direct=direct, component=component, change=Change(subject=subject or "x"))


def standing(state, **more):
    known = {
        "confidence": 0.5,
        "last_verified_at": SEEN,
        "marks": (),
        "dirty_reason": None,
        "overdue": False,
        "checkable": True,
        "doubts": (),
        "verified": {},
        "last_value": {},
        "suspected": False,
        "looked_at": False,
    }
    return Standing(state=TrustState(state), **{**known, **more})


BRANCH_MARKED = {
    "marks": (mark("deployment.branch"),),
    "verified": {"deployment.branch": SEEN, "deployment.host": WRITTEN},
    "last_value": {"deployment.branch": "main", "deployment.host": "web1"},
}


def said(state, telling=None, of=None, **more):
    return safe_rendering(
        of or memory(), standing(state, **more), telling or Telling(author=AUTHOR)
    )


@pytest.mark.rule("RC-05")
def test_what_is_verified_is_said_as_it_was_written():
    assert said("verified") == CLAIM


@pytest.mark.rule("RC-05", "TR-05")
def test_what_is_dirty_was_last_verified_as_what_and_when_and_what_changed():
    short = "deployment.branch was last verified as main on 2026-04-02."

    assert said("dirty", **BRANCH_MARKED) == short
    long = said("dirty", dirty_reason=CHANGED, **BRANCH_MARKED)
    assert long == f"{short} {CHANGED}; check the current value."


@pytest.mark.rule("RC-05")
def test_without_a_value_it_is_said_of_when_it_was_last_verified():
    short = f"As of 2026-04-02: {CLAIM}"

    assert said("dirty") == short
    assert said("dirty", marks=(mark(),)) == short
    assert said("dirty", marks=(mark("deployment.branch", direct=False),)) == short
    assert said("dirty", **{**BRANCH_MARKED, "last_value": {}}) == short
    long = said("dirty", dirty_reason=CHANGED)
    assert long == f"{short} {CHANGED}; check the current value."


@pytest.mark.rule("RC-05")
def test_of_several_marked_components_those_asked_about_are_said():
    both = {**BRANCH_MARKED, "marks": (mark("deployment.host"), mark("deployment.branch"))}
    branch = "deployment.branch was last verified as main on 2026-04-02."
    host = "deployment.host was last verified as web1 on 2026-03-01."

    assert said("dirty", **both) == f"{host} {branch}"
    asked = Telling(author=AUTHOR, subjects=["deployment.branch"])
    assert said("dirty", asked, **both) == branch
    elsewhere = Telling(author=AUTHOR, subjects=["database"])
    assert said("dirty", elsewhere, **both) == f"As of 2026-04-02: {CLAIM}"
    # Of what was asked about and is clean, that is told.
    clean = Telling(author=AUTHOR, subjects=["deployment.host"])
    assert said("dirty", clean, dirty_reason=CHANGED, **BRANCH_MARKED) == (
        f"{host} {CHANGED}; check the current value."
    )


@pytest.mark.rule("RC-05", "TR-05")
@pytest.mark.parametrize("more", [{}, BRANCH_MARKED, {"marks": (mark(),)}])
@pytest.mark.parametrize("reason", [None, CHANGED])
@pytest.mark.parametrize("as_of", [None, SEEN])
def test_a_dirty_claim_is_never_in_the_unqualified_present(more, reason, as_of):
    told = said("dirty", Telling(author=AUTHOR, as_of=as_of), dirty_reason=reason, **more)

    assert told.startswith(("As of 2026-04-02: ", "deployment.branch was last verified as "))


@pytest.mark.rule("RC-05", "TR-07")
def test_what_was_captured_is_unconfirmed_and_carries_its_mark():
    captured = f"Unconfirmed (captured 2026-03-01): {CLAIM}"

    assert said("proposed") == captured
    marked = said("proposed", dirty_reason=CHANGED)
    assert marked == f"{captured} {CHANGED}; check the current value."


@pytest.mark.rule("RC-05")
def test_what_is_due_for_review_says_so():
    told = said("verified", overdue=True)

    assert told.startswith(f"As of 2026-04-02: {CLAIM} It is due to be looked at again")


@pytest.mark.rule("RC-05", "RC-06")
def test_sources_that_disagree_are_all_said_with_who_and_when():
    other = {
        "content": "It is deployed from trunk.",
        "author": {"name": "Bo", "level": 10},
        "created_at": "2026-05-06T00:00:00Z",
    }

    told = said("conflicted", Telling(author=AUTHOR, competing=[other]))

    assert told == (
        f"Sources disagree: (a) {CLAIM} <Ada, level 30, 2026-03-01>; "
        "(b) It is deployed from trunk. <Bo, level 10, 2026-05-06>"
    )
    assert said("conflicted") == f"Disputed: {CLAIM} <Ada, level 30, 2026-03-01>"
    assert in_dispute([other, other], disagreeing=False).startswith("Perhaps these disagree: (a)")


@pytest.mark.rule("RC-05", "RC-08")
@pytest.mark.parametrize(
    ("state", "row", "successor", "end"),
    [
        ("superseded", "superseded", "mem_x", "replaced by mem_x."),
        ("superseded", "superseded", None, "replaced since."),
        ("verified", "superseded", "mem_x", "replaced by mem_x."),
        ("verified", "forgotten", None, "forgotten since."),
        ("dirty", "closed", None, "closed since."),
        ("proposed", "retired", None, "taken out of use since."),
    ],
)
def test_what_is_over_is_said_until_when(state, row, successor, end):
    gone = memory(invalidated_at=SEEN, invalidated_reason=row)

    told = said(state, Telling(author=AUTHOR, successor=successor, historical=True), of=gone)

    assert told == f"Until 2026-04-02: {CLAIM}; {end}"


@pytest.mark.rule("RC-05")
def test_an_end_that_has_passed_and_a_time_asked_about_are_said():
    assert said("expired", of=memory(valid_until=SEEN)) == f"Until 2026-04-02: {CLAIM}"
    then = Telling(author=AUTHOR, historical=True, as_of=SEEN)
    assert said("verified", then) == f"As of 2026-04-02: {CLAIM}"
    assert said("verified", Telling(author=AUTHOR, historical=True)) == CLAIM


COMING = datetime(2099, 1, 1, tzinfo=UTC)
TO_COME = Telling(author=AUTHOR, still_to_come=True)


@pytest.mark.rule("RC-05")
@pytest.mark.parametrize("state", ["verified", "dirty", "proposed"])
@pytest.mark.parametrize("reason", [None, CHANGED])
@pytest.mark.parametrize("overdue", [True, False])
@pytest.mark.parametrize("as_of", [None, SEEN])
def test_what_is_still_to_come_is_never_said_without_its_beginning(state, reason, overdue, as_of):
    then = Telling(author=AUTHOR, still_to_come=True, as_of=as_of, historical=as_of is not None)
    told = said(
        state,
        then,
        memory(valid_from=COMING),
        dirty_reason=reason,
        overdue=overdue,
        **{**BRANCH_MARKED, "marks": () if reason is None else BRANCH_MARKED["marks"]},
    )

    captured = "Unconfirmed (captured 2026-03-01): " if state == "proposed" else ""
    assert told.startswith(f"{captured}From 2099-01-01: {CLAIM}")
    assert "was last verified as" not in told
    assert (CHANGED in told) == (reason is not None)


@pytest.mark.rule("RC-05")
def test_a_beginning_in_the_middle_of_a_day_is_said_to_the_minute():
    at = datetime(2099, 1, 1, 18, 30, tzinfo=UTC)

    told = said("verified", TO_COME, memory(valid_from=at))
    assert told == f"From 2099-01-01 18:30 UTC: {CLAIM}"


@pytest.mark.rule("RC-05", "RC-08")
def test_what_went_out_of_use_is_said_with_the_beginning_that_had_not_come():
    gone = {"invalidated_at": SEEN, "invalidated_reason": "forgotten"}
    never = memory(valid_from=COMING, valid_until=COMING.replace(year=2100), **gone)
    once = memory(valid_from=WRITTEN, **gone)

    assert said("verified", TO_COME, never) == (
        f"It was to hold from 2099-01-01: {CLAIM}; forgotten since."
    )
    assert said("expired", TO_COME, never) == (
        f"It was to hold from 2099-01-01: {CLAIM}; forgotten since."
    )
    assert said("verified", TO_COME, once) == (
        f"From 2026-03-01 09:00 UTC until 2026-04-02: {CLAIM}; forgotten since."
    )
    assert said("verified", of=once) == f"Until 2026-04-02: {CLAIM}; forgotten since."


@pytest.mark.rule("RC-07")
def test_what_is_withheld_because_it_is_to_come_says_from_when_and_nothing_of_the_claim():
    withheld = Telling(author=AUTHOR, still_to_come=True, withheld=True)

    told = said("verified", withheld, memory(valid_from=COMING))
    assert told == "Withheld: it holds from 2099-01-01. Verify what holds before then."


@pytest.mark.rule("RC-07")
@pytest.mark.parametrize(
    ("state", "more", "told"),
    [
        (
            "dirty",
            {**BRANCH_MARKED, "dirty_reason": "The branch changed."},
            "The branch changed; verify it first.",
        ),
        ("dirty", {}, "It was marked as possibly out of date; verify it first."),
        (
            "proposed",
            {},
            "It was captured, and nobody has confirmed it; verify it first.",
        ),
    ],
)
def test_what_is_withheld_says_what_to_verify_and_nothing_of_the_claim(state, more, told):
    withheld = said(state, Telling(author=AUTHOR, withheld=True), **more)

    assert withheld == f"Withheld until it is verified. {told}"
    part = Telling(author=AUTHOR, withheld=True, looks_at=["deployment.branch", "a.b"])
    assert said(state, part, **more) == withheld.replace(
        " it first", " deployment.branch, a.b first"
    )


@pytest.mark.rule("RC-05", "RC-14")
def test_what_deceives_the_eye_is_spelled_out():
    deceptive = Memory(content="safe\u202eevil", kind="fact", created_at=WRITTEN)

    for state in ("verified", "dirty", "proposed", "conflicted"):
        told = said(state, of=deceptive)
        assert "\u202e" not in told
        assert "\\u{202e}" in told


@pytest.mark.rule("RC-07")
def test_what_waits_for_a_decision_says_so():
    withheld = said("conflicted", Telling(author=AUTHOR, withheld=True, to_decide="cfl_1"))

    assert withheld == ("Withheld until it is decided. Sources disagree; resolve cfl_1 first.")
    misled = Telling(author=AUTHOR, withheld=True, to_decide="cfl_1")
    assert said("dirty", misled, dirty_reason="It is suspected") == (
        "Withheld until it is decided. It is suspected; resolve cfl_1 first."
    )
    decided = said("conflicted", Telling(author=AUTHOR, withheld=True))
    assert decided.startswith("Withheld: sources disagreed at that time")


@pytest.mark.rule("RC-07")
def test_what_is_withheld_for_something_else_than_was_asked_about_says_so():
    beside = Telling(author=AUTHOR, withheld=True, looks_at=["a.b"], is_beside_the_point=True)

    told = said("dirty", beside, dirty_reason=CHANGED, **BRANCH_MARKED)

    assert told == f"Withheld because of what was not asked about. {CHANGED}."


@pytest.mark.rule("RC-06", "RC-05")
@pytest.mark.parametrize(("others", "untold"), [(9, None), (10, 1), (25, 16)])
def test_how_many_claims_are_not_listed_is_said(others, untold):
    claims = [
        {"content": f"It is {number}.", "author": AUTHOR, "created_at": "2026-05-06T00:00:00Z"}
        for number in range(others + 1)
    ]

    told = in_dispute(claims)

    assert told.count(" <Ada, level 30, 2026-05-06>") == 10
    assert told.endswith(">" if untold is None else f">; and {untold} more")


@pytest.mark.rule("RC-05")
@pytest.mark.parametrize(
    ("content", "between"),
    [
        ("run the build, then ship", "; "),
        ("see https://example.com/a", "; "),
        ("run `make`", "; "),
        ("Run the build.", " "),
        ('He said "run it."', " "),
        ("(Run the build!)", " "),
        ("先构建。", " "),
    ],
)
@pytest.mark.parametrize(
    ("state", "before"),
    [("dirty", "As of 2026-04-02: "), ("proposed", "Unconfirmed (captured 2026-03-01): ")],
)
def test_a_claim_and_why_it_is_doubted_never_run_into_each_other(content, between, state, before):
    told = said(state, of=memory(content=content), dirty_reason=CHANGED)

    assert told == f"{before}{content}{between}{CHANGED}; check the current value."
