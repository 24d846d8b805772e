"""What comes in from files and goes out into them, whole or not at all."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.exchange import carrying_out, storing
from tenants.founding import OWNER
from tenants.jobs import claim, run_job
from tenants.models import Job
from tests.judging import work
from tests.memories import done, kept, memories_of, refused, replacing, seen
from tests.people import ALL_SCOPES, REVIEW, Office, Person

MEM0 = {
    "results": [
        {"id": "m-1", "memory": "Prefers short answers", "hash": "abc", "categories": ["style"]},
        {"id": "m-2", "memory": "Lives in Lisbon", "hash": "def", "metadata": None},
    ]
}
GRAPH = [
    {
        "type": "entity",
        "name": "Apollo",
        "entityType": "project",
        "observations": ["deploys from main", "has two databases"],
    },
    {"type": "relation", "from": "Ana", "to": "Apollo", "relationType": "maintains"},
]
TREE = [
    {"path": "CLAUDE.md", "content": "# Rules\n\nAlways run the linter.\n"},
    {"path": "docs/db.md", "content": "# Database\n\nListens on 5433.\n\n## Backups\n\nNightly.\n"},
]


@pytest.fixture
def archivist(office: Office) -> Person:
    """Somebody who writes in apollo and may take things in and out."""
    return office.person("archivist", grants=[(office.apollo, REVIEW)], scopes=ALL_SCOPES)


def carried_out(office: Office, person: Person, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return a transfer once the worker has done it."""
    answer = person.post(path, body)
    assert answer.status_code == 202, answer.content
    started = answer.json()
    work(office)
    ended: dict[str, Any] = done(person.get(f"/transfers/{started['id']}"))
    return ended


def files_of(office: Office, person: Person, **body: Any) -> list[dict[str, str]]:
    ended = carried_out(office, person, "/export", body)
    assert (ended["state"], ended["done"]) == ("done", ended["total"]), ended
    told: list[dict[str, str]] = done(person.get(f"/transfers/{ended['id']}/files"))["files"]
    return told


@pytest.mark.parametrize(
    ("body", "contents"),
    [
        (
            {"format": "mem0", "content": json.dumps(MEM0)},
            {"Prefers short answers", "Lives in Lisbon"},
        ),
        (
            {"format": "memory-graph", "content": "\n".join(map(json.dumps, GRAPH))},
            {
                "Apollo: deploys from main",
                "Apollo: has two databases",
                "Ana maintains Apollo",
            },
        ),
        (
            {"format": "markdown", "files": TREE},
            {
                "# Rules\n\nAlways run the linter.",
                "# Database\n\nListens on 5433.",
                "## Backups\n\nNightly.",
            },
        ),
    ],
)
def test_what_others_kept_comes_in_word_for_word_and_once(office, archivist, body, contents):
    place = {**body, "project": "apollo"}
    before = memories_of(office)

    dry = archivist.post("/import", place | {"dry_run": True})
    assert dry.status_code == 202, dry.content
    counted = dry.json()
    assert (counted["state"], counted["total"]) == ("dry_run", len(contents))
    assert counted["counts"] == {"known": 0, "new": len(contents)}
    assert memories_of(office) == before
    ended = carried_out(office, archivist, "/import", place)
    assert (ended["state"], ended["done"]) == ("done", len(contents)), ended
    assert ended["counts"] == {"stored": len(contents), "absorbed": 0, "known": 0}

    listed = done(archivist.get("/memories", {"project": "apollo"}))["results"]
    assert {one["content"] for one in listed} == contents
    assert {one["provenance_rank"] for one in listed} == {1}
    rules = [one["kind"] for one in listed if one["content"].startswith("# Rules")]
    assert rules == (["convention"] if "files" in body else [])
    assert all(one["source"]["hash"] for one in listed)
    # Somebody retires one of them; bringing the file in again does not bring it back.
    done(archivist.post(f"/memories/{listed[0]['id']}/forget", {"reason": "not so"}))
    again = carried_out(office, archivist, "/import", place)
    assert again["counts"] == {"stored": 0, "absorbed": 0, "known": len(contents)}
    assert memories_of(office) == before + len(contents)
    assert seen(archivist, listed[0]["id"])["lifecycle"] == "retired"


