"""Writing a memory: what is kept, what is stamped, what is absorbed, what is refused."""

import pytest
from django.db import connection, connections

from tenants.caller import Role, Scope
from tenants.context import acting_as
from tests.memories import memories_of, refused, remember
from tests.people import WRITE


@pytest.mark.rule("WR-01")
def test_a_memory_is_kept_word_for_word_and_recalled(office):
    said = "The staging database listens on port 5433,\r\nnot 5432.  Ask *Ops*.\t\n"

    answer = office.agent.post("/memories", {"content": said, "kind": "gotcha"})

    assert answer.status_code == 201, answer.content
    kept = office.senior.get(f"/memories/{answer.json()['memory_id']}")
    assert kept.status_code == 200, kept.content
    assert kept.json()["content"] == said
    found = office.colleague.post("/recall", {"query": "staging port", "project": "apollo"})
    assert found.status_code == 200, found.content
    assert [one["content"] for one in found.json()["results"]] == [said]


@pytest.mark.rule("WR-01", "T129")
def test_a_text_is_kept_composed_and_its_decomposed_twin_is_a_repeat(office):
    first = remember(office.agent, "Das Büro schließt um fünf.")
    twin = remember(office.agent, "Das Büro schließt um fünf.".replace("ü", "u\u0308"))

    assert first["memory"]["content"] == "Das Büro schließt um fünf."
    assert (twin["absorbed"], twin["memory_id"]) == (True, first["memory_id"])


@pytest.mark.rule("WR-02", "field-fault-1")
@pytest.mark.parametrize(
    "wrong",
    [
        {"links": [{"type": "relates_to", "dst": "hidden"}]},
        {"depends_on": ["hidden"]},
        {"links": [{"type": "supersedes", "dst": "good"}, {"type": "supersedes", "dst": "hidden"}]},
    ],
    ids=["link", "dependency", "supersede"],
)
def test_a_write_that_fails_in_one_part_leaves_nothing_of_the_others(office, wrong):
    good = remember(office.agent, "The cache lives in Redis.")["memory_id"]
    hidden = remember(office.outsider, "Hermes has a cache of its own.", project="hermes")[
        "memory_id"
    ]
    names = {"good": good, "hidden": hidden}
    for link in wrong.get("links", ()):
        link["dst"] = names[link["dst"]]
    wrong = wrong | {"depends_on": [names[one] for one in wrong.get("depends_on", ())]}

    answer = office.agent.post(
        "/memories",
        {
            "content": "The cache lives in Valkey.",
            "components": [{"subject": "cache.engine", "value": "Valkey"}],
            **wrong,
        },
    )

    assert answer.status_code in (400, 403), answer.content
    assert memories_of(office) == 2
    untouched = office.agent.get(f"/memories/{good}").json()
    assert (untouched["lifecycle"], untouched["version"], untouched["links"]) == ("live", 1, [])
    history = office.agent.get(f"/memories/{good}/history").json()
    assert [event["command"] for event in history["events"]] == ["remember"]


@pytest.mark.rule("WR-03")
def test_the_server_stamps_who_wrote_and_how_deliberately(office):
    by_person = remember(office.senior, "A person wrote this.", project="apollo")["memory"]
    by_agent = remember(office.agent2, "An agent of low level wrote this.")["memory"]
    by_watcher = remember(office.watcher, "A watcher captured this.")["memory"]

    stamps = [
        (one["author"]["type"], one["author_level"], one["provenance_rank"], one["trust_state"])
        for one in (by_person, by_agent, by_watcher)
    ]
    assert stamps == [
        ("member", 30, 2, "verified"),
        ("agent", 10, 1, "verified"),
        ("agent", 30, 0, "proposed"),
    ]
    assert by_watcher["owner"] == by_person["owner"]
    assert by_agent["owner"] != by_person["owner"]


@pytest.mark.rule("WR-03", "T004")
@pytest.mark.parametrize(
    "field",
    [
        *("tenant", "tenant_id", "owner", "owner_id", "id", "author", "author_level", "status"),
        *("provenance_rank", "sequence", "created_at", "embedding", "trust_state", "version"),
        "evidence_confidence",
    ],
)
def test_what_the_server_stamps_cannot_be_sent(office, field):
    answer = office.agent.post("/memories", {"content": "The cache lives in Redis.", field: "10"})

    refused(answer, 400, "validation_failed", field)
    assert memories_of(office) == 0


@pytest.mark.rule("WR-03", "WR-08")
def test_nobody_joins_the_session_of_another(office):
    other = office.bot("another", office.senior)
    first = remember(office.agent, "The nightly backup starts at two.", session="s1")

    own = remember(office.agent, "The nightly backup starts at two .", session="s1")
    foreign = remember(other, "the nightly backup starts at two!", session="s1")

    assert own["superseded"] == [first["memory_id"]]
    assert foreign["superseded"] == []


