"""
How many statements a call may cost, by route, over calls of every usual sort: query_budget.json.

Counted is what a request sends inside its door, the step in and the step out among them; the token
is looked up before that with one more. Growing dearer takes a change of that file, which somebody
reads.
"""

import json
import math
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from tenants.context import is_inside
from tests.disputes import disputed_pair
from tests.memories import done, kept, replacing
from tests.people import Office, Person, new_office

BUDGET = json.loads(Path(__file__).with_name("query_budget.json").read_text(encoding="utf-8"))

Counts = dict[str, list[int]]


@contextmanager
def counted(into: list[int]):
    """Add to the list how many statements the block sends while a door is open."""
    sent = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if is_inside() or "set_config('role'" in sql:
            sent.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield
    into.append(len(sent))


def _noted(person: Person, content: str, **more: Any) -> str:
    return kept(person, content, project="apollo", **more)


def _chain(person: Person, about: str, length: int) -> str:
    """Return the newest of so many versions."""
    newest = _noted(person, f"{about}, version 0")
    for number in range(1, length):
        newest = _noted(person, f"{about}, version {number}", links=replacing(newest))
    return newest


@pytest.fixture(scope="module")
def spent(django_db_blocker) -> Counts:
    """What each route costs, call by call."""
    with django_db_blocker.unblock():
        office = new_office()
        return {
            "remember": _remembering(office),
            "remember_superseding": _superseding(office),
            **_reading(office),
            **_changing(office),
            **_reviewing(office),
        }


def _remembering(office: Office) -> list[int]:
    counts: list[int] = []
    bodies: list[dict[str, Any]] = [
        {"content": "The queue worker is restarted by hand."},
        {"content": "The queue worker is restarted by hand."},  # absorbed
        {"content": "The login page needs a cookie.", "tags": ["web"], "subjects": ["web.login"]},
        {
            "content": "The port is 5433.",
            "components": [{"subject": f"db.port{number}", "value": "5433"} for number in range(5)],
            "depends_on": ["db.host", "db.name"],
        },
    ]
    for person in (office.senior, office.colleague, office.agent2, office.watcher):
        for body in bodies:
            own = {"content": f"{person.name}: {body['content']}", "project": "apollo"}
            with counted(counts):
                done(person.post("/memories", body | own))
    return counts


def _superseding(office: Office) -> list[int]:
    counts: list[int] = []
    for number in (1, 10):
        old = [_noted(office.senior, f"Old claim {one} of {number}.") for one in range(number)]
        body = {"content": f"The claim that replaces {number}.", "links": replacing(*old)}
        with counted(counts):
            told = done(office.senior.post("/memories", {"project": "apollo", **body}))
        assert len(told["superseded"]) == number
    return counts


def _reading(office: Office) -> Counts:
    for number in range(60):
        _noted(office.colleague, f"Service {number} listens on port {7000 + number}.")
    newest = _chain(office.senior, "The chain of deploys", 3)
    reader = office.senior
    _what_moved(office)
    then = timezone.now().isoformat()
    calls: dict[str, list[Callable[[], Any]]] = {
        "recall": [
            lambda: reader.post("/recall", {"query": "which port", "project": "apollo", "k": 10}),
            lambda: reader.post("/recall", {"query": "which port", "project": "apollo", "k": 100}),
            lambda: reader.post("/recall", {"query": "deploys", "mode": "historical", "k": 100}),
            lambda: office.agent.post("/recall", {"query": "service port"}),
            lambda: office.agent.post("/recall", {"query": "qqqq zzzz", "min_trust": "verified"}),
            lambda: office.agent.post("/recall", {"query": "which queue", "consequence": "high"}),
        ],
        "recall_as_of": [
            lambda: reader.post("/recall", {"query": "which queue", "as_of": then, "k": 100}),
            lambda: office.agent.post("/recall", {"query": "which port", "as_of": then}),
        ],
        "briefing": [
            lambda: reader.get("/briefing", {"project": "apollo"}),
            lambda: office.agent.get("/briefing", {"task": "Which queue is moved?"}),
        ],
        "list_memories": [
            lambda: reader.get("/memories", {"limit": 1}),
            lambda: reader.get("/memories", {"limit": 50}),
            lambda: reader.get("/memories", {"limit": 50, "lifecycle": "all", "project": "apollo"}),
        ],
        "get_memory": [lambda: reader.get(f"/memories/{newest}")],
        "history": [lambda: reader.get(f"/memories/{newest}/history")],
    }
    counts: Counts = {route: [] for route in calls}
    for route, several in calls.items():
        for call in several:
            with counted(counts[route]):
                done(call())
    return counts