@pytest.mark.rule("T141")
@pytest.mark.parametrize(
    ("format_", "content", "place"),
    [
        ("jsonl", '{"content": "good"}\n{"content": "half', "line 2"),
        ("jsonl", '{"content": "good"}\n[]', "line 2"),
        ("jsonl", '{"content": "good"}\n\n{"content": ""}', "line 3"),
        ("jsonl", '{"content": "x", "kind": "rumour"}', "line 1"),
        ("jsonl", '{"content": "x", "colour": "red"}', "line 1"),
        (
            "jsonl",
            (
                '{"content": "good"}\n{"content": "x", "valid_from": "2026-02-01T00:00:00Z",'
                ' "valid_until": "2026-01-01T00:00:00Z"}'
            ),
            "line 2",
        ),
        ("jsonl", '{"content": "x", "components": [{"subject": ["a"], "multi": true}]}', "line 1"),
        ("jsonl", '{"content": "x", "components": {"subject": "a"}}', "line 1"),
        (
            "jsonl",
            (
                '{"content": "good"}\n{"content": "x", "components":'
                ' [{"subject": "a", "value": "1"}, {"subject": "a", "value": "2"}]}'
            ),
            "line 2",
        ),
        ("jsonl", '{"content": "x", "id": "a"}\n{"content": "y", "id": "a"}', "line 2"),
        ("jsonl", '{"content": "x", "id": "a", "superseded_by": "z"}', "line 1"),
        (
            "jsonl",
            (
                '{"content": "x", "id": "a", "superseded_by": "b"}\n'
                '{"content": "y", "id": "b", "superseded_by": "a"}'
            ),
            "line 1",
        ),
        ("jsonl", '{"content": "x", "links": [{"type": "relates_to", "dst": "q"}]}', "line 1"),
        ("jsonl", '{"content": "x", "id": "a", "superseded_by": ["b"]}', "line 1"),
        ("jsonl", '{"content": "x", "id": "a", "superseded_by": {}}', "line 1"),
        ("jsonl", '{"content": "x", "lifecycle": "retired", "invalidated_reason": 5}', "line 1"),
        ("jsonl", '{"content": "x", "links": 5}', "line 1"),
        ("jsonl", '{"content": "x", "links": [{"type": "likes", "dst": "a"}]}', "line 1"),
        (
            "jsonl",
            '{"content": "x", "id": "a", "links": [{"type": "relates_to", "dst": "a"}]}',
            "line 1",
        ),
        ("jsonl", '{"content": "key AKIA' + "Q4T7" * 4 + '"}', "line 1"),
        ("jsonl", '{"format": "something", "version": 1}\n{"content": "x"}', "line 1"),
        ("mem0", '[{"memory": "x"}, {"text": 5}]', "memory 2"),
        ("memory-graph", '{"type": "entity", "name": "A", "observations": "no list"}', "line 1"),
        ("memory-graph", '{"type": "other"}', "line 1"),
    ],
)
def test_a_file_with_one_mistake_is_refused_whole_and_the_place_named(
    office, archivist, format_, content, place
):
    before = memories_of(office)
    body = {"format": format_, "content": content, "project": "apollo"}

    problem = archivist.post("/import", body).json()

    assert (problem["status"], problem["code"]) == (400, "validation_failed"), problem
    assert place in [one["field"] for one in problem["errors"]]
    assert "AKIA" not in json.dumps(problem)
    assert memories_of(office) == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"format": "jsonl"}, "content"),
        ({"format": "jsonl", "content": ""}, "content"),
        ({"format": "markdown", "content": "# x"}, "files"),
        ({"format": "markdown", "files": []}, "files"),
        ({"format": "word", "content": "x"}, "format"),
        ({"format": "mem0", "content": '"text"'}, "content"),
        ({"format": "jsonl", "content": '{"content": "x"}', "project": "nowhere"}, "project"),
    ],
)
def test_a_request_that_is_no_import_is_refused_by_field(archivist, body, field):
    refused(
        archivist.post("/import", {"project": "apollo", **body}), 400, "validation_failed", field
    )


