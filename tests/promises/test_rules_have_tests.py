"""Every rule of what is finished has a test that carries its id."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "docs" / "rules.md"
FINISHED_AREAS = ("WR", "SU", "NE", "RE", "HI", "VI", "TR", "SB", "VE")
FINISHED_RULES = {f"RC-{number:02}" for number in range(1, 16)}
# Rules of finished areas that nothing can be tested of yet, and why.
WAITING: dict[str, str] = {
    "VI-07": "erasure and its receipt are not built yet",
}

_RULE = re.compile(r"\b[A-Z]{2}-\d{2}\b")
_MARK = re.compile(r"mark\.rule\(([^)]*)\)")


def rules_of(text: str) -> set[str]:
    """Return the ids of the finished rules that a text names."""
    found = set(_RULE.findall(text))
    return {rule for rule in found if rule[:2] in FINISHED_AREAS or rule in FINISHED_RULES}


def proven() -> set[str]:
    """Return every id that a test's marker carries."""
    marks = "".join(
        mark
        for path in (ROOT / "tests").rglob("test_*.py")
        for mark in _MARK.findall(path.read_text("utf-8"))
    )
    return set(_RULE.findall(marks))


def test_the_rules_are_written_down():
    rules = rules_of(RULES.read_text("utf-8"))

    assert {
        area: any(rule.startswith(area) for rule in rules) for area in FINISHED_AREAS
    } == dict.fromkeys(FINISHED_AREAS, True)


def test_every_finished_rule_has_a_test():
    missing = rules_of(RULES.read_text("utf-8")) - proven() - set(WAITING)

    assert sorted(missing) == []


@pytest.mark.parametrize("rule", sorted(WAITING))
def test_what_waits_is_really_without_a_test(rule):
    assert rule not in proven(), f"{rule} has a test by now: take it off the list"
