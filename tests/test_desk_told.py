"""The desk says how things are: what is undone, what stands in the way, and what else goes."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.models import Conflict, DisputePeriod
from tenants.ids import Prefix, new_id, read_id, wire_id
from tests.admin_login import logged_in
from tests.desk import DESK, challenged, dispute, pair, state_of
from tests.disputes import conflict_row, of
from tests.memories import done, kept, seen

KEPT = "The text that took a while to write."
SECRET = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    """Hash quickly: what is slow on purpose would be most of these tests' time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def page(client, path="", **query):
    answer = client.get(f"{DESK}{path}", query)
    assert answer.status_code == 200, path
    return answer.content.decode()


def decide(client, dispute_id, **said):
    return client.post(f"{DESK}{dispute_id}/decide/", said, follow=True)


def undo(client, dispute_id, **said):
    batch_id = conflict_row(dispute_id).batch_id
    assert batch_id is not None
    batch = wire_id(Prefix.BATCH, batch_id)
    return client.post(f"{DESK}batches/{batch}/undo/", said, follow=True)


def words(text):
    """Return what stands on a page, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text)).replace(" .", ".")


def last_of(client):
    """Return the form that takes back what was done last: where it is sent, and what is in it."""
    found = re.search(r'class="pl-last".*?</section>', page(client), re.DOTALL)
    if found is None:
        return None
    (where,) = re.findall(r'action="([^"]*)"', found[0])
    return where, dict(re.findall(r'name="(\w+)" value="([^"]*)"', found[0]))


def sharing(office):
    """Return three memories and the two disputes that share the first of them."""
    one, two, three = (
        kept(office.colleague, f"The gateway listens on port {port}.", project="apollo")
        for port in (7001, 7002, 7003)
    )
    return (one, two, three), dispute(office, two, one), dispute(office, three, one)


class TestUndoing:
    @pytest.mark.rule("RE-06", "DI-11")
    def test_many_at_once_says_how_many_wherever_it_is_offered(self, office):
        ids = [pair(office.colleague, office, number)[2] for number in range(3)]
        alone = pair(office.colleague, office, 9)[2]
        client = logged_in(office.reviewer)
        decide(client, alone, keep_both="true")
        client.post(f"{DESK}bulk/", {"policy": "keep_both", "dispute": ids, "do": "yes"})
        decided = page(client, state="decided")
        assert decided.count(">Undo all 3</button>") == 3
        assert decided.count(">Undo</button>") == 1
        assert "3 disputes decided at once" in decided
        assert "Undo all 3 <kbd>" in decided
        assert "Undo all 3 decided with it" in page(logged_in(office.senior), f"{ids[0]}/change/")
        assert "Undo this decision" in page(client, f"{alone}/change/")

    @pytest.mark.rule("RE-06")
    @pytest.mark.parametrize("deed", ["defer", "assign"])
    def test_the_key_takes_back_what_was_done_last(self, office, deed):
        decided = pair(office.colleague, office, 1)[2]
        other = pair(office.colleague, office, 2)[2]
        client = logged_in(office.reviewer)
        decide(client, decided, keep_both="true")
        said = {"defer": {"preset": "week"}, "assign": {"member": of(office.senior)}}[deed]
        client.post(f"{DESK}{other}/{deed}/", said)

        where, sent = last_of(client)
        assert where == f"{DESK}{other}/{deed}/"
        answer = client.post(where, sent, follow=True)

        assert answer.redirect_chain[-1][0].startswith(f"{DESK}{other}/change/")
        row = conflict_row(other)
        assert (row.deferred_until, row.assigned_to_id) == (None, None)
        assert state_of(decided)[0] == "resolved"
        # Then what was done before that, and then nothing.
        client.post(*last_of(client))
        assert state_of(decided)[0] == "pending"
        assert last_of(client) is None

    @pytest.mark.rule("RE-06")
    def test_a_second_putting_off_is_taken_back_to_the_first(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        for preset in ("tomorrow", "week"):
            client.post(f"{DESK}{dispute_id}/defer/", {"preset": preset})
        client.post(*last_of(client))
        until, tomorrow = (
            conflict_row(dispute_id).deferred_until,
            timezone.now() + timedelta(days=1),
        )
        assert until is not None
        assert abs(until - tomorrow) < timedelta(hours=1)
        client.post(*last_of(client))
        assert conflict_row(dispute_id).deferred_until is None
        assert last_of(client) is None

    @pytest.mark.rule("RE-06")
    def test_out_of_order_it_leads_to_the_later_decision(self, office):
        (one, two, three), first, second = sharing(office)
        client = logged_in(office.reviewer)
        decide(client, first, winner=one)
        decide(client, second, winner=three)
        text = undo(client, first).content.decode()
        assert "nothing left to undo" not in text
        assert "A was superseded" not in text
        assert "B was superseded by reviewer since" in words(text)
        assert f'href="{DESK}{second}/change/">the later decision</a>' in text
        assert state_of(first)[0] == "resolved"
        undo(client, second)
        undo(client, first)
        assert state_of(first)[0] == state_of(second)[0] == "pending"
        assert {seen(office.senior, each)["lifecycle"] for each in (one, two, three)} == {"live"}

    @pytest.mark.rule("RE-06")
    def test_behind_a_memory_that_went_elsewhere_it_leads_to_that(self, office):
        newer, _, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        decide(client, dispute_id, winner=newer)
        done(office.colleague.post(f"/memories/{newer}/forget", {"reason": "no more"}))
        text = undo(client, dispute_id).content.decode()
        assert "A was forgotten by colleague since" in words(text)
        assert f"/admin/memory/memory/{newer}/change/" in text
        again = undo(client, dispute_id).content.decode()
        assert "Not undone" in again


class TestRefusing:
    @pytest.mark.rule("DI-04")
    @pytest.mark.parametrize(
        ("content", "note", "at"),
        [
            (" ", KEPT, "wrong-content"),
            (f"{KEPT} " + "x" * 40_000, "why", "wrong-content"),
            ("the older one's", KEPT, "wrong-content"),
            (f"{KEPT} {SECRET}", "why", "wrong-content"),
            (KEPT, "n" * 3000, "wrong-note"),
        ],
    )
    def test_a_merge_loses_nothing_that_was_written(self, office, content, note, at):
        _, older, dispute_id = pair(office.colleague, office, 1)
        if content == "the older one's":
            content = seen(office.senior, older)["content"]
        client = logged_in(office.reviewer)
        answer = decide(client, dispute_id, merge="true", content=content, note=note)
        text = answer.content.decode()
        assert answer.status_code == 200
        assert state_of(dispute_id) == ("pending", None)
        assert f'id="{at}" role="alert"' in text
        assert f">{content}</textarea>" in text
        assert f">{note}</textarea>" in text
        assert '<details class="pl-outcome pl-merge" open>' in text
        assert "merge.content" not in text

    def test_any_other_decision_keeps_the_note(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        answer = decide(logged_in(office.reviewer), dispute_id, winner="mem_zzz", note=KEPT)
        assert f">{KEPT}</textarea>" in answer.content.decode()
        assert '<details class="pl-outcome pl-merge">' in answer.content.decode()

    def test_a_day_is_asked_for_in_words(self, office):
        _, _, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        for until in ("", "soon", "2020-01-01"):
            answer = client.post(f"{DESK}{dispute_id}/defer/", {"preset": "date", "until": until})
            assert "Choose a day to come." in answer.content.decode()
            assert "with its offset" not in answer.content.decode()


class TestWhatElseGoes:
    @pytest.mark.rule("DI-04")
    def test_each_button_says_how_many_others_become_moot(self, office):
        (_, two, three), first, second = sharing(office)
        dispute(office, two, three)
        text = words(page(logged_in(office.reviewer), f"{second}/change/"))
        # A is the third, B the first; the first dispute is about the first, the last of the third.
        assert text.count("1 other dispute about it becomes moot.") == 2
        assert "2 other disputes about them become moot." in text
        assert state_of(first)[0] == "pending"

    @pytest.mark.rule("DI-11")
    def test_the_dry_run_says_it_and_the_real_run_does_it(self, office):
        (one, _, three), first, second = sharing(office)
        fourth = kept(office.colleague, "The gateway listens on 7004.", project="apollo")
        third = dispute(office, fourth, one)
        client = logged_in(office.reviewer)
        said = {"policy": "newest_wins", "dispute": [second, first]}
        text = client.post(f"{DESK}bulk/", said).content.decode()
        assert "1 of 2 would be decided." in words(text)
        assert "2 others in your sight would become moot" in words(text)
        assert text.count("becomes moot</span>") == 1
        assert "left alone" not in text
        answer = client.post(f"{DESK}bulk/", said | {"do": "yes"}, follow=True)
        assert "1 became moot with what was decided." in answer.content.decode()
        assert "left alone" not in answer.content.decode()
        assert state_of(first)[0] == "resolved"
        assert {state_of(each)[0] for each in (second, third)} == {"moot"}
        assert seen(office.senior, three)["lifecycle"] == "live"

    @pytest.mark.rule("DI-11", "RE-06")
    def test_all_that_match_are_decided_and_not_those_of_a_page_alone(self, office, monkeypatch):
        monkeypatch.setattr("reviews.admin.PER_PAGE", 2)
        ids = [pair(office.colleague, office, number)[2] for number in range(5)]
        others = kept(office.senior, "Parrots eat at 5.", project="apollo")
        other = dispute(office, kept(office.senior, "Parrots eat at 6.", project="apollo"), others)
        client = logged_in(office.reviewer)
        assert "All 5 that match" in words(page(client, q="cluster"))
        assert "All 6 that wait here" in words(page(client))
        said = {"policy": "oldest_wins", "queue": "?q=cluster", "all": "yes"}
        text = client.post(f"{DESK}bulk/", said).content.decode()
        assert "5 of 5 would be decided." in words(text)
        assert {state_of(one)[0] for one in ids} == {"pending"}
        (listed,) = re.findall(r'name="disputes" value="([^"]*)"', text)
        client.post(f"{DESK}bulk/", {"policy": "oldest_wins", "disputes": listed, "do": "yes"})
        assert {state_of(one)[0] for one in ids} == {"resolved"}
        assert state_of(other)[0] == "pending"
        undo(client, ids[0])
        assert {state_of(one)[0] for one in ids} == {"pending"}
        for state in ("decided", "automatic", "proposals"):
            nothing = {"policy": "keep_both", "queue": f"?state={state}", "all": "yes"}
            answer = client.post(f"{DESK}bulk/", nothing | {"do": "yes"}, follow=True)
            assert "Choose disputes" in answer.content.decode()


class TestMoot:
    @pytest.mark.rule("DI-05")
    def test_it_is_told_who_took_the_side_away_and_when(self, office):
        newer, older, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        page(client, f"{dispute_id}/change/")
        done(office.colleague.post(f"/memories/{older}/forget", {"reason": "gone"}))
        text = decide(client, dispute_id, winner=newer).content.decode()
        assert "It was decided already" not in text
        assert "It is moot by now" in text
        today = f"{timezone.now():%Y-%m-%d}"
        assert re.search(rf"B was forgotten by colleague, {today} \d\d:\d\d UTC", words(text))
        memory = client.get(f"/admin/memory/memory/{older}/change/").content.decode()
        assert "by the policy" not in memory
        assert "won</span>" not in page(client, state="over")

    @pytest.mark.rule("DI-05")
    def test_what_somebody_decided_is_told_as_decided(self, office):
        newer, _, dispute_id = pair(office.colleague, office, 1)
        decide(logged_in(office.senior), dispute_id, winner=newer)
        text = decide(logged_in(office.reviewer), dispute_id, keep_both="true").content.decode()
        assert "It was decided already" in text
        assert "Decided by senior" in words(text)


def figure(client, name):
    """Return the rows of a figure's table, by their first cell."""
    text = page(client, "statistics/")
    (part,) = re.findall(rf'<figure [^>]*"{name}-title".*?</figure>', text, re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", row) for row in rows]
    return cells[0], {row[0]: row[1:] for row in cells[1:]}


class TestStatistics:
    def test_what_began_before_the_first_day_waits_from_its_start(self, office):
        now = timezone.now()
        midnight = datetime(now.year, now.month, now.day, tzinfo=UTC) - timedelta(days=29)
        begun = {
            midnight - timedelta(seconds=1): pair(office.colleague, office, 1)[2],
            midnight: pair(office.colleague, office, 2)[2],
            now - timedelta(days=30): pair(office.colleague, office, 3)[2],
        }
        for at, dispute_id in begun.items():
            periods = DisputePeriod.objects.using("owner")
            assert periods.filter(conflict=conflict_row(dispute_id).id).update(began_at=at) == 1
        _, rows = figure(logged_in(office.reviewer), "flow")
        assert rows[f"{midnight:%Y-%m-%d}"] == ["1", "0", "3"]

    @pytest.mark.rule("RE-03")
    def test_a_loser_that_came_back_counts_whatever_became_of_the_winner(self, office):
        newer, _, dispute_id = pair(office.colleague, office, 1)
        client = logged_in(office.reviewer)
        decide(client, dispute_id, winner=newer)
        by_policy = {"resolved_by_member": None, "batch_id": None, "resolution": "recency"}
        Conflict.objects.using("owner").filter(id=conflict_row(dispute_id).id).update(**by_policy)
        client.post(f"{DESK}{dispute_id}/restore/", {})
        today = f"{timezone.now():%Y-%m-%d}"
        assert figure(client, "losses")[1][today] == ["1", "1"]
        assert "Both are live again." in page(client, f"{dispute_id}/change/")
        done(office.colleague.post(f"/memories/{newer}/forget", {"reason": "gone"}))
        assert figure(client, "losses")[1][today] == ["1", "1"]
        for path in (f"{dispute_id}/change/", "?state=automatic"):
            assert "Both are live again." not in page(client, path)
            assert "What won over it has gone since." in page(client, path)

    def test_agents_are_no_people(self, office):
        newer, _, by_agent = pair(office.colleague, office, 1)
        newest, _, by_person = pair(office.colleague, office, 2)
        challenged(office.colleague, office, 3)
        for dispute_id, winner in ((by_agent, newer), (by_person, newest)):
            Conflict.objects.using("owner").filter(id=conflict_row(dispute_id).id).update(
                recommended_winner=read_id(Prefix.MEMORY, winner)
            )
        client = logged_in(office.reviewer)
        for dispute_id, winner in ((by_agent, newer), (by_person, newest)):
            decide(client, dispute_id, winner=winner)
        Conflict.objects.using("owner").filter(id=conflict_row(by_agent).id).update(
            resolved_by_agent=office.agent.agent.id
        )
        heads, rows = figure(client, "verdicts")
        told = dict(zip(heads[1:], rows["contradiction"], strict=True))
        assert (told["By a person"], told["By an agent"], told["All"]) == ("1", "1", "2")
        # What people call into question no judge has said anything of.
        assert set(rows) == {"contradiction"}
        assert figure(client, "agreement")[1]["from 0.80"][:2] == ["1", "1"]

    def test_what_was_kept_is_no_disagreement(self, office):
        newer, _, dispute_id = pair(office.colleague, office, 1)
        Conflict.objects.using("owner").filter(id=conflict_row(dispute_id).id).update(
            recommended_winner=read_id(Prefix.MEMORY, newer)
        )
        client = logged_in(office.reviewer)
        decide(client, dispute_id, keep_both="true")
        assert figure(client, "agreement")[1]["from 0.80"][:2] == ["0", "0"]


class TestQuestioning:
    @pytest.mark.rule("DI-06")
    def test_a_memory_is_challenged_and_reported_from_its_own_page(self, office):
        memory = kept(office.colleague, "The printer stands on floor 2.", project="apollo")
        client = logged_in(office.senior)
        where = f"/admin/memory/memory/{memory}/change/"
        assert "Challenge…" in client.get(where).content.decode()
        answer = client.post(
            f"{DESK}memories/{memory}/misled/", {"reason": "I walked to floor 2."}, follow=True
        )
        assert "Reported." in answer.content.decode()
        assert seen(office.senior, memory)["disputed"] is False
        answer = client.post(
            f"{DESK}memories/{memory}/challenge/",
            {"reason": "It was moved.", "evidence": "I stood there."},
            follow=True,
        )
        assert "Challenged; it stays live until" in answer.content.decode()
        dispute_id = seen(office.senior, memory)["dispute_id"]
        assert f"{DESK}{dispute_id}/change/" in answer.content.decode()
        text = page(client, f"{dispute_id}/change/")
        assert "It was moved." in text
        assert "I stood there." in text

    @pytest.mark.rule("DI-06", "VI-04")
    def test_who_may_not_gets_no_buttons_and_nothing_done(self, office):
        memory = kept(office.colleague, "The printer stands on floor 2.", project="apollo")
        reader = logged_in(office.viewer)
        assert (
            "Challenge…"
            not in reader.get(f"/admin/memory/memory/{memory}/change/").content.decode()
        )
        for deed in ("challenge", "misled"):
            assert reader.get(f"{DESK}memories/{memory}/{deed}/").status_code == 405
            reader.post(f"{DESK}memories/{memory}/{deed}/", {"reason": "no"})
            answer = logged_in(office.outsider).post(
                f"{DESK}memories/{memory}/{deed}/", {"reason": "no"}
            )
            assert answer.status_code == 404
        assert seen(office.senior, memory)["disputed"] is False


class TestSweeps:
    @pytest.mark.rule("RE-06", "RE-03")
    def test_one_is_undone_as_a_whole_from_the_tab_of_what_machines_did(self, office):
        batch = new_id()
        pairs = [pair(office.colleague, office, number) for number in range(3)]
        client = logged_in(office.reviewer)
        for newer, _, dispute_id in pairs[:2]:
            decide(client, dispute_id, winner=newer)
            Conflict.objects.using("owner").filter(id=conflict_row(dispute_id).id).update(
                resolved_by_member=None, batch_id=batch, resolution="recency"
            )
        found = Conflict.objects.using("owner").filter(id=conflict_row(pairs[2][2]).id)
        found.update(batch_id=batch)
        text = page(client, state="automatic")
        assert "2 retired, 1 dispute waiting" in words(text)
        assert "Undo this sweep" in text
        assert "Undo this sweep" not in page(logged_in(office.viewer), state="automatic")
        where = f"{DESK}batches/{wire_id(Prefix.BATCH, batch)}/undo/"
        assert f'action="{where}"' in text
        answer = client.post(where, {"queue": "?state=automatic", "back": "list"}, follow=True)
        assert "Undone (3)." in answer.content.decode()
        assert {seen(office.senior, older)["lifecycle"] for _, older, _ in pairs} == {"live"}
        assert state_of(pairs[2][2])[0] == "dismissed"
        # Nothing of it stands, so there is nothing to undo.
        assert "Undo this sweep" not in page(client, state="automatic")


class TestWays:
    def test_back_leads_to_the_page_on_which_the_dispute_stands(self, office, monkeypatch):
        for module in ("admin", "page"):
            monkeypatch.setattr(f"reviews.{module}.PER_PAGE", 2)
        ids = [pair(office.colleague, office, number)[2] for number in range(5)]
        client = logged_in(office.reviewer)
        for path, number in ((ids[4], ""), (ids[2], "?p=2"), (ids[0], "?p=3")):
            text = page(client, f"{path}/change/")
            assert f'href="{DESK}{number or "?"}">← Conflicts' in text
            assert f"{path}/change/" in page(client, number)
        text = client.get(f"{DESK}{ids[0]}/change/?q=cluster").content.decode()
        assert f'href="{DESK}?q=cluster&amp;p=3">← Conflicts' in text

    def test_what_is_not_offered_for_proposals_narrows_nothing_there(self, office):
        kept(office.watcher, "Somebody saw the printer.")
        client = logged_in(office.reviewer)
        text = page(client, state="proposals", verdict="duplicate", kind="stale")
        assert "Somebody saw the printer." in text
        assert "Clear</a>" not in text
        assert "assigned to me" not in text
        assert "decided by me" not in text
        assert "about what is mine" in text

    def test_the_overview_counts_what_each_tab_shows(self, office):
        pair(office.colleague, office, 1)
        pair(office.colleague, office, 2, kind="unjudged", verdict=None)
        pair(office.colleague, office, 3, deferred_until="2031-01-01T00:00:00Z")
        challenged(office.colleague, office, 1)
        overview = words(logged_in(office.reviewer).get("/admin/").content.decode())
        for told in ("1 pair to decide", "1 challenges", "1 unjudged", "1 deferred"):
            assert told in overview, told

    def test_a_page_that_is_missing_keeps_the_frame(self, office):
        answer = logged_in(office.senior).get(f"{DESK}cfl_zzz/change/")
        assert answer.status_code == 404
        text = answer.content.decode()
        assert "There is no such thing" in text
        assert f'href="{DESK}"' in text

    def test_subjects_open_where_most_is_remembered(self, office):
        where = "/admin/memory/memory/subjects/"
        hermes = wire_id(Prefix.PROJECT, office.hermes.id)
        for number in range(2):
            done(
                office.reviewer.post(
                    "/memories",
                    {
                        "content": f"Hermes flies at {number}.",
                        "project": "hermes",
                        "subjects": ["hermes.speed"],
                    },
                )
            )
        kept(office.reviewer, "Apollo stands still.", project="apollo")
        text = logged_in(office.reviewer).get(where).content.decode()
        assert f'value="{hermes}" selected' in text
        assert "hermes.speed" in text


class TestAnsweringSeveral:
    @pytest.mark.rule("TR-06", "RE-06")
    def test_those_that_were_ticked_are_answered_for_one_reason(self, office):
        ids = [kept(office.watcher, f"Somebody saw printer {number}.") for number in range(4)]
        client = logged_in(office.reviewer)
        assert page(client, state="proposals").count('form="answers"') == 4
        for answer, chosen, state in (
            ("accept", ids[:2], "verified"),
            ("reject", ids[2:3], "rejected"),
        ):
            said = {"answer": answer, "memory": [*chosen, "mem_zzz"], "reason": "I saw it, too."}
            text = client.post(f"{DESK}proposals/answer/", said, follow=True).content.decode()
            assert f"{len(chosen)} {answer}ed." in text
            assert "1 left as they were: There is no such thing." in text
            assert {seen(office.senior, one)["trust_state"] for one in chosen} == {state}
        assert seen(office.senior, ids[3])["trust_state"] == "proposed"
        for _ in range(3):
            client.post(*last_of(client))
        assert {seen(office.senior, one)["trust_state"] for one in ids} == {"proposed"}

    @pytest.mark.rule("TR-06")
    def test_without_a_reason_a_tick_or_the_right_nothing_is_answered(self, office):
        memory = kept(office.watcher, "Somebody saw the printer.")
        said = {"answer": "accept", "memory": memory, "reason": "yes"}
        client = logged_in(office.reviewer)
        lacking: list[dict[str, Any]] = [
            {"reason": " "},
            {"memory": ""},
            {"answer": "perhaps"},
            {"memory": []},
        ]
        for less in lacking:
            answer = client.post(f"{DESK}proposals/answer/", said | less, follow=True)
            assert [str(one) for one in answer.context["messages"]]
        # Whoever sponsors a watcher does not vouch for what it captured.
        for person in (office.senior, office.viewer):
            assert 'form="answers"' not in page(logged_in(person), state="proposals")
            logged_in(person).post(f"{DESK}proposals/answer/", said)
        assert seen(office.senior, memory)["trust_state"] == "proposed"
