"""Who is let in with a token, who is not, and how often."""

from datetime import UTC, datetime

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tenants.founding import OWNER, give_token
from tenants.models import Member
from tenants.tokens import make_token
from tests.knocking import early_in_a_minute, knock, let_in, many, own

NO_TOKEN = "Send a valid token as `Authorization: Bearer plm_...`."


@pytest.mark.rule("T050")
def test_a_mistyped_token_is_turned_away_without_a_query(office):
    token = office.senior.token
    for place in range(len(token)):
        mistyped = token[:place] + ("x" if token[place] != "x" else "y") + token[place + 1 :]
        with CaptureQueriesContext(connections["default"]) as queries:
            assert let_in(mistyped) == 401, place
        assert len(queries) == 0, place
    assert let_in(token) == 200


@pytest.mark.rule("T049")
def test_only_one_bearer_token_in_the_header_counts(office):
    token = office.senior.token
    asks = {
        "none": knock(),
        "empty": knock(""),
        "basic": knock("Basic dXNlcjpwYXNz"),
        "scheme alone": knock("Bearer"),
        "bare": knock(token),
        "two headers": knock(f"Bearer {token}, Bearer {token}"),
        "bearer twice": knock(f"Bearer Bearer {token}"),
        "two tokens": knock(f"Bearer {token} {token}"),
        "query": knock(path=f"/api/v1/whoami?access_token={token}&token={token}"),
        "cookie": knock(HTTP_COOKIE=f"token={token}; Authorization=Bearer {token}"),
        "other header": knock(HTTP_X_API_KEY=token, HTTP_X_AUTHORIZATION=f"Bearer {token}"),
        "body": Client().post("/api/v1/projects", {"token": token}, "application/json"),
    }

    for how, answer in asks.items():
        assert answer.status_code == 401, how
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="palimpsest"', how
        told = answer.json()
        assert (told["code"], told["detail"]) == ("unauthenticated", NO_TOKEN), how
    assert knock(f"Bearer {token}").status_code == 200
    assert knock(f"bearer {token}").status_code == 200, "the scheme's case does not matter"


@pytest.mark.rule("T058")
@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        str.lower,
        lambda token: f" {token}",
        lambda token: f"{token} ",
        lambda token: f"{token}\n",
        lambda token: f"{token}\r\nX-Evil: 1",
        lambda token: f"{token}\x00",
        lambda token: token[:20] + "\x00" + token[21:],
        lambda token: token[:-1] + "\u0663",
        lambda token: token[:-1] + "\uff11",
        lambda token: token[:-1] + "\udc80",
        lambda token: token * 256,
        lambda _: "plm_" + "0" * 36,
        lambda _: "'; DROP TABLE tokens; --",
    ],
)
def test_odd_headers_are_refused_and_break_nothing(office, change):
    assert knock(f"Bearer {change(office.senior.token)}").status_code == 401


@pytest.mark.rule("T059")
def test_what_is_unknown_and_what_is_over_look_and_cost_the_same(office):
    """The same answer and as many queries, whatever the reason."""
    over = office.person("over")
    own(over.token, revoked_at=datetime.now(UTC))
    gone = office.person("gone")
    Member.objects.using(OWNER).filter(id=gone.member.id).update(active=False)
    late = office.person("late")
    own(late.token, expires_at=datetime.now(UTC))

    told, costs = set(), set()
    for token in (make_token().text, over.token, gone.token, late.token):
        with CaptureQueriesContext(connections["default"]) as queries:
            answer = knock(f"Bearer {token}")
        told.add((answer.status_code, answer.json()["detail"], answer.json()["code"]))
        costs.add(len(queries))

    assert told == {(401, NO_TOKEN, "unauthenticated")}
    assert len(costs) == 1


@pytest.mark.rule("T051")
def test_guessing_is_slowed_down_by_address(office, settings):
    early_in_a_minute()
    settings.FAILED_LOGIN_LIMIT = 20
    statuses = [knock(f"Bearer {make_token().text}", "192.0.2.1").status_code for _ in range(30)]

    assert statuses == [401] * 20 + [429] * 10
    refused = knock(f"Bearer {make_token().text}", "192.0.2.1")
    assert refused.json()["code"] == "rate_limited"
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert knock(f"Bearer {make_token().text}", "192.0.2.2").status_code == 401
    assert knock(f"Bearer {office.senior.token}", "192.0.2.1").status_code == 200


@pytest.mark.rule("T051")
def test_what_is_no_token_at_all_is_slowed_down_too(settings):
    settings.FAILED_LOGIN_LIMIT = 20
    statuses = [knock(f"Bearer nonsense{n}", "192.0.2.9").status_code for n in range(30)]

    assert statuses.count(429) >= 9


@pytest.mark.rule("T062")
def test_a_made_up_forwarding_header_does_not_shake_off_the_limit(settings):
    early_in_a_minute()
    settings.FAILED_LOGIN_LIMIT = 10

    def guess(number, address, forwarded):
        return knock(
            f"Bearer {make_token().text}", address, HTTP_X_FORWARDED_FOR=forwarded.format(number)
        ).status_code

    settings.PROXIES = 0
    direct = [guess(n, "192.0.2.3", "10.0.0.{}") for n in range(15)]
    settings.PROXIES = 1
    behind = [guess(n, "127.0.0.1", "10.0.1.{}, 192.0.2.4") for n in range(15)]
    others = [guess(n, "127.0.0.1", "10.0.1.1, 192.0.3.{}") for n in range(15)]

    assert direct == behind == [401] * 10 + [429] * 5
    assert others == [401] * 15, "the address that our own proxy saw is what counts"


@pytest.mark.rule("T063")
def test_exactly_as_many_requests_are_let_in_as_the_limit_says(office, settings):
    early_in_a_minute()
    settings.RATE_LIMIT = 100
    _, token = give_token(office.senior.member, "busy")
    answers = many(200, lambda _: knock(f"Bearer {token}"))

    assert [answer.status_code for answer in answers].count(200) == 100
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in refused} == {429}
    assert all(1 <= int(answer.headers["Retry-After"]) <= 60 for answer in refused)
    assert let_in(office.senior.token) == 200, "another token has a count of its own"
