"""Every actor, verb and object over HTTP, against the table that people review (authz.txt)."""

import hashlib
import itertools
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tenants.caller import Scope
from tenants.founding import OWNER, give_token, grant
from tenants.ids import Prefix, wire_id
from tenants.models import Member, Tenant, Token
from tests.people import ALL_SCOPES, SEE, WRITE, Office, Person, new_office
from tests.promises.catalogue import tenant_tables
from tests.promises.raw import login
from tests.promises.surface import (
    API,
    FIRST,
    Things,
    ask,
    existing,
    made_up,
    needs,
    operations,
    other_routes,
    without_request_id,
)
from tests.sniffer import CanarySang, Sniffer

TABLE = Path(__file__).with_name("authz.txt")
PUBLIC = {"healthz", "readyz", "metrics", "api/schema", "api/docs", "", "admin", "favicon.ico"}
SERVERS_OWN = (
    *("tenant", "tenant_id", "owner", "id", "status", "created_at", "embedding", "audit"),
    *("author_level", "provenance_rank", "accepted_at", "superseded_by"),
)
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


class Cast:
    """An office, another one, a suspended one, and everybody who knocks."""

    def __init__(self) -> None:
        self.sniffer = Sniffer()
        self.office, self.elsewhere, suspended = new_office(), new_office(), new_office()
        self.canary = self.sniffer.plant(self.office.tenant.id)
        self.elsewhere_canary = self.sniffer.plant(self.elsewhere.tenant.id)
        office = self.office
        self.actors: dict[str, Person | None] = {
            "anon": None,
            "revoked": office.person("revoked", grants=[(office.apollo, WRITE)]),
            "expired": office.person("expired", grants=[(office.apollo, WRITE)]),
            "suspended": suspended.senior,
            "foreign": self.elsewhere.senior,
            "fadmin": self.elsewhere.admin,
            "outsider": office.outsider,
            "confined": office.person(
                "confined",
                grants=[(office.apollo, WRITE), (office.hermes, WRITE)],
                project=office.hermes,
            ),
            "viewer": office.viewer,
            "onlooker": office.person("onlooker", grants=[(office.apollo, SEE)]),
            "contractor": office.contractor,
            "blind": office.person("blind", grants=[(office.apollo, WRITE)], scopes=(Scope.WRITE,)),
            "agent2": office.agent2,
            "agent": office.agent,
            "colleague": office.colleague,
            "reviewer": office.reviewer,
            "senior": office.senior,
            "admin": office.admin,
        }
        _over(self.actors["revoked"], revoked_at=datetime.now(UTC))
        _over(self.actors["expired"], expires_at=datetime.now(UTC) - timedelta(seconds=1))
        Tenant.objects.using(OWNER).filter(id=suspended.tenant.id).update(state="suspended")

    def tenant_of(self, actor: str) -> uuid.UUID | None:
        person = self.actors[actor]
        return None if person is None else person.caller.tenant_id

    def things(self, verb: str = "GET", route: str = "memories/<str:memory_id>") -> Things:
        return existing(self.office, self.canary, needs(verb, route))


def _over(person: Person | None, **when: datetime) -> None:
    assert person is not None
    Token.objects.using(OWNER).filter(id=person.caller.token_id).update(**when)


@pytest.fixture(scope="module")
def cast() -> Cast:
    return Cast()


def state_of(office: Office) -> str:
    """Return a digest of every row of the office's."""
    digest = hashlib.sha256()
    with login("OWNER_DATABASE_URL") as owner:
        for table in tenant_tables(owner):
            key = "id" if table == "tenants" else "tenant_id"
            rows = owner.execute(
                f"SELECT md5(t::text) FROM {table} t WHERE {key} = %s ORDER BY 1",
                [office.tenant.id],
            ).fetchall()
            digest.update(f"{table}{rows}".encode())
    return digest.hexdigest()


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


