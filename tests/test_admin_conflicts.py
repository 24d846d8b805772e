"""Conflicts, the judge and the jobs in the admin: what is shown to whom, and what may be done."""

import json
import re
import uuid

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from hygiene.judging import current_judge
from reviews.difference import beside_each_other, differing
from tenants.ids import Prefix, wire_id
from tests.admin_login import logged_in
from tests.judging import work
from tests.test_admin import XSS, events, found, page_of, remember

CONFLICTS = "/admin/memory/conflict/"
JUDGE = "/admin/hygiene/judgement/"
JOBS = "/admin/tenants/job/"


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    """Hash quickly: what is slow on purpose would be most of these tests' time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def stated(person, content, branch, **more):
    return remember(
        person, content, components=[{"subject": "deployment.branch", "value": branch}], **more
    )


def a_dispute(office, note="The staging port is {}. Ask <b>Ops</b>, not Dev."):
    """Return the ids of two memories that disagree, and of their conflict."""
    old = remember(office.senior, note.format(5432), kind="gotcha")
    new = remember(office.senior, note.format(5433))
    work(office)
    (conflict,) = office.senior.get("/conflicts", {"memory": new}).json()["results"]
    return old, new, conflict["id"]


def a_loss(office, subject="deployment.branch", names=("main", "release")):
    """Return the ids of a memory that lost to another by policy, and of their conflict."""
    senior, contractor = office.senior, office.contractor
    won = remember(
        senior,
        f"For {subject} we use {names[0]}.",
        components=[{"subject": subject, "value": names[0]}],
    )
    lost = remember(
        contractor,
        f"For {subject} we use {names[1]}.",
        components=[{"subject": subject, "value": names[1]}],
    )
    (conflict,) = senior.get("/auto-resolved").json()["results"][:1]
    assert conflict["winner"] == won
    return lost, won, conflict["id"]


def shown(client, path, **query):
    answer = client.get(path, query)
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.content.decode()


def counts(text):
    return {
        name: int(count)
        for name, count in re.findall(r'data-state="(\w+)">[^<]*<span>(\d+)</span>', text)
    }


class TestTheDifference:
    def test_is_told_word_by_word(self):
        left, right = "Port is 5432, ask Ops.", "Port is 5433, ask the Ops."
        ours, theirs = beside_each_other(left, right)
        assert [one.text for one in ours if one.differs] == ["5432"]
        assert "".join(one.text for one in ours) == left
        assert "".join(one.text for one in theirs) == right
        assert "5433" in [one.text for one in theirs if one.differs]

    def test_marks_what_would_be_lost_as_a_whole_word(self):
        ours, theirs = beside_each_other("use --force and 5", "use 55 and 5432", ["--force", "5"])
        assert [one.text for one in ours if one.missing] == ["--force"]
        assert [one.text for one in theirs if one.missing] == []

    @pytest.mark.parametrize("pair", [("", ""), ("a", ""), ("", "a"), ("a a", "a"), ("x", "x")])
    def test_loses_nothing_of_either_text(self, pair):
        left, right = pair
        ours, theirs = beside_each_other(left, right, ["a"])
        assert ("".join(p.text for p in ours), "".join(p.text for p in theirs)) == pair

    def test_takes_no_time_with_the_longest_and_worst(self):
        left = " ".join(f"{number % 97}" for number in range(9000))
        right = " ".join(f"{number % 89}" for number in range(9000))
        ours, theirs = differing(left, right)
        assert len(ours) == len(theirs) == 1


class TestTheList:
    def test_has_a_tab_for_each_state_with_counts(self, office):
        a_dispute(office)
        a_loss(office)
        client = logged_in(office.senior)
        pending = shown(client, CONFLICTS)
        assert counts(pending) == {
            "pairs": 1,
            "challenges": 0,
            "proposals": 0,
            "unjudged": 0,
            "deferred": 0,
            "automatic": 1,
            "decided": 0,
            "over": 0,
        }
        assert "5432" in pending
        assert "5433" in pending
        assert "deployment.branch" not in pending
        automatic = shown(client, CONFLICTS, state="automatic")
        assert "we use release" in automatic
        assert "Restore B" in automatic or "Restore A" in automatic

    def test_is_narrowed_by_every_filter_and_by_words(self, office):
        old, _, conflict_id = a_dispute(office)
        client = logged_in(office.reviewer)

        def seen(**query):
            return counts(shown(client, CONFLICTS, **query))["pairs"]

        (kind,) = {one["kind"] for one in office.senior.get("/conflicts").json()["results"]}
        assert seen(kind=kind) == 1
        assert seen(kind="challenged") == 0
        verdict = office.senior.get(f"/conflicts/{conflict_id}").json()["verdict"]["relation"]
        assert seen(verdict=verdict) == 1
        assert seen(verdict="complementary") == seen(verdict="nonsense") == 0
        assert seen(age="day") == seen(age="week") == 1
        assert seen(age="older") == seen(age="month") == seen(age="nonsense") == 0
        assert seen(whose="nobody") == 1
        assert seen(whose="assigned") == seen(whose="mine") == seen(whose="nonsense") == 0
        assert seen(project=wire_id(Prefix.PROJECT, office.apollo.id)) == 1
        assert seen(project=wire_id(Prefix.PROJECT, office.hermes.id)) == 0
        assert seen(q="staging") == 1
        assert seen(q="submarine") == 0
        assert seen(q=old) == seen(q=conflict_id) == 1
        assert seen(q="mem_nonsense") == 0
        assert sum(seen(confidence=one) for one in ("high", "middle", "low")) == 1

    def test_survives_nonsense_in_its_query(self, office):
        client = logged_in(office.senior)
        for name in ("state", "q", "kind", "project", "confidence", "p", "verdict", "age", "sort"):
            for value in ("\0", "'\"--", "cfl_zzz", "9" * 5000, "%", "\ud7ff\u202e", "None"):
                assert client.get(CONFLICTS, {name: value}).status_code == 200, (name, value)
                assert client.get(JUDGE, {name: value}).status_code == 200, (name, value)

    def test_goes_page_by_page(self, office, monkeypatch):
        monkeypatch.setattr("reviews.admin.PER_PAGE", 2)
        for number in range(3):
            a_loss(office, f"shelf.of{number}", (f"oak{number}", f"elm{number}"))
        client = logged_in(office.senior)
        first = shown(client, CONFLICTS, state="automatic", q="shelf")
        assert first.count('pl-conflict"') == 2
        onward = found(r'href="(\?[^"]*)" rel="next"', first).replace("&amp;", "&")
        assert shown(client, CONFLICTS + onward).count('pl-conflict"') == 1


class TestAConflictsPage:
    def test_shows_both_sides_with_their_difference_and_the_verdict(self, office):
        old, new, conflict_id = a_dispute(office)
        text = shown(logged_in(office.senior), f"{CONFLICTS}{conflict_id}/change/")
        assert "<ins>5433</ins>" in text
        assert "<del>5432</del>" in text or '<del><mark class="pl-missing">5432' in text
        assert page_of(old) in text
        assert page_of(new) in text
        told = office.senior.get(f"/conflicts/{conflict_id}").json()
        assert told["verdict"]["judge"] in text
        assert told["verdict"]["prompt_version"] in text
        assert "Policy row" in text
        assert "not Dev" in text

    def test_of_one_memory_alone_is_shown_too(self, office):
        memory_id = remember(office.senior, "The parrot is called Kepler.")
        conflict_id = challenge(office, memory_id)
        client = logged_in(office.senior)
        assert "Kepler" in shown(client, CONFLICTS, state="challenges", kind="challenged")
        text = shown(client, f"{CONFLICTS}{conflict_id}/change/")
        assert text.count('aria-label="Side') == 1
        assert "it &lt;i&gt;misled&lt;/i&gt; me" in text
        assert "wait for a decision" not in text
        assert 'class="pl-banner"' in shown(client, page_of(memory_id))

    def test_runs_nothing_of_what_is_written(self, office):
        _, _, conflict_id = a_dispute(
            office, f"The staging port is {{}}. {XSS.replace('{{7*7}}', '')}"
        )
        loss = a_loss(office, names=("<b>main</b>", "<i>rel</i>"))[2]
        client = logged_in(office.senior)
        for path in (
            CONFLICTS,
            f"{CONFLICTS}?state=automatic",
            f"{CONFLICTS}{conflict_id}/change/",
            f"{CONFLICTS}{loss}/change/",
        ):
            answer = client.get(path)
            text = answer.content.decode()
            for raw in ("<script>alert", "<img src=x", "<b>main", "<i>rel"):
                assert raw not in text, (path, raw)
            assert "script-src 'self' 'unsafe-eval'" in answer["Content-Security-Policy"]
            assert not re.search(r"<script(?![^>]*\bsrc=)", text), path

    def test_spells_out_what_deceives(self, office):
        _, _, conflict_id = a_dispute(office, "The staging port is {}. \u202eevil")
        text = shown(logged_in(office.senior), f"{CONFLICTS}{conflict_id}/change/")
        assert "\\u{202e}" in text
        assert "\u202e" not in text


def challenge(office, memory_id, reason="it <i>misled</i> me"):
    """Have the senior call a memory into question, and return the dispute's id."""
    answer = office.senior.post(f"/memories/{memory_id}/challenge", {"reason": reason})
    assert answer.status_code == 200, answer.content
    return answer.json()["dispute_id"]


