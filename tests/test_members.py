"""Members: given a seat, promoted, demoted and put out, by administrators alone."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.db import connection
from django.utils.http import urlsafe_base64_decode

from tenants.context import acting_as
from tenants.founding import OWNER
from tenants.ids import Prefix, wire_id
from tenants.models import Event, Member, Tenant, User
from tests.people import ALL_SCOPES


def path_of(person):
    return f"/members/{wire_id(Prefix.MEMBER, person.member.id)}"


def body_for(office, **more):
    return {"username": f"nova-{office.slug}", "name": "Nova", **more}


def fields_of(answer):
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    return [error["field"] for error in answer.json()["errors"]]


def recorded(office, command):
    with acting_as(office.admin.caller):
        return list(Event.objects.filter(command=command).order_by("sequence"))


def test_an_administrator_gives_a_seat_at_the_lowest_level_unless_told(office):
    made = office.admin.post("/members", body_for(office))

    assert made.status_code == 200, made.content
    member = made.json()
    assert member["id"].startswith("usr_")
    assert (member["role"], member["level"], member["active"]) == ("member", 10, True)
    [event] = recorded(office, "create_member")
    assert event.after["username"] == f"nova-{office.slug}"
    told = office.admin.get(f"/members/{member['id']}").json()
    assert told == {name: value for name, value in member.items() if name != "invitation"}


@pytest.mark.parametrize("level", ["Lead", 40])
def test_a_level_is_one_of_the_tenants_by_name_or_number(office, level):
    assert office.admin.post("/members", body_for(office, level=level)).json()["level"] == 40


@pytest.mark.parametrize("level", ["lead", "40", 41, 0, -10, "", "King", 2**62])
def test_an_unknown_level_is_refused_with_those_that_there_are(office, level):
    answer = office.admin.post("/members", body_for(office, level=level))

    assert answer.status_code == 400
    assert fields_of(answer) == ["level"]
    assert "Contractor (10), Member (20), Senior (30)" in answer.json()["detail"]


def test_levels_are_the_tenants_own(office, other_office):
    Tenant.objects.using(OWNER).filter(id=office.tenant.id).update(levels={"Crew": 5, "Captain": 7})

    assert office.admin.post("/members", body_for(office)).json()["level"] == 5
    assert office.admin.patch(path_of(office.viewer), {"level": "Captain"}).json()["level"] == 7
    assert (
        other_office.admin.patch(path_of(other_office.viewer), {"level": "Captain"}).status_code
        == 400
    )


def test_a_new_log_in_comes_with_an_invitation_that_sets_a_password_once(office):
    made = office.admin.post("/members", body_for(office, email="nova@example.org")).json()
    *_, uid, token, _ = made["invitation"].split("/")
    user = User.objects.get(pk=urlsafe_base64_decode(uid).decode())

    assert made["invitation"].startswith("/admin/invitation/")
    assert (user.username, user.email) == (f"nova-{office.slug}", "nova@example.org")
    assert not user.has_usable_password()
    assert default_token_generator.check_token(user, token)
    user.set_password("correct horse battery")
    user.save(update_fields=["password"])
    assert not default_token_generator.check_token(user, token)


def test_an_invitation_stands_nowhere_but_in_the_first_answer(office):
    key = {"Idempotency-Key": "seat"}
    first = office.admin.post("/members", body_for(office), **key).json()
    again = office.admin.post("/members", body_for(office), **key).json()

    assert again["id"] == first["id"]
    assert "invitation" not in again
    token = first["invitation"].split("/")[-2]
    assert token not in str([event.after for event in recorded(office, "create_member")])


def test_who_has_a_log_in_already_keeps_it_and_gets_no_invitation(office, other_office):
    username = office.senior.member.username
    seat = other_office.admin.post("/members", {"username": username, "name": "Moonlighter"}).json()

    assert seat["invitation"] is None
    assert Member.objects.using(OWNER).filter(user_id=office.senior.member.user_id).count() == 2
    assert other_office.admin.patch(f"/members/{seat['id']}", {"active": False}).status_code == 200
    assert office.senior.get("/whoami").status_code == 200, "out of one tenant is not out of all"


def test_a_second_seat_in_the_tenant_is_refused(office):
    office.admin.post("/members", body_for(office))
    again = office.admin.post("/members", body_for(office))

    assert again.status_code == 409
    assert fields_of(again) == ["username"]


def test_of_many_who_enrol_somebody_at_once_one_does(office):
    admin = office.admin

    def enrol(_number):
        try:
            return admin.post("/members", body_for(office)).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(enrol, range(8))) == [200] + [409] * 7


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"username": ""}, "username"),
        ({"username": "two words"}, "username"),
        ({"username": "x" * 151}, "username"),
        ({"username": 7}, "username"),
        ({"name": " "}, "name"),
        ({"role": "owner"}, "role"),
        ({"role": None}, "role"),
        ({"level": True}, "level"),
        ({"level": [10]}, "level"),
        ({"email": "nowhere"}, "email"),
        ({"is_superuser": True}, "is_superuser"),
        ({"active": False}, "active"),
        ({"password": "hunter2hunter2"}, "password"),
    ],
)
def test_what_is_wrong_is_named_by_field(office, more, field):
    answer = office.admin.post("/members", body_for(office) | more)

    assert answer.status_code == 400
    assert fields_of(answer) == [field]


def test_nobody_else_gives_seats_or_changes_them(office, other_office):
    scoped = office.person("scoped", scopes=ALL_SCOPES)
    everyone = (office.senior, office.agent, office.watcher, scoped)

    for person in everyone:
        assert person.post("/members", body_for(office)).status_code == 403, person.name
        assert person.patch(path_of(scoped), {"role": "admin"}).status_code == 403, person.name
        assert person.delete(path_of(office.viewer)).status_code == 403, person.name
    assert other_office.admin.patch(path_of(office.viewer), {"level": 50}).status_code == 404
    assert other_office.admin.get(path_of(office.viewer)).status_code == 404
    assert scoped.get(path_of(scoped)).json()["role"] == "member"


def test_the_list_is_the_tenants_alone(office, other_office):
    for person in (office.senior, office.viewer, other_office.senior):
        assert person
    listed = office.admin.get("/members").json()

    assert {member["name"] for member in listed["results"]} == {"senior", "viewer", "admin"}
    assert (listed["count"], listed["next"]) == (3, None)


def test_a_promotion_counts_from_the_next_request_on(office):
    changed = office.admin.patch(path_of(office.contractor), {"level": "Lead", "name": "Connie"})

    assert (changed.json()["level"], changed.json()["name"]) == (40, "Connie")
    told = office.contractor.get("/whoami").json()
    assert (told["level"], told["principal"]["name"]) == (40, "Connie")
    [event] = recorded(office, "update_member")
    assert (event.before["level"], event.after["level"]) == (10, 40)


def test_an_agent_is_never_above_its_sponsor(office):
    agent = office.bot("high", office.senior, level=30)
    office.admin.patch(path_of(office.senior), {"level": 10})

    assert agent.get("/whoami").json()["level"] == 10


@pytest.mark.rule("T013", "T057")
def test_who_is_put_out_is_out_at_once_and_so_are_the_agents(office):
    for person in (office.senior, office.agent, office.watcher, office.colleague):
        assert person.get("/whoami").status_code == 200
    assert office.admin.patch(path_of(office.senior), {"active": False}).json()["active"] is False

    for person in (office.senior, office.agent, office.watcher):
        assert person.get("/whoami").status_code == 401, person.name
    assert office.colleague.get("/whoami").status_code == 200
    office.admin.patch(path_of(office.senior), {"active": True})
    assert office.agent.get("/whoami").status_code == 200


def test_deleting_a_member_deactivates_the_seat(office):
    assert office.admin.delete(path_of(office.viewer)).json()["active"] is False
    assert office.viewer.get("/whoami").status_code == 401


def test_a_demoted_administrator_administers_no_more(office):
    second = office.person("second", role="admin", scopes=ALL_SCOPES)
    assert second.post("/members", body_for(office)).status_code == 200
    office.admin.patch(path_of(second), {"role": "member"})

    refused = second.post("/members", body_for(office, username=f"late-{office.slug}"))
    assert refused.json()["code"] == "forbidden"


@pytest.mark.parametrize("change", [{"role": "member"}, {"active": False}])
def test_the_last_administrator_stays(office, change):
    refused = office.admin.patch(path_of(office.admin), change)
    assert refused.status_code == 409
    assert refused.json()["title"] == "The last administrator"
    assert office.admin.patch(path_of(office.admin), {"name": "Still here"}).status_code == 200

    second = office.person("second", role="admin", scopes=ALL_SCOPES)
    assert office.admin.patch(path_of(office.admin), change).status_code == 200
    assert second.patch(path_of(second), change).status_code == 409


def test_an_inactive_administrator_does_not_count(office):
    second = office.person("second", role="admin", scopes=ALL_SCOPES)
    office.admin.patch(path_of(second), {"active": False})

    assert office.admin.patch(path_of(office.admin), {"role": "member"}).status_code == 409


def all_at_once(pairs):
    """Have the first of each pair put the second out, all at the same time."""

    def put_out(pair):
        try:
            return pair[0].patch(path_of(pair[1]), {"active": False}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(put_out, pairs))


@pytest.mark.parametrize("count", [2, 4])
def test_administrators_cannot_all_put_each_other_out(office, count):
    others = [
        office.person(f"admin{number}", role="admin", scopes=ALL_SCOPES)
        for number in range(1, count)
    ]
    ring = [office.admin, *others]
    statuses = all_at_once([(ring[n], ring[(n + 1) % count]) for n in range(count)] * 2)

    active = Member.objects.using(OWNER).filter(tenant=office.tenant, role="admin", active=True)
    assert active.count() >= 1, statuses
    assert 200 in statuses
    assert set(statuses) <= {200, 401, 403, 409}


def test_a_change_of_nothing_and_of_what_cannot_change_is_refused(office):
    assert office.admin.patch(path_of(office.viewer), {}).status_code == 400
    assert fields_of(office.admin.patch(path_of(office.viewer), {"username": "x"})) == ["username"]
