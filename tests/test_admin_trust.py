"""Trust in the admin: what needs verification, looking, subjects, rules of projects, and pushes."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.models import Change, Memory, Verification
from memory.subject_map import subject_map
from tenants.context import acting_as
from tenants.ids import Prefix, new_id, read_id, wire_id
from tenants.models import Project
from tests.admin_login import logged_in
from tests.dirty import at, reported, states, trust, verified
from tests.memories import done, kept, replacing, seen
from tests.test_review_intervals import recalled_often

MEMORIES = "/admin/memory/memory/"
NEEDS, SUBJECTS, CHANGES = (
    f"{MEMORIES}needs-verification/",
    f"{MEMORIES}subjects/",
    f"{MEMORIES}changes/",
)
PUSHES = "/admin/memory/pushsource/"
XSS = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>{{7*7}}"


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    """Hash quickly: what is slow on purpose would be most of these tests' time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def shown(client, path, **query):
    answer = client.get(path, query)
    assert answer.status_code == 200, (path, query, answer.status_code)
    return answer.content.decode()


def rules_of(office):
    return f"/admin/tenants/project/{wire_id(Prefix.PROJECT, office.apollo.id)}/rules/"


def apollo(office):
    return wire_id(Prefix.PROJECT, office.apollo.id)


def counts(text):
    return {
        name: int(count)
        for name, count in re.findall(r'data-why="(\w+)">[^<]*<span>(\d+)</span>', text)
    }


def listed(text):
    return re.findall(r'class="pl-preview" href="[^"]*/(mem_\w+)/change/"', text)


def told(answer):
    return " ".join(str(message) for message in answer.context["messages"])


def press(client, path, **said):
    answer = client.post(path, said, follow=True)
    assert answer.status_code == 200, (path, answer.status_code)
    return told(answer)


def looked(memory):
    """Return how often somebody looked at the memory."""
    key = read_id(Prefix.MEMORY, memory)
    return Verification.objects.using("owner").filter(memory_id=key).count()


def dirty_host(person, value="Dublin", subject="deployment.host"):
    """Return a memory that states a value, and is dirty."""
    memory = states(person, subject, value)
    reported(person, subject, "moved to Frankfurt")
    return memory