@pytest.mark.rule("WR-04")
def test_promotion_and_departure_leave_the_stored_level_alone(office):
    member = office.contractor.member
    before = remember(office.contractor, "Invoices are sent on Mondays.", project="apollo")

    type(member).objects.using("owner").filter(id=member.id).update(level=50)
    after = remember(office.contractor, "Reminders are sent on Fridays.", project="apollo")
    type(member).objects.using("owner").filter(id=member.id).update(active=False)

    kept = office.senior.get(f"/memories/{before['memory_id']}").json()
    later = office.senior.get(f"/memories/{after['memory_id']}").json()
    assert (kept["author_level"], later["author_level"]) == (10, 50)
    assert (kept["lifecycle"], kept["version"]) == ("live", 1)


@pytest.mark.rule("WR-10")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Port 5432 is for staging.", "Port 5433 is for staging."),
        ("The freeze starts on 2026-05-04.", "The freeze starts on 2026-05-05."),
        ("The importer does retry.", "The importer does not retry."),
        ("Use Django 5.2.1 here.", "Use Django 5.2.2 here."),
        ("Set PALIMPSEST_DB_URL first.", "Set PALIMPSEST_DB_URI first."),
    ],
)
def test_texts_that_differ_in_a_specific_are_two_however_alike(office, one, other):
    first = remember(office.agent, one, session="s1")
    second = remember(office.agent, other, session="s1")
    captured = remember(office.watcher, other.replace(".", " ."), session="s1")

    assert (second["absorbed"], second["superseded"]) == (False, [])
    assert captured["memory_id"] != first["memory_id"]
    assert office.agent.get(f"/memories/{first['memory_id']}").json()["lifecycle"] == "live"


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.rule("WR-11")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", f"The deploy token is {SECRET}."),
        ("tags", [SECRET]),
        ("session", SECRET),
        ("components", [{"subject": "deploy.token", "value": SECRET}]),
        ("components", [{"subject": SECRET.lower()}]),
        ("subjects", [SECRET.lower()]),
        ("depends_on", [SECRET.lower()]),
        ("source", {"kind": "file", "uri": f"https://x:{SECRET}@example.com/"}),
    ],
)
def test_a_secret_is_refused_in_every_text_and_told_nowhere(office, caplog, field, value):
    harmless = {"content": "The deploy token is kept in the vault."}

    answer = office.agent.post("/memories", harmless | {field: value})

    refused(answer, 422, "secret_content_rejected")
    assert answer.json()["errors"][0]["field"].startswith(field)
    assert SECRET.lower() not in (answer.content.decode() + caplog.text).lower()
    assert memories_of(office) == 0


@pytest.mark.rule("WR-11")
@pytest.mark.parametrize(("verb", "field"), [("forget", "reason"), ("close", "note")])
def test_a_secret_is_refused_in_a_reason_too(office, verb, field):
    kept = remember(office.agent, "Rotate the deploy token.", kind="task")["memory_id"]

    answer = office.agent.post(f"/memories/{kept}/{verb}", {field: f"was {SECRET}"})

    refused(answer, 422, "secret_content_rejected", field)
    assert office.agent.get(f"/memories/{kept}").json()["lifecycle"] == "live"
    assert office.agent.post(f"/memories/{kept}/{verb}", {field: "was done"}).status_code == 200
    again = office.agent.post(f"/memories/{kept}/restore", {"reason": f"was {SECRET}"})
    refused(again, 422, "secret_content_rejected", "reason")


