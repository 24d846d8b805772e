"""Who was not let in is told to the operator: without secrets, and a flood in a line a minute."""

import logging
from datetime import UTC, datetime

import pytest
from django.test import Client

from deploy.logs import harmless
from tenants import refused_entries
from tenants.refused_entries import TOLD_A_MINUTE, tell_of_refusal
from tenants.tokens import make_token
from tests.admin_login import LOGIN, SECOND_STEP, authenticator_of, set_password, show_password
from tests.knocking import knock, own

pytestmark = pytest.mark.rule("T170")


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def minute(monkeypatch):
    """A minute of our own, and the hand on its clock."""
    now = [1_800_000_000.0]
    monkeypatch.setattr(refused_entries, "_minute", refused_entries._Minute())
    monkeypatch.setattr("tenants.refused_entries.time.time", lambda: now[0])
    return now


@pytest.fixture
def told(caplog, monkeypatch):
    """What was told, in a minute of its own."""
    monkeypatch.setattr(refused_entries, "_minute", refused_entries._Minute())
    caplog.set_level(logging.INFO)
    return lambda: [one.getMessage() for one in caplog.records]


def test_a_wrong_password_and_a_wrong_code_are_told_by_log_in(office, told):
    user = office.senior.member.user_id
    set_password(user)
    authenticator_of(user)
    name = office.senior.member.username
    Client().post(LOGIN, {"username": name, "password": "wrong-secret"})
    show_password(name).post(SECOND_STEP, {"code": "987654"})
    lines = "\n".join(told())
    assert f"a wrong password for the log-in {user}, from 127.0.0.1" in lines
    assert f"a wrong code for the log-in {user}, from 127.0.0.1" in lines
    assert "wrong-secret" not in lines
    assert "987654" not in lines


def test_a_password_in_the_wrong_field_is_not_told(told):
    Client().post(LOGIN, {"username": "my-secret-password", "password": "x"})
    lines = "\n".join(told())
    assert "a log-in that nobody has" in lines
    assert "my-secret-password" not in lines


def test_tokens_are_told_by_their_ids(office, told):
    over, nobodys = office.person("over"), make_token().text
    own(over.token, revoked_at=datetime.now(UTC))
    for token in (over.token, nobodys, "nonsense-secret"):
        assert knock(f"Bearer {token}").status_code == 401
    lines = "\n".join(told())
    assert f"the token {over.caller.token_id}, which is over" in lines
    assert "a token that nobody has" in lines
    assert "no token" in lines
    assert not any(secret in lines for secret in (over.token, nobodys, "nonsense-secret"))


def test_throttles_are_told(office, told, settings):
    settings.RATE_LIMIT = 0
    assert knock(f"Bearer {office.senior.token}").status_code == 429
    assert f"too many requests with the token {office.senior.caller.token_id}" in "\n".join(told())


def test_a_flood_is_summed_up(caplog, minute):
    for number in range(10_000):
        tell_of_refusal("no token", f"192.0.2.{number % 50}")
    assert len(caplog.records) == TOLD_A_MINUTE
    minute[0] += 60
    tell_of_refusal("no token", "192.0.2.1")
    later = [one.getMessage() for one in caplog.records[TOLD_A_MINUTE:]]
    assert later == [
        "9980 more entries refused, from 50 addresses",
        "entry refused: no token, from 192.0.2.1",
    ]
    minute[0] += 60
    tell_of_refusal("no token", "192.0.2.1")
    assert len(caplog.records) == TOLD_A_MINUTE + 3, "a quiet minute is not summed up"


def test_a_flood_takes_no_memory_to_speak_of(minute, monkeypatch):
    monkeypatch.setattr(refused_entries, "MOST_ADDRESSES", 100)
    for number in range(1000):
        tell_of_refusal("no token", f"10.0.{number // 250}.{number % 250}")
    assert len(refused_entries._minute._untold) == 100


@pytest.mark.rule("T172")
def test_no_address_writes_a_second_line(told, settings):
    settings.PROXIES = 1
    knock("Bearer nonsense", HTTP_X_FORWARDED_FOR="1.2.3.4\r\n\x1b[31mFORGED")
    lines = [harmless(line) for line in told()]
    assert any("FORGED" in line for line in lines)
    assert all(line.isprintable() for line in lines)