class TestWhatNeedsVerification:
    @pytest.mark.rule("VE-06")
    def test_tells_why_what_was_last_seen_and_how_often_it_was_recalled(self, office):
        seldom = dirty_host(office.senior, "Dublin")
        often = states(office.senior, "build.command", "make all")
        verified(office.senior, often, components=["build.command"], observed_value="make all")
        reported(office.senior, "build.command", "the Makefile is gone")
        recalled_often(often, 12)
        client = logged_in(office.senior)

        text = shown(client, NEEDS)

        assert listed(text) == [often, seldom]
        assert "the Makefile is gone" in text
        assert "recalled 12 times" in text
        assert re.search(r'last verified as <span dir="auto">make all</span>', text)
        assert 'pl-doubted"><span class="pl-code">deployment.host' in text

    def test_counts_and_narrows_by_why_kind_project_and_words(self, office):
        moved = dirty_host(office.senior)
        base = kept(office.senior, "The base image is Debian.", project="apollo")
        built = kept(
            office.senior, "The worker runs on the base image.", project="apollo", depends_on=[base]
        )
        kept(
            office.senior,
            "The base image is Alpine.",
            project="apollo",
            links=replacing(base),
        )
        due = kept(office.senior, "The lease ends in May.", project="apollo", kind="reference")
        Memory.objects.using("owner").filter(id=read_id(Prefix.MEMORY, due)).update(
            review_after=timezone.now() - timedelta(days=1),
            created_at=timezone.now() - timedelta(days=9),
        )
        client = logged_in(office.senior)

        assert counts(shown(client, NEEDS)) == {
            "all": 3,
            "moved": 1,
            "built_on": 1,
            "misled": 0,
            "overdue": 1,
        }
        for query, expected in (
            ({"why": "moved"}, {moved}),
            ({"why": "built_on"}, {built}),
            ({"why": "overdue"}, {due}),
            ({"kind": "reference"}, {due}),
            ({"project": apollo(office)}, {moved, built, due}),
            ({"project": wire_id(Prefix.PROJECT, office.hermes.id)}, set()),
            ({"project": "none"}, set()),
            ({"q": "lease"}, {due}),
            ({"q": moved}, {moved}),
            ({"why": "moved", "q": "lease"}, set()),
        ):
            assert set(listed(shown(client, NEEDS, **query))) == expected, query

    def test_survives_nonsense_in_its_query(self, office):
        client = logged_in(office.senior)
        for name in ("why", "q", "kind", "project", "p", "only", "under"):
            for value in ("\0", "'\"--", "prj_zzz", "9" * 5000, "%", "\u202e", "None"):
                assert client.get(NEEDS, {name: value}).status_code == 200, (name, value)
                if name != "project":
                    assert client.get(SUBJECTS, {name: value}).status_code == 200, (name, value)

    def test_says_so_when_there_is_nothing(self, office):
        client = logged_in(office.senior)
        assert "Nothing needs verification." in shown(client, NEEDS)
        dirty_host(office.senior)
        assert "Nothing in your sight matches" in shown(client, NEEDS, q="zebra")

    def test_stands_in_the_side_bar_with_its_count(self, office):
        client = logged_in(office.senior)
        for _ in range(2):
            dirty_host(office.senior, subject=f"deployment.host{new_id().hex}")
        entry = re.compile(r"Needs verification\s*</span>(.*?)</a>", re.S)

        def badge(who):
            found = entry.search(shown(who, "/admin/"))
            assert found is not None
            return re.findall(r">\s*(\d+\+?)\s*<", found[1])

        assert badge(client) == ["2"]
        assert badge(logged_in(office.outsider)) == []

    def test_costs_the_same_however_much_there_is(self, office):
        client = logged_in(office.senior)
        shown(client, MEMORIES)
        spent = []
        for number in (1, 12):
            for one in range(number):
                dirty_host(office.senior, subject=f"host{number}.n{one}")
            with CaptureQueriesContext(connection) as said:
                shown(client, NEEDS)
            spent.append(len(said))
        assert spent[0] == spent[1] <= 23, spent


