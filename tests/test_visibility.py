"""Who sees what, by every way a memory is told."""

import os

import psycopg
import pytest
from django.db import connection

from tenants.context import acting_as
from tests.memories import MISSING, done, kept, refused, remember, replacing, row
from tests.people import ALL_SCOPES, WRITE

SAID = "The launch code of the moon base is on the blackboard."

PEOPLE = (
    *("senior", "colleague", "contractor", "viewer", "reviewer", "outsider", "admin"),
    *("agent", "agent2", "watcher", "granted"),
)
# Where senior put it, and who may read it.
READERS = {
    "personal": ({"scope": "personal"}, {"senior", "granted"}),
    "personal, tenant-wide": ({"scope": "personal", "visibility": "tenant"}, set(PEOPLE)),
    "private in the project": (
        {"project": "apollo", "visibility": "private"},
        {"senior", "agent", "watcher", "granted"},
    ),
    "of the project": ({"project": "apollo"}, set(PEOPLE) - {"outsider", "admin"}),
    "tenant-wide": ({"project": "apollo", "visibility": "tenant"}, set(PEOPLE)),
}


@pytest.fixture
def cast(office):
    """Everybody, by name; `granted` is senior's agent with the personal scope."""
    granted = office.bot("granted", office.senior, personal=True)
    return {name: granted if name == "granted" else getattr(office, name) for name in PEOPLE}


@pytest.mark.rule("VI-01", "VI-02", "VI-03", "VI-04", "VI-06")
@pytest.mark.parametrize("where", READERS)
def test_who_may_read_sees_it_in_every_way_and_who_may_not_in_none(cast, where):
    place, readers = READERS[where]
    memory_id = kept(cast["senior"], SAID, **place)

    for name, person in cast.items():
        shown = person.get(f"/memories/{memory_id}")
        history = person.get(f"/memories/{memory_id}/history")
        feed = done(person.get("/memories"))
        searched = done(person.get("/memories", {"q": "moon"}))
        found = done(person.post("/recall", {"query": "launch code of the moon base"}))
        worded = done(person.post("/recall", {"query": "blackboard", "explain": True}))
        if name in readers:
            assert (shown.status_code, history.status_code) == (200, 200), name
            assert [one["id"] for one in feed["results"]] == [memory_id], name
            assert feed["counts"]["all"] == searched["count"] == 1, name
            assert [one["memory_id"] for one in found["results"]] == [memory_id], name
            continue
        refused(shown, 404, "not_found")
        refused(history, 404, "not_found")
        assert (feed["results"], feed["count"], set(feed["counts"].values())) == ([], 0, {0}), name
        assert (searched["results"], searched["count"]) == ([], 0), name
        assert (found["results"], found["omitted"], found["tokens"]) == ([], 0, 0), name
        assert worded["diagnostics"]["candidates"] == 0, name


@pytest.mark.rule("VI-04")
@pytest.mark.parametrize("where", ["personal", "private in the project"])
def test_what_is_hidden_answers_to_the_letter_as_what_is_missing(cast, other_office, where):
    hidden = kept(cast["senior"], SAID, **READERS[where][0])
    foreign = kept(other_office.senior, SAID, project="apollo")

    def answers(memory_id):
        person = cast["colleague"]
        path = f"/memories/{memory_id}"
        told = [
            person.get(path),
            person.get(f"{path}/history"),
            person.patch(path, {"importance": 0}),
            person.post(f"{path}/forget", {"reason": "x"}),
            person.post(f"{path}/restore"),
            person.post(f"{path}/close"),
        ]
        problems = [answer.json() for answer in told]
        return [{**problem, "request_id": None} for problem in problems]

    missing = answers(MISSING)
    assert {problem["status"] for problem in missing} == {404}
    assert answers(hidden) == missing
    assert answers(foreign) == missing
    assert (row(hidden).version, row(foreign).version) == (1, 1)


@pytest.mark.rule("VI-01", "VI-02", "T021")
def test_another_tenant_sees_nothing_whatever_its_scopes(office, other_office):
    for place, _ in READERS.values():
        kept(office.senior, f"{SAID} {place}", **place)
    everything = other_office.person(
        "everything",
        role="admin",
        scopes=ALL_SCOPES,
        grants=[(other_office.apollo, WRITE), (other_office.hermes, WRITE)],
    )

    feed = done(everything.get("/memories", {"lifecycle": "all"}))
    assert (feed["results"], feed["counts"]["all"]) == ([], 0)
    assert done(everything.post("/recall", {"query": "moon base"}))["results"] == []


@pytest.mark.rule("VI-01", "T021")
@pytest.mark.parametrize("role", ["palimpsest_member", "palimpsest_judge", "palimpsest_reviewer"])
def test_outside_the_door_there_is_nothing(office, role):
    kept(office.senior, SAID, visibility="tenant")

    with psycopg.connect(os.environ["DATABASE_URL"]) as login:
        with pytest.raises(psycopg.errors.InsufficientPrivilege), login.transaction():
            login.execute("SELECT count(*) FROM memories")
        login.execute(f"SET ROLE {role}")
        for table in ("memories", "links", "components", "dependencies", "settled_pairs", "events"):
            assert login.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