@pytest.mark.rule("T003", "VI-04")
@pytest.mark.parametrize(
    "reference",
    [
        lambda ids: {"links": [{"type": "relates_to", "dst": ids["memory_id"]}]},
        lambda ids: {"links": [{"type": "supersedes", "dst": ids["memory_id"]}]},
        lambda ids: {"depends_on": [ids["memory_id"]]},
        lambda ids: {"project": ids["project_id"]},
    ],
    ids=["link", "supersedes", "depends_on", "project"],
)
def test_a_foreign_id_in_a_write_is_as_a_missing_one(cast, reference):
    foreign = existing(cast.elsewhere, cast.elsewhere_canary)
    answers = []
    for things in (foreign, made_up()):
        body = {"content": "One and the same", "project": "apollo", **reference(things.ids)}
        answer = cast.office.senior.post("/memories", body)
        cast.sniffer.sniff_answer(answer, cast.office.tenant.id)
        text = without_request_id(answer).decode()
        for id_ in things.ids.values():
            text = text.replace(id_, "*")
        answers.append(
            (answer.status_code, text) if answer.status_code >= 400 else answer.json()["skipped"]
        )
    if answers[0] and isinstance(answers[0], list):
        answers = [[one["reason"] for one in skipped] for skipped in answers]
    assert answers[0] == answers[1]


@pytest.mark.rule("T005")
def test_hints_at_another_tenant_have_no_effect(cast):
    tenant = wire_id(Prefix.TENANT, cast.elsewhere.tenant.id)
    senior = cast.office.senior
    hints = {
        "X-Tenant": tenant,
        "X-Tenant-Id": tenant,
        "Tenant": cast.elsewhere.slug,
        "Cookie": f"tenant={tenant}",
    }
    assert senior.get("/whoami", **hints).json()["tenant"]["slug"] == cast.office.slug
    for name in ("tenant", "tenant_id"):
        assert senior.get("/memories", {name: tenant}).status_code == 400


@pytest.mark.rule("T004")
@pytest.mark.parametrize("name", SERVERS_OWN)
def test_what_the_server_decides_cannot_be_sent(cast, name):
    value = wire_id(Prefix.TENANT, cast.elsewhere.tenant.id)
    before = state_of(cast.office)
    for body in (
        {"content": "Mine", "project": "apollo", name: value},
        {"content": "Mine", "project": "apollo", "source": {"kind": "x", name: value}},
    ):
        assert cast.office.senior.post("/memories", body).status_code == 400
    assert state_of(cast.office) == before


@pytest.mark.rule("T008")
def test_a_person_with_seats_in_two_tenants_is_in_one_at_a_time(cast):
    twice = cast.office.person("twice", grants=[(cast.office.apollo, WRITE)])
    foreign = existing(cast.elsewhere, cast.elsewhere_canary)
    seat = Member.objects.using(OWNER).create(
        tenant=cast.elsewhere.tenant,
        user_id=twice.member.user_id,
        username=twice.member.username,
        name="twice",
    )
    grant(seat, cast.elsewhere.apollo, WRITE)
    answer = ask(twice, "GET", "memories/<str:memory_id>", foreign)
    assert answer.status_code == 404
    _, there = give_token(seat, "there")
    twice.token = there
    assert ask(twice, "GET", "memories/<str:memory_id>", foreign).status_code == 200
    assert twice.get("/memories").json()["count"] > 0
    cast.sniffer.sniff_answer(twice.get("/memories"), cast.elsewhere.tenant.id)


@pytest.mark.rule("T009")
def test_a_superuser_without_a_seat_is_nobody_to_the_api(cast):
    user = get_user_model()(username=f"root-{uuid.uuid4().hex}", is_staff=True, is_superuser=True)
    user.save(using=OWNER)
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    answer = client.get("/api/v1/memories")
    assert answer.status_code == 401
    cast.sniffer.sniff_answer(answer, None)