class TestStillSo:
    @pytest.mark.rule("VE-01", "VE-06", "TR-04")
    def test_one_click_is_a_word_and_no_evidence(self, office):
        memory = dirty_host(office.senior)
        path = f"{MEMORIES}{memory}/still-so/"
        client = logged_in(office.contractor)
        assert listed(shown(client, NEEDS)) == [memory]

        said = press(client, path, back="list", here="?why=moved")

        assert "still dirty" in said
        assert trust(office.senior, memory) == "dirty"
        assert "1 left as they were" in press(client, f"{MEMORIES}still-so/", memory=[memory])
        assert trust(office.senior, memory) == "dirty"
        # Who says so without showing anything has said the same, and verified nothing.
        assert 0.5 < seen(office.senior, memory)["evidence_confidence"] < 0.75
        assert press(logged_in(office.colleague), path) == "Verified."
        now = seen(office.senior, memory)
        last = now["verifications"][-1]
        assert (last["outcome"], last["method"]) == ("confirmed", "person")
        assert (last["observed_value"], last["by"]["name"]) == (None, "colleague")
        assert now["evidence_confidence"] > 0.75

    @pytest.mark.rule("VE-06", "DI-07", "RC-07")
    def test_is_offered_where_it_settles_something(self, office):
        """Not to whose word does not count, and of what is suspected to nobody: that is decided."""
        memory = dirty_host(office.senior)
        suspected = kept(office.senior, "It misled people.", project="apollo")
        for person in (office.colleague, office.contractor):
            done(person.post(f"/memories/{suspected}/misled", {"reason": "It was wrong."}))
        dispute = seen(office.senior, suspected)["dispute_id"]

        def offered(person):
            page = shown(logged_in(person), NEEDS)
            return [
                (f"{one}/still-so/" in page, f'value="{one}"' in page, f"{one}/verify/" in page)
                for one in (memory, suspected)
            ]

        assert offered(office.senior) == [(True, True, True), (False, False, True)]
        assert offered(office.contractor) == [(False, False, True), (False, False, True)]
        assert f"{dispute}/change/" in shown(logged_in(office.senior), NEEDS)
        said = press(logged_in(office.senior), f"{MEMORIES}{suspected}/still-so/")
        assert "no look ends a suspicion" in said

    @pytest.mark.rule("VE-06")
    def test_a_bare_word_of_a_lower_level_clears_nothing_and_says_so(self, office):
        memory = kept(
            office.senior, "The hosts are in Dublin.", project="apollo", subjects=["hosts.place"]
        )
        reported(office.senior, "hosts.place")
        path = f"{MEMORIES}{memory}/still-so/"

        assert "still dirty" in press(logged_in(office.contractor), path)
        assert trust(office.senior, memory) == "dirty"
        assert press(logged_in(office.colleague), path) == "Verified."
        assert trust(office.senior, memory) == "verified"

    @pytest.mark.rule("VE-06", "TR-06", "VE-03")
    def test_what_settles_nothing_is_not_called_verified(self, office):
        due = states(office.senior, "lease.end", "May")
        done(office.senior.patch(f"/memories/{due}", {"review_after": at(timezone.now())}))
        captured = states(office.watcher, "queue.broker", "RabbitMQ")
        disputed = states(office.senior, "cache.host", "db-1")
        done(office.colleague.post(f"/memories/{disputed}/challenge", {"reason": "No."}))
        before = at(timezone.now() - timedelta(days=1))
        for person, memory, more, expected in (
            (office.contractor, due, {}, "it vouches for nothing"),
            (office.senior, captured, {}, "stays a proposal"),
            (office.senior, disputed, {}, "stays in conflict"),
            (office.senior, due, {"looked_at": before}, "before it was written"),
            (office.senior, due, {}, "Verified."),
            (office.colleague, captured, {}, "Verified."),
        ):
            said = press(logged_in(person), f"{MEMORIES}{memory}/still-so/", **more)

            assert expected in said, (person.name, said)
            assert ("Verified" in said) == (expected == "Verified.")

    @pytest.mark.rule("VE-03")
    def test_what_moved_after_the_page_was_made_stays_marked(self, office):
        memory = dirty_host(office.senior)
        client = logged_in(office.senior)
        page = shown(client, NEEDS)
        looked_at = _found(r'name="looked_at" value="([^"]+)"', page, 1)
        reported(office.senior, "deployment.host", "and on to Paris")

        said = press(client, f"{MEMORIES}{memory}/still-so/", looked_at=looked_at)

        assert "still dirty" in said
        assert "Paris" in said
        assert trust(office.senior, memory) == "dirty"

    @pytest.mark.rule("VE-02")
    def test_on_the_page_of_a_memory_each_component_has_its_own(self, office):
        memory = kept(
            office.senior,
            "The release is built with make from trunk.",
            project="apollo",
            components=[
                {"subject": "build.command", "value": "make"},
                {"subject": "build.branch", "value": "trunk"},
            ],
        )
        reported(office.senior, "build.command")
        reported(office.senior, "build.branch")
        client = logged_in(office.senior)
        page = shown(client, f"{MEMORIES}{memory}/change/")
        assert 'aria-label="Still so: build.command"' in page

        path = f"{MEMORIES}{memory}/still-so/"
        assert "still dirty" in press(client, path, subject="build.command")
        dirty = {one["subject"]: one["dirty"] for one in seen(office.senior, memory)["components"]}
        assert dirty == {"build.command": False, "build.branch": True}
        assert press(client, path, subject="build.branch") == "Verified."

    def test_several_at_once(self, office):
        memories = [dirty_host(office.senior, subject=f"host.n{one}") for one in range(3)]
        client = logged_in(office.senior)

        said = press(client, f"{MEMORIES}still-so/", memory=[*memories[:2], "mem_nonsense"])

        assert "2 verified." in said
        assert "1 left as they were" in said
        states_now = [trust(office.senior, one) for one in memories]
        assert states_now == ["verified", "verified", "dirty"]
        assert "Tick what still holds first" in press(client, f"{MEMORIES}still-so/")