@pytest.mark.rule("VI-03", "T006")
def test_an_agent_stays_in_its_project(office):
    both = office.person("both", grants=[(office.apollo, WRITE), (office.hermes, WRITE)])
    helper = office.bot("helper", both, personal=True)
    there = kept(both, "Hermes is slow.", project="hermes")
    private_there = kept(both, "Hermes is very slow.", project="hermes", visibility="private")
    here = kept(both, "Apollo is slow.", project="apollo", visibility="private")
    personal = kept(both, "I am slow.")

    assert {one["id"] for one in done(helper.get("/memories"))["results"]} == {here, personal}
    for one in (there, private_there):
        refused(helper.get(f"/memories/{one}"), 404, "not_found")
    for call in (
        helper.post("/recall", {"query": "slow", "project": "hermes"}),
        helper.post("/memories", {"content": "x y z", "project": "hermes"}),
        helper.get("/memories", {"project": "hermes"}),
    ):
        refused(call, 400, "validation_failed", "project")


@pytest.mark.rule("VI-03")
def test_a_recall_in_a_project_covers_it_what_is_tenant_wide_and_ones_own_layer(office):
    both = office.person("both", grants=[(office.apollo, WRITE), (office.hermes, WRITE)])
    here = kept(both, "Apollo is slow.", project="apollo")
    personal = kept(both, "I am slow.")
    there = kept(both, "Hermes is slow.", project="hermes")
    wide = kept(both, "Everything is slow.", project="hermes", visibility="tenant")

    def found(**where):
        told = done(both.post("/recall", {"query": "slow", **where}))
        return {one["memory_id"] for one in told["results"]}

    assert found() == {here, personal, there, wide}
    assert found(project="apollo") == {here, personal, wide}
    assert found(project=office.hermes.slug) == {there, personal, wide}


@pytest.mark.rule("VI-01", "VI-03")
def test_who_leaves_a_project_sees_it_no_more_at_once(office):
    from tenants.models import ProjectPermission

    memory_id = kept(office.senior, SAID, project="apollo")
    own = kept(office.colleague, f"{SAID} Mine.", project="apollo", visibility="private")
    done(office.colleague.get(f"/memories/{memory_id}"))

    ProjectPermission.objects.using("owner").filter(
        tenant=office.tenant, user=office.colleague.member.user_id
    ).delete()

    refused(office.colleague.get(f"/memories/{memory_id}"), 404, "not_found")
    assert (
        done(office.colleague.post("/recall", {"query": "moon base"}))["results"][0]["memory_id"]
        == own
    )
    refused(
        office.colleague.post("/memories", {"content": "x y", "project": "apollo"}),
        400,
        "validation_failed",
        "project",
    )


@pytest.mark.rule("VI-05", "VI-02")
def test_nothing_around_a_memory_tells_of_a_hidden_one(office):
    hidden = kept(office.reviewer, "Hermes holds the key.", project="hermes")
    memory_id = remember(
        office.reviewer,
        "Apollo depends on it.",
        project="apollo",
        links=[{"type": "depends_on", "dst": hidden}],
        depends_on=[hidden, "key.place"],
    )["memory_id"]

    told = done(office.senior.get(f"/memories/{memory_id}"))

    assert (told["links"], told["depends_on"]) == ([], ["key.place"])
    assert hidden not in str(told)
    assert done(office.reviewer.get(f"/memories/{memory_id}"))["depends_on"] == [
        hidden,
        "key.place",
    ]


@pytest.mark.rule("VI-02", "WR-07")
def test_absorbed_text_is_shown_to_nobody_new(office):
    public = kept(office.agent, SAID)
    private = remember(office.watcher, SAID.lower(), visibility="private")

    assert private["memory_id"] != public
    history = done(office.colleague.get(f"/memories/{public}/history"))
    assert SAID.lower() not in str(history)
    refused(office.colleague.get(f"/memories/{private['memory_id']}"), 404, "not_found")


@pytest.mark.rule("VI-02", "SU-18")
def test_the_one_predicate_of_search_and_of_reading_agree(office):
    """What the candidate functions give out is what the policies let through, for everybody."""
    for number, (place, _) in enumerate(READERS.values()):
        kept(office.senior, f"Note {number}: {SAID}", **place)
    old = kept(office.reviewer, "Hermes 1.", project="hermes")
    remember(office.reviewer, "Hermes 2.", project="hermes", links=replacing(old))

    for name in PEOPLE[:-1]:
        person = getattr(office, name)
        with acting_as(person.caller), connection.cursor() as cursor:
            cursor.execute(
                "SELECT memory_id FROM worded_memories('note | hermes', 'everything', NULL, "
                "'{live,superseded}', true, NULL, 100)"
            )
            found = {one for (one,) in cursor.fetchall()}
            cursor.execute("SELECT id FROM memories")
            assert found == {one for (one,) in cursor.fetchall()}, name
