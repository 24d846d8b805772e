"""Projects: made, renamed and archived by administrators, who also say who is let in."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from guardian.shortcuts import get_objects_for_user

from tenants.context import acting_as
from tenants.founding import OWNER
from tenants.ids import Prefix, wire_id
from tenants.models import Event, Project, User


def path_of(project):
    return f"/projects/{wire_id(Prefix.PROJECT, project.id)}"


def id_of(person):
    return wire_id(Prefix.MEMBER, person.member.id)


def put(person, path, body):
    return person.client.put(
        f"/api/v1{path}",
        body,
        "application/json",
        headers={"Authorization": f"Bearer {person.token}"},
    )


def let_in(office, person, *permissions, project=None):
    body = {"member": id_of(person), "permissions": list(permissions)}
    return put(office.admin, f"{path_of(project or office.apollo)}/members", body)


def fields_of(answer):
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    return [error["field"] for error in answer.json()["errors"]]


def projects_of(person):
    return {p["slug"]: p["permissions"] for p in person.get("/whoami").json()["projects"]}


def commands(office, command):
    with acting_as(office.admin.caller):
        return list(Event.objects.filter(command=command).order_by("sequence"))


def test_an_administrator_makes_a_project_and_reads_it_back(office):
    made = office.admin.post("/projects", {"slug": "zeus", "name": "Zeus"})

    assert made.status_code == 200, made.content
    project = made.json()
    assert project["id"].startswith("prj_")
    assert (project["slug"], project["name"], project["archived"]) == ("zeus", "Zeus", False)
    assert office.admin.get(f"/projects/{project['id']}").json() == project
    assert [event.after["slug"] for event in commands(office, "create_project")] == ["zeus"]


def test_nobody_but_an_administrator_makes_one(office):
    body = {"slug": "zeus", "name": "Zeus"}
    scoped = office.person("scoped", scopes=list(office.admin.caller.scopes))

    assert office.senior.post("/projects", body).json()["code"] == "insufficient_scope"
    assert office.agent.post("/projects", body).json()["code"] == "insufficient_scope"
    assert scoped.post("/projects", body).json()["code"] == "forbidden"
    assert office.admin.get("/projects").json()["count"] == 2


def test_a_slug_is_taken_once_in_a_tenant_and_free_in_another(office, other_office):
    body = {"slug": "zeus", "name": "Zeus"}
    office.admin.post("/projects", body)
    again = office.admin.post("/projects", body)

    assert again.status_code == 409
    assert fields_of(again) == ["slug"]
    assert other_office.admin.post("/projects", body).status_code == 200


def test_of_many_who_want_a_slug_at_once_one_gets_it(office):
    admin = office.admin

    def make(number):
        try:
            return admin.post("/projects", {"slug": "zeus", "name": f"Zeus {number}"}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, range(8))) == [200] + [409] * 7


@pytest.mark.parametrize(
    "slug", ["", "Zeus", "a b", "prj_zeus", "-a", "a--b", "a" * 64, "ä", "a\n"]
)
def test_a_slug_that_cannot_stand_in_an_address_is_refused(office, slug):
    answer = office.admin.post("/projects", {"slug": slug, "name": "Zeus"})

    assert answer.status_code == 400
    assert fields_of(answer) == ["slug"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"slug": "zeus"}, "name"),
        ({"slug": "zeus", "name": "  "}, "name"),
        ({"slug": "zeus", "name": "x" * 201}, "name"),
        ({"slug": "zeus", "name": "two\nlines"}, "name"),
        ({"slug": "zeus", "name": 7}, "name"),
        ({"slug": "zeus", "name": None}, "name"),
        ({"slug": 7, "name": "Zeus"}, "slug"),
        ({"slug": "zeus", "name": "Zeus", "tenant": "ten_x"}, "tenant"),
        ({"slug": "zeus", "name": "a\x00b"}, "name"),
    ],
)
def test_what_is_wrong_is_named_by_field(office, body, field):
    answer = office.admin.post("/projects", body)

    assert answer.status_code == 400
    assert fields_of(answer) == [field]


@pytest.mark.rule("VI-04")
def test_another_tenants_project_answers_like_a_missing_one(office, other_office):
    foreign = other_office.admin.get(path_of(office.apollo))
    missing = other_office.admin.get("/projects/prj_00000000000000000000000000")

    assert foreign.status_code == missing.status_code == 404
    assert foreign.json()["detail"] == missing.json()["detail"]
    assert other_office.admin.get("/projects/nonsense").status_code == 404
    assert other_office.admin.get("/projects/prj_").status_code == 404
    assert other_office.admin.patch(path_of(office.apollo), {"name": "Mine"}).status_code == 404
    assert other_office.admin.delete(path_of(office.apollo)).status_code == 404
    assert office.admin.get(path_of(office.apollo)).json()["name"] == "Apollo"


def test_a_member_with_the_scope_lists_only_what_is_in_sight(office):
    scoped = office.person(
        "scoped", scopes=list(office.admin.caller.scopes), grants=[(office.hermes, ["see_project"])]
    )

    assert [p["slug"] for p in scoped.get("/projects").json()["results"]] == ["hermes"]
    assert scoped.get(path_of(office.apollo)).status_code == 404
    assert scoped.get(path_of(office.hermes)).status_code == 200
    assert scoped.patch(path_of(office.hermes), {"name": "Mine"}).status_code == 403
    assert scoped.get(f"{path_of(office.hermes)}/members").status_code == 403


def test_a_project_is_renamed_and_the_change_is_recorded(office):
    changed = office.admin.patch(path_of(office.apollo), {"name": "Apollon", "slug": "apollon"})

    assert (changed.json()["name"], changed.json()["slug"]) == ("Apollon", "apollon")
    [event] = commands(office, "update_project")
    assert (event.before["slug"], event.after["slug"]) == ("apollo", "apollon")


def test_a_change_to_a_taken_slug_and_a_change_of_nothing_are_refused(office):
    assert fields_of(office.admin.patch(path_of(office.apollo), {"slug": "hermes"})) == ["slug"]
    assert office.admin.patch(path_of(office.apollo), {"slug": "hermes"}).status_code == 409
    assert office.admin.patch(path_of(office.apollo), {}).status_code == 400
    assert office.admin.patch(path_of(office.apollo), {"name": "Apollo"}).status_code == 200
    assert commands(office, "update_project") == []


def test_if_match_does_no_harm_where_there_is_no_version(office):
    changed = office.admin.patch(path_of(office.apollo), {"name": "A"}, **{"If-Match": "3"})

    assert changed.status_code == 200


@pytest.mark.rule("PO-19")
def test_deleting_archives_and_archived_can_be_opened_again(office):
    archived = office.admin.delete(path_of(office.apollo))

    assert archived.status_code == 200
    assert archived.json()["archived"] is True
    assert office.admin.get(path_of(office.apollo)).json()["archived_at"] is not None
    note = {"content": "The crane is green.", "project": "apollo"}
    assert office.senior.post("/memories", note).status_code == 409
    assert (
        office.admin.patch(path_of(office.apollo), {"archived": False}).json()["archived"] is False
    )
    assert office.senior.post("/memories", note).status_code == 201


@pytest.mark.rule("VI-03")
def test_who_is_let_in_sees_and_who_is_shut_out_does_not(office):
    assert projects_of(office.outsider) == {"hermes": ["see", "write"]}

    seat = let_in(office, office.outsider, "write").json()
    assert seat["permissions"] == ["see", "write"], "who may write may see"
    assert projects_of(office.outsider)["apollo"] == ["see", "write"]

    assert let_in(office, office.outsider, "review", "see").json()["permissions"] == [
        "see",
        "review",
    ]
    assert let_in(office, office.outsider).json()["permissions"] == []
    assert projects_of(office.outsider) == {"hermes": ["see", "write"]}
    recorded = commands(office, "set_project_permissions")
    assert [event.after["permissions"] for event in recorded] == [
        ["see", "write"],
        ["see", "review"],
        [],
    ]


def test_the_rows_are_guardians_own(office):
    let_in(office, office.outsider, "write")
    person = User(id=office.outsider.member.user_id)

    with acting_as(office.admin.caller):
        writable = get_objects_for_user(
            person, "write_project", Project, use_groups=False, accept_global_perms=False
        )
        assert {project.slug for project in writable} == {"apollo", "hermes"}


def test_shutting_a_sponsor_out_shuts_the_agents_out(office):
    assert list(projects_of(office.agent)) == ["apollo"]
    let_in(office, office.senior)

    assert projects_of(office.agent) == {}


def test_members_of_a_project_are_listed_with_what_they_may_do(office):
    for person in (office.senior, office.viewer, office.outsider):
        assert person
    listed = office.admin.get(f"{path_of(office.apollo)}/members").json()

    assert {seat["name"]: seat["permissions"] for seat in listed["results"]} == {
        "senior": ["see", "write", "review"],
        "viewer": ["see"],
    }
    assert listed["count"] == 2


def test_only_administrators_let_in(office, other_office):
    body = {"member": id_of(office.viewer), "permissions": ["write"]}
    path = f"{path_of(office.apollo)}/members"

    assert put(office.senior, path, body).status_code == 403
    assert put(other_office.admin, path, body).status_code == 404
    assert projects_of(office.viewer) == {"apollo": ["see"]}


def test_a_foreign_member_and_a_missing_one_get_the_same_answer(office, other_office):
    foreign = let_in(office, other_office.senior, "see")
    body = {"member": "usr_00000000000000000000000000", "permissions": ["see"]}
    missing = put(office.admin, f"{path_of(office.apollo)}/members", body)

    assert foreign.status_code == missing.status_code == 400
    assert foreign.json()["errors"] == missing.json()["errors"]
    assert fields_of(foreign) == ["member"]


@pytest.mark.parametrize(
    ("permissions", "field"),
    [
        (["own"], "permissions[0]"),
        ("see", "permissions"),
        ([1], "permissions[0]"),
        (None, "permissions"),
    ],
)
def test_unknown_permissions_are_refused(office, permissions, field):
    body = {"member": id_of(office.viewer), "permissions": permissions}
    answer = put(office.admin, f"{path_of(office.apollo)}/members", body)

    assert answer.status_code == 400
    assert fields_of(answer) == [field]


def walked(person, limit):
    """Return every page of the list of projects, one after the other."""
    pages: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": limit}
    while not pages or pages[-1]["next"]:
        pages.append(person.get("/projects", query).json())
        query = {"limit": limit, "cursor": pages[-1]["next"]}
    return pages


def slugs(pages):
    return [project["slug"] for page in pages for project in page["results"]]


@pytest.mark.rule("T011")
def test_pages_show_every_project_once_newest_first_and_count_them_all(office):
    for number in range(5):
        office.admin.post("/projects", {"slug": f"p{number}", "name": "P"})
    pages = walked(office.admin, 3)

    assert [len(page["results"]) for page in pages] == [3, 3, 1]
    assert {page["count"] for page in pages} == {7}
    assert slugs(pages)[:5] == ["p4", "p3", "p2", "p1", "p0"]
    assert sorted(slugs(pages)[5:]) == ["apollo", "hermes"]


def test_pages_lose_nothing_among_those_made_at_the_same_moment(office):
    for number in range(4):
        office.admin.post("/projects", {"slug": f"p{number}", "name": "P"})
    same = Project.objects.using(OWNER).filter(tenant=office.tenant)
    same.update(created_at=office.apollo.created_at)
    pages = walked(office.admin, 1)

    assert len(pages) == 6
    assert sorted(slugs(pages)) == ["apollo", "hermes", "p0", "p1", "p2", "p3"]


@pytest.mark.rule("T011")
def test_a_cursor_of_somebody_elses_or_of_another_list_or_made_up_is_refused(office, other_office):
    own = office.admin.get("/projects", {"limit": 1}).json()["next"]
    foreign = other_office.admin.get("/projects", {"limit": 1}).json()["next"]
    assert office.admin.get("/projects", {"cursor": own}).status_code == 200
    flipped = own[:-1] + ("A" if own[-1] != "A" else "B")

    for cursor in (foreign, flipped, own[:-3], "x", ":", "ä:b:c", own + own, "x" * 3000):
        answer = office.admin.get("/projects", {"cursor": cursor})
        assert answer.status_code == 400, cursor
        assert fields_of(answer) == ["cursor"]
    assert office.admin.get("/members", {"cursor": own}).status_code == 400


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 201}, {"limit": "x"}])
def test_a_limit_out_of_bounds_is_refused(office, query):
    answer = office.admin.get("/projects", query)

    assert answer.status_code == 400
    assert fields_of(answer) == ["limit"]


def test_sending_a_request_again_makes_one_project(office):
    body = {"slug": "zeus", "name": "Zeus"}
    first = office.admin.post("/projects", body, **{"Idempotency-Key": "one"})
    again = office.admin.post("/projects", body, **{"Idempotency-Key": "one"})
    other = office.admin.post("/projects", {**body, "name": "Other"}, **{"Idempotency-Key": "one"})

    assert again.status_code == 200
    assert again.json() == first.json()
    assert other.json()["code"] == "idempotency_mismatch"