class TestLooking:
    @pytest.mark.rule("VE-04")
    def test_not_so_any_more_opens_a_dispute_and_clears_nothing(self, office):
        memory = dirty_host(office.senior)
        client = logged_in(office.senior)

        said = press(
            client,
            f"{MEMORIES}{memory}/verify/",
            outcome="refuted",
            method="person",
            subject="deployment.host",
            observed_value="Frankfurt",
            evidence="The console\r\nsays so",
            back="list",
        )

        assert "waits at the desk" in said
        row = seen(office.senior, memory)
        assert (row["trust_state"], row["lifecycle"]) == ("conflicted", "live")
        last = row["verifications"][-1]
        assert (last["outcome"], last["observed_value"]) == ("refuted", "Frankfurt")
        assert last["evidence"] == "The console\nsays so"

    @pytest.mark.rule("VE-01")
    def test_what_was_seen_and_how_is_kept(self, office):
        memory = dirty_host(office.senior)
        client = logged_in(office.contractor)
        path = f"{MEMORIES}{memory}/verify/"
        found = {"outcome": "confirmed", "method": "command", "observed_value": "Dublin"}

        assert press(client, path, **found, evidence="dig +short") == "Verified."
        assert "nothing else" in press(client, path, outcome="inconclusive", method="file")
        assert "another value" in press(client, path, **{**found, "observed_value": "Rome"})
        assert press(client, path, outcome="no", method="no")
        assert looked(memory) == 2

    def test_suggestions_are_accepted_and_dismissed(self, office):
        memory = kept(office.senior, "The staging database port is 5433.", project="apollo")
        (suggested,) = seen(office.senior, memory)["suggested_components"]
        client = logged_in(office.senior)
        assert f"Accept {suggested['subject']}" in shown(client, f"{MEMORIES}{memory}/change/")
        path = f"{MEMORIES}{memory}/components/{suggested['id']}"

        assert press(client, f"{path}/accept/") == "Accepted."
        (stated,) = seen(office.senior, memory)["components"]
        assert stated["value"] == "5433"
        assert "already" in press(client, f"{path}/dismiss/")

        other = kept(office.senior, "The cache server port is 6379.", project="apollo")
        (suggested,) = seen(office.senior, other)["suggested_components"]
        path = f"{MEMORIES}{other}/components/{suggested['id']}"
        assert press(client, f"{path}/dismiss/") == "Dismissed."
        assert seen(office.senior, other)["suggested_components"] == []

    @pytest.mark.rule("SB-01", "SB-02")
    def test_a_change_is_reported_from_the_page(self, office):
        memory = states(office.senior, "deployment.host", "Dublin")
        client = logged_in(office.colleague)
        said = {"project": apollo(office), "memory": memory, "change_subject": "deployment.host"}

        mention = press(client, CHANGES, **said, summary="talked of it", kind="mention")
        assert mention == "Noted. It marks nothing in your sight."
        assert trust(office.senior, memory) == "verified"
        change = press(client, CHANGES, **said, summary="moved", kind="change")
        assert change == "Noted. 1 memory is marked by it."
        assert trust(office.senior, memory) == "dirty"
        refused = press(client, CHANGES, **{**said, "change_subject": "a..b"}, summary="x", kind="")
        assert "change" in refused or "subject" in refused
        assert Change.objects.using("owner").filter(tenant=office.tenant).count() == 2


