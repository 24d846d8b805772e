"""Tokens: what one is made of and for whom, and when it ends."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections

from tenants.caller import Scope
from tenants.founding import OWNER
from tenants.ids import Prefix, wire_id
from tenants.models import Agent, Event, Tenant, Token, User
from tenants.tokens import is_well_formed, make_token
from tests.knocking import knock, let_in, many, own
from tests.people import ALL_SCOPES


def path_of(person):
    return f"/tokens/{wire_id(Prefix.TOKEN, person.caller.token_id)}"


def agent_id(person):
    return wire_id(Prefix.AGENT, person.agent.id)


def body(**more):
    return {"name": "laptop", "kind": "human", "scopes": ["memory:read"], **more}


def fields_of(answer):
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    return [error["field"] for error in answer.json()["errors"]]


def test_a_token_has_the_contracts_form_and_checks_itself():
    text = make_token().text

    assert text.startswith("plm_")
    assert len(text) == 40
    assert is_well_formed(text)
    assert make_token().text != text


def test_a_token_is_shown_once_and_works(office):
    made = office.admin.post("/tokens", body())

    assert made.status_code == 201, made.content
    token = made.json()
    assert token["id"].startswith("tok_")
    assert token["last_four"] == token["token"][-4:]
    assert (token["kind"], token["member"]) == (
        "human",
        wire_id(Prefix.MEMBER, office.admin.member.id),
    )
    assert let_in(token["token"]) == 200
    told = office.admin.get(f"/tokens/{token['id']}").json()
    assert told == {name: value for name, value in token.items() if name != "token"}
    assert token["token"] not in office.admin.get("/tokens").content.decode()


@pytest.mark.rule("T052")
def test_no_table_holds_a_token_in_the_clear(office):
    key = {"Idempotency-Key": "one"}
    first = office.admin.post("/tokens", body(), **key).json()
    again = office.admin.post("/tokens", body(), **key)
    secret = first["token"]
    own_path = f"/tokens/{first['id']}"
    renewed = office.admin.post(f"{own_path}/rotate", {}).json()["token"]

    assert again.status_code == 201
    assert again.json()["id"] == first["id"]
    assert "token" not in again.json(), "shown once, and not kept to be shown again"
    with connections[OWNER].cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (table,) in cursor.fetchall():
            for text in (secret, renewed):
                cursor.execute(
                    f'SELECT count(*) FROM "{table}" t WHERE position(%s in t::text) > 0',
                    [text[4:34]],
                )
                assert cursor.fetchone() == (0,), table


@pytest.mark.rule("T055")
def test_a_token_never_reaches_further_than_who_makes_it(office):
    narrow = office.person("narrow", role="admin", scopes=(Scope.ADMIN, Scope.READ))

    refused = narrow.post("/tokens", body(scopes=["memory:read", "memory:write"]))
    assert refused.status_code == 403
    assert "memory:write" in refused.json()["detail"]
    assert narrow.post("/tokens", body(scopes=["memory:read"])).status_code == 201
    assert narrow.post("/tokens", body(scopes=["memory:read", "admin"])).status_code == 201
    assert narrow.patch(path_of(narrow), {"scopes": ["review"]}).status_code == 405


@pytest.mark.rule("T055")
def test_only_administrators_make_rotate_and_revoke(office, other_office):
    scoped = office.person("scoped", scopes=ALL_SCOPES)

    for person in (office.senior, office.viewer, office.agent, office.watcher, scoped):
        assert person.post("/tokens", body()).status_code == 403, person.name
        assert person.post(f"{path_of(person)}/rotate", {}).status_code == 403, person.name
        assert person.delete(path_of(person)).status_code == 403, person.name
        assert let_in(person.token) == 200
    assert other_office.admin.get(path_of(scoped)).status_code == 404
    assert other_office.admin.delete(path_of(scoped)).status_code == 404
    assert other_office.admin.post(f"{path_of(scoped)}/rotate", {}).status_code == 404
    assert let_in(scoped.token) == 200


@pytest.mark.rule("T055", "VI-06")
def test_an_administrator_cannot_become_somebody_else_by_renewing_their_token(office):
    """Else the private memories of everybody would be one rotation away."""
    senior = office.senior
    close = office.bot("close", senior, personal=True)
    renewed_own = office.admin.post(f"{path_of(office.admin)}/rotate", {"grace_seconds": 60})

    assert office.admin.post(f"{path_of(senior)}/rotate", {}).status_code == 403
    assert office.admin.post(f"{path_of(close)}/rotate", {}).status_code == 403
    assert office.admin.post(f"{path_of(office.agent)}/rotate", {}).status_code == 201
    assert renewed_own.status_code == 201
    assert (let_in(senior.token), let_in(close.token)) == (200, 200)
    assert office.admin.delete(path_of(senior)).status_code == 200, "revoking gives nothing away"


def test_only_the_sponsor_opens_the_personal_layer(office):
    both = office.person(
        "both", role="admin", scopes=ALL_SCOPES, grants=[(office.apollo, ["see_project"])]
    )
    mine = office.bot("mine", both)
    ask = {"kind": "agent", "personal": True}

    assert both.post("/tokens", body(agent=agent_id(mine), **ask)).json()["personal"] is True
    assert both.post("/tokens", body(agent=agent_id(office.agent), **ask)).status_code == 403
    plain = both.post("/tokens", body(agent=agent_id(office.agent), kind="agent"))
    assert plain.json()["personal"] is False


def test_a_token_for_one_project_administers_nothing(office):
    confined = office.person("confined", role="admin", scopes=ALL_SCOPES, project=office.hermes)

    for ask in (body(), body(project="hermes"), body(kind="agent", agent=agent_id(office.agent))):
        assert confined.post("/tokens", ask).json()["code"] == "forbidden"
    assert office.admin.post("/tokens", body(project="hermes")).status_code == 201


@pytest.mark.rule("WR-03")
@pytest.mark.parametrize(("kind", "rank"), [("agent", 1), ("watcher", 0)])
def test_the_kind_stamps_the_rank(office, kind, rank):
    made = office.admin.post("/tokens", body(kind=kind, agent=agent_id(office.agent))).json()

    assert knock(f"Bearer {made['token']}").json()["rank"] == rank


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"name": ""}, "name"),
        ({"kind": "root"}, "kind"),
        ({"kind": "agent"}, "agent"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["everything"]}, "scopes[0]"),
        ({"scopes": "admin"}, "scopes"),
        ({"agent": "agt_00000000000000000000000000", "kind": "agent"}, "agent"),
        ({"agent": "tok_00000000000000000000000000", "kind": "agent"}, "agent"),
        ({"project": "nowhere"}, "project"),
        ({"project": "apollo", "scopes": ["admin"]}, "scopes"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2120-01-01"}, "expires_at"),
        ({"expires_at": "2120-01-01T00:00:00"}, "expires_at"),
        ({"rank": 2}, "rank"),
        ({"digest": "00"}, "digest"),
        ({"member": "usr_00000000000000000000000000"}, "member"),
    ],
)
def test_what_is_wrong_is_named_by_field(office, more, field):
    answer = office.admin.post("/tokens", body() | more)

    assert answer.status_code == 400
    assert fields_of(answer) == [field]


@pytest.mark.parametrize("scope", ["review", "admin"])
def test_no_agent_reviews_or_administers(office, scope):
    refused = office.admin.post(
        "/tokens", body(kind="agent", agent=agent_id(office.agent), scopes=[scope])
    )

    assert refused.status_code == 400
    assert fields_of(refused) == ["scopes"]


def test_foreign_agents_and_missing_ones_get_the_same_answer(office, other_office):
    foreign = office.admin.post("/tokens", body(kind="agent", agent=agent_id(other_office.agent)))
    missing = office.admin.post(
        "/tokens", body(kind="agent", agent="agt_00000000000000000000000000")
    )

    assert foreign.status_code == missing.status_code == 400
    assert foreign.json()["errors"] == missing.json()["errors"]


def test_people_with_the_scope_list_their_own_tokens_and_administrators_all(office, other_office):
    scoped = office.person("scoped", scopes=ALL_SCOPES)
    for person in (office.senior, office.agent, other_office.senior):
        assert person

    assert [token["name"] for token in scoped.get("/tokens").json()["results"]] == ["scoped"]
    assert scoped.get(path_of(office.senior)).status_code == 404
    assert office.admin.get("/tokens").json()["count"] == 4


@pytest.mark.rule("T054")
def test_a_token_ends_at_its_moment_whatever_the_offset(office):
    token = office.senior.token
    now = datetime.now(UTC)
    for expires_at, status in (
        (None, 200),
        (now + timedelta(hours=1), 200),
        (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), 200),
        (now, 401),
        (now - timedelta(days=400), 401),
    ):
        own(token, expires_at=expires_at)
        assert let_in(token) == status, expires_at
    soon = (datetime.now(UTC) + timedelta(seconds=0.8)).astimezone().isoformat()
    made = office.admin.post("/tokens", body(expires_at=soon)).json()["token"]
    assert let_in(made) == 200
    time.sleep(0.9)
    assert let_in(made) == 401


@pytest.mark.rule("T056")
def test_after_a_rotation_both_work_until_the_grace_is_over(office):
    rotated = office.admin.post(f"{path_of(office.agent)}/rotate", {"grace_seconds": 1})

    assert rotated.status_code == 201, rotated.content
    new = rotated.json()
    assert (let_in(office.agent.token), let_in(new["token"])) == (200, 200)
    for same in ("name", "kind", "agent", "scopes", "personal", "expires_at"):
        assert new[same] == office.admin.get(path_of(office.agent)).json()[same]
    time.sleep(1.1)
    assert (let_in(office.agent.token), let_in(new["token"])) == (401, 200)


def test_without_grace_the_old_one_ends_at_once_and_is_not_rotated_again(office):
    new = office.admin.post(f"{path_of(office.agent)}/rotate", {}).json()["token"]

    assert (let_in(office.agent.token), let_in(new)) == (401, 200)
    assert office.admin.post(f"{path_of(office.agent)}/rotate", {}).status_code == 409


def test_a_token_in_grace_can_be_revoked_at_once(office):
    office.admin.post(f"{path_of(office.agent)}/rotate", {"grace_seconds": 604800})
    assert let_in(office.agent.token) == 200
    office.admin.delete(path_of(office.agent))

    assert let_in(office.agent.token) == 401


def test_an_expired_token_is_not_renewed(office):
    own(office.agent.token, expires_at=datetime.now(UTC))

    assert office.admin.post(f"{path_of(office.agent)}/rotate", {}).status_code == 409


@pytest.mark.parametrize("grace", [-1, 604801, 1.5, "60", True, None])
def test_a_grace_out_of_bounds_is_refused(office, grace):
    refused = office.admin.post(f"{path_of(office.agent)}/rotate", {"grace_seconds": grace})

    assert refused.status_code == 400
    assert fields_of(refused) == ["grace_seconds"]
    assert let_in(office.agent.token) == 200


def test_of_many_rotations_at_once_one_makes_a_token(office):
    path = f"{path_of(office.agent)}/rotate"
    admin = office.admin
    statuses = many(6, lambda _: admin.post(path, {}).status_code)

    assert sorted(statuses) == [201] + [409] * 5
    assert Token.objects.using(OWNER).filter(agent=office.agent.agent).count() == 2


@pytest.mark.rule("T053", "T156")
def test_a_revoked_token_is_worth_nothing_from_the_next_request_on(office):
    """Requests run all the while: whatever starts after the answer to the revocation is refused."""
    agent, admin = office.agent, office.admin
    path = path_of(agent)
    revoked_at = []

    def ask(number):
        if number == 25:
            assert admin.delete(path).status_code == 200
            revoked_at.append(time.monotonic())
        started = time.monotonic()
        return started, let_in(agent.token)

    asked = many(60, ask)

    assert {status for _, status in asked} == {200, 401}
    assert {status for started, status in asked if started > revoked_at[0]} == {401}
    events = Event.objects.using(OWNER).filter(tenant=office.tenant, command="revoke_token")
    assert events.count() == 1


def test_revoking_again_changes_nothing(office):
    first = office.admin.delete(path_of(office.agent)).json()
    again = office.admin.delete(path_of(office.agent))

    assert again.status_code == 200
    assert again.json() == first


@pytest.mark.rule("T057", "T010")
def test_a_token_is_worth_what_its_owner_is(office):
    assert let_in(office.agent.token) == 200

    Agent.objects.using(OWNER).filter(id=office.agent.agent.id).update(active=False)
    assert let_in(office.agent.token) == 401
    assert let_in(office.senior.token) == 200

    User.objects.using(OWNER).filter(id=office.senior.member.user_id).update(is_active=False)
    assert let_in(office.senior.token) == 401
    assert let_in(office.colleague.token) == 200

    for state in ("suspended", "deleting"):
        Tenant.objects.using(OWNER).filter(id=office.tenant.id).update(state=state)
        refused = knock(f"Bearer {office.colleague.token}")
        assert (refused.status_code, refused.json()["code"]) == (403, "tenant_inactive")
