"""The record for administrators: GET /audit, and the page in the admin."""

import base64
import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tenants.audit import record
from tenants.context import acting_as
from tenants.ids import Prefix, wire_id
from tests.admin_login import logged_in
from tests.people import ALL_SCOPES, SEE, WRITE
from tests.test_admin import XSS, remember

AUDIT = "/admin/tenants/event/"


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def told(person, **query):
    answer = person.get("/audit", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def commands(person, **query):
    return [event["command"] for event in told(person, **query)["results"]]


def administered(office, count=1):
    return [
        office.admin.post("/projects", {"slug": f"p{uuid.uuid4().hex[:8]}", "name": "P"}).json()[
            "id"
        ]
        for _ in range(count)
    ]


@pytest.mark.rule("HI-03")
def test_tells_who_did_what_to_what_newest_first(office):
    (project,) = administered(office)
    office.admin.patch(f"/projects/{project}", {"name": "Renamed"})
    newest, older = told(office.admin)["results"][:2]
    assert [newest["command"], older["command"]] == ["update_project", "create_project"]
    assert newest["object"] == {"type": "project", "id": project}
    assert newest["actor"] == {
        "id": wire_id(Prefix.MEMBER, office.admin.member.id), "name": "admin", "type": "member"
    }  # fmt: skip
    assert newest["token"] == wire_id(Prefix.TOKEN, office.admin.caller.token_id)
    assert (newest["before"]["name"], newest["after"]["name"]) == ("P", "Renamed")
    assert newest["request_id"]
    assert newest["id"].startswith("evt_")
    assert newest["at"] >= older["at"]


@pytest.mark.rule("HI-03")
def test_tells_of_what_is_no_memory_under_its_own_id_too(office):
    export = office.admin.post("/export", {}).json()["id"]
    (event,) = told(office.admin, object=export)["results"]
    assert event["object"] == {"type": "transfer", "id": export}
    assert event["command"] == "start_export"


@pytest.mark.rule("HI-03")
def test_tells_of_a_certificate_under_its_own_id(office):
    certificate = uuid.uuid4()
    with acting_as(office.admin.caller):
        record("certify_judge", "certificate", certificate)
    (event,) = told(office.admin, object=wire_id(Prefix.CERTIFICATE, certificate))["results"]
    assert event["object"]["id"] == wire_id(Prefix.CERTIFICATE, certificate)


@pytest.mark.rule("HI-03", "T171")
def test_narrows_by_actor_command_object_and_time(office):
    first, second = administered(office, 2)
    office.admin.patch(f"/projects/{first}", {"name": "Renamed"})
    admin = wire_id(Prefix.MEMBER, office.admin.member.id)
    assert commands(office.admin, object=first) == ["update_project", "create_project"]
    assert commands(office.admin, object=second) == ["create_project"]
    assert commands(office.admin, command="update_project") == ["update_project"]
    assert told(office.admin, actor=admin)["count"] == 3
    assert commands(office.admin, actor=admin, command="create_project", object=first) == [
        "create_project"
    ]
    assert told(office.admin, actor=wire_id(Prefix.AGENT, office.agent.agent.id))["count"] == 0
    now = datetime.now(UTC)
    later = (now + timedelta(hours=1)).isoformat()
    assert told(office.admin, since=later) == {"results": [], "next": None, "count": 0}
    assert told(office.admin, since=(now - timedelta(hours=1)).isoformat())["count"] == 3


@pytest.mark.rule("HI-03")
def test_comes_page_by_page_and_a_new_event_shifts_nothing(office):
    made = administered(office, 5)
    seen, cursor = [], None
    while True:
        page = told(office.admin, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [event["object"]["id"] for event in page["results"]]
        administered(office) if cursor is None else None
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == list(reversed(made))


@pytest.mark.rule("T171", "VI-02", "VI-06")
def test_an_administrator_reads_only_what_row_level_security_lets_them(office, other_office):
    administered(office)
    administered(other_office)
    hidden = remember(office.senior, "canary-in-apollo")
    office.senior.post("/memories", {"content": "canary-private"})
    remember(other_office.senior, "canary-abroad")
    mine = told(office.admin, limit=200)
    assert [event["command"] for event in mine["results"]] == ["create_project"]
    assert mine["count"] == 1
    assert told(office.admin, object=hidden)["count"] == 0
    theirs = told(other_office.admin)["results"][0]
    for wanted in (theirs["object"]["id"], theirs["id"], theirs["actor"]["id"]):
        answer = office.admin.get("/audit", {"object": wanted})
        assert answer.json() == {"results": [], "next": None, "count": 0}
    seeing = office.person(
        "seeing",
        role="admin",
        grants=[(office.apollo, SEE)],
        scopes=ALL_SCOPES,
    )
    assert commands(seeing, object=hidden) == ["remember"]
    assert b"canary-private" not in seeing.get("/audit", {"limit": 200}).content


@pytest.mark.rule("T171")
def test_no_number_of_the_servers_shows(office, other_office):
    """The server's own sequence counts what every tenant does."""
    administered(office, 3)
    first = office.admin.get("/audit", {"limit": 1})
    assert "sequence" not in first.content.decode()
    with connection.cursor() as cursor, acting_as(office.admin.caller):
        cursor.execute("SELECT max(sequence) FROM events")
        (sequence,) = cursor.fetchone()
    payload = first.json()["next"].split(":")[0]
    decoded = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    assert str(sequence).encode() not in decoded.split(b'"')
    cursor = first.json()["next"]
    assert other_office.admin.get("/audit", {"cursor": cursor}).status_code == 400


@pytest.mark.rule("HI-03")
@pytest.mark.parametrize("who", ["senior", "reviewer", "agent", "viewer", "contractor"])
def test_is_for_administrators_alone(office, who):
    assert getattr(office, who).get("/audit").status_code == 403
    if who == "senior":
        scoped = office.person("scoped", scopes=ALL_SCOPES)
        answer = scoped.get("/audit")
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("actor", "senior"), ("actor", "prj_01h455vb4pex5vsknk084sn02q"), ("object", "mem_x"),
        ("object", "x" * 5000), ("since", "yesterday"), ("since", "2026-01-01"), ("command", ""),
        ("command", "a\0b"), ("cursor", "x"), ("limit", "0"), ("limit", "201"), ("who", "x"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_by_name(office, field, value):
    answer = office.admin.get("/audit", {field: value})
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in answer.json()["errors"]] == [field]


class TestThePage:
    def shown(self, client, **query):
        answer = client.get(AUDIT, query)
        assert answer.status_code == 200
        return answer.content.decode()

    def count(self, client, **query):
        found = re.search(r'id="audit-count">(\d+) event', self.shown(client, **query))
        assert found is not None
        return int(found[1])

    @pytest.mark.rule("HI-03")
    def test_lists_counts_narrows_and_leads_to_the_thing(self, office):
        first, _ = administered(office, 2)
        office.admin.patch(f"/projects/{first}", {"name": "Renamed"})
        client = logged_in(office.admin)
        page = self.shown(client)
        assert f'href="/admin/tenants/project/{first}/change/"' in page
        assert client.get(f"/admin/tenants/project/{first}/change/").status_code == 200
        assert "create_project (2)" in page
        assert self.count(client) == 3
        assert self.count(client, command="update_project") == 1
        assert self.count(client, object=first) == 2
        assert self.count(client, actor=wire_id(Prefix.MEMBER, office.admin.member.id)) == 3
        assert self.count(client, actor=wire_id(Prefix.MEMBER, office.senior.member.id)) == 0
        assert self.count(client, q="nothing says this") == 0
        assert self.count(client, object="nonsense") == 0
        assert self.count(client, period="day", command="create_project", object=first) == 1

    @pytest.mark.rule("HI-03")
    def test_searches_reasons_and_requests(self, office):
        with acting_as(office.admin.caller):
            record("test", "thing", uuid.uuid4(), reason="because of the Flood of 2026")
        (project,) = administered(office)
        client = logged_in(office.admin)
        assert self.count(client, q="flood OF") == 1
        request = told(office.admin, object=project)["results"][0]["request_id"]
        assert self.count(client, q=request) == 1

    @pytest.mark.rule("T208")
    def test_shows_texts_as_texts(self, office):
        admin = office.person("seer", role="admin", grants=[(office.apollo, WRITE)])
        memory = remember(office.senior, f"The parrot {XSS}")
        office.senior.post(f"/memories/{memory}/forget", {"reason": XSS})
        page = self.shown(logged_in(admin))
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page
        assert "onerror=alert(2)>" not in page

    def test_tells_only_what_an_event_says_is_changed(self, office):
        """What stands before and not after is not gone: nothing was said of it."""
        admin = office.person("seer", role="admin", grants=[(office.apollo, WRITE)])
        memory = remember(office.watcher, "The kettle was seen.")
        answer = office.reviewer.post(f"/memories/{memory}/accept", {"reason": "I saw it, too."})
        office.reviewer.post(f"/batches/{answer.json()['batch']}/undo")
        page = self.shown(logged_in(admin), object=memory, command="undo_batch")
        assert "trust_state" in page
        assert "nothing" not in page
        assert "lifecycle</" not in page

    @pytest.mark.rule("T205", "VI-06", "VI-04")
    def test_is_for_administrators_of_this_tenant(self, office, other_office):
        administered(office)
        (theirs,) = administered(other_office)
        for person in (office.senior, office.reviewer):
            assert logged_in(person).get(AUDIT).status_code == 403
            assert AUDIT not in logged_in(person).get("/admin/").content.decode()
        client = logged_in(office.admin)
        assert AUDIT in client.get("/admin/").content.decode()
        assert theirs not in self.shown(client, period="all")
        assert self.count(client, object=theirs) == 0
        assert client.post(AUDIT).status_code == 405

    def test_takes_as_many_statements_for_many_events_as_for_few(self, office):
        client = logged_in(office.admin)
        self.shown(client)
        said = []
        for count in (2, 20):
            administered(office, count)
            with CaptureQueriesContext(connection) as queries:
                self.shown(client)
            said.append(len(queries))
        assert said[0] == said[1]