class TestWhoMay:
    def test_who_only_sees_gets_no_buttons_and_is_refused(self, office):
        memory = dirty_host(office.senior)
        client = logged_in(office.viewer)
        text = shown(client, NEEDS)
        page = shown(client, f"{MEMORIES}{memory}/change/")

        assert "moved to Frankfurt" in text
        assert listed(text) == [memory]
        assert 'name="memory"' not in text
        assert "Still so" not in text + page
        assert "Something changed" not in page + shown(client, SUBJECTS)
        assert "who writes in its project" in press(client, f"{MEMORIES}{memory}/still-so/")
        assert "not write in it" in press(
            client,
            CHANGES,
            project=apollo(office),
            change_subject="deployment.host",
            summary="moved",
            kind="change",
        )
        assert looked(memory) == 0

    def test_another_tenant_sees_and_does_nothing(self, office, other_office):
        memory = kept(office.senior, "The staging database port is 5433.", project="apollo")
        dirty = dirty_host(office.senior)
        (suggested,) = seen(office.senior, memory)["suggested_components"]
        client = logged_in(other_office.senior)

        assert listed(shown(client, NEEDS)) == []
        assert "deployment" not in shown(client, SUBJECTS).replace(
            "such as deployment", ""
        ).replace('placeholder="deployment.host"', "")
        assert client.get(SUBJECTS, {"project": apollo(office)}).status_code == 404
        for path, said in (
            (f"{dirty}/still-so/", {}),
            (f"{dirty}/verify/", {"outcome": "confirmed", "method": "person"}),
            (f"{memory}/components/{suggested['id']}/accept/", {}),
            (f"{memory}/components/{suggested['id']}/dismiss/", {}),
            (f"{memory}/components/nonsense/accept/", {}),
        ):
            assert client.post(MEMORIES + path, said).status_code == 404, path
        press(client, f"{MEMORIES}still-so/", memory=[dirty])
        press(
            client,
            CHANGES,
            project=apollo(office),
            change_subject="deployment.host",
            summary="moved",
            kind="change",
        )
        assert looked(dirty) == 0
        assert trust(office.senior, dirty) == "dirty"
        assert len(seen(office.senior, memory)["suggested_components"]) == 1

    def test_rules_and_push_sources_are_for_administrators(self, office):
        source = done(
            office.admin.post(
                "/push-sources",
                {
                    "name": "apollo",
                    "project": "apollo",
                    "host": "github",
                    "member": wire_id(Prefix.MEMBER, office.senior.member.id),
                },
            )
        )
        client = logged_in(office.senior)
        for path in (
            PUSHES,
            f"{PUSHES}add/",
            f"{PUSHES}{source['id']}/change/",
            f"{PUSHES}{source['id']}/rotate/",
            f"{PUSHES}{source['id']}/put-out/",
            rules_of(office),
        ):
            assert client.get(path).status_code == 403, path
            assert client.post(path, {}).status_code == 403, path
        assert "Push sources" not in shown(client, "/admin/")
        assert "Push sources" in shown(logged_in(office.admin), "/admin/")

    def test_nothing_is_done_by_looking(self, office):
        memory = dirty_host(office.senior)
        client = logged_in(office.senior)
        for path in ("still-so/", f"{memory}/still-so/", f"{memory}/verify/", "changes/"):
            assert client.get(MEMORIES + path).status_code == 405, path
        assert client.post(NEEDS).status_code == client.post(SUBJECTS).status_code == 405