class TestSight:
    @pytest.mark.rule("VI-06", "VI-04")
    def test_a_conflict_is_for_who_reads_both_sides(self, office, other_office):
        private = {"project": "apollo", "visibility": "private"}
        remember(office.senior, "The canary port is 5432.", kind="gotcha", **private)
        remember(office.senior, "The canary port is 5433.", **private)
        work(office)
        (hidden,) = office.senior.get("/conflicts").json()["results"]
        _, _, shared = a_dispute(office)
        _, _, theirs = a_dispute(other_office)
        for person, conflict_id, status in (
            (office.senior, hidden["id"], 200),
            (office.colleague, hidden["id"], 404),
            (office.admin, hidden["id"], 404),
            (office.colleague, shared, 200),
            (office.outsider, shared, 404),
            (office.admin, shared, 404),
            (office.senior, theirs, 404),
            (office.admin, theirs, 404),
        ):
            client = logged_in(person)
            answer = client.get(f"{CONFLICTS}{conflict_id}/change/")
            assert answer.status_code == status, (person.name, conflict_id)
            if status == 404:
                assert client.post(f"{CONFLICTS}{conflict_id}/restore/").status_code == 404
            if person is not office.senior:
                assert "canary" not in shown(client, CONFLICTS)
        assert counts(shown(logged_in(office.outsider), CONFLICTS))["pairs"] == 0

    def test_the_overview_and_the_memory_say_that_something_is_disputed(self, office):
        old, new, conflict_id = a_dispute(office)
        a_loss(office)
        client = logged_in(office.senior)
        overview = shown(client, "/admin/")
        assert found(r"<strong>(\d+)</strong> pairs? to decide", overview) == "1"
        assert found(r"<strong>(\d+)</strong> lost automatically", overview) == "1"
        for memory_id in (old, new):
            text = shown(client, page_of(memory_id))
            assert 'class="pl-banner"' in text
            assert f"{CONFLICTS}{conflict_id}/change/" in text
        outsider = shown(logged_in(office.outsider), "/admin/")
        assert found(r"<strong>(\d+)</strong> pairs? to decide", outsider) == "0"

    def test_the_overview_and_the_judge_tell_what_is_alarming(self, office, settings):
        settings.JUDGE = "off"
        remember(office.senior, "The parrot is called Kepler.")
        client = logged_in(office.senior)
        for path in ("/admin/", JUDGE):
            assert "JUDGE is off" in shown(client, path)
        settings.JUDGE = "rules"
        assert "JUDGE is off" not in shown(client, "/admin/")


