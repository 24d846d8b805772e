"""Changing what is around a memory."""

import pytest

from tests.memories import MISSING, commands, done, kept, refused, replacing, seen

SAID = "The staging database listens on port 5432."


def test_what_is_around_changes_and_the_content_never(office):
    memory_id = kept(office.agent, SAID, tags=["old"])
    path = f"/memories/{memory_id}"

    told = done(
        office.agent.patch(
            path,
            {
                "tags": ["db", "db", "port"],
                "importance": 1,
                "review_after": "2031-01-01T02:00:00+02:00",
            },
        )
    )

    assert (told["tags"], told["importance"]) == (["db", "port"], 1.0)
    assert told["review_after"] == "2031-01-01T00:00:00.000000Z"
    assert (told["version"], told["content"]) == (2, SAID)
    assert done(office.agent.patch(path, {"review_after": None}))["review_after"] is None
    for field in ("content", "kind", "owner", "trust_state"):
        refused(office.agent.patch(path, {field: "x"}), 400, "validation_failed", field)
    assert seen(office.agent, memory_id)["version"] == 3


@pytest.mark.rule("T158")
def test_a_change_of_what_somebody_else_changed_meanwhile_is_refused(office):
    path = f"/memories/{kept(office.agent, SAID)}"

    first = office.agent.patch(path, {"tags": ["one"]}, **{"If-Match": "1"})
    second = office.senior.patch(path, {"tags": ["two"]}, **{"If-Match": '"1"'})

    assert first.status_code == 200
    refused(second, 409, "stale_version")
    assert done(office.senior.get(path))["tags"] == ["one"]
    assert done(office.senior.patch(path, {"tags": ["two"]}, **{"If-Match": "2"}))["version"] == 3
    refused(office.agent.patch(path, {"tags": []}, **{"If-Match": "x"}), 400, "validation_failed")


@pytest.mark.parametrize("verb", ["forget", "close", "restore", "accept", "reject"])
def test_so_is_whatever_else_takes_it_away_or_brings_it_back(office, verb):
    writer = office.watcher if verb in {"accept", "reject"} else office.agent
    memory_id = kept(writer, SAID, kind="task")
    path, body = f"/memories/{memory_id}", {} if verb == "close" else {"reason": "x"}
    if verb == "restore":
        done(office.agent.post(f"{path}/forget", {"reason": "x"}))
    done(office.senior.patch(path, {"tags": ["meanwhile"]}))
    now = seen(office.senior, memory_id)

    before = str(now["version"] - 1)
    refused(
        office.reviewer.post(f"{path}/{verb}", body, **{"If-Match": before}), 409, "stale_version"
    )
    answer = office.reviewer.post(f"{path}/{verb}", body, **{"If-Match": "x"})
    refused(answer, 400, "validation_failed", "If-Match")

    assert seen(office.senior, memory_id) == now
    done(office.reviewer.post(f"{path}/{verb}", body, **{"If-Match": str(now["version"])}))


@pytest.mark.rule("VI-04")
@pytest.mark.parametrize(
    ("person", "status"),
    [
        *(("senior", 200), ("agent", 200), ("colleague", 200), ("reviewer", 200)),
        *(("contractor", 403), ("agent2", 403), ("outsider", 404)),
    ],
)
def test_who_may_change_what_is_of_a_project(office, person, status):
    memory_id = kept(office.senior, SAID, project="apollo")

    answer = getattr(office, person).patch(f"/memories/{memory_id}", {"importance": 0.1})

    assert answer.status_code == status, answer.content
    assert seen(office.senior, memory_id)["importance"] == (0.1 if status == 200 else 0.5)


@pytest.mark.rule("VI-03", "VI-04")
def test_only_its_owner_decides_who_reads_it(office):
    memory_id = kept(office.senior, SAID, project="apollo")
    path = f"/memories/{memory_id}"

    for visibility in ("private", "tenant"):
        refused(office.colleague.patch(path, {"visibility": visibility}), 403, "forbidden")
    done(office.senior.patch(path, {"visibility": "private"}))
    refused(office.colleague.get(path), 404, "not_found")
    refused(office.colleague.patch(path, {"importance": 0}), 404, "not_found")
    done(office.senior.patch(path, {"visibility": "tenant"}))
    assert done(office.outsider.get(path))["content"] == SAID


@pytest.mark.rule("VI-03", "RC-08")
def test_hiding_hides_from_recall_at_once(office):
    memory_id = kept(office.senior, SAID, project="apollo")

    def found(person):
        results = done(person.post("/recall", {"query": "staging port"}))["results"]
        return [one["memory_id"] for one in results]

    assert found(office.colleague) == [memory_id]
    done(office.senior.patch(f"/memories/{memory_id}", {"visibility": "private"}))
    assert found(office.colleague) == []
    assert found(office.senior) == [memory_id]


def test_a_personal_memory_has_no_project_to_be_shown_to(office):
    path = f"/memories/{kept(office.senior, SAID)}"

    refused(
        office.senior.patch(path, {"visibility": "project"}), 400, "validation_failed", "visibility"
    )
    assert done(office.senior.patch(path, {"visibility": "tenant"}))["visibility"] == "tenant"


@pytest.mark.rule("WR-11")
def test_a_secret_is_refused_in_a_tag(office):
    memory_id = kept(office.agent, SAID)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    answer = office.agent.patch(f"/memories/{memory_id}", {"tags": ["fine", secret]})

    refused(answer, 422, "secret_content_rejected", "tags[1]")
    assert commands(office.agent, memory_id) == ["remember"]


@pytest.mark.rule("VI-04")
def test_what_is_not_there_cannot_be_changed(office, other_office):
    foreign = kept(other_office.agent, SAID)

    for one in (foreign, MISSING, "mem_1"):
        refused(office.agent.patch(f"/memories/{one}", {"importance": 0}), 404, "not_found")


@pytest.mark.rule("SU-18")
def test_a_replaced_memory_is_shown_to_nobody_who_could_not_read_what_replaced_it(office):
    place = {"project": "apollo", "visibility": "private"}
    old = kept(office.senior, SAID, **place)
    new = kept(office.senior, f"{SAID} Now 5433.", **place, links=replacing(old))

    refused(office.senior.patch(f"/memories/{old}", {"visibility": "project"}), 409, "conflict")

    done(office.senior.patch(f"/memories/{new}", {"visibility": "project"}))
    done(office.senior.patch(f"/memories/{old}", {"visibility": "project"}))
