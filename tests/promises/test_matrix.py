"""Every actor, verb and object over HTTP, against the table that people review (authz.txt)."""

from pathlib import Path

import pytest
from django.test import Client

from tests.promises.cast import Cast, state_of
from tests.promises.surface import (
    API,
    FIRST,
    Things,
    ask,
    made_up,
    operations,
    other_routes,
    without_request_id,
)

TABLE = Path(__file__).with_name("authz.txt")
PUBLIC = {
    *("healthz", "readyz", "metrics", "api/schema", "api/docs", "", "admin", "favicon.ico"),
    # Opened by a signature (tests/test_pushes.py).
    "api/v1/push-sources/<str:source_id>/pushes",
}
VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
HIDDEN_FROM = ("foreign", "fadmin", "outsider", "confined")


def reviewed() -> dict[tuple[str, str], dict[str, int]]:
    """Return what the table says, by verb and route, for each actor."""
    lines = [
        line.split() for line in TABLE.read_text("utf-8").splitlines() if line and line[0] != "#"
    ]
    _, _, *actors = lines[0]
    return {
        (verb, route): dict(zip(actors, map(int, statuses), strict=True))
        for verb, route, *statuses in lines[1:]
    }


REVIEWED = reviewed()


@pytest.mark.rule("VI-02", "T001")
def test_every_operation_is_in_the_table_and_nothing_else_is():
    assert set(REVIEWED) == set(operations())


@pytest.mark.rule("VI-02", "T001")
def test_what_stands_outside_the_table_is_public_or_the_admins():
    assert other_routes() == PUBLIC


def test_the_table_names_the_whole_cast(cast):
    assert all(list(line) == list(cast.actors) for line in REVIEWED.values())


@pytest.mark.rule("VI-02", "VI-04", "T001", "T002", "T003", "T006", "T007", "T010")
@pytest.mark.parametrize(("verb", "route"), sorted(REVIEWED))
def test_everybody_is_answered_as_reviewed(cast, verb, route):
    told = REVIEWED[verb, route]
    things = _ready(cast, verb, route)
    before = state_of(cast.office), state_of(cast.elsewhere)
    found = {}
    for actor in [actor for actor, status in told.items() if status >= 400]:
        answer = ask(cast.actors[actor], verb, route, things)
        found[actor] = answer.status_code
        cast.sniffer.sniff_answer(answer, cast.tenant_of(actor))
        if actor in HIDDEN_FROM:
            missing = ask(cast.actors[actor], verb, route, made_up())
            assert without_request_id(answer) == without_request_id(missing), actor
    # Nobody who is refused has changed anything.
    assert (state_of(cast.office), state_of(cast.elsewhere)) == before
    for actor in [actor for actor, status in told.items() if status < 400]:
        answer = ask(
            cast.actors[actor], verb, route, _ready(cast, verb, route) if verb != "GET" else things
        )
        found[actor] = answer.status_code
        cast.sniffer.sniff_answer(answer, cast.tenant_of(actor))
    assert {actor: found[actor] for actor in told} == told


def _ready(cast: Cast, verb: str, route: str) -> Things:
    things = cast.things(verb, route)
    first = FIRST.get((verb, route))
    if first is not None:
        assert ask(cast.office.senior, *first, things).status_code == 200
    return things


@pytest.mark.rule("T018")
@pytest.mark.parametrize("route", sorted({route for _, route in REVIEWED}))
def test_verbs_that_are_not_offered_are_refused(cast, route):
    things = made_up()
    offered = {verb for verb, where in REVIEWED if where == route}
    path = f"/{API}{things.path(route)[1:]}"
    headers = {"Authorization": f"Bearer {cast.office.senior.token}"}
    for verb in {*VERBS, "TRACE", "PROPFIND", "OPTIONS", "CONNECT"} - offered:
        assert Client().generic(verb, path, headers=headers).status_code == 405, verb
    if "GET" not in offered:
        assert Client().head(path, headers=headers).status_code == 405
    if "DELETE" not in offered:
        pretended = {**headers, "X-HTTP-Method-Override": "DELETE", "X-Method-Override": "DELETE"}
        verb = sorted(offered)[0]
        plain = Client().generic(verb, path, "", "application/json", headers=headers)
        assert (
            Client().generic(verb, path, "", "application/json", headers=pretended).status_code
            == plain.status_code
        )