@pytest.mark.rule("T011", "VI-02")
def test_no_filter_of_a_list_shows_another_tenants_rows(cast):
    existing(cast.office, cast.canary)
    existing(cast.elsewhere, cast.elsewhere_canary)
    senior, tenant = cast.office.senior, cast.office.tenant.id
    every = senior.get("/memories", {"lifecycle": "all", "limit": 200}).json()
    combinations = [
        {name: value}
        for name, values in {
            "lifecycle": ["current", "live", "superseded", "retired", "expired", "all"],
            "visibility": ["private", "project", "tenant"],
            "kind": ["fact", "task"],
            "q": [cast.elsewhere_canary, "memory_id", "%", "*", "' OR 1=1 --", "a | b"],
            "tag": [cast.elsewhere_canary],
            "limit": [1, 200],
            "project": ["apollo"],
        }.items()
        for value in values
    ]
    for first, second in itertools.combinations(combinations, 2):
        answer = senior.get("/memories", first | second)
        assert answer.status_code in (200, 400), (first, second, answer.content)
        cast.sniffer.sniff_answer(answer, tenant)
        if answer.status_code == 200:
            assert answer.json()["count"] <= every["count"]
    assert senior.get("/memories", {"q": cast.elsewhere_canary}).json()["count"] == 0


@pytest.mark.rule("T011")
def test_a_cursor_is_its_owners_and_untouched(cast):
    existing(cast.elsewhere, cast.elsewhere_canary)
    existing(cast.office, cast.canary)
    theirs = cast.elsewhere.senior.get("/memories", {"limit": 1, "lifecycle": "all"}).json()["next"]
    mine = cast.office.senior.get("/memories", {"limit": 1, "lifecycle": "all"}).json()["next"]
    assert theirs
    assert mine
    for cursor in (theirs, f"{mine}x", mine[1:], mine.swapcase(), "x", "e30"):
        answer = cast.office.senior.get(
            "/memories", {"limit": 1, "lifecycle": "all", "cursor": cursor}
        )
        assert answer.status_code == 400, cursor


@pytest.mark.rule("T013")
def test_whoever_is_put_out_is_out_at_the_next_request(cast):
    leaver = cast.office.person("leaver", grants=[(cast.office.apollo, WRITE)])
    things = cast.things()
    path = "memories/<str:memory_id>"
    assert ask(leaver, "GET", path, things).status_code == 200
    apollo = f"/projects/{wire_id(Prefix.PROJECT, cast.office.apollo.id)}/members"
    shut = {"member": wire_id(Prefix.MEMBER, leaver.member.id), "permissions": []}
    admin = cast.office.admin
    closed = admin.client.put(
        f"/api/v1{apollo}",
        shut,
        "application/json",
        headers={"Authorization": f"Bearer {admin.token}"},
    )
    assert closed.status_code == 200, closed.content
    assert ask(leaver, "GET", path, things).status_code == 404
    assert admin.delete(f"/members/{wire_id(Prefix.MEMBER, leaver.member.id)}").status_code == 200
    assert ask(leaver, "GET", path, things).status_code == 401


@pytest.mark.rule("T016", "T033")
def test_two_tenants_may_say_the_same_with_the_same_key(cast):
    body = {"content": f"The same words {uuid.uuid4()}", "project": "apollo"}
    key = {"Idempotency-Key": f"the same key {uuid.uuid4()}"}
    first = cast.office.senior.post("/memories", body, **key)
    second = cast.elsewhere.senior.post("/memories", body, **key)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["memory_id"] != second.json()["memory_id"]
    again = cast.office.senior.post("/memories", body, **key)
    assert again.json()["memory_id"] == first.json()["memory_id"]


def test_the_sniffer_has_a_nose(cast):
    cast.sniffer.sniff(cast.canary, cast.office.tenant.id)
    with pytest.raises(CanarySang):
        cast.sniffer.sniff(f"...{cast.canary}...", cast.elsewhere.tenant.id)
    with pytest.raises(CanarySang):
        cast.sniffer.sniff(cast.canary, None)


def test_administrators_have_every_scope_here(cast):
    assert cast.office.admin.caller.scopes == set(ALL_SCOPES)
