"""The admin: who gets in, what they see, what they may change, and what never shows."""

import re
import uuid

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver

from tenants.founding import grant, seat
from tenants.ids import Prefix, wire_id
from tests.admin_login import PASSWORD, log_in_as, logged_in
from tests.people import WRITE

FEED = "/admin/memory/memory/"
XSS = "<script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}"


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    """Hash quickly: what is slow on purpose would be most of these tests' time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def remember(person, content, **more):
    answer = person.post("/memories", {"content": content, "project": "apollo", **more})
    assert answer.status_code in (200, 201), answer.content
    return answer.json()["memory_id"]


def page_of(memory_id):
    return f"{FEED}{memory_id}/change/"


def found(pattern, text):
    """Return what the pattern finds: its group, or all of it."""
    match = re.search(pattern, text)
    assert match is not None, f"no {pattern} in the page"
    return match[match.re.groups]


def events(tenant, command):
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT reason FROM events WHERE tenant_id = %s AND command = %s", [tenant.id, command]
        )
        return [reason for (reason,) in cursor.fetchall()]


class TestTheFeed:
    @pytest.mark.rule("HI-02")
    def test_hides_superseded_versions_and_dims_what_was_retired(self, office):
        old = remember(office.senior, "The gateway listens on port 4000.")
        remember(
            office.senior,
            "The gateway listens on port 4100.",
            links=[{"type": "supersedes", "dst": old}],
        )
        gone = remember(office.senior, "The parrot is called Kepler.")
        office.senior.post(f"/memories/{gone}/forget", {"reason": "it flew away"})

        client = logged_in(office.senior)
        shown = client.get(FEED).content.decode()

        assert "port 4100" in shown
        assert "port 4000" not in shown
        assert found(r'<li class="pl-line pl-dimmed">\s*<a[^>]*>The parrot', shown)
        counts = dict(re.findall(r'data-lifecycle="(\w+)">\w+ <span>(\d+)</span>', shown))
        assert counts == {
            "current": "2",
            "live": "1",
            "superseded": "1",
            "retired": "1",
            "expired": "0",
            "all": "3",
        }
        assert "port 4000" in client.get(FEED, {"lifecycle": "superseded"}).content.decode()

    def test_is_narrowed_by_every_filter_and_by_words(self, office):
        remember(office.senior, "Deploys happen on Tuesdays.", kind="convention", tags=["ops"])
        remember(office.agent, "The parrot is called Kepler.")
        client = logged_in(office.senior)

        def seen(**query):
            text = client.get(FEED, query).content.decode()
            return ("Tuesdays" in text, "Kepler" in text)

        agent_id = wire_id(Prefix.AGENT, office.agent.agent.id)
        assert seen() == (True, True)
        assert seen(kind="convention") == (True, False)
        assert seen(tag="ops") == (True, False)
        assert seen(author=agent_id) == (False, True)
        assert seen(author=wire_id(Prefix.MEMBER, office.senior.member.id)) == (True, False)
        assert seen(project=wire_id(Prefix.PROJECT, office.apollo.id)) == (True, True)
        assert seen(project=wire_id(Prefix.PROJECT, office.hermes.id)) == (False, False)
        assert seen(visibility="private") == (False, False)
        assert seen(trust="verified") == (True, True)
        assert seen(trust="proposed") == (False, False)
        assert seen(q="parrot") == (False, True)
        assert seen(q="mem_nonsense") == (False, False)

    def test_survives_nonsense_in_its_query(self, office):
        client = logged_in(office.senior)
        for name in (
            "lifecycle",
            "q",
            "kind",
            "project",
            "visibility",
            "trust",
            "author",
            "tag",
            "before",
            "after",
        ):
            for value in ("\0", "'\"--", "prj_zzz", "9" * 5000, "%", "\ud7ff\u202e", "None"):
                assert client.get(FEED, {name: value}).status_code == 200, (name, value)

    def test_goes_page_by_page_both_ways(self, office, monkeypatch):
        monkeypatch.setattr("memory.feed.PER_PAGE", 2)
        for number in range(5):
            remember(office.senior, f"Shelf {number} holds item {number * 7919}.")
        client = logged_in(office.senior)

        def shelves(answer):
            return re.findall(r"Shelf (\d) holds", answer.content.decode())

        def follow(answer, word):
            link = found(rf'href="(\?[^"]*)">[^<]*{word}', answer.content.decode())
            return client.get(FEED + link.replace("&amp;", "&"))

        first = client.get(FEED)
        second = follow(first, "Older")
        third = follow(second, "Older")
        assert [shelves(page) for page in (first, second, third)] == [["4", "3"], ["2", "1"], ["0"]]
        assert shelves(follow(third, "Newer")) == ["2", "1"]
        assert "Newer" not in first.content.decode()


class TestAMemorysPage:
    @pytest.mark.rule("HI-01")
    def test_draws_the_whole_chain_with_reasons(self, office):
        ids = [remember(office.senior, "The port is 1000.")]
        for number in (2000, 3000):
            ids.append(
                remember(
                    office.senior,
                    f"The port is {number}.",
                    links=[{"type": "supersedes", "dst": ids[-1]}],
                )
            )
        client = logged_in(office.senior)

        for memory_id in ids:
            shown = client.get(page_of(memory_id)).content.decode()
            chain = shown[shown.index('class="pl-chain"') :]
            assert [f"The port is {n}." in chain for n in (1000, 2000, 3000)] == [True] * 3
            assert chain.count('pl-step-what">Superseded') == 2
            assert chain.count("pl-version pl-superseded") == 2
            assert chain.count("(declared)") == 2

    def test_keeps_white_space_and_spells_out_what_deceives(self, office):
        memory_id = remember(office.senior, "one\n\ttwo   three \u202eevil")
        shown = logged_in(office.senior).get(page_of(memory_id)).content.decode()
        assert "one\n\ttwo   three \\u{202e}evil" in shown
        assert "\u202e" not in shown

    def test_lets_who_may_forget_and_restore_and_nobody_else(self, office):
        memory_id = remember(office.senior, "The parrot is called Kepler.")
        senior, viewer = logged_in(office.senior), logged_in(office.viewer)

        assert "Forget it" in senior.get(page_of(memory_id)).content.decode()
        assert "Forget it" not in viewer.get(page_of(memory_id)).content.decode()
        answer = viewer.post(f"{FEED}{memory_id}/forget/", {"reason": "no"}, follow=True)
        assert "Only its owner, a reviewer" in answer.content.decode()
        assert office.senior.get(f"/memories/{memory_id}").json()["lifecycle"] == "live"

        unreasoned = senior.post(f"{FEED}{memory_id}/forget/", {"reason": ""}, follow=True)
        assert "reason" in unreasoned.content.decode()
        assert office.senior.get(f"/memories/{memory_id}").json()["lifecycle"] == "live"

        senior.post(f"{FEED}{memory_id}/forget/", {"reason": "it flew away"})
        assert office.senior.get(f"/memories/{memory_id}").json()["lifecycle"] == "retired"
        shown = senior.get(page_of(memory_id)).content.decode()
        assert "it flew away" in shown
        assert "Restore it" in shown
        again = senior.post(f"{FEED}{memory_id}/forget/", {"reason": "again"}, follow=True)
        assert "It is not live any more" in again.content.decode()
        senior.post(f"{FEED}{memory_id}/restore/", {"reason": ""})
        assert office.senior.get(f"/memories/{memory_id}").json()["lifecycle"] == "live"
        assert events(office.tenant, "forget") == ["it flew away"]

    def test_lets_a_reviewer_forget_what_a_senior_wrote(self, office):
        memory_id = remember(office.senior, "The parrot is called Kepler.")
        office.contractor  # noqa: B018  seated
        logged_in(office.reviewer).post(f"{FEED}{memory_id}/forget/", {"reason": "checked"})
        assert office.senior.get(f"/memories/{memory_id}").json()["lifecycle"] == "retired"

    def test_closes_a_loop(self, office):
        memory_id = remember(office.senior, "Renew the certificate.", kind="task")
        client = logged_in(office.senior)
        assert "Close it" in client.get(page_of(memory_id)).content.decode()
        client.post(f"{FEED}{memory_id}/close/", {"reason": "done"})
        assert office.senior.get(f"/memories/{memory_id}").json()["invalidated_reason"] == "closed"

    @pytest.mark.rule("T131", "T208")
    def test_runs_nothing_of_what_is_written(self, office):
        memory_id = remember(
            office.senior,
            XSS,
            tags=["<b>tag</b>\"'onclick=alert(1)"],
            session="<i>session</i>",
            source={"kind": "web", "uri": "javascript:alert(3)"},
            components=[{"subject": "a.b", "value": "<u>value</u>"}],
        )
        remember(office.senior, f"after {XSS}", links=[{"type": "supersedes", "dst": memory_id}])
        client = logged_in(office.senior)
        client.post(f"{FEED}{memory_id}/restore/", {"reason": "<s>reason</s>"})
        for path in (FEED, f"{FEED}?lifecycle=all", page_of(memory_id), "/admin/"):
            answer = client.get(path)
            shown = answer.content.decode()
            for raw in (
                "<script>alert",
                "<img src=x",
                "<b>tag",
                "<i>session",
                "<u>value",
                "<s>reason",
                'href="javascript',
            ):
                assert raw not in shown, (path, raw)
            assert "script-src 'self' 'unsafe-eval'" in answer["Content-Security-Policy"]
            assert not re.search(r"<script(?![^>]*\bsrc=)", shown), path


class TestSight:
    @pytest.mark.rule("VI-06")
    def test_is_what_row_level_security_says(self, office):
        private = office.senior.post("/memories", {"content": "canary-private-note"}).json()[
            "memory_id"
        ]
        shared = remember(office.senior, "canary-shared-note")

        for person, sees in (
            (office.senior, True),
            (office.reviewer, False),
            (office.admin, False),
        ):
            client = logged_in(person)
            assert ("canary-private" in client.get(FEED).content.decode()) is sees
            assert client.get(page_of(private)).status_code == (200 if sees else 404)
        assert "canary-shared" in logged_in(office.viewer).get(FEED).content.decode()
        for person in (office.outsider, office.admin):
            client = logged_in(person)
            assert "canary-shared" not in client.get(FEED).content.decode()
            assert client.get(page_of(shared)).status_code == 404
            assert client.post(f"{FEED}{shared}/forget/", {"reason": "x"}).status_code == 404

    @pytest.mark.rule("VI-04", "T205")
    def test_another_tenants_things_are_missing_everywhere(self, office, other_office):
        memory_id = remember(other_office.senior, "canary-of-the-others", tags=["canary-tag"])
        other_office.agent  # noqa: B018  seated
        theirs = {
            "memory_id": memory_id,
            Prefix.PROJECT: wire_id(Prefix.PROJECT, other_office.apollo.id),
            Prefix.MEMBER: wire_id(Prefix.MEMBER, other_office.senior.member.id),
            Prefix.AGENT: wire_id(Prefix.AGENT, other_office.agent.agent.id),
            Prefix.TOKEN: wire_id(Prefix.TOKEN, other_office.agent.caller.token_id),
        }
        before = [
            events(other_office.tenant, one) for one in ("forget", "revoke_token", "update_member")
        ]
        clients = [logged_in(office.admin), logged_in(office.reviewer)]
        for client in clients:
            for path in admin_paths():
                for their in theirs.values():
                    named = path.replace("{id}", str(their))
                    for answer in (
                        client.get(named),
                        client.post(named, {"reason": "x", "name": "x"}),
                    ):
                        assert answer.status_code in (302, 403, 404, 405) or "{id}" not in path, (
                            named
                        )
                        assert b"canary" not in answer.content, named
            for query in ("project", "author", "tag", "q", "before", "after"):
                for their in (*theirs.values(), "canary"):
                    assert b"canary-of" not in client.get(FEED, {query: str(their)}).content
        after = [
            events(other_office.tenant, one) for one in ("forget", "revoke_token", "update_member")
        ]
        assert before == after
        assert other_office.senior.get(f"/memories/{memory_id}").json()["lifecycle"] == "live"

    @pytest.mark.rule("T205")
    def test_no_row_of_any_sort_is_led_to_by_its_number(self, office):
        client = logged_in(office.senior)
        for number in range(1, ContentType.objects.using("owner").count() + 2):
            for row in (1, office.senior.member.id, "a/b"):
                assert client.get(f"/admin/r/{number}/{row}/").status_code == 404

    @pytest.mark.rule("T009")
    def test_a_superuser_without_a_seat_sees_a_friendly_page(self, office):
        remember(office.senior, "canary-note")
        root = (
            get_user_model()
            .objects.using("owner")
            .create(username=f"root-{office.slug}", is_superuser=True, is_staff=True, password="!")
        )
        client = log_in_as(root.pk, root.username)
        for path in ("/admin/", FEED, "/admin/tenants/token/"):
            answer = client.get(path)
            assert answer.status_code == 200
            assert "You have no seat here" in answer.content.decode()
            assert b"canary" not in answer.content
        assert client.post("/admin/tenants/token/add/", {}).status_code == 403

    def test_whoever_is_put_out_is_out_at_once(self, office):
        client = logged_in(office.colleague)
        assert "You have no seat" not in client.get("/admin/").content.decode()
        type(office.colleague.member).objects.using("owner").filter(
            pk=office.colleague.member.pk
        ).update(active=False)
        assert "You have no seat" in client.get("/admin/").content.decode()

    def test_somebody_with_two_seats_changes_between_them(self, office, other_office):
        remember(office.senior, "canary-at-home")
        remember(other_office.senior, "canary-abroad")
        client = logged_in(office.senior)
        second = seat(other_office.tenant, office.senior.member.username, "senior abroad")
        grant(second, other_office.apollo, WRITE)
        for wanted, shown, hidden in (
            (office.senior.member, "canary-at-home", "canary-abroad"),
            (second, "canary-abroad", "canary-at-home"),
        ):
            client.post("/admin/seat/", {"seat": wire_id(Prefix.MEMBER, wanted.id)})
            text = client.get(FEED).content.decode()
            assert shown in text
            assert hidden not in text
        client.post("/admin/seat/", {"seat": wire_id(Prefix.MEMBER, other_office.senior.member.id)})
        assert "canary-abroad" in client.get(FEED).content.decode(), "another's seat is not taken"


def admin_paths():
    """Return every path of the admin, with {id} where it takes one."""
    routes = []
    of_the_site = [
        one for one in get_resolver().url_patterns if getattr(one, "app_name", "") == "admin"
    ]
    for pattern in getattr(of_the_site[0], "url_patterns", []):
        inner = getattr(pattern, "url_patterns", [pattern])
        prefix = "" if inner == [pattern] else str(pattern.pattern)
        routes += [f"/admin/{prefix}{one.pattern}" for one in inner]
    paths = [re.sub(r"<[^>]*>", "{id}", path) for path in routes]
    kept = [
        path
        for path in paths
        if "login" not in path
        and "invitation" not in path
        and "logout" not in path
        and "(?P" not in path
    ]
    assert len(kept) > 25, kept
    extra = [
        "delete/",
        "history/",
        "{id}/delete/",
        "{id}/history/",
        "{id}/",
        "?_popup=1&_to_field=id",
    ]
    kept += [f"{FEED}{one}" for one in extra]
    kept += [
        "/admin/autocomplete/?app_label=memory&model_name=link&field_name=src&term=canary",
        "/admin/r/9/{id}/",
    ]
    return kept


class TestAdministration:
    def test_is_for_administrators_alone(self, office):
        paths = [f"/admin/tenants/{one}/" for one in ("project", "member", "agent", "token")]
        paths += [f"{path}add/" for path in paths]
        admin, senior = logged_in(office.admin), logged_in(office.senior)
        assert {admin.get(path).status_code for path in paths} == {200}
        assert {senior.get(path).status_code for path in paths} == {403}
        assert {senior.post(path, {"name": "x"}).status_code for path in paths} == {403}
        assert "/admin/tenants/token/" in admin.get("/admin/").content.decode()
        assert "/admin/tenants/token/" not in senior.get("/admin/").content.decode()

    def test_makes_and_renames_a_project_by_operations(self, office):
        client = logged_in(office.admin)
        made = client.post("/admin/tenants/project/add/", {"name": "Zeus", "slug": "zeus"})
        assert made.status_code == 302
        project_page = made["Location"]
        taken = client.post("/admin/tenants/project/add/", {"name": "Zeus", "slug": "zeus"})
        assert "another project of the tenant has it" in taken.content.decode()
        bad = client.post("/admin/tenants/project/add/", {"name": "Zeus", "slug": "Not a slug"})
        assert "Lower-case letters" in bad.content.decode()
        client.post(project_page, {"name": "Zeus II", "slug": "zeus"})
        assert "Zeus II" in client.get("/admin/tenants/project/").content.decode()
        assert len(events(office.tenant, "create_project")) == 1
        assert len(events(office.tenant, "update_project")) == 1
        client.post(project_page.replace("change/", "archive/"), {"archived": "yes"})
        assert "archived" in client.get("/admin/tenants/project/").content.decode()

    def test_grants_and_withdraws_by_the_matrix(self, office):
        remember(office.senior, "canary-note")
        outsider = logged_in(office.outsider)
        admin = logged_in(office.admin)
        member = wire_id(Prefix.MEMBER, office.outsider.member.id)
        key = f"{member}:{wire_id(Prefix.PROJECT, office.apollo.id)}"
        assert "canary" not in outsider.get(FEED).content.decode()

        admin.post(
            f"/admin/tenants/member/{member}/permissions/",
            {"row": key, f"was:{key}": "", key: ["see"]},
        )
        assert "canary" in outsider.get(FEED).content.decode()
        shown = admin.get(f"/admin/tenants/member/{member}/change/").content.decode()
        assert f'name="{key}" value="see" aria-label="Apollo: see" checked' in shown
        admin.post(
            f"/admin/tenants/project/{wire_id(Prefix.PROJECT, office.apollo.id)}/permissions/",
            {"row": key, f"was:{key}": "see "},
        )
        assert "canary" not in outsider.get(FEED).content.decode()

    def test_shows_an_invitation_once_and_its_holder_chooses_a_password(self, office):
        client = logged_in(office.admin)
        username = f"new-{office.slug}"
        made = client.post(
            "/admin/tenants/member/add/",
            {"username": username, "name": "New", "role": "member", "level": "Senior"},
        )
        link = found(r"http://testserver(/admin/invitation/[^<]*)<", made.content.decode())
        assert "no-store" in made["Cache-Control"]

        guest = Client()
        form = guest.get(link, follow=True)
        choose = form.redirect_chain[-1][0]
        weak = guest.post(choose, {"new_password1": "short", "new_password2": "short"})
        assert weak.status_code == 200
        done = guest.post(choose, {"new_password1": PASSWORD, "new_password2": PASSWORD})
        assert done["Location"] == "/admin/login/"
        user = get_user_model().objects.using("owner").get(username=username)
        log_in_as(user.pk, username, client=guest)
        assert "Overview" in guest.get("/admin/").content.decode()
        assert "This invitation is over" in Client().get(link, follow=True).content.decode()

    def test_changes_a_member_and_keeps_the_last_administrator(self, office):
        client = logged_in(office.admin)
        path = (
            f"/admin/tenants/member/{wire_id(Prefix.MEMBER, office.contractor.member.id)}/change/"
        )
        client.post(
            path, {"name": "contractor", "role": "member", "level": "Senior", "active": "on"}
        )
        assert office.contractor.get("/whoami").json()["level"] == 30
        own = f"/admin/tenants/member/{wire_id(Prefix.MEMBER, office.admin.member.id)}/change/"
        answer = client.post(
            own, {"name": "admin", "role": "member", "level": "Senior", "active": "on"}
        )
        assert "no other active administrator" in answer.content.decode()

    @pytest.mark.rule("T052")
    def test_shows_a_token_once_and_keeps_it_nowhere(self, office, caplog):
        office.agent  # noqa: B018  seated
        client = logged_in(office.admin)
        made = client.post(
            "/admin/tenants/token/add/",
            {
                "name": "for the builds",
                "kind": "agent",
                "agent": wire_id(Prefix.AGENT, office.agent.agent.id),
                "scopes": ["memory:read"],
                "lifetime": "30",
            },
        )
        token = found(r"plm_[0-9A-Za-z]{36}", made.content.decode())
        assert "no-store" in made["Cache-Control"]
        assert (
            Client().get("/api/v1/whoami", headers={"Authorization": f"Bearer {token}"}).status_code
            == 200
        )

        token_page = found(r'data-onward="([^"]*)"', made.content.decode())
        for path in ("/admin/", "/admin/tenants/token/", token_page):
            assert token not in client.get(path).content.decode()
        assert token not in str(dict(client.session)) + str(client.cookies) + caplog.text

        rotated = client.post(token_page.replace("change/", "rotate/"))
        newer = found(r"plm_[0-9A-Za-z]{36}", rotated.content.decode())
        assert newer != token
        assert (
            Client().get("/api/v1/whoami", headers={"Authorization": f"Bearer {token}"}).status_code
            == 401
        )
        newer_page = found(r'data-onward="([^"]*)"', rotated.content.decode())
        client.post(newer_page.replace("change/", "revoke/"))
        assert (
            Client().get("/api/v1/whoami", headers={"Authorization": f"Bearer {newer}"}).status_code
            == 401
        )
        assert "revoked" in client.get(newer_page).content.decode()

    def test_gives_no_token_that_reaches_further(self, office):
        client = logged_in(office.senior)
        answer = client.post(
            "/admin/tenants/token/add/", {"name": "x", "kind": "human", "scopes": ["review"]}
        )
        assert answer.status_code in (403, 404)
        assert "plm_" not in answer.content.decode()

    def test_makes_and_changes_an_agent(self, office):
        office.colleague  # noqa: B018  seated
        client = logged_in(office.admin)
        said = {
            "name": f"crow-{office.slug}",
            "project": wire_id(Prefix.PROJECT, office.apollo.id),
            "sponsor": wire_id(Prefix.MEMBER, office.colleague.member.id),
            "level": "Senior",
        }
        made = client.post("/admin/tenants/agent/add/", said)
        assert made.status_code == 302, made.content.decode()
        shown = client.get(made["Location"]).content.decode()
        assert said["name"] in shown
        client.post(made["Location"], {**said, "level": "Contractor"})
        assert "Contractor (10)" in client.get("/admin/tenants/agent/").content.decode()

    def test_writes_no_log_of_djangos(self, office):
        client = logged_in(office.admin)
        client.post("/admin/tenants/project/add/", {"name": "Zeus", "slug": "zeus"})
        assert LogEntry.objects.using("owner").count() == 0
        assert "Recent actions" not in client.get("/admin/").content.decode()


class TestCost:
    def test_a_page_takes_as_many_statements_for_many_memories_as_for_few(self, office):
        client = logged_in(office.senior)
        counts: dict[str, list[int]] = {}
        last = remember(office.senior, "The first shelf is empty.")
        for few in (2, 12):
            while len(client.get(FEED).content.decode().split('class="pl-line')) <= few:
                last = remember(
                    office.senior, f"Shelf {uuid.uuid4().hex} is empty.", tags=["shelf"]
                )
            for path in (FEED, "/admin/", page_of(last)):
                with CaptureQueriesContext(connection) as said:
                    assert client.get(path).status_code == 200
                kind = "page" if path == page_of(last) else path
                counts.setdefault(kind, []).append(len(said))
        assert all(few == many for few, many in counts.values()), counts