class TestRestoring:
    def test_brings_back_the_loser_for_who_may(self, office):
        lost, won, conflict_id = a_loss(office)
        viewer = logged_in(office.viewer)
        assert "Restore" not in shown(viewer, f"{CONFLICTS}{conflict_id}/change/")
        viewer.post(f"{CONFLICTS}{conflict_id}/restore/")
        assert office.senior.get(f"/memories/{lost}").json()["lifecycle"] == "superseded"

        senior = logged_in(office.senior)
        assert senior.get(f"{CONFLICTS}{conflict_id}/restore/").status_code == 405
        answer = senior.post(f"{CONFLICTS}{conflict_id}/restore/", {"back": "list"}, follow=True)
        assert "Restored; both are live" in answer.content.decode()
        assert answer.redirect_chain[-1][0].endswith("?state=automatic")
        for memory_id in (lost, won):
            assert office.senior.get(f"/memories/{memory_id}").json()["lifecycle"] == "live"
        assert len(events(office.tenant, "restore_memory")) == 1
        assert "restored</span>" in shown(senior, f"{CONFLICTS}{conflict_id}/change/")

    def test_is_missing_where_nobody_lost(self, office):
        _, _, conflict_id = a_dispute(office)
        client = logged_in(office.senior)
        assert client.post(f"{CONFLICTS}{conflict_id}/restore/").status_code == 404


