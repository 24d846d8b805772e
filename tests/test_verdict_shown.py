"""What a verdict was about and what it cost is kept, and shown to whoever reviews it."""

from collections.abc import Iterator

import pytest

from hygiene.stub import Model, answering
from memory.models import Conflict
from tests.admin_login import log_in, logged_in
from tests.desk import DESK
from tests.judging import STUB, branch, conflicts, judgements, says, work
from tests.memories import done, kept
from tests.test_admin_browser import address, browser, look, page  # noqa: F401  fixtures

pytestmark = pytest.mark.rule("JU-06")
OLDER = "The staging database listens on port 5432."
NEWER = "The staging database listens on port 5433."


@pytest.fixture(scope="module")
def server() -> Iterator[Model]:
    with answering(Model()) as model:
        yield model


@pytest.fixture
def model(server, settings):
    settings.JUDGE, settings.JUDGE_BASE_URL = STUB, server.base_url
    server.script = []
    return server


def page_of(office, conflict):
    answer = logged_in(office.reviewer).get(f"{DESK}{conflict['id']}/change/")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_a_reviewer_sees_tokens_time_and_the_versions_that_were_judged(office, model):
    says(model, "contradiction", 0.9)
    older = kept(office.colleague, OLDER, project="apollo")
    kept(office.senior, NEWER, project="apollo")
    work(office)
    (conflict,) = conflicts(office.reviewer)
    (judged,) = judgements(office)
    assert judged.tokens_in > 0

    text = page_of(office, conflict)

    assert f"<dd>{judged.tokens_in:,} in, {judged.tokens_out:,} out</dd>" in text
    assert "Answered in" in text
    assert "<dt>Judged versions</dt><dd>A 1, B 1</dd>" in text
    done(office.colleague.patch(f"/memories/{older}", {"importance": 0.9}))
    assert "<dt>Judged versions</dt><dd>A 1, B 1 (now 2)</dd>" in page_of(office, conflict)


def test_what_a_verdict_cost_is_shown_where_it_was_kept_for_later(office, model):
    says(model, "contradiction", 0.9)
    for number in range(3):
        kept(office.colleague, OLDER.replace("5432", f"54{number}2"), project="apollo")
    work(office)
    kept(office.senior, NEWER, project="apollo")
    work(office)

    verdicts = [one.verdict for one in Conflict.objects.using("owner").filter(tenant=office.tenant)]

    assert len(verdicts) > 1
    assert all(one is not None and one["tokens_in"] > 0 for one in verdicts)


def test_what_follows_from_declared_values_has_cost_nothing(office, settings):
    settings.JUDGE = "rules"
    branch(office.senior, "main", kind="decision")
    branch(office.colleague, "dev")
    (conflict,) = conflicts(office.reviewer)

    text = page_of(office, conflict)

    assert "<dd>none: no model was asked</dd>" in text
    assert "<dt>Judged versions</dt><dd>A 1, B 1</dd>" in text
    assert "Answered in" not in text


def test_outside_a_verdict_has_the_fields_of_the_contract_alone(office, model):
    says(model, "contradiction", 0.9)
    kept(office.colleague, OLDER, project="apollo")
    kept(office.senior, NEWER, project="apollo")
    work(office)

    (conflict,) = conflicts(office.reviewer)

    assert set(conflict["verdict"]) == {
        *("relation", "confidence", "reasoning", "shared_subject", "missing_specifics"),
        *("judge", "prompt_version"),
    }


def test_it_can_be_read_in_a_browser(office, model, page, look):  # noqa: F811
    says(model, "contradiction", 0.9, reasoning="Both name the port of the staging database.")
    kept(office.colleague, OLDER, project="apollo")
    kept(office.senior, NEWER, project="apollo")
    work(office)
    (conflict,) = conflicts(office.reviewer)
    log_in(page, office.reviewer)

    page.goto(f"{DESK}{conflict['id']}/change/")

    page.wait_for_selector("dt:has-text('Judged versions')")
    look(page, "65-verdict")
    page.emulate_media(color_scheme="dark")
    page.reload()
    look(page, "65-verdict-dark")
