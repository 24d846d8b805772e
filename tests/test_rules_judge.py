"""The judge without a model: what it proves, what it suspects, and what it leaves alone."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.pair_set import load, split
from hygiene.judge import Exhibit, Opinion, Said, Statement, judge_from
from hygiene.rules_judge import RulesJudge
from hygiene.selftest import RELATIONS, run
from memory.conflict.policy import DROP_DUPLICATE, Bars, Deed, Pair, Side, Verdict, decide

pytestmark = pytest.mark.rule("JU-07")

WRITTEN = datetime(2026, 11, 30, tzinfo=UTC)
KEPT = {Said.COMPLEMENTARY, Said.UNRELATED}


def _exhibit(content: str, *components: Statement, rank: int = 1) -> Exhibit:
    return Exhibit(content, "fact", rank, 20, WRITTEN, components)


def _compare(older: str, newer: str, *, rank: int = 1) -> Opinion:
    return RulesJudge().compare(_exhibit(older, rank=rank), _exhibit(newer, rank=rank))


def _declare(older: list[Statement], newer: list[Statement]) -> Opinion:
    return RulesJudge().compare(
        _exhibit("The first note.", *older), _exhibit("Something else entirely.", *newer)
    )


def test_it_is_the_judge_called_rules():
    judge = judge_from("rules")

    assert isinstance(judge, RulesJudge)
    assert (judge.id, judge.prompt_version) == ("rules", "rules-2")


@pytest.mark.rule("DE-04")
def test_two_values_of_one_subject_are_a_proven_contradiction():
    opinion = _declare([Statement("db.port", "5432")], [Statement("db.port", "5433")])

    assert (opinion.relation, opinion.confidence) == (Said.CONTRADICTION, 1.0)
    assert opinion.shared_subject == "db.port"
    assert "5432" in opinion.reasoning
    assert "5433" in opinion.reasoning


@pytest.mark.rule("DE-04")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ([Statement("db.port", "5432")], [Statement("db.port", " 5432.")]),
        ([Statement("api.timeout", "90 s")], [Statement("api.timeout", "1.5 min")]),
        ([Statement("db.port", "5432")], [Statement("cache.port", "6379")]),
        ([Statement("app.formats", "CSV", multi=True)], [Statement("app.formats", "PDF")]),
        ([Statement("app.formats", "CSV")], [Statement("app.formats", "PDF", multi=True)]),
        ([Statement("db.port", None)], [Statement("db.port", "5432")]),
        ([Statement("a", "1"), Statement("a", "2")], [Statement("a", "3")]),
        ([], [Statement("db.port", "5432")]),
    ],
)
def test_no_clash_is_proven_where_there_is_none(older: list[Statement], newer: list[Statement]):
    assert _declare(older, newer).confidence < DROP_DUPLICATE


def test_the_exact_repeat_is_a_proven_duplicate():
    opinion = _compare("Deploys are frozen  in\nDecember.", "Deploys are frozen in December.")

    assert (opinion.relation, opinion.confidence) == (Said.DUPLICATE, 1.0)


def test_a_clash_counts_also_where_the_words_are_the_same():
    opinion = RulesJudge().compare(
        _exhibit("See the table.", Statement("db.port", "1")),
        _exhibit("See the table.", Statement("db.port", "2")),
    )

    assert opinion.relation is Said.CONTRADICTION


OPENED = [
    ("The API listens on port 8080.", "The API listens on port 9090."),
    ("The backend is written in Scala.", "The backend is written in Kotlin."),
    ("Backups are encrypted.", "Backups are not encrypted."),
    ("Feature flags are stored in Consul.", "Feature flags are no longer stored in Consul."),
    ("The nightly job is enabled on the main cluster.", "The nightly job is disabled."),
    ("Reports are sent by mail.", "We moved from mail to Slack for the reports."),
    ("Releases happen on Thursdays.", "Since March releases happen on Mondays."),
    ("We deploy with Ansible.", "We deploy with Terraform now instead of Ansible."),
    ("The office is in Hamburg since 2024.", "Brochure of 2019: the office is in Bremen."),
    ("The mail queue has 3 workers.", "The mail queue has 3 workers, and a spare one at night."),
    ("Only Ana may merge to main.", "Ana and Boris may merge to main."),
    ("Die Sicherung läuft um 2 Uhr.", "Die Sicherung läuft um 4 Uhr."),
    ("Das Archiv wird verschlüsselt.", "Das Archiv wird nicht verschlüsselt."),
    ("Le rapport est envoyé le lundi.", "Le rapport n'est plus envoyé le lundi."),
    ("El servidor usa el puerto 80.", "El servidor ahora usa el puerto 443."),
    ("Il backup parte alle 3.", "Il backup non parte più alle 3."),
    ("O limite é de 10 MB.", "O limite passou a 20 MB."),
    ("Сервис работает на порту 80.", "Сервис больше не работает на порту 80."),
    ("缓存时间是5分钟。", "缓存时间现在改为10分钟。"),
    ("サーバーは東京にあります。", "サーバーは大阪に移行しました。"),
    ("배포는 금요일에 합니다.", "배포는 이제 월요일에 합니다."),
    ("Kopia zapasowa jest szyfrowana.", "Kopia zapasowa nie jest szyfrowana."),
]

LEFT_ALONE = [
    ("The export supports CSV.", "The export supports PDF."),
    ("The app speaks German.", "The app also speaks Dutch."),
    ("In production the pool has 20 connections.", "In staging the pool has 5 connections."),
    ("The Berlin office opens at 8.", "The Paris office opens at 9."),
    ("In version 2 the limit is 10 MB.", "In version 3 the limit is 50 MB."),
    ("Tokens expire after 15 minutes.", "Should tokens expire after 60 minutes?"),
    ("Tokens expire after 15 minutes.", 'A customer claimed "tokens expire after 60 minutes".'),
    ("The rate limit is 100.", "If we raised the rate limit to 500, the database would suffer."),
    ("Building 2 closes at 18:00.", "Building 5 closes at 20:00."),
    ("The shop runs on Kubernetes.", "In 2019 the shop ran on bare metal."),
    ("Interns are paid monthly.", "Freelancers are paid monthly."),
    ("The invoice job needs 4 GB.", "Lunch is at noon."),
    (
        "If the worker hangs, run `kill -USR1` and look at /var/log/worker.log.",
        "Overview of the worker: it runs on three hosts and is stable since the last update.",
    ),
    ("Das Löschen dauert 30 Tage.", "Angeblich dauert das Löschen 60 Tage."),
    ("服务支持微信登录。", "服务还支持支付宝登录。"),
]


@pytest.mark.parametrize(("older", "newer"), OPENED)
def test_it_suspects_a_contradiction_and_proves_nothing(older: str, newer: str):
    opinion = _compare(older, newer)

    assert opinion.relation not in KEPT
    assert opinion.confidence < DROP_DUPLICATE


@pytest.mark.parametrize(("older", "newer"), LEFT_ALONE)
def test_it_leaves_alone_what_goes_together(older: str, newer: str):
    opinion = _compare(older, newer)

    assert opinion.relation in KEPT
    assert opinion.confidence < DROP_DUPLICATE


@pytest.mark.rule("PO-02", "PO-03")
@pytest.mark.parametrize(("older", "newer"), OPENED)
def test_a_suspicion_beside_a_provisional_memory_names_no_winner(older: str, newer: str):
    """There the policy acts at any confidence; only unsure can retire nothing."""
    assert _compare(older, newer, rank=0).relation is Said.UNSURE


def test_the_same_words_otherwise_punctuated_are_a_duplicate_also_among_provisional_ones():
    opinion = _compare("redis must run for the tests", "Redis must run, for the tests!", rank=0)

    assert opinion.relation is Said.DUPLICATE
    assert opinion.confidence < DROP_DUPLICATE


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Is the tunnel on?", "Is the tunnel on"),
        ("No, use TLS for the relay", "No use TLS for the relay"),
        ("Don't. Stop the relay", "Don't stop the relay"),
        ("retry if code != 0", "retry if code = 0"),
        ("the relay is “fixed”", "the relay is fixed"),
        ("!important in the print styles", "important in the print styles"),
        ("全部删除？", "全部删除"),
    ],
)
def test_marks_that_change_what_is_said_make_other_words(older: str, newer: str):
    assert _compare(older, newer, rank=0).relation is not Said.DUPLICATE


@pytest.mark.rule("DE-04", "PO-05")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("5432", "unknown"),
        ("5432", "not 5433"),
        ("200 EUR", "up to 500 EUR"),
        ("5433 (staging)", "5432 (production)"),
        ("100 USD", "92 EUR"),
        ("Ana", "Ana and Ben"),
        ("3.12", ">=3.11"),
    ],
)
def test_declared_values_that_may_both_be_true_are_suspected_only(older: str, newer: str):
    opinion = _declare([Statement("a.b", older)], [Statement("a.b", newer)])

    assert opinion.relation is Said.CONTRADICTION
    assert opinion.confidence < DROP_DUPLICATE


def test_words_in_another_order_are_not_the_same_words():
    opinion = _compare("copy from alpha to beta", "copy to alpha from beta", rank=0)

    assert opinion.relation is Said.UNSURE


def test_texts_too_long_to_be_read_whole_are_never_taken_for_the_same():
    long = "Every word of this counts. " * 400

    opinion = _compare(long + "The port is 80", long + "The port is 81.", rank=0)

    assert opinion.relation is not Said.DUPLICATE


@pytest.mark.rule("PO-05")
@pytest.mark.parametrize("ranks", [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)])
@pytest.mark.parametrize(("older", "newer"), OPENED)
def test_no_suspicion_retires_anything(older: str, newer: str, ranks: tuple[int, int]):
    opinion = RulesJudge().compare(_exhibit(older, rank=ranks[0]), _exhibit(newer, rank=ranks[1]))
    pair = Pair(newer=Side(ranks[1], 50), older=Side(ranks[0], 20))

    action = decide(pair, Verdict(RELATIONS[opinion.relation], opinion.confidence), Bars())

    assert action.deed is not Deed.SUPERSEDE


def test_every_reason_is_one_sentence():
    reasons = {_compare(older, newer).reasoning for older, newer in OPENED + LEFT_ALONE}

    assert all(reason.endswith(".") and len(reason) < 300 for reason in reasons)


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=150)
def test_no_text_whatever_is_proven_unless_it_is_the_same(older: str, newer: str):
    opinion = _compare(older, newer)

    assert opinion == _compare(older, newer)
    assert opinion.confidence < DROP_DUPLICATE or older.split() == newer.split()


@pytest.mark.parametrize(
    "piece",
    ["if it ", "word ", "a.b.c/", "(((", "不", "löst ", "1 ", "kein x ", "In a ", "''' ", "now. "],
)
def test_the_time_is_linear_in_the_text(piece: str):
    def seconds(size: int) -> float:
        older, newer = piece * (size // len(piece)), piece * (size // len(piece)) + "end"
        started = time.perf_counter()
        _compare(older, newer)
        return time.perf_counter() - started

    small = min(seconds(4_000) for _ in range(2))

    assert seconds(32_000) < 40 * max(small, 0.005)


@pytest.mark.rule("PO-18", "PO-01")
def test_on_the_open_pair_set_it_retires_nobody_wrongly():
    report = run(RulesJudge(), load())

    assert report.false_invalidations == 0
    assert report.protected_lost == 0
    assert report.is_certified
    proven = [one for one in report.results if one.opinion and one.opinion.confidence >= 0.9]
    assert {one.said for one in proven} <= {"contradiction", "duplicate"}


@pytest.mark.rule("PO-18")
def test_on_the_pairs_held_out_it_retires_nobody_wrongly_either():
    report = run(RulesJudge(), split(load()).held_out)

    assert report.false_invalidations == 0
    assert report.protected_lost == 0
    assert report.found_rate >= 0.6