def knowledge(person: Person) -> dict[str, str]:
    """Write what hangs together in every way, and return the ids by a name."""
    ids = {"old": kept(person, "The port is 5432", project="apollo")}
    ids["middle"] = kept(person, "The port is 5433", project="apollo", links=replacing(ids["old"]))
    ids["new"] = kept(
        person,
        "The port is 5434\nand nothing else: «ä»",
        project="apollo",
        kind="gotcha",
        links=replacing(ids["middle"]),
        tags=["db", "port"],
        subjects=["database"],
        components=[{"subject": "database.port", "value": "5434"}],
        importance=0.9,
        valid_from="2026-01-01T00:00:00Z",
        source={"kind": "note", "uri": "notes.md", "hash": "h1"},
    )
    ids["procedure"] = kept(
        person,
        "Connect, then migrate.",
        project="apollo",
        kind="procedure",
        depends_on=[ids["new"], "database.port"],
        links=[{"type": "derived_from", "dst": ids["new"]}],
    )
    ids["gone"] = kept(person, "Nobody needs this", project="apollo")
    done(person.post(f"/memories/{ids['gone']}/forget", {"reason": "nobody does"}))
    return ids


@pytest.mark.parametrize("lifecycle", ["live", "retired"])
def test_what_is_unfit_is_kept_neither_in_use_nor_out_of_it(office, archivist, lifecycle):
    line = {
        "id": "mem_a",
        "content": "Over before it began",
        "lifecycle": lifecycle,
        "valid_from": "2020-02-01T00:00:00Z",
        "valid_until": "2020-01-01T00:00:00Z",
    }
    body = {"format": "jsonl", "content": json.dumps(line), "project": "apollo"}

    refused(archivist.post("/import", body), 400, "validation_failed", "line 1")

    assert done(archivist.get("/memories", {"lifecycle": "all"}))["results"] == []


@pytest.mark.rule("RC-08", "TR-06")
def test_what_was_out_of_use_does_not_come_back_by_a_file(office, archivist):
    lines: list[dict[str, Any]] = [
        {"id": "mem_a", "content": "Its successor is elsewhere", "lifecycle": "superseded"},
        {"id": "mem_b", "content": "Turned down", "lifecycle": "retired"},
        {"id": "mem_c", "content": "Led to what was turned down", "superseded_by": "mem_b"},
        {"id": "mem_d", "content": "Over", "valid_until": "2020-01-01T00:00:00Z"},
        {"id": "mem_e", "content": "In use", "depends_on": ["mem_b"]},
    ]
    lines[1]["invalidated_reason"] = "rejected"
    lines[2]["lifecycle"], lines[3]["lifecycle"] = "superseded", "retired"
    body = {"format": "jsonl", "content": "\n".join(map(json.dumps, lines)), "project": "apollo"}

    ended = carried_out(office, archivist, "/import", body)

    assert (ended["state"], ended["total"]) == ("done", 4), ended
    told = done(archivist.get("/memories", {"lifecycle": "all"}))["results"]
    assert {one["content"]: (one["lifecycle"], one["invalidated_reason"]) for one in told} == {
        "Its successor is elsewhere": ("retired", "forgotten"),
        "Led to what was turned down": ("retired", "forgotten"),
        "Over": ("retired", None),
        "In use": ("live", None),
    }