def _what_moved(office: Office) -> None:
    """Write down what is marked since, and what is in dispute."""
    for number in range(3):
        said = [{"subject": f"queue.host{number}", "value": f"q{number}"}]
        noted = _noted(office.senior, f"Queue {number} is on q{number}.", components=said)
        moved = {"project": "apollo", "subject": f"queue.host{number}", "summary": "It moved."}
        done(office.colleague.post("/changes", moved))
        done(office.colleague.post(f"/memories/{noted}/challenge", {"reason": "I doubt it."}))


def _changing(office: Office) -> Counts:
    counts: Counts = {"forget": [], "restore": [], "patch_memory": [], "link": []}
    for person in (office.senior, office.agent):
        one, other = (_noted(person, f"{person.name} notes {number}.") for number in (1, 2))
        with counted(counts["patch_memory"]):
            done(person.patch(f"/memories/{one}", {"tags": ["a", "b"]}))
        with counted(counts["link"]):
            done(person.post("/links", {"src": one, "dst": other, "type": "relates_to"}))
        with counted(counts["forget"]):
            done(person.post(f"/memories/{one}/forget", {"reason": "wrong"}))
        with counted(counts["restore"]):
            done(person.post(f"/memories/{one}/restore", {}))
    return counts


def _reviewing(office: Office) -> Counts:
    routes = ("challenge", "report_misled", "resolve_conflict", "resolve_conflicts", "undo_batch")
    counts: Counts = {route: [] for route in routes}
    noted = _noted(office.senior, "The cache is flushed at noon.")
    for _ in range(2):
        with counted(counts["report_misled"]):
            done(office.agent.post(f"/memories/{noted}/misled", {"reason": "it was not"}))
    for reason in ("it is not", "nor later"):
        other = _noted(office.senior, f"The cache is cold at night: {reason}.")
        with counted(counts["challenge"]):
            done(office.colleague.post(f"/memories/{other}/challenge", {"reason": reason}))
    for winner in (None, 0, 1):
        told = disputed_pair(office, f"Queue {winner} is fast.", f"Queue {winner} is slow.")
        said = {"keep_both": True} if winner is None else {"winner": told[winner]}
        with counted(counts["resolve_conflict"]):
            answer = done(office.reviewer.post(f"/conflicts/{told[2]}/resolve", said))
        with counted(counts["undo_batch"]):
            done(office.reviewer.post(f"/batches/{answer['batch']}/undo"))
    for policy in ("keep_both", "newest_wins"):
        with counted(counts["resolve_conflicts"]):
            answer = done(office.reviewer.post("/conflicts/resolve", {"policy": policy}))
        with counted(counts["undo_batch"]):
            done(office.reviewer.post(f"/batches/{answer['batch']}/undo"))
    return counts


def percentile(counts: list[int], share: float) -> int:
    """Return the count that this share of the calls stays within (nearest rank)."""
    return sorted(counts)[math.ceil(share * len(counts)) - 1]


@pytest.mark.parametrize("route", sorted(BUDGET))
def test_a_route_stays_within_its_budget(route, spent):
    counts, budget = spent[route], BUDGET[route]

    assert max(counts) <= budget["max"], f"{route} sent {counts}"
    assert percentile(counts, 0.95) <= budget["p95"], f"{route} sent {counts}"


def test_every_measured_route_has_a_budget(spent):
    assert set(spent) == set(BUDGET)


def test_a_route_over_budget_is_noticed():
    counts: list[int] = []

    with counted(counts), connection.cursor() as cursor:
        for _ in range(3):
            cursor.execute("SELECT set_config('role', 'none', true)")

    assert counts == [3]
    assert percentile([1] * 19 + [9], 0.95) == 1
    assert percentile([1] * 18 + [9, 9], 0.95) == 9


@pytest.mark.parametrize("route", ["recall", "list_memories"])
def test_more_results_take_no_more_statements(route, office):
    """One statement a result would be 50 more."""
    notes = [f"Worker {number} reads queue {number}." for number in range(40)]
    few: list[int] = []
    many: list[int] = []
    for note in notes[:2]:
        _noted(office.senior, note)
    call = {
        "recall": lambda: office.senior.post("/recall", {"query": "worker queue", "k": 100}),
        "list_memories": lambda: office.senior.get("/memories", {"limit": 50}),
    }[route]
    with counted(few):
        assert len(done(call())["results"]) == 2

    for note in notes[2:]:
        _noted(office.senior, note)

    with counted(many):
        assert len(done(call())["results"]) == 40
    assert many == few


def test_ten_supersedes_cost_as_much_as_one(spent):
    one, ten = spent["remember_superseding"]

    assert ten == one
