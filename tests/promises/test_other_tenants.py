"""What is another tenant's is not there, however somebody asks for it."""

import itertools
import uuid

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tenants.founding import OWNER, give_token, grant
from tenants.ids import Prefix, wire_id
from tenants.models import Member
from tests.people import ALL_SCOPES, WRITE
from tests.promises.cast import state_of
from tests.promises.surface import ask, existing, made_up, without_request_id
from tests.sniffer import CanarySang

SERVERS_OWN = (
    *("tenant", "tenant_id", "owner", "id", "status", "created_at", "embedding", "audit"),
    *("author_level", "provenance_rank", "accepted_at", "superseded_by"),
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
    said: list[object] = []
    for things in (foreign, made_up()):
        body = {"content": "One and the same", "project": "apollo", **reference(things.ids)}
        answer = cast.office.senior.post("/memories", body)
        cast.sniffer.sniff_answer(answer, cast.office.tenant.id)
        if answer.status_code < 400:
            said.append([one["reason"] for one in answer.json()["skipped"]])
            continue
        text = without_request_id(answer).decode()
        for id_ in things.ids.values():
            text = text.replace(id_, "*")
        said.append((answer.status_code, text))
    assert said[0] == said[1]


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
def test_no_filter_of_a_list_shows_another_tenants_rows(cast, office):
    existing(office, cast.sniffer.plant(office.tenant.id))
    existing(cast.elsewhere, cast.elsewhere_canary)
    senior, tenant = office.senior, office.tenant.id
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
