"""Every rule has a test that carries its id."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "docs" / "rules.md"
AREAS = ["WR", "SU", "NE", "DE", "PO", "JU", "RE", "DI", "HI", "VI", "TR", "SB", "VE", "RC"]
# Rules that nothing can be tested of yet, and why.
WAITING: dict[str, str] = {
    "VI-07": "erasure and its receipt are not built yet",
}

_RULE = re.compile(r"\b[A-Z]{2}-\d{2}\b")
_MARK = re.compile(r"mark\.rule\(([^)]*)\)")


def rules_of(text: str) -> set[str]:
    """Return the ids of the rules that a text names."""
    return set(_RULE.findall(text))


def proven() -> set[str]:
    """Return every id that a test's marker carries."""
    marks = "".join(
        mark
        for path in (ROOT / "tests").rglob("test_*.py")
        for mark in _MARK.findall(path.read_text("utf-8"))
    )
    return set(_RULE.findall(marks))


def test_the_rules_are_written_down():
    """No area is missing, none is there that we have forgotten, and no number is left out."""
    numbers: dict[str, set[int]] = {}
    for rule in rules_of(RULES.read_text("utf-8")) | set(WAITING):
        numbers.setdefault(rule[:2], set()).add(int(rule[3:]))

    assert set(numbers) == set(AREAS)
    for area, there in numbers.items():
        assert there == set(range(1, max(there) + 1)), area


def test_every_rule_has_a_test():
    missing = rules_of(RULES.read_text("utf-8")) - proven() - set(WAITING)

    assert sorted(missing) == []


@pytest.mark.parametrize("rule", sorted(WAITING))
def test_what_waits_is_really_without_a_test(rule):
    assert rule not in proven(), f"{rule} has a test by now: take it off the list"