class TestTheJudge:
    def test_is_shown_with_its_numbers(self, office):
        a_dispute(office)
        text = shown(logged_in(office.admin), JUDGE)
        assert ">certified<" in text
        assert found(r"30 days <span[^>]*>(\d+)</span>", text) != "0"
        assert "staging" not in text
        assert "Tokens" in text

    def test_is_shown_with_its_newest_certificate(self, office, settings):
        settings.JUDGE, settings.JUDGE_BASE_URL = "openai:small", "http://127.0.0.1:9"
        client = logged_in(office.senior)
        assert ">not certified<" in shown(client, JUDGE)
        certify(office, current_judge(), {"pairs": 240, "table": "a\nb <script>alert(1)"})
        text = shown(client, JUDGE)
        assert ">certified<" in text
        assert ">not certified<" not in text
        assert "240" in text
        assert "a\nb &lt;script&gt;" in text

    def test_may_be_off(self, office, settings):
        settings.JUDGE = "off"
        text = shown(logged_in(office.senior), JUDGE)
        assert "No judge is configured" in text


def certify(office, judge, report):
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO certificates (id, tenant_id, judge, prompt_version, likeness, passed,
                                      reason, report)
            VALUES (%s, %s, %s, %s, %s, true, 'passed <b>well</b>', %s::jsonb)
            """,
            [
                uuid.uuid4(),
                office.tenant.id,
                judge.id,
                judge.prompt_version,
                judge.likeness,
                json.dumps(report),
            ],
        )


class TestJobs:
    def test_are_for_administrators_alone(self, office):
        job = a_job(office)
        senior = logged_in(office.senior)
        assert senior.get(JOBS).status_code == 403
        assert senior.post(f"{JOBS}{wire_id(Prefix.JOB, job)}/discard/").status_code == 403
        text = shown(logged_in(office.admin), JOBS)
        assert "staging" not in text
        assert counts(text)["all"] == len(jobs_of(office))

    def test_are_tried_again_and_discarded(self, office):
        job_id = a_job(office)
        fail(job_id, "boom <script>alert(1)</script> \u202e")
        job = wire_id(Prefix.JOB, job_id)
        client = logged_in(office.admin)
        text = shown(client, JOBS, state="failed")
        assert "boom &lt;script&gt;" in text
        assert "\u202e" not in text
        answer = client.post(f"{JOBS}{job}/retry/", {"state": "failed"}, follow=True)
        assert "Queued again." in answer.content.decode()
        answer = client.post(f"{JOBS}{job}/discard/", follow=True)
        assert "Discarded." in answer.content.decode()
        answer = client.post(f"{JOBS}{job}/discard/", follow=True)
        assert "obsolete already" in answer.content.decode()
        assert len(events(office.tenant, "retry_job")) == 1

    def test_of_another_tenant_are_missing(self, office, other_office):
        job = wire_id(Prefix.JOB, a_job(other_office))
        client = logged_in(office.admin)
        for deed in ("retry", "discard"):
            for named in (job, "job_nonsense"):
                assert client.post(f"{JOBS}{named}/{deed}/").status_code == 404
        assert job not in shown(client, JOBS)
        for name in ("state", "kind", "p"):
            for value in ("\0", "'--", "9" * 5000):
                assert client.get(JOBS, {name: value}).status_code == 200


def a_job(office):
    """Return the id of a job that has been done."""
    a_dispute(office)
    return jobs_of(office)[0]


def jobs_of(office):
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT id FROM jobs WHERE tenant_id = %s", [office.tenant.id])
        return [one for (one,) in cursor.fetchall()]


def fail(job_id, error):
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE jobs SET state = 'failed', last_error = %s, finished_at = now() WHERE id = %s",
            [error, job_id],
        )


class TestCost:
    def test_a_page_takes_as_many_statements_for_many_as_for_few(self, office):
        admin, client = logged_in(office.admin), logged_in(office.senior)
        for who in (admin, client):
            who.get("/admin/")  # the first page after log-in writes the session
        costs: dict[str, list[int]] = {}
        made = 0
        for few in (2, 20):
            while made < few:
                a_loss(office, f"shelf.of{made}", (f"oak{made}", f"elm{made}"))
                challenge(office, remember(office.senior, f"Shelf {uuid.uuid4().hex} is empty."))
                made += 1
            for who, path in (
                (client, CONFLICTS),
                (client, f"{CONFLICTS}?state=automatic"),
                (client, "/admin/"),
                (client, JUDGE),
                (admin, JOBS),
            ):
                with CaptureQueriesContext(connection) as said:
                    assert who.get(path).status_code == 200
                costs.setdefault(path, []).append(len(said))
        assert all(few == many for few, many in costs.values()), costs