class TestTheMapOfSubjects:
    @pytest.mark.rule("SB-01")
    def test_is_a_tree_with_what_speaks_and_what_is_dirty(self, office):
        dirty_host(office.senior, subject="deployment.host")
        states(office.senior, "deployment.branch", "main")
        kept(office.senior, "Deploys are fun.", project="apollo", subjects=["deployment", "mood"])
        gone = states(office.senior, "forgotten.thing", "1")
        office.senior.post(f"/memories/{gone}/forget", {"reason": "x"})
        with acting_as(office.senior.caller):
            tree = subject_map(office.apollo.id, timezone.now())
            below = subject_map(office.apollo.id, timezone.now(), under="deployment.host")
            doubted = subject_map(office.apollo.id, timezone.now(), only_dirty=True)

        assert [(one.subject, one.memories, one.dirty) for one in tree.roots] == [
            ("deployment", 3, 1),
            ("mood", 1, 0),
        ]
        assert [(one.name, one.memories, one.dirty) for one in tree.roots[0].below] == [
            ("branch", 1, 0),
            ("host", 1, 1),
        ]
        assert [one.subject for one in below.roots] == ["deployment.host"]
        # However an accent is typed, it is the same.
        states(office.senior, "größe.übung", "1")
        page = shown(
            logged_in(office.senior), SUBJECTS, under="Gro\u0308ße", project=apollo(office)
        )
        assert 'aria-label="1 memory on größe"' in page
        feed = shown(logged_in(office.senior), MEMORIES, subject="Gro\u0308ße")
        assert feed.count('class="pl-preview"') == 1
        assert doubted.shown == 2

        client = logged_in(office.senior)
        page = shown(client, SUBJECTS, project=apollo(office))
        assert 'aria-label="3 memories on deployment"' in page
        found = _found(r'href="([^"]+)" aria-label="1 dirty on deployment.host"', page, 1)
        feed = client.get(found.replace("&amp;", "&")).content.decode()
        assert feed.count('class="pl-preview"') == 1
        feed = shown(client, MEMORIES, subject="deployment")
        assert feed.count('class="pl-preview"') == 3

    def test_leaves_out_the_least_spoken_of_and_says_how_many(self, office, monkeypatch):
        monkeypatch.setattr("memory.subject_map.MOST_SUBJECTS", 3)
        for name in ("a.one", "a.two", "a.two.deep", "b.three"):
            states(office.senior, name, "1")
        with acting_as(office.senior.caller):
            found = subject_map(office.apollo.id, timezone.now())
        assert (found.shown, found.left_out) == (3, 3)
        assert [one.subject for one in found.roots] == ["a", "b"]
        assert "3 more subjects are left out" in shown(logged_in(office.senior), SUBJECTS)

    def test_costs_the_same_however_many_there_are(self, office):
        client = logged_in(office.senior)
        shown(client, MEMORIES)
        spent = []
        for number in (1, 15):
            for one in range(number):
                states(office.senior, f"s{number}.n{one}", "1")
            with CaptureQueriesContext(connection) as said:
                shown(client, SUBJECTS)
            spent.append(len(said))
        assert spent[0] == spent[1] <= 16, spent


class TestRulesOfAProject:
    def test_intervals_and_patterns_are_set_and_taken_out(self, office):
        client = logged_in(office.admin)
        path = rules_of(office)
        assert "../rules/" in shown(client, path.replace("rules/", "change/"))

        said = press(
            client,
            path,
            **{"days:fact": "30", "days:procedure": "90"},
            pattern=["deploy/**", "", "Makefile"],
            subject=["Deployment.Host", "", "build.command"],
        )

        assert said == "Saved."
        project = Project.objects.using("owner").get(id=office.apollo.id)
        assert project.review_intervals == {"fact": 30, "procedure": 90}
        assert project.path_subjects == [
            {"pattern": "deploy/**", "subject": "deployment.host"},
            {"pattern": "Makefile", "subject": "build.command"},
        ]
        page = shown(client, path)
        assert 'name="days:fact" value="30"' in page
        assert 'value="deployment.host"' in page
        again = {"pattern": ["deploy/**"], "subject": ["deployment.host"]}
        assert press(client, path, **again) == "Saved."
        project.refresh_from_db(using="owner")
        assert (project.review_intervals, len(project.path_subjects)) == ({}, 1)
        assert press(client, path, **again) == "Nothing was changed."

    def test_says_what_is_wrong_beside_it_and_keeps_what_was_typed(self, office):
        client = logged_in(office.admin)
        for said, wrong in (
            ({"days:fact": "soon"}, "Must be a whole number"),
            ({"days:fact": "99999"}, "3650"),
            ({"days:fact": "0"}, "1"),
            ({"pattern": ["!x"], "subject": ["a"]}, "put a backslash"),
            ({"pattern": ["x"], "subject": ["a..b"]}, "labels"),
            ({"pattern": ["x"], "subject": [""]}, "pl-error"),
            ({"pattern": ["x"] * 201, "subject": ["a"] * 201}, "at most 200"),
        ):
            answer = client.post(rules_of(office), said)
            text = answer.content.decode()
            assert (answer.status_code, wrong in text, "pl-error" in text) == (200, True, True), (
                said
            )
        assert 'value="!x"' in client.post(
            rules_of(office), {"pattern": ["!x"], "subject": ["a"]}
        ).content.decode().replace("&#x27;", "'")
        project = Project.objects.using("owner").get(id=office.apollo.id)
        assert (project.review_intervals, project.path_subjects) == ({}, [])


