"""Agents: each in one project, answered for by a member, never above that member."""

import pytest

from tenants.context import acting_as
from tenants.founding import give_token
from tenants.ids import Prefix, wire_id
from tenants.models import Event
from tests.people import ALL_SCOPES, SEE


def id_of(person):
    return wire_id(Prefix.MEMBER, person.member.id)


def path_of(bot):
    return f"/agents/{wire_id(Prefix.AGENT, bot.agent.id)}"


def body_for(office, **more):
    return {"name": "robin", "project": "apollo", "sponsor": id_of(office.senior), **more}


def fields_of(answer):
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    return [error["field"] for error in answer.json()["errors"]]


def recorded(office, command):
    with acting_as(office.admin.caller):
        return list(Event.objects.filter(command=command).order_by("sequence"))


def test_an_administrator_makes_an_agent_at_the_lowest_level_unless_told(office):
    made = office.admin.post("/agents", body_for(office))

    assert made.status_code == 200, made.content
    agent = made.json()
    assert agent["id"].startswith("agt_")
    assert agent["project"] == wire_id(Prefix.PROJECT, office.apollo.id)
    assert agent["sponsor"] == id_of(office.senior)
    assert (agent["level"], agent["acting_level"], agent["active"]) == (10, 10, True)
    assert office.admin.get(f"/agents/{agent['id']}").json() == agent
    [event] = recorded(office, "create_agent")
    assert event.after["name"] == "robin"


def test_a_project_is_named_by_slug_or_id(office):
    by_id = body_for(office, project=wire_id(Prefix.PROJECT, office.apollo.id))

    assert office.admin.post("/agents", by_id).status_code == 200


def test_it_acts_at_the_lower_of_two_levels(office):
    agent = office.admin.post("/agents", body_for(office, level="Principal")).json()

    assert (agent["level"], agent["acting_level"]) == (50, 30)


def test_the_sponsor_is_the_caller_if_nobody_is_named(office):
    both = office.person("both", role="admin", scopes=ALL_SCOPES, grants=[(office.apollo, SEE)])
    body = {"name": "robin", "project": "apollo"}

    assert both.post("/agents", body).json()["sponsor"] == id_of(both)
    refused = office.admin.post("/agents", {**body, "name": "other"})
    assert refused.status_code == 400
    assert fields_of(refused) == ["sponsor"], "the administrator does not see the project"


def test_a_sponsor_must_see_the_project_and_be_there(office, other_office):
    outside = office.admin.post("/agents", body_for(office, sponsor=id_of(office.outsider)))
    foreign = office.admin.post("/agents", body_for(office, sponsor=id_of(other_office.senior)))
    missing = office.admin.post(
        "/agents", body_for(office, sponsor="usr_00000000000000000000000000")
    )
    office.admin.delete(f"/members/{id_of(office.senior)}")
    gone = office.admin.post("/agents", body_for(office))

    for refused in (outside, foreign, missing, gone):
        assert refused.status_code == 400
        assert fields_of(refused) == ["sponsor"]
    assert foreign.json()["errors"] == missing.json()["errors"]


def test_a_foreign_project_and_a_missing_one_get_the_same_answer(office, other_office):
    foreign = body_for(office, project=wire_id(Prefix.PROJECT, other_office.apollo.id))
    answers = [
        office.admin.post("/agents", body)
        for body in (
            foreign,
            body_for(office, project="prj_00000000000000000000000000"),
            body_for(office, project="nowhere"),
        )
    ]

    assert {answer.status_code for answer in answers} == {400}
    assert len({str(answer.json()["errors"]) for answer in answers}) == 1
    assert fields_of(answers[0]) == ["project"]


def test_an_archived_project_takes_no_new_agent(office):
    office.admin.delete(f"/projects/{wire_id(Prefix.PROJECT, office.apollo.id)}")

    assert office.admin.post("/agents", body_for(office)).status_code == 409