@pytest.mark.rule("T182", "field-fault-29")
@pytest.mark.parametrize("format_", ["jsonl", "markdown"])
def test_what_goes_out_comes_in_elsewhere_as_the_same_knowledge(
    office, other_office, archivist, format_
):
    ids = knowledge(archivist)
    out = files_of(office, archivist, format=format_, project="apollo")
    assert out == files_of(office, archivist, format=format_, project="apollo")

    elsewhere = other_office.person(
        "archivist", grants=[(other_office.apollo, REVIEW)], scopes=ALL_SCOPES
    )
    body: dict[str, Any] = {"format": format_, "project": "apollo"}
    body |= {"files": out} if format_ == "markdown" else {"content": out[0]["content"]}
    ended = carried_out(other_office, elsewhere, "/import", body)
    assert (ended["state"], ended["total"]) == ("done", len(ids)), ended

    said = {
        one["content"]: one
        for one in done(elsewhere.get("/memories", {"lifecycle": "all"}))["results"]
    }
    here = {name: seen(archivist, memory_id) for name, memory_id in ids.items()}
    there = {name: said[one["content"]] for name, one in here.items()}
    plain = ("kind", "tags", "subjects", "importance", "valid_from", "lifecycle", "visibility")
    for name, one in here.items():
        assert {field: there[name][field] for field in plain} == {
            field: one[field] for field in plain
        }, name
    assert there["old"]["superseded_by"] == there["middle"]["id"]
    assert there["middle"]["superseded_by"] == there["new"]["id"]
    assert there["new"]["source"] == here["new"]["source"]
    assert [one["value"] for one in there["new"]["components"]] == ["5434"]
    assert set(there["procedure"]["depends_on"]) == {there["new"]["id"], "database.port"}
    assert ("derived_from", there["new"]["id"]) in [
        (one["type"], one["dst"]) for one in there["procedure"]["links"]
    ]
    # And once more: nothing comes twice.
    again = carried_out(other_office, elsewhere, "/import", body)
    assert again["counts"] == {"stored": 0, "absorbed": 0, "known": len(ids)}


@pytest.mark.rule("TR-01", "TR-02")
@pytest.mark.parametrize("format_", ["jsonl", "markdown"])
def test_what_was_in_doubt_comes_in_in_doubt_and_nobody_vouches_for_it_by_importing(
    office, other_office, archivist, format_
):
    said = {"subject": "database.port", "value": "5434"}
    kept(archivist, "The port is 5434", project="apollo", components=[said])
    change = {"project": "apollo", "subject": "database.port", "summary": "Moved"}
    archivist.post("/changes", change)
    disputed = kept(archivist, "The cache is Redis", project="apollo")
    done(office.senior.post(f"/memories/{disputed}/challenge", {"reason": "It is not."}))
    kept(office.watcher, "The queue is RabbitMQ", project="apollo")
    kept(archivist, "The host is db-1", project="apollo")
    states_here = states_of(archivist)
    assert states_here == {
        "The port is 5434": "dirty",
        "The cache is Redis": "conflicted",
        "The queue is RabbitMQ": "proposed",
        "The host is db-1": "verified",
    }
    out = files_of(office, archivist, format=format_, project="apollo")
    elsewhere = other_office.person(
        "archivist", grants=[(other_office.apollo, REVIEW)], scopes=ALL_SCOPES
    )
    body: dict[str, Any] = {"format": format_, "project": "apollo"}
    body |= {"files": out} if format_ == "markdown" else {"content": out[0]["content"]}

    ended = carried_out(other_office, elsewhere, "/import", body)

    assert (ended["state"], ended["total"]) == ("done", 4), ended
    assert states_of(elsewhere) == {
        one: "verified" if state == "verified" else "dirty" for one, state in states_here.items()
    }
    query = {"query": "Which port?", "project": "apollo"}
    (found,) = [
        one
        for one in done(elsewhere.post("/recall", query))["results"]
        if one["content"] == "The port is 5434"
    ]
    assert found["temporal_status"] == "verify_before_use"
    # What has been decided since is not asked again by the same file.
    for one in done(elsewhere.get("/conflicts", {"kind": "stale_suspect"}))["results"]:
        done(elsewhere.post(f"/conflicts/{one['id']}/resolve", {"keep_both": True}))
    carried_out(other_office, elsewhere, "/import", body)
    assert set(states_of(elsewhere).values()) == {"verified"}


