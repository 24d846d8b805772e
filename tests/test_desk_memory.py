"""What tells of one memory on its page: versions, marks, verifications, disputes, the feed."""

import pytest

from memory.models import Change, Mark, Verification
from tenants.ids import Prefix, read_id
from tests.admin_login import logged_in
from tests.desk import dispute
from tests.memories import kept, replacing

FEED = "/admin/memory/memory/"


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    """Hash quickly: what is slow on purpose would be most of these tests' time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def page(person, memory_id):
    answer = logged_in(person).get(f"{FEED}{memory_id}/change/")
    assert answer.status_code == 200
    return answer.content.decode()


def marked(office, memory_id):
    """Mark the memory, as a change that somebody reported does."""
    by = {"tenant": office.tenant, "observed_at": "2026-05-01T10:00:00Z"}
    change = Change.objects.using("owner").create(
        project=office.apollo,
        subject="bell.time",
        summary="The bell was <b>moved</b>.",
        by_member=office.senior.member,
        **by,
    )
    Mark.objects.using("owner").create(
        memory_id=read_id(Prefix.MEMORY, memory_id),
        cause="change",
        change=change,
        direct=True,
        **by,
    )


@pytest.mark.rule("HI-01")
def test_the_chain_tells_who_when_and_why(office):
    first = kept(office.colleague, "The bell rings at 8.", project="apollo")
    second = kept(office.senior, "The bell rings at 9.", project="apollo", links=replacing(first))
    third = kept(office.senior, "The bell rings at 10.", project="apollo", links=replacing(second))
    text = page(office.reviewer, second)
    for said in ("The bell rings at 8.", "The bell rings at 9.", "The bell rings at 10."):
        assert said in text
    assert text.count('class="pl-step"') == 2
    assert "(declared)" in text
    assert third in text


@pytest.mark.rule("HI-01", "SB-04", "T208")
def test_marks_and_verifications_stand_on_the_page(office):
    memory = kept(
        office.colleague,
        "The bell rings at 8.",
        project="apollo",
        components=[{"subject": "bell.time", "value": "8"}],
    )
    Verification.objects.using("owner").create(
        tenant=office.tenant,
        memory_id=read_id(Prefix.MEMORY, memory),
        outcome="confirmed",
        method="command",
        observed_value="8 <i>sharp</i>",
        by_member=office.senior.member,
        level=30,
        weighs=True,
        observed_at="2026-04-01T10:00:00Z",
    )
    marked(office, memory)
    other = kept(office.senior, "The bell rings at 9.", project="apollo")
    dispute_id = dispute(office, other, memory)
    for text in (
        page(office.reviewer, memory),
        logged_in(office.reviewer)
        .get(f"/admin/memory/conflict/{dispute_id}/change/")
        .content.decode(),
    ):
        assert "1 mark" in text
        assert "bell.time" in text
        assert "by senior, command" in text
        assert "8 &lt;i&gt;sharp" in text
        assert "<b>moved" not in text


@pytest.mark.rule("VI-06")
def test_a_dispute_with_what_is_hidden_is_not_told(office):
    memory = kept(office.senior, "The bell rings at 8.", project="apollo")
    private = kept(office.senior, "The canary rings at 9.", project="apollo", visibility="private")
    dispute_id = dispute(office, private, memory, state="moot", resolved_at="2026-01-01T00:00:00Z")
    assert dispute_id in page(office.senior, memory)
    text = page(office.reviewer, memory)
    assert dispute_id not in text
    assert "canary" not in text


@pytest.mark.rule("HI-02", "DI-10")
def test_the_feed_shows_nothing_of_another_tenant(office, other_office):
    gone = kept(other_office.senior, "The canary sings.", project="apollo")
    kept(other_office.senior, "The canary sleeps.", project="apollo", links=replacing(gone))
    kept(office.senior, "The sparrow sings.", project="apollo")
    client = logged_in(office.reviewer)
    for lifecycle in ("current", "live", "superseded", "retired", "expired", "all"):
        text = client.get(FEED, {"lifecycle": lifecycle}).content.decode()
        assert "canary" not in text
    assert client.get(f"{FEED}{gone}/change/").status_code == 404
