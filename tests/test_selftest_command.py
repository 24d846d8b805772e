"""The self-test and the certificate by hand, as commands: what they print, keep and end with."""

import os
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command

from deploy.here import database_of
from hygiene import pair_set
from hygiene.certified import is_certified
from hygiene.judge import Opinion, Said
from hygiene.models import Certificate
from hygiene.rules_judge import RulesJudge
from tenants.context import acting_as
from tenants.models import Event

pytestmark = pytest.mark.rule("PO-18")


class Model:
    """A judge of nobody's make: it says the same of everything, or answers by rules."""

    prompt_version = "compare-1"
    likeness = "here"

    def __init__(self, name, relation=None):
        self.id = f"openai:{name}"
        self.relation = relation
        self._rules = RulesJudge()

    def compare(self, older, newer):
        if self.relation is None:
            return self._rules.compare(older, newer)
        return Opinion(self.relation, 1.0, "Told.", tokens_in=100, tokens_out=10)


@pytest.fixture
def judge(monkeypatch, office):
    """A judge whose name is this office's own, so that other tests' certificates do not count."""

    def take(relation=None):
        told = Model(office.slug, relation)
        monkeypatch.setattr(
            "hygiene.management.commands.judge_selftest.current_judge", lambda: told
        )
        monkeypatch.setattr("hygiene.management.commands.judge_certify.current_judge", lambda: told)
        return told

    return take


def run(command, *arguments, **options):
    out = StringIO()
    call_command(command, *arguments, stdout=out, **options)
    return out.getvalue()


def may_act(office, judge):
    with acting_as(office.senior.caller):
        return is_certified(judge)


def test_the_judge_by_rules_passes_and_it_is_kept(office):
    text = run("judge_selftest")

    assert "Certified." in text
    assert "false invalidations" in text
    assert "contradictions missed" in text
    assert "labelled, and as judged" in text
    kept = Certificate.objects.using("owner").get(tenant=office.tenant)
    assert (kept.judge, kept.passed) == ("rules", True)
    assert kept.report["pairs"] == len(pair_set.load())
    event = Event.objects.using("owner").get(tenant=office.tenant, object_id=kept.id)
    assert (event.command, event.member_id) == ("certify_judge", None)


def test_a_judge_that_retires_what_should_stay_does_not_pass(office, judge):
    model = judge(Said.B_SUPERSEDES_A)
    out = StringIO()

    with pytest.raises(CommandError, match="only opens disputes"):
        call_command("judge_selftest", "--price-in=2.5", "--price-out=10", stdout=out)

    assert "Not certified" in out.getvalue()
    assert "cost" in out.getvalue()
    assert Certificate.objects.using("owner").get(tenant=office.tenant).passed is False
    assert not may_act(office, model)


def test_a_part_of_the_pairs_is_told_and_not_kept(office, judge):
    model = judge(Said.UNRELATED)
    run_by_hand(office, model)

    with pytest.raises(CommandError):
        run("judge_selftest", limit=5)
    with pytest.raises(CommandError):
        run("judge_selftest", held_out=True)

    assert may_act(office, model)


def run_by_hand(office, model):
    text = run("judge_certify", reason="Tried for a week beside the reviewers.")
    assert model.id in text
    assert may_act(office, model)


def test_a_judge_is_certified_by_hand_with_a_reason_from_the_next_pair_on(office, judge):
    model = judge(Said.UNSURE)
    assert not may_act(office, model)

    run_by_hand(office, model)

    kept = Certificate.objects.using("owner").get(tenant=office.tenant)
    event = Event.objects.using("owner").get(object_id=kept.id)
    assert event.reason == kept.reason == "Tried for a week beside the reviewers."
    assert event.after == {
        "judge": model.id,
        "prompt_version": "compare-1",
        "passed": True,
    }
    model.prompt_version = "compare-2"
    assert not may_act(office, model)


def test_a_part_of_every_shape_is_asked_about_and_certifies_nobody(office, judge):
    model = judge()
    out = StringIO()

    with pytest.raises(CommandError, match="only opens disputes"):
        call_command("judge_selftest", limit=200, stdout=out)

    text = out.getvalue()
    assert f"a part of the pairs, 200 of {len(pair_set.load())}" in text
    assert "Not kept: 200 of " in text
    assert all(shape in text for shape in pair_set.Shape)
    assert not Certificate.objects.using("owner").filter(tenant=office.tenant).exists()
    assert not may_act(office, model)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_part_has_a_pair_at_least(judge, limit):
    judge()

    with pytest.raises(CommandError, match="--limit must be at least 1"):
        run("judge_selftest", limit=limit)


def test_a_judge_of_no_use_is_told_to_be_and_the_certificate_says_so(office, judge):
    judge(Said.UNSURE)

    text = run("judge_selftest")

    assert "Of no use: it would act on nothing" in text
    kept = Certificate.objects.using("owner").get(tenant=office.tenant)
    assert kept.reason.endswith("it would act on nothing")
    assert kept.report["false_invalidations_of_retirements"] == 0


def test_a_certificate_is_for_one_server_and_one_text_of_the_question(office, judge):
    model = judge(Said.UNSURE)
    run_by_hand(office, model)

    model.likeness = "elsewhere"

    assert not may_act(office, model)
    run_by_hand(office, model)
    model.likeness = "here"
    assert may_act(office, model)


@pytest.mark.parametrize("reason", ["", "   ", "x" * 2001])
def test_there_must_be_a_reason(reason, judge):
    judge()

    with pytest.raises(CommandError, match="Say why"):
        run("judge_certify", reason=reason)


def test_without_a_judge_there_is_nothing_to_test(settings):
    settings.JUDGE = "off"

    for command, options in (("judge_selftest", {}), ("judge_certify", {"reason": "x"})):
        with pytest.raises(CommandError, match="no judge"):
            run(command, **options)


@pytest.mark.skipif("TEST_DATABASE_URL" in os.environ, reason="needs the embedded server")
def test_beside_a_running_instance_its_database_is_used():
    with database_of({}, Path(os.environ["DATA_DIR"])) as (logins, is_new):
        assert not is_new
        assert logins.owner_url is not None
        with psycopg.connect(logins.owner_url) as owner:
            assert owner.execute("SELECT count(*) > 0 FROM tenants").fetchone() == (True,)