def test_a_name_is_taken_once_in_a_tenant(office, other_office):
    assert office.admin.post("/agents", body_for(office)).status_code == 200
    again = office.admin.post("/agents", body_for(office))

    assert again.status_code == 409
    assert fields_of(again) == ["name"]
    renamed = office.admin.patch(path_of(office.agent), {"name": "robin"})
    assert renamed.status_code == 409
    assert fields_of(renamed) == ["name"]
    assert other_office.admin.post("/agents", body_for(other_office)).status_code == 200


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"name": ""}, "name"),
        ({"project": "prj_x"}, "project"),
        ({"project": "prj_"}, "project"),
        ({"project": None}, "project"),
        ({"sponsor": "usr_00000000000000000000000000"}, "sponsor"),
        ({"level": "King"}, "level"),
        ({"rank": 2}, "rank"),
    ],
)
def test_what_is_wrong_is_named_by_field(office, more, field):
    answer = office.admin.post("/agents", body_for(office) | more)

    assert answer.status_code == 400
    assert fields_of(answer) == [field]


def test_nobody_but_an_administrator_makes_or_changes_one(office, other_office):
    scoped = office.person("scoped", scopes=ALL_SCOPES, grants=[(office.apollo, SEE)])

    for person in (office.senior, office.agent, scoped):
        assert person.post("/agents", body_for(office)).status_code == 403, person.name
        assert person.patch(path_of(office.agent), {"level": 50}).status_code == 403, person.name
        assert person.delete(path_of(office.agent)).status_code == 403, person.name
    assert other_office.admin.get(path_of(office.agent)).status_code == 404
    assert other_office.admin.patch(path_of(office.agent), {"level": 50}).status_code == 404
    assert other_office.admin.delete(path_of(office.agent)).status_code == 404


def test_members_with_the_scope_read_the_agents_of_their_projects(office):
    scoped = office.person("scoped", scopes=ALL_SCOPES, grants=[(office.apollo, SEE)])
    elsewhere = office.bot("elsewhere", office.outsider, project=office.hermes)
    assert office.agent

    assert [agent["name"] for agent in scoped.get("/agents").json()["results"]] == [
        office.agent.agent.name
    ]
    assert scoped.get(path_of(elsewhere)).status_code == 404
    assert office.admin.get("/agents").json()["count"] == 2


def test_an_agent_is_renamed_and_given_another_level(office):
    changed = office.admin.patch(path_of(office.agent), {"name": "robin", "level": "Member"}).json()

    assert (changed["name"], changed["level"]) == ("robin", 20)
    assert office.agent.get("/whoami").json()["level"] == 20
    [event] = recorded(office, "update_agent")
    assert (event.before["level"], event.after["level"]) == (30, 20)


def test_an_agent_put_out_is_out_at_once_and_its_sponsor_is_not(office):
    assert office.agent.get("/whoami").status_code == 200
    assert office.admin.delete(path_of(office.agent)).json()["active"] is False

    assert office.agent.get("/whoami").status_code == 401
    assert office.senior.get("/whoami").status_code == 200
    office.admin.patch(path_of(office.agent), {"active": True})
    assert office.agent.get("/whoami").status_code == 200


def test_an_agent_keeps_its_project(office):
    refused = office.admin.patch(path_of(office.agent), {"project": "hermes"})

    assert fields_of(refused) == ["project"]


@pytest.mark.rule("VI-03")
def test_another_sponsor_does_not_inherit_what_the_old_one_opened(office):
    """A token that opens the personal layer ends with the sponsor who opened it."""
    bot = office.bot("close", office.senior, personal=True)
    _, plain = give_token(bot.agent, "plain")
    to_colleague = office.admin.patch(path_of(bot), {"sponsor": id_of(office.colleague)})

    assert to_colleague.json()["sponsor"] == id_of(office.colleague)
    assert bot.get("/whoami").status_code == 401
    bot.token = plain
    assert bot.get("/whoami").json()["personal"] is False
    assert len(recorded(office, "revoke_token")) == 1


def test_a_new_sponsor_must_see_the_project(office):
    refused = office.admin.patch(path_of(office.agent), {"sponsor": id_of(office.outsider)})

    assert refused.status_code == 400
    assert fields_of(refused) == ["sponsor"]
    assert office.agent.get("/whoami").status_code == 200