@pytest.mark.rule("WR-12", "SU-08")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"kind": "rumour"}, "kind"),
        ({"project": "nowhere"}, "project"),
        ({"project": "hermes"}, "project"),
        ({"colour": "red"}, "colour"),
        ({"links": [{"type": "supersedes", "dst": "mem_1"}]}, "links[0].dst"),
        (
            {"links": [{"type": "supersedes", "dst": "prj_01h455vb4pex5vsknk084sn02q"}]},
            "links[0].dst",
        ),
        (
            {"links": [{"type": "replaces", "dst": "mem_01h455vb4pex5vsknk084sn02q"}]},
            "links[0].type",
        ),
        (
            {"links": [{"type": "relates_to", "dst": "mem_01h455vb4pex5vsknk084sn02q"}]},
            "links[0].dst",
        ),
        ({"depends_on": ["mem_01h455vb4pex5vsknk084sn02q"]}, "depends_on[0]"),
        ({"importance": 2}, "importance"),
        ({"content": " \u200b\n"}, "content"),
        (
            {"valid_from": "2026-05-04T12:00:00Z", "valid_until": "2026-05-04T12:00:00Z"},
            "valid_until",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_the_field_and_nothing_is_stored(office, wrong, field):
    answer = office.agent.post("/memories", {"content": "The cache lives in Redis.", **wrong})

    refused(answer, 400, "validation_failed", field)
    assert memories_of(office) == 0
    assert (
        office.agent.post("/memories", {"content": "The cache lives in Redis."}).status_code == 201
    )


@pytest.mark.rule("WR-12")
def test_who_sees_a_project_and_may_not_write_there_is_refused_with_the_field(office):
    onlooker = office.person("onlooker", grants=[(office.apollo, ("see_project",))])
    writer = office.person("writer", grants=[(office.apollo, WRITE)])
    body = {"content": "The cache lives in Redis.", "project": "apollo"}

    refused(onlooker.post("/memories", body), 403, "forbidden", "project")
    assert memories_of(office) == 0
    assert writer.post("/memories", body).status_code == 201


@pytest.mark.rule("WR-12")
def test_an_agent_writes_personally_only_where_its_token_grants_it(office):
    granted = office.bot("granted", office.senior, personal=True)
    body = {"content": "I like short summaries.", "scope": "personal"}

    refused(office.agent.post("/memories", body), 403, "forbidden", "scope")
    kept = granted.post("/memories", body)
    assert kept.status_code == 201
    assert (kept.json()["memory"]["project"], kept.json()["memory"]["visibility"]) == (
        None,
        "private",
    )


@pytest.mark.rule("T003", "VI-04")
def test_a_hidden_reference_is_refused_as_a_missing_one(office, other_office):
    hidden = remember(office.outsider, "Hermes deploys on Mondays.", project="hermes")["memory_id"]
    foreign = remember(other_office.agent, "Elsewhere they deploy on Sundays.")["memory_id"]
    missing = "mem_01h455vb4pex5vsknk084sn02q"

    def problem(dst):
        answer = office.agent.post(
            "/memories",
            {"content": "We deploy daily.", "links": [{"type": "relates_to", "dst": dst}]},
        )
        told = refused(answer, 400, "validation_failed", "links[0].dst")
        return told["detail"], told["errors"]

    assert problem(hidden) == problem(missing) == problem(foreign)


@pytest.mark.rule("T007")
def test_a_token_that_writes_and_does_not_read_learns_ids_alone(office):
    blind = office.person("blind", grants=[(office.apollo, WRITE)], scopes=[Scope.WRITE])
    body = {"content": "The cache lives in Redis.", "project": "apollo"}

    first, again = blind.post("/memories", body), blind.post("/memories", body)

    assert (first.status_code, again.status_code) == (201, 200)
    assert set(first.json()) == {"memory_id", "absorbed", "superseded", "skipped"}
    assert again.json() == first.json() | {"absorbed": True}
    forgotten = blind.post(f"/memories/{first.json()['memory_id']}/forget", {"reason": "test"})
    assert set(forgotten.json()) == {"memory_id", "absorbed", "superseded", "skipped"}
    for answer in (blind.get("/memories"), blind.post("/recall", {"query": "cache"})):
        assert "memory:read" in refused(answer, 403, "insufficient_scope")["detail"]


@pytest.mark.rule("T007")
def test_a_token_that_only_reads_is_refused_every_write_with_the_scope_named(office):
    kept = remember(office.senior, "The cache lives in Redis.", project="apollo")["memory_id"]
    reads = office.person("reads", grants=[(office.apollo, WRITE)], scopes=[Scope.READ])
    link = {"src": kept, "dst": kept, "type": "relates_to"}
    writes = [
        reads.post("/memories", {"content": "Nothing of this.", "project": "apollo"}),
        reads.patch(f"/memories/{kept}", {"tags": ["x"]}),
        reads.post(f"/memories/{kept}/forget", {"reason": "test"}),
        reads.post(f"/memories/{kept}/close"),
        reads.post(f"/memories/{kept}/restore"),
        reads.post("/links", link),
    ]

    for answer in writes:
        assert "memory:write" in refused(answer, 403, "insufficient_scope")["detail"]
    assert reads.get(f"/memories/{kept}").json()["version"] == 1


@pytest.mark.rule("field-fault-28", "T123")
@pytest.mark.parametrize("field", ["content", "session", "project"])
def test_a_nul_byte_is_refused_with_its_field(office, field):
    answer = office.agent.post("/memories", {"content": "Fine.", field: "a\x00b"})

    refused(answer, 400, "validation_failed", field)
    assert memories_of(office) == 0


@pytest.mark.rule("HI-03")
def test_no_role_of_the_application_changes_an_event_or_a_content(office):
    remember(office.agent, "The cache lives in Redis.")
    forbidden = (
        "UPDATE events SET reason = 'x'",
        "DELETE FROM events",
        "TRUNCATE events",
        "UPDATE memories SET content = 'x'",
        "UPDATE memories SET owner_id = gen_random_uuid()",
        "DELETE FROM memories",
        "DELETE FROM links",
    )

    for role in Role:
        for statement in forbidden:
            with (
                pytest.raises(Exception, match="permission denied"),
                acting_as(office.senior.caller.as_role(role)),
                connection.cursor() as cursor,
            ):
                cursor.execute(statement)
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM events WHERE tenant_id = %s", [office.tenant.id])
        assert cursor.fetchone()[0] >= 1