class TestPushSources:
    def said(self, office, **more):
        return {
            "name": "apollo.git",
            "project": apollo(office),
            "host": "github",
            "member": wire_id(Prefix.MEMBER, office.senior.member.id),
            "branch": "main",
            **more,
        }

    @pytest.mark.rule("SB-09")
    def test_the_secret_is_shown_once_with_what_to_type_in(self, office):
        client = logged_in(office.admin)
        for host, words in (("github", "application/json"), ("gitlab", "Secret token")):
            page = client.post(f"{PUSHES}add/", self.said(office, host=host)).content.decode()
            secret = _found(r'id="secret"[^>]*>([^<]+)<', page, 1)
            onward = _found(r'data-onward="([^"]+)"', page, 1)
            source = _found(r"psh_\w+", onward, 0)
            assert f"/api/v1/push-sources/{source}/pushes</code>" in page
            assert words in page
            assert secret not in shown(client, onward) + shown(client, PUSHES)
            page = client.post(f"{PUSHES}{source}/rotate/").content.decode()
            assert _found(r'id="secret"[^>]*>([^<]+)<', page, 1) != secret

    def test_one_is_changed_and_put_out(self, office):
        client = logged_in(office.admin)
        made = client.post(f"{PUSHES}add/", self.said(office)).content.decode()
        path = f"{PUSHES}{_found(r'psh_[0-9a-zA-Z]+', made, 0)}"

        assert press(client, f"{path}/change/", name="other", branch="", active="on") == "Saved."
        told = office.admin.get("/push-sources").json()["results"][0]
        assert (told["name"], told["branch"], told["active"]) == ("other", "", True)
        assert "Nothing more" in press(client, f"{path}/put-out/")
        assert office.admin.get("/push-sources").json()["results"][0]["active"] is False
        assert "Put it out" not in shown(client, f"{path}/change/")

    def test_nobody_reports_who_may_not_write(self, office):
        client = logged_in(office.admin)
        member = wire_id(Prefix.MEMBER, office.viewer.member.id)
        page = client.post(f"{PUSHES}add/", self.said(office, member=member)).content.decode()
        assert "may write in the project" in page
        assert office.admin.get("/push-sources").json()["results"] == []


@pytest.mark.rule("T208")
def test_stored_markup_is_inert_everywhere(office):
    memory = kept(
        office.senior,
        f"Deploys: {XSS}",
        project="apollo",
        components=[{"subject": "deploy.host", "value": XSS[:200]}],
    )
    reported(office.senior, "deploy.host", f"moved {XSS}")
    verified(
        office.senior,
        memory,
        method="command",
        components=["deploy.host"],
        observed_value=XSS[:200],
        evidence=XSS,
    )
    reported(office.senior, "deploy.host", f"again {XSS}")
    admin, client = logged_in(office.admin), logged_in(office.senior)
    admin.post(rules_of(office), {"pattern": [XSS], "subject": ["deploy.host"]})
    admin.post(f"{PUSHES}add/", TestPushSources().said(office, name=XSS[:80]))
    pages = [
        shown(client, NEEDS),
        shown(client, NEEDS, q=XSS),
        shown(client, SUBJECTS),
        shown(client, SUBJECTS, under=XSS),
        shown(client, f"{MEMORIES}{memory}/change/"),
        shown(client, MEMORIES, subject=XSS),
        shown(admin, rules_of(office)),
        shown(admin, PUSHES),
    ]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "<svg onload" not in page
        assert "49" not in re.findall(r"\{\{7\*7\}\}|>49<", page)
        assert "style=" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.S)


def _found(pattern: str, text: str, group: int) -> str:
    """Return what the pattern finds, which must be there."""
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match[group]
