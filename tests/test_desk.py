"""The review desk: what may be decided there, by whom, what happens, and how it is undone."""

import re
from itertools import pairwise

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from memory.models import Conflict, Memory
from tenants.founding import grant, seat
from tenants.ids import Prefix, read_id, wire_id
from tests.admin_login import log_in_as, logged_in
from tests.desk import DESK, challenged, everything, pair, state_of, verdict
from tests.desk import dispute as disputed
from tests.memories import kept, replacing, seen
from tests.people import REVIEW

TABS = (
    "pairs",
    "challenges",
    "proposals",
    "unjudged",
    "deferred",
    "automatic",
    "decided",
    "over",
)


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    """Hash quickly: what is slow on purpose would be most of these tests' time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def shown(client, path="", **query):
    answer = client.get(f"{DESK}{path}", query)
    assert answer.status_code == 200, (path, query, answer.status_code)
    return answer.content.decode()


def page(client, dispute_id):
    return shown(client, f"{dispute_id}/change/")


def decide(client, dispute_id, **said):
    """Return the page that opens after a decision."""
    return client.post(f"{DESK}{dispute_id}/decide/", said, follow=True)


def told(answer):
    return [str(message) for message in answer.context["messages"]]


def counts(text):
    return {
        name: int(count)
        for name, count in re.findall(r'data-state="(\w+)">[^<]*<span>(\d+)</span>', text)
    }


def undo(client, dispute_id, **said):
    batch = wire_id(Prefix.BATCH, row(dispute_id).batch_id)
    return client.post(f"{DESK}batches/{batch}/undo/", said, follow=True)


def row(dispute_id):
    return Conflict.objects.using("owner").get(id=read_id(Prefix.CONFLICT, dispute_id))


def lifecycle(person, *memories):
    return [seen(person, one)["lifecycle"] for one in memories]


class TestDeciding:
    @pytest.mark.rule("DI-04", "RE-06")
    def test_every_outcome_of_a_pair_and_its_undo(self, office):
        newer, older, dispute_id = pair(office.colleague, office, 1)
        before = everything(office, [newer, older])
        client = logged_in(office.reviewer)
        for said, after, how in (
            ({"winner": newer}, ["live", "superseded"], "manual"),
            ({"winner": older}, ["superseded", "live"], "manual"),
            ({"keep_both": "true"}, ["live", "live"], "keep_both"),
            (
                {"merge": "true", "content": "Service 01 listens on 5001,\r\nthen on 6001."},
                ["superseded", "superseded"],
                "merged",
            ),
        ):
            answer = decide(client, dispute_id, note="as Ops said", **said)
            assert state_of(dispute_id) == ("resolved", how)
            assert lifecycle(office.senior, newer, older) == after
            assert row(dispute_id).note == "as Ops said"
            assert "Undo <kbd>u</kbd>" in answer.content.decode()

            undo(client, dispute_id)

            assert everything(office, [newer, older])["memories"] == before["memories"]
            assert everything(office, [newer, older])["live"] == before["live"]
            assert state_of(dispute_id) == ("pending", None)

    @pytest.mark.rule("DI-04", "RE-06", "DI-06")
    def test_a_memory_in_question_is_kept_or_retired(self, office):
        memory, dispute_id = challenged(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        text = page(client, dispute_id)
        assert "It says the wrong port." in text
        assert "Merge" not in text
        decide(client, dispute_id, retire="true")
        assert state_of(dispute_id) == ("resolved", "retired")
        assert lifecycle(office.senior, memory) == ["retired"]
        undo(client, dispute_id)
        assert lifecycle(office.senior, memory) == ["live"]
        decide(client, dispute_id, keep_both="true")
        assert lifecycle(office.senior, memory) == ["live"]
        assert "upheld" in shown(client, state="decided")

    @pytest.mark.rule("DI-04")
    def test_what_each_button_does_is_said_before(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        text = page(logged_in(office.reviewer), dispute_id)
        assert "A stays; B is retired with A as its successor" in text
        assert "colleague, B&#x27;s owner, finds it in the history" in text
        assert "Both stay live" in text
        assert "A and B are both retired" in text
        assert "undo is one click" in text

    @pytest.mark.rule("DI-04", "SU-18")
    def test_a_button_that_would_be_refused_says_why(self, office):
        older = kept(office.senior, "The vault is in room 4.", project="apollo")
        newer = kept(
            office.senior, "The vault is in room 5.", project="apollo", visibility="private"
        )
        dispute_id = disputed(office, newer, older)
        text = page(logged_in(office.senior), dispute_id)
        assert len(re.findall(r"<button[^>]* disabled", text)) == 1
        assert "Some who read the other one may not read this one" in text
        answer = decide(logged_in(office.senior), dispute_id, winner=newer)
        assert any("keep both" in one for one in told(answer))
        assert state_of(dispute_id) == ("pending", None)

    def test_the_next_one_opens_by_itself_in_the_order_of_the_queue(self, office):
        disputes = [pair(office.colleague, office, number)[2] for number in range(3)]
        client = logged_in(office.reviewer)
        for queue, order in (("", disputes[::-1]), ("?sort=oldest", disputes)):
            first = page(client, order[0])
            assert first
            answer = decide(client, order[0], keep_both="true", queue=queue)
            assert answer.redirect_chain[-1][0].split("?")[0] == f"{DESK}{order[1]}/change/"
            undo(client, order[0])
        # From the middle: the next one, and after the last the first that waits.
        answer = decide(client, disputes[0], keep_both="true")
        assert answer.redirect_chain[-1][0] == f"{DESK}{disputes[2]}/change/?"
        decide(client, disputes[2], keep_both="true")
        answer = decide(client, disputes[1], keep_both="true")
        assert answer.redirect_chain[-1][0] == f"{DESK}?"
        assert "Nothing waits for a decision." in answer.content.decode()

    def test_the_queue_goes_by_the_judges_confidence_too(self, office):
        sure = [0.5, 0.9, 0.7, 0.9]
        disputes = [
            pair(office.colleague, office, number, verdict=verdict(confidence=one))[2]
            for number, one in enumerate(sure)
        ]
        client = logged_in(office.reviewer)
        order = [disputes[3], disputes[1], disputes[2], disputes[0]]
        text = shown(client, sort="confident")
        assert re.findall(r'href="[^"]*/(cfl_\w+)/change/[^"]*" data-opens-line', text) == order
        for one, following in pairwise(order):
            text = shown(client, f"{one}/change/", sort="confident")
            assert f'{following}/change/?sort=confident" rel="next"' in text
            text = shown(client, f"{following}/change/", sort="confident")
            assert f'{one}/change/?sort=confident" rel="prev"' in text

    @pytest.mark.rule("DI-05", "T148", "T210")
    def test_the_second_reviewer_is_told_what_the_first_decided(self, office):
        newer, older, dispute_id = pair(office.colleague, office, 1)
        first, second = logged_in(office.reviewer), logged_in(office.senior)
        assert "A wins" in page(second, dispute_id)
        decide(first, dispute_id, winner=newer, note="Ops moved it")
        answer = decide(second, dispute_id, winner=older)
        text = answer.content.decode()
        assert "It was decided already" in told(answer)[0]
        assert "A won." in text
        assert "Decided by reviewer" in text
        assert "Ops moved it" in text
        assert lifecycle(office.senior, newer, older) == ["live", "superseded"]
        # The same again, as by a double click or the back button: nothing more.
        decide(first, dispute_id, winner=newer, note="Ops moved it")
        assert seen(office.senior, older)["superseded_by"] == newer
        assert row(dispute_id).resolved_by_member_id == office.reviewer.member.id

    @pytest.mark.rule("DI-12")
    def test_who_may_not_decide_gets_no_buttons_and_nothing_done(self, office):
        newer, older, dispute_id = pair(office.colleague, office, 1)
        for person in (office.colleague, office.contractor, office.viewer):
            client = logged_in(person)
            text = page(client, dispute_id)
            assert "You may read this, and not decide it" in text
            assert "/decide/" not in text
            assert 'id="bulk"' not in shown(client)
            for deed, said in (
                ("decide", {"winner": newer}),
                ("defer", {"preset": "week"}),
                ("assign", {"member": wire_id(Prefix.MEMBER, person.member.id)}),
            ):
                answer = client.post(f"{DESK}{dispute_id}/{deed}/", said, follow=True)
                assert told(answer), deed
        assert lifecycle(office.senior, newer, older) == ["live", "live"]
        assert row(dispute_id).deferred_until is None

    @pytest.mark.rule("DI-12")
    def test_the_owner_decides_what_is_personal(self, office):
        older = kept(office.colleague, "My desk is by the window.")
        newer = kept(office.colleague, "My desk is by the door.")
        dispute_id = disputed(office, newer, older)
        decide(logged_in(office.colleague), dispute_id, winner=newer)
        assert state_of(dispute_id) == ("resolved", "manual")

    def test_nonsense_is_refused_in_words_and_changes_nothing(self, office):
        newer, older, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        for said in (
            {},
            {"winner": "mem_zzz"},
            {"winner": kept(office.senior, "Something else.", project="apollo")},
            {"winner": newer, "keep_both": "true"},
            {"retire": "true"},
            {"merge": "true", "content": " "},
            {"merge": "true", "content": "x" * 40_000},
            {"keep_both": "true", "note": "x" * 3000},
        ):
            answer = decide(client, dispute_id, **said)
            assert told(answer), said
            assert state_of(dispute_id) == ("pending", None)
        assert client.get(f"{DESK}{dispute_id}/decide/").status_code == 405
        assert lifecycle(office.senior, newer, older) == ["live", "live"]

    def test_a_nonsensical_queue_is_the_first_tab(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        queue = "?state=%00&q=\ud7ff&sort=zz&&&=" + "a" * 9000
        answer = decide(client, dispute_id, keep_both="true", queue=queue)
        assert answer.status_code == 200


class TestPuttingOffAndHandingOver:
    def test_what_is_deferred_leaves_the_queue_and_comes_back(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        for said in ({"preset": "tomorrow"}, {"preset": "week"}, {"until": "2031-05-01"}):
            client.post(f"{DESK}{dispute_id}/defer/", said)
            tabs = counts(shown(client))
            assert (tabs["pairs"], tabs["deferred"]) == (0, 1), said
        assert row(dispute_id).deferred_until.year == 2031
        assert "until 2031-05-01" in shown(client, state="deferred")
        client.post(f"{DESK}{dispute_id}/defer/", {"preset": "now"})
        assert counts(shown(client))["pairs"] == 1
        client.post(f"{DESK}{dispute_id}/defer/", {"preset": "week"})
        Conflict.objects.using("owner").filter(id=row(dispute_id).id).update(
            deferred_until="2020-01-01T00:00:00Z"
        )
        assert counts(shown(client))["pairs"] == 1

    @pytest.mark.parametrize("until", ["", "yesterday", "2020-01-01", "2031-13-45"])
    def test_a_day_that_is_none_is_refused(self, office, until):
        _, _, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        answer = client.post(
            f"{DESK}{dispute_id}/defer/", {"preset": "date", "until": until}, follow=True
        )
        assert told(answer)
        assert row(dispute_id).deferred_until is None

    def test_it_is_assigned_to_who_could_decide_it(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        client, senior = logged_in(office.reviewer), logged_in(office.senior)
        assert counts(shown(senior, whose="assigned"))["pairs"] == 0
        me = wire_id(Prefix.MEMBER, office.senior.member.id)
        answer = client.post(f"{DESK}{dispute_id}/assign/", {"member": me}, follow=True)
        assert told(answer) == ["Assigned."]
        assert "for senior" in page(client, dispute_id)
        assert counts(shown(senior, whose="assigned"))["pairs"] == 1
        other = wire_id(Prefix.MEMBER, office.viewer.member.id)
        answer = client.post(f"{DESK}{dispute_id}/assign/", {"member": other}, follow=True)
        assert "none who could decide" in told(answer)[0]
        assert row(dispute_id).assigned_to_id == office.senior.member.id
        client.post(f"{DESK}{dispute_id}/assign/", {"member": ""})
        assert row(dispute_id).assigned_to_id is None


class TestSeveralAtOnce:
    @pytest.mark.rule("DI-11", "RE-06", "T209")
    def test_are_tried_then_done_then_undone(self, office):
        pairs = [pair(office.colleague, office, number) for number in range(4)]
        alone, question = challenged(office.colleague, office, 1)
        newer, older = [one[0] for one in pairs], [one[1] for one in pairs]
        before = everything(office, [*newer, *older, alone])
        client = logged_in(office.reviewer)
        chosen = [*(one[2] for one in pairs), question]
        answer = client.post(f"{DESK}bulk/", {"policy": "newest_wins", "dispute": chosen})
        text = answer.content.decode()
        assert text.count("A stays, B is retired") == 4
        assert text.count("left alone") == 1
        assert "Nothing has been done yet" in text
        assert everything(office, [*newer, *older, alone]) == before

        # One of them is decided by somebody else in between.
        decide(logged_in(office.senior), pairs[3][2], winner=older[3])
        answer = client.post(
            f"{DESK}bulk/", {"policy": "newest_wins", "dispute": chosen, "do": "yes"}, follow=True
        )
        assert "3 disputes decided at once" in answer.content.decode()
        assert lifecycle(office.senior, *newer) == ["live", "live", "live", "superseded"]
        assert lifecycle(office.senior, *older) == ["superseded"] * 3 + ["live"]
        assert lifecycle(office.senior, alone) == ["live"]
        undo(client, pairs[0][2])
        assert lifecycle(office.senior, *newer[:3], *older[:3]) == ["live"] * 6
        assert state_of(pairs[3][2])[0] == "resolved"
        undo(logged_in(office.senior), pairs[3][2])
        after = everything(office, [*newer, *older, alone])
        assert (after["memories"], after["live"]) == (before["memories"], before["live"])

    @pytest.mark.rule("DI-11")
    @pytest.mark.parametrize("policy", ["oldest_wins", "keep_both"])
    def test_by_the_other_policies(self, office, policy):
        newer, older, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        said = {"policy": policy, "dispute": [dispute_id], "do": "yes"}
        client.post(f"{DESK}bulk/", said)
        gone = "superseded" if policy == "oldest_wins" else "live"
        assert lifecycle(office.senior, newer, older) == [gone, "live"]

    def test_choosing_nothing_or_nonsense_does_nothing(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        for said in (
            {"policy": "newest_wins"},
            {"policy": "newest_wins", "dispute": ["cfl_zzz", "\0"]},
            {"policy": "everything", "dispute": [dispute_id], "do": "yes"},
            {"dispute": [dispute_id], "do": "yes"},
        ):
            answer = client.post(f"{DESK}bulk/", said, follow=True)
            assert "Choose disputes" in told(answer)[0]
        assert state_of(dispute_id) == ("pending", None)

    @pytest.mark.rule("T205", "DI-10")
    def test_of_another_tenant_are_not_there(self, office, other_office):
        _, _, mine = pair(office.colleague, office, 1)
        _, _, theirs = pair(other_office.colleague, other_office, 2)
        client = logged_in(office.reviewer)
        said = {"policy": "keep_both", "dispute": [mine, theirs]}
        text = client.post(f"{DESK}bulk/", said).content.decode()
        assert "1 of 1" in text
        assert "Service 02" not in text
        client.post(f"{DESK}bulk/", {**said, "do": "yes"})
        assert state_of(theirs) == ("pending", None)
        assert state_of(mine)[0] == "resolved"


class TestProposals:
    @pytest.mark.rule("TR-06")
    def test_are_accepted_or_rejected_with_a_reason_and_undone(self, office):
        note = kept(office.watcher, "The cache is flushed at midnight.")
        client = logged_in(office.reviewer)
        text = shown(client, state="proposals")
        assert "flushed at midnight" in text
        assert counts(text)["proposals"] == 1
        for deed, state in (("accept", "verified"), ("reject", "rejected")):
            answer = client.post(f"{DESK}proposals/{note}/{deed}/", {"reason": ""}, follow=True)
            assert told(answer)
            assert seen(office.senior, note)["trust_state"] == "proposed"
            answer = client.post(
                f"{DESK}proposals/{note}/{deed}/", {"reason": "seen it"}, follow=True
            )
            assert seen(office.senior, note)["trust_state"] == state
            assert counts(answer.content.decode())["proposals"] == 0
            (batch,) = re.findall(r"batches/(bat_\w+)/undo/", answer.content.decode())
            client.post(f"{DESK}batches/{batch}/undo/", {"queue": "?state=proposals"})
            assert seen(office.senior, note)["trust_state"] == "proposed"

    @pytest.mark.rule("TR-06")
    def test_are_not_answered_by_their_own_side(self, office):
        note = kept(office.watcher, "The cache is flushed at midnight.")
        for person in (office.senior, office.colleague):
            client = logged_in(person)
            assert "/accept/" not in shown(client, state="proposals")
            answer = client.post(f"{DESK}proposals/{note}/accept/", {"reason": "mine"}, follow=True)
            assert told(answer)
        assert seen(office.senior, note)["trust_state"] == "proposed"

    def test_are_narrowed(self, office):
        kept(office.watcher, "The cache is flushed at midnight.")
        client = logged_in(office.reviewer)

        def found(**query):
            return counts(shown(client, state="proposals", **query))["proposals"]

        assert found(q="midnight") == found(age="day") == found(sort="oldest") == 1
        assert found(q="noon") == found(age="month") == found(whose="mine") == 0
        assert found(project=wire_id(Prefix.PROJECT, office.apollo.id)) == 1
        assert found(project=wire_id(Prefix.PROJECT, office.hermes.id)) == 0
        assert found(project="prj_zzz") == found(age="zzz") == 0


class TestWhatLostByItself:
    @pytest.mark.rule("PO-21")
    def test_is_listed_first_when_its_winner_has_gone(self, office):
        newer, older, dispute_id = pair(
            office.colleague, office, 1, state="resolved", resolution="recency"
        )
        conflict = row(dispute_id)
        conflict.winner_id = conflict.memory_a_id
        conflict.resolved_at = conflict.created_at
        conflict.save(using="owner")
        Memory.objects.using("owner").filter(id=conflict.memory_b_id).update(
            superseded_by=conflict.memory_a_id,
            superseded_at=conflict.created_at,
            supersede_reason="recency",
            invalidated_at=conflict.created_at,
            invalidated_reason="superseded",
        )
        client = logged_in(office.reviewer)
        assert "Orphaned" not in shown(client, state="automatic")
        office.colleague.post(f"/memories/{newer}/forget", {"reason": "moved"})
        assert "Orphaned" in shown(client, state="automatic")
        assert older


class TestSight:
    @pytest.mark.rule("DI-10", "T205", "VI-06")
    def test_every_tab_shows_what_is_of_the_tenant_and_in_sight(self, office, other_office):
        for of in (office, other_office):
            furnished(of, "canary" if of is other_office else "sparrow")
        for person, sees in (
            (office.reviewer, True),
            (office.outsider, False),
            (office.admin, False),
        ):
            client = logged_in(person)
            for tab in TABS:
                for query in ({}, {"q": "canary"}, {"sort": "confident"}, {"sort": "oldest"}):
                    text = (
                        shown(client, state=tab, **query)
                        .replace('value="canary"', "")
                        .replace("q=canary", "")
                    )
                    assert "canary" not in text, (person.name, tab)
                text = shown(client, state=tab)
                assert ("sparrow" in text) == sees, (person.name, tab)
                if not sees:
                    assert set(counts(text).values()) == {0}
            project = wire_id(Prefix.PROJECT, other_office.apollo.id)
            assert set(counts(shown(client, project=project)).values()) == {0}
            assert "canary" not in shown(client, "statistics/")

    @pytest.mark.rule("T205", "VI-04")
    def test_whatever_is_asked_of_another_tenants_is_missing(self, office, other_office):
        newer, _, dispute_id = pair(other_office.colleague, other_office, 1)
        decide(logged_in(other_office.reviewer), dispute_id, keep_both="true")
        batch = wire_id(Prefix.BATCH, row(dispute_id).batch_id)
        proposal = kept(other_office.watcher, "The cache is flushed at midnight.")
        me = wire_id(Prefix.MEMBER, office.reviewer.member.id)
        client = logged_in(office.reviewer)
        for one in (dispute_id, "cfl_zzz", newer):
            assert client.get(f"{DESK}{one}/change/").status_code == 404
            for deed, said in (
                ("decide", {"keep_both": "true"}),
                ("defer", {"preset": "week"}),
                ("assign", {"member": me}),
                ("restore", {}),
            ):
                answer = client.post(f"{DESK}{one}/{deed}/", said)
                assert answer.status_code == 404, (one, deed)
                assert newer not in answer.content.decode()
        for path in (
            f"batches/{batch}/undo/",
            "batches/bat_zzz/undo/",
            f"proposals/{proposal}/accept/",
            f"proposals/{proposal}/reject/",
            "proposals/mem_zzz/accept/",
        ):
            assert client.post(f"{DESK}{path}", {"reason": "no"}).status_code == 404, path

    @pytest.mark.rule("VI-06")
    def test_a_private_pair_is_its_owners_alone(self, office):
        where = {"project": "apollo", "visibility": "private"}
        older = kept(office.colleague, "My canary sings at 5.", **where)
        newer = kept(office.colleague, "My canary sings at 6.", **where)
        dispute_id = disputed(office, newer, older)
        assert "canary" in shown(logged_in(office.colleague))
        for person in (office.reviewer, office.senior, office.admin):
            client = logged_in(person)
            assert "canary" not in shown(client)
            assert client.get(f"{DESK}{dispute_id}/change/").status_code == 404
            answer = client.post(f"{DESK}{dispute_id}/decide/", {"winner": newer})
            assert answer.status_code == 404

    @pytest.mark.rule("VI-06")
    def test_a_superuser_without_a_seat_sees_nothing_of_any_tenant(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        name = f"root-{office.slug}"
        user = (
            get_user_model()
            .objects.using("owner")
            .create(username=name, is_superuser=True, is_staff=True)
        )
        client = log_in_as(user.pk, name)
        for path in ("", "statistics/", f"{dispute_id}/change/", "?state=decided"):
            text = client.get(f"{DESK}{path}").content.decode()
            assert "You have no seat here" in text
            assert "Service 01" not in text
        for path in ("bulk/", f"{dispute_id}/decide/", f"{dispute_id}/defer/"):
            assert client.post(f"{DESK}{path}", {"keep_both": "true"}).status_code == 403
        assert state_of(dispute_id) == ("pending", None)

    def test_nobody_gets_in_without_logging_in(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        client = Client()
        for path in ("", "statistics/", f"{dispute_id}/change/"):
            answer = client.get(f"{DESK}{path}")
            assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/admin/login/")
        answer = client.post(f"{DESK}{dispute_id}/decide/", {"keep_both": "true"})
        assert answer.status_code == 302
        assert state_of(dispute_id) == ("pending", None)

    @pytest.mark.rule("VI-06")
    def test_who_sits_in_two_tenants_changes_seats_from_every_page(self, office, other_office):
        for of in (office, other_office):
            furnished(of, f"bird of {of.slug}")
        person = office.reviewer
        other = seat(other_office.tenant, person.member.username, "twice", level=30)
        grant(other, other_office.apollo, REVIEW)
        client = logged_in(person)
        dispute_id = wire_id(
            Prefix.CONFLICT,
            Conflict.objects.using("owner").filter(tenant=office.tenant)[0].id,
        )
        paths = [f"?state={tab}" for tab in TABS] + ["statistics/", f"{dispute_id}/change/"]
        client.post("/admin/seat/", {"seat": wire_id(Prefix.MEMBER, person.member.id)})
        for path in paths:
            text = shown(client, path)
            assert text.count('name="seat"') == 2, path
            assert f"bird of {other_office.slug}" not in text
        client.post("/admin/seat/", {"seat": wire_id(Prefix.MEMBER, other.id)})
        assert f"bird of {other_office.slug}" in shown(client)
        assert f"bird of {office.slug}" not in shown(client)
        assert client.get(f"{DESK}{dispute_id}/change/").status_code == 404


def furnished(office, word):
    """Leave something in every tab."""
    by = office.colleague

    def two(number, **more):
        older = kept(by, f"The {word} sings at {number}.", project="apollo")
        newer = kept(by, f"The {word} sings at {number + 1}.", project="apollo")
        return disputed(office, newer, older, **more)

    me = office.reviewer.member
    over = {"resolved_at": "2026-01-01T00:00:00Z"}
    two(1)
    two(3, kind="unjudged", verdict=None)
    two(5, deferred_until="2031-01-01T00:00:00Z")
    two(7, state="resolved", resolution="recency", **over)
    two(9, state="resolved", resolution="keep_both", resolved_by_member=me, **over)
    two(11, state="moot", **over)
    disputed(office, kept(by, f"The {word} is green.", project="apollo"))
    kept(office.watcher, f"Somebody saw the {word}.")


class TestStatistics:
    def test_count_what_happened(self, office):
        pairs = [
            pair(
                office.colleague,
                office,
                number,
                verdict=verdict(confidence=0.5 + number / 10),
            )
            for number in range(4)
        ]
        for newer, _, dispute_id in pairs:
            conflict = row(dispute_id)
            conflict.recommended_winner_id = read_id(Prefix.MEMORY, newer)
            conflict.save(using="owner")
        client = logged_in(office.reviewer)
        decide(client, pairs[0][2], winner=pairs[0][1])
        decide(client, pairs[1][2], winner=pairs[1][0])
        text = shown(client, "statistics/")
        tables = re.findall(r"<table.*?</table>", text, re.DOTALL)
        cells = [re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", one) for one in tables]
        flow, verdicts, agreement, losses = cells
        assert flow[-3:] == ["4", "2", "2"]
        assert verdicts[-7:] == ["contradiction", "2", "0", "2", "0", "0", "4"]
        assert agreement[agreement.index("from 0.50") :][:4] == ["from 0.50", "1", "0", "0%"]
        assert agreement[agreement.index("from 0.60") :][:4] == ["from 0.60", "1", "1", "100%"]
        assert losses[-1] == "Nothing yet."
        assert text.count('<svg class="pl-plot"') == 4
        assert text.count("<caption") == 4

    def test_are_empty_before_anything_happened(self, office):
        text = shown(logged_in(office.reviewer), "statistics/")
        assert text.count("Nothing yet.") >= 2


class TestThePages:
    @pytest.mark.rule("T208")
    def test_hold_nothing_that_runs_or_styles_by_itself(self, office):
        furnished(office, "<script>alert(1)</script><img src=x onerror=alert(2)>")
        client = logged_in(office.reviewer)
        disputes = Conflict.objects.using("owner").filter(tenant=office.tenant)
        paths = [f"?state={tab}" for tab in TABS] + ["statistics/"]
        paths += [f"{wire_id(Prefix.CONFLICT, one.id)}/change/" for one in disputes]
        for path in paths:
            text = shown(client, path)
            assert "<script>alert" not in text, path
            assert "<img src=x" not in text, path
            ours = text[text.index('id="content"') :]
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|<[^>]*\s(on[a-z]+|style)=", ours)

    def test_say_what_to_do_when_they_are_empty(self, office):
        client = logged_in(office.reviewer)
        for tab in TABS:
            text = shown(client, state=tab)
            assert 'class="pl-empty"><strong>' in text, tab
            assert "Clear the filters" in shown(client, state=tab, q="zebra"), tab

    @pytest.mark.rule("HI-01")
    def test_show_versions_verifications_and_disputes_of_a_memory(self, office):
        first = kept(office.colleague, "The bell rings at 8.", project="apollo")
        newer = kept(
            office.colleague, "The bell rings at 9.", project="apollo", links=replacing(first)
        )
        other = kept(office.senior, "The bell rings at 10.", project="apollo")
        dispute_id = disputed(office, other, newer)
        client = logged_in(office.reviewer)
        text = page(client, dispute_id)
        assert "2 versions" in text
        assert "The bell rings at 8." in text
        decide(client, dispute_id, winner=newer)
        memory = client.get(f"/admin/memory/memory/{newer}/change/").content.decode()
        assert "Disputes that are over" in memory
        assert dispute_id in memory
        assert "The bell rings at 8." in memory
