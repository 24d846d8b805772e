"""What callers are told about themselves."""

import pytest

from tests.people import ALL_SCOPES, SEE


def projects_of(person):
    return {
        project["slug"]: project["permissions"]
        for project in person.get("/whoami").json()["projects"]
    }


def test_a_member_is_told_tenant_principal_level_rank_scopes_and_limits(office):
    told = office.contractor.get("/whoami").json()

    assert told["tenant"]["slug"] == office.slug
    assert told["tenant"]["id"].startswith("ten_")
    assert told["principal"]["id"].startswith("usr_")
    assert (told["principal"]["type"], told["principal"]["name"]) == ("human", "contractor")
    assert (told["level"], told["rank"]) == (10, 2)
    assert told["scopes"] == ["hygiene", "memory:read", "memory:write", "review"]
    assert told["limits"]["content_bytes"] == 32768
    assert told["limits"]["body_bytes"] == 1048576
    assert told["limits"]["requests_per_minute"] == 100000


def test_projects_are_those_in_sight_with_what_one_may_do_there(office):
    assert projects_of(office.senior) == {"apollo": ["see", "write", "review"]}
    assert projects_of(office.viewer) == {"apollo": ["see"]}
    assert projects_of(office.outsider) == {"hermes": ["see", "write"]}
    assert projects_of(office.admin) == {}


def test_an_agent_is_told_its_own_name_and_acts_at_the_lower_level(office):
    low = office.bot("low", office.senior, level=10)
    told = low.get("/whoami").json()

    assert told["principal"]["id"].startswith("agt_")
    assert told["principal"]["type"] == "agent"
    assert (told["level"], told["rank"]) == (10, 1)
    assert office.agent2.get("/whoami").json()["level"] == 10


@pytest.mark.rule("WR-03")
def test_the_kind_of_token_stamps_the_rank(office):
    people = (office.watcher, office.agent, office.senior)

    assert [person.get("/whoami").json()["rank"] for person in people] == [0, 1, 2]


@pytest.mark.rule("DI-12")
def test_an_agent_reviews_where_its_sponsor_does_if_its_token_is_for_that(office):
    assert projects_of(office.agent) == {"apollo": ["see", "write"]}
    for_reviewing = office.bot("judge", office.senior, scopes=ALL_SCOPES)
    assert projects_of(for_reviewing) == {"apollo": ["see", "write", "review"]}


def test_an_agent_sees_its_own_project_only_though_its_sponsor_sees_more(office):
    agent = office.bot("two", office.reviewer)

    assert list(projects_of(office.reviewer)) == ["apollo", "hermes"]
    assert list(projects_of(agent)) == ["apollo"]


def test_a_token_for_one_project_shows_that_one_only(office):
    grants = [(office.apollo, SEE), (office.hermes, SEE)]
    everywhere = office.person("everywhere", grants=grants)
    confined = office.person("confined", grants=grants, project=office.hermes)

    assert list(projects_of(everywhere)) == ["apollo", "hermes"]
    assert list(projects_of(confined)) == ["hermes"]


def test_no_scope_is_needed(office):
    assert office.person("idle", scopes=()).get("/whoami").status_code == 200


def test_it_takes_nothing(office):
    answer = office.senior.get("/whoami", {"tenant": "other"})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "tenant"