def states_of(person: Person) -> dict[str, str]:
    told = done(person.get("/memories", {"project": "apollo"}))["results"]
    return {one["content"]: one["trust_state"] for one in told}


def test_a_worker_that_dies_in_the_middle_is_followed_by_one_that_ends_it(
    office, archivist, monkeypatch
):
    lines = "\n".join(json.dumps({"content": f"Number {one} of many"}) for one in range(50))
    started = archivist.post(
        "/import", {"format": "jsonl", "content": lines, "project": "apollo"}
    ).json()
    job_id = job_of(archivist)
    real, calls = storing.store, []

    def dying(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 30:
            raise SystemExit
        return real(*arguments)

    monkeypatch.setattr(carrying_out, "store", dying)
    job = claim(job_id)
    assert job is not None
    with pytest.raises(SystemExit):
        run_job(job)
    monkeypatch.undo()
    told = done(archivist.get(f"/transfers/{started['id']}"))
    assert (told["state"], told["done"]) == ("running", 20)
    with_lease_over(job_id)
    job = claim(job_id)
    assert job is not None
    run_job(job)

    told = done(archivist.get(f"/transfers/{started['id']}"))
    assert (told["state"], told["done"]) == ("done", 50)
    assert done(archivist.get("/memories", {"project": "apollo"}))["count"] == 50


def job_of(person: Person) -> Any:
    return (
        Job.objects.using(OWNER)
        .filter(tenant_id=person.caller.tenant_id, kind="transfer")
        .latest("created_at")
        .id
    )


def with_lease_over(job_id: Any) -> None:
    Job.objects.using(OWNER).filter(id=job_id).update(lease_until=timezone.now())


@pytest.mark.rule("VI-02", "VI-04")
def test_an_export_holds_what_its_member_sees_and_is_theirs_alone(office, archivist):
    private = kept(office.senior, "Mine alone", project="apollo", visibility="private")
    shared = kept(office.senior, "Ours", project="apollo")

    (file,) = files_of(office, archivist)

    assert shared in file["content"]
    assert private not in file["content"]
    export = carried_out(office, archivist, "/export", {})["id"]
    colleague = office.person("other", grants=[(office.apollo, REVIEW)], scopes=ALL_SCOPES)
    refused(colleague.get(f"/transfers/{export}"), 404, "not_found")
    refused(colleague.get(f"/transfers/{export}/files"), 404, "not_found")
    refused(office.senior.post("/export", {}), 403, "insufficient_scope")
    refused(office.senior.post("/import", {"format": "jsonl"}), 403, "insufficient_scope")


def test_the_terminal_takes_a_folder_out_and_brings_it_in(
    office, other_office, archivist, tmp_path
):
    ids = knowledge(archivist)
    seat = {"tenant": office.slug, "member": archivist.member.username}
    folder = tmp_path / "out"

    said = command("export_memories", str(folder), format="markdown", **seat)
    assert f"{len(ids)} memories in {len(ids)} files" in said
    with pytest.raises(CommandError, match="must be an empty folder"):
        command("export_memories", str(folder), format="markdown", **seat)

    elsewhere = other_office.person("keeper", grants=[(other_office.apollo, REVIEW)])
    there = {"tenant": other_office.slug, "member": elsewhere.member.username, "project": "apollo"}
    counted = command("import_memories", str(folder), dry_run=True, **there)
    assert f"{len(ids)} memories: 0 known, {len(ids)} new" in counted
    assert f"{len(ids)} stored" in command("import_memories", str(folder), **there)
    assert done(elsewhere.get("/memories", {"lifecycle": "all"}))["count"] == len(ids)
    (tmp_path / "bad.jsonl").write_text('{"content": "x"}\n{"content": 5}\n')
    with pytest.raises(CommandError, match="line 2"):
        command("import_memories", str(tmp_path / "bad.jsonl"), format="jsonl", **there)


def command(name: str, *arguments: str, **options: Any) -> str:
    out = StringIO()
    call_command(name, *arguments, stdout=out, **options)
    return out.getvalue()
