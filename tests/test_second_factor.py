"""The second step of a log-in: what it asks for, what it refuses, and who may take it away."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test import Client
from django.urls import URLResolver, get_resolver
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from tenants.admin_door import OPEN
from tenants.founding import OWNER, seat
from tenants.ids import Prefix, wire_id
from tenants.one_time_codes import STEP, code_at
from tenants.second_factor import secret_of
from tests.admin_login import (
    LOGIN,
    SECOND_STEP,
    authenticator_of,
    fresh_code,
    logged_in,
    set_password,
    show_password,
)
from tests.promises.surface import made_up

WRONG = "This code is wrong"


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def waiting(person, client=None):
    """Return a client in which the person has shown a password, and has an authenticator."""
    set_password(person.member.user_id)
    authenticator_of(person.member.user_id)
    return show_password(person.member.username, client=client)


def new_here(person):
    """Return a client in which somebody without an authenticator has shown a password."""
    set_password(person.member.user_id)
    return show_password(person.member.username)


def offered_secret(page):
    shown = re.search(r'id="totp-secret">([A-Z2-7 ]+)<', page)
    assert shown is not None
    return shown[1].replace(" ", "")


def say(client, code):
    return client.post(SECOND_STEP, {"code": code})


def is_in(client):
    answer = client.get("/admin/")
    return answer.status_code == 200 and "Overview" in answer.content.decode()


def admin_paths(patterns=None, before="/admin/"):
    """Yield the name and an address of every admin page."""
    if patterns is None:
        (site,) = [
            one
            for one in get_resolver().url_patterns
            if isinstance(one, URLResolver) and one.app_name == "admin"
        ]
        patterns = site.url_patterns
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from admin_paths(one.url_patterns, before + str(one.pattern))
        else:
            route = re.sub(r"\(\?P<url>.*", "anything/", before + str(one.pattern))
            route = re.sub(r"<(\w+:)?object_id>", made_up().ids["memory_id"], route)
            yield (
                one.name,
                re.sub(r"<[^>]*>|[\^$]|\\Z", "1", route).replace("1anything", "anything"),
            )


class TestFirstTime:
    @pytest.mark.rule("T206")
    def test_whoever_has_no_authenticator_sets_one_up_and_gets_recovery_codes_once(self, office):
        client = new_here(office.senior)
        page = client.get(SECOND_STEP).content.decode()
        secret = offered_secret(page)
        assert 'src="data:image/svg+xml' in page
        assert offered_secret(client.get(SECOND_STEP).content.decode()) == secret
        wrong = say(client, "000000" if code_at(secret, time.time()) != "000000" else "111111")
        assert WRONG in wrong.content.decode()
        assert not is_in(client)

        answer = say(client, code_at(secret, time.time()))
        codes = re.findall(r"<li><code>([a-z2-7-]{19})</code>", answer.content.decode())
        assert len(set(codes)) == 8
        assert "no-store" in answer["Cache-Control"]
        assert is_in(client)
        assert say(client, code_at(secret, time.time()))["Location"] == LOGIN

        kept = StaticToken.objects.using(OWNER).filter(device__user_id=office.senior.member.user_id)
        assert not {token.token for token in kept} & {code.replace("-", "") for code in codes}
        again = show_password(office.senior.member.username)
        assert "totp-secret" not in again.get(SECOND_STEP).content.decode()
        assert WRONG in say(again, code_at(secret, time.time())).content.decode(), "used up"
        assert say(again, f" {codes[0].upper()} ")["Location"] == "/admin/"
        third = show_password(office.senior.member.username)
        assert WRONG in say(third, codes[0]).content.decode(), "a recovery code counts once"
        assert say(third, codes[1].replace("-", "")).status_code == 302

    @pytest.mark.rule("T206")
    def test_two_sessions_that_set_one_up_at_once_have_one_winner(self, office):
        first, second = new_here(office.senior), show_password(office.senior.member.username)
        secrets = [offered_secret(one.get(SECOND_STEP).content.decode()) for one in (first, second)]
        assert secrets[0] != secrets[1]
        assert say(first, code_at(secrets[0], time.time())).status_code == 200
        assert WRONG in say(second, code_at(secrets[1], time.time())).content.decode()
        assert not is_in(second)
        device = TOTPDevice.objects.using(OWNER).get(user_id=office.senior.member.user_id)
        assert secret_of(device) == secrets[0]


class TestBetweenTheSteps:
    @pytest.mark.rule("T206")
    def test_a_password_alone_opens_no_page_of_the_admin(self, office):
        office.senior.post("/memories", {"content": "canary-between", "project": "apollo"})
        client = waiting(office.senior)
        paths = dict(admin_paths())
        assert len(paths) > 30
        for name, path in paths.items():
            for method in (client.get, client.post):
                if name in OPEN:
                    continue
                answer = method(path)
                assert answer.status_code == 302, (name, path, answer.status_code)
                assert answer["Location"].startswith(LOGIN), (name, path)
                assert b"canary" not in answer.content
        assert client.get("/api/v1/whoami").status_code == 401
        assert say(client, fresh_code(office.senior.member.user_id)).status_code == 302
        assert is_in(client), "and the second step was open all the time"

    @pytest.mark.rule("T206")
    def test_a_session_that_was_made_without_a_second_factor_is_nobody(self, office):
        set_password(office.senior.member.user_id)
        user = get_user_model().objects.get(pk=office.senior.member.user_id)
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        assert client.get("/admin/")["Location"].startswith(LOGIN)
        assert client.get("/admin/password_change/")["Location"].startswith(LOGIN)

    @pytest.mark.rule("T206")
    def test_nobody_takes_the_second_step_without_the_first(self, office):
        code = fresh_code(office.senior.member.user_id)
        for answer in (Client().get(SECOND_STEP), say(Client(), code)):
            assert (answer.status_code, answer["Location"]) == (302, LOGIN)

    @pytest.mark.rule("T206")
    def test_the_code_is_not_waited_for_for_ever(self, office):
        client = waiting(office.senior)
        session = client.session
        session["second step"] = session["second step"] | {"until": time.time() - 1}
        session.save()
        assert say(client, fresh_code(office.senior.member.user_id))["Location"] == LOGIN
        assert not is_in(client)

    @pytest.mark.rule("T207")
    def test_a_password_that_was_changed_meanwhile_counts_no_more(self, office):
        client = waiting(office.senior)
        set_password(office.senior.member.user_id, "another horse battery staple")
        assert say(client, fresh_code(office.senior.member.user_id))["Location"] == LOGIN

    def test_whoever_was_switched_off_meanwhile_is_out(self, office):
        client = waiting(office.senior)
        get_user_model().objects.using(OWNER).filter(pk=office.senior.member.user_id).update(
            is_active=False
        )
        assert say(client, fresh_code(office.senior.member.user_id))["Location"] == LOGIN


class TestCodes:
    @pytest.mark.rule("T206")
    def test_a_code_counts_once(self, office):
        code = fresh_code(office.senior.member.user_id)
        first, second = waiting(office.senior), show_password(office.senior.member.username)
        assert say(first, code).status_code == 302
        assert WRONG in say(second, code).content.decode()
        assert not is_in(second)

    @pytest.mark.rule("T206")
    def test_of_two_who_say_the_same_code_at_once_one_is_let_in(self, office):
        clients = [waiting(office.senior)]
        clients += [show_password(office.senior.member.username) for _ in range(3)]
        code = fresh_code(office.senior.member.user_id)

        def try_it(client):
            try:
                return say(client, code).status_code
            finally:
                connection.close()

        with ThreadPoolExecutor(4) as pool:
            statuses = list(pool.map(try_it, clients))
        assert sorted(statuses) == [200, 200, 200, 302]
        assert [is_in(client) for client in clients].count(True) == 1

    @pytest.mark.rule("T206")
    def test_a_code_of_before_or_long_after_is_refused(self, office):
        secret = secret_of(authenticator_of(office.senior.member.user_id))
        client, now = waiting(office.senior), time.time()
        for steps in (-20, -3, 3, 20):
            code = code_at(secret, now + steps * STEP)
            assert WRONG in say(client, code).content.decode(), steps
        fresh_code(office.senior.member.user_id)
        assert say(client, code_at(secret, time.time() - STEP)).status_code == 302, "a slow hand"

    @pytest.mark.rule("T206")
    @pytest.mark.parametrize(
        "said",
        ["", " ", "abc", "12345", "1234567", "١٢٣٤٥٦", "-12345", "+12345", "1e5", "\0" * 6,
         "9" * 100_000, "' OR 1=1 --", "aaaa-aaaa-aaaa-aaaa", "null"],
    )  # fmt: skip
    def test_what_is_no_code_is_refused_politely(self, office, said):
        client = waiting(office.senior)
        answer = say(client, said)
        assert answer.status_code == 200
        assert WRONG in answer.content.decode()
        assert not is_in(client)

    @pytest.mark.rule("T206")
    def test_another_persons_code_is_refused(self, office):
        client = waiting(office.senior)
        assert WRONG in say(client, fresh_code(office.colleague.member.user_id)).content.decode()


class TestGuessing:
    @pytest.mark.rule("T206")
    def test_twenty_wrong_codes_lock_this_log_in_at_this_address_alone(self, office):
        client = waiting(office.senior)
        statuses = [say(client, "not a code").status_code for _ in range(20)]
        assert statuses == [200] * 9 + [429] * 11
        code = fresh_code(office.senior.member.user_id)
        assert say(client, code).status_code == 429, "the right one comes too late"
        assert not is_in(client)
        again = show_password(office.senior.member.username)
        assert again.get(SECOND_STEP).status_code == 429, "and a new session is no way round"
        assert logged_in(office.colleague)
        elsewhere = Client(REMOTE_ADDR="192.0.2.70")
        assert logged_in(office.senior, client=elsewhere), "the owner comes from another address"

    @pytest.mark.rule("T206")
    def test_a_stranger_with_many_addresses_shuts_nobody_out_who_was_here_before(self, office):
        home = Client(REMOTE_ADDR="198.51.100.1")
        logged_in(office.senior, client=home)
        home.post("/admin/logout/")
        set_password(office.senior.member.user_id)
        said = ""
        for number in range(60):
            stranger = Client(REMOTE_ADDR=f"203.0.113.{number}")
            show_password(office.senior.member.username, client=stranger)
            said = say(stranger, "000000").content.decode()
        assert "Too many wrong codes" in said, "guessing from everywhere comes to an end"
        late = Client(REMOTE_ADDR="203.0.113.99")
        show_password(office.senior.member.username, client=late)
        assert say(late, fresh_code(office.senior.member.user_id)).status_code == 200
        assert not is_in(late)
        assert logged_in(office.senior, client=home), "the owner's own browser is known"

    @pytest.mark.rule("T206")
    def test_the_mark_of_a_known_browser_is_the_log_ins_own_and_signed(self, office):
        client = logged_in(office.senior)
        mark = client.cookies["palimpsest_known"]
        assert mark["httponly"]
        assert (mark["samesite"], mark["path"]) == ("Strict", SECOND_STEP)
        other = waiting(office.colleague)
        other.cookies["palimpsest_known"] = mark.value
        assert WRONG in say(other, "000000").content.decode(), "it replaces no code"

    @pytest.mark.rule("T170")
    def test_nothing_that_was_typed_is_kept(self, office):
        client = waiting(office.senior)
        say(client, "765432")
        Client().post(LOGIN, {"username": office.senior.member.username, "password": "hunter22"})
        with connections[OWNER].cursor() as cursor:
            cursor.execute("SELECT string_agg(a::text, '') FROM axes_accessattempt a")
            (kept,) = cursor.fetchone()
        assert office.senior.member.username in kept
        assert "765432" not in kept
        assert "hunter22" not in kept


class TestTakingItAway:
    def page(self, person):
        return f"/admin/tenants/member/{wire_id(Prefix.MEMBER, person.member.id)}/"

    @pytest.mark.rule("T206", "HI-03")
    def test_an_administrator_takes_it_and_every_session_is_over(self, office):
        admin, senior = logged_in(office.admin), logged_in(office.senior)
        assert (
            "Reset the second factor"
            in admin.get(f"{self.page(office.senior)}change/").content.decode()
        )
        answer = admin.post(f"{self.page(office.senior)}second-factor/")
        assert answer.status_code == 302
        assert not is_in(senior)
        with connections[OWNER].cursor() as cursor:
            cursor.execute(
                "SELECT object_id, member_id FROM events WHERE tenant_id = %s AND command ="
                " 'reset_second_factor'",
                [office.tenant.id],
            )
            assert cursor.fetchall() == [(office.senior.member.id, office.admin.member.id)]
        again = show_password(office.senior.member.username)
        assert "totp-secret" in again.get(SECOND_STEP).content.decode()
        told = admin.post(f"{self.page(office.senior)}second-factor/", follow=True)
        assert "has no second factor" in told.content.decode()

    @pytest.mark.rule("T206", "VI-04")
    def test_nobody_else_may(self, office, other_office):
        authenticator_of(office.senior.member.user_id)
        authenticator_of(other_office.senior.member.user_id)
        reset = f"{self.page(office.senior)}second-factor/"
        assert logged_in(office.reviewer).post(reset).status_code == 403
        assert logged_in(other_office.admin).post(reset).status_code == 404
        assert logged_in(office.admin).get(reset).status_code == 405
        assert TOTPDevice.objects.using(OWNER).filter(user_id=office.senior.member.user_id).exists()

    @pytest.mark.rule("T206", "VI-04")
    def test_no_tenant_takes_it_from_whoever_sits_in_another_too(self, office, other_office):
        """Else giving somebody a seat would be a way to weaken their log-in everywhere."""
        victim = other_office.senior.member
        authenticator_of(victim.user_id)
        lured = seat(office.tenant, victim.username, "lured")
        page = f"/admin/tenants/member/{wire_id(Prefix.MEMBER, lured.id)}/second-factor/"
        told = logged_in(office.admin).post(page, follow=True)
        assert "ask the operator" in told.content.decode()
        assert TOTPDevice.objects.using(OWNER).filter(user_id=victim.user_id).exists()

    @pytest.mark.rule("T206", "HI-03")
    def test_the_operator_takes_it_by_name(self, office):
        senior = logged_in(office.senior)
        out = StringIO()
        call_command("reset_second_factor", office.senior.member.username, stdout=out)
        assert "no second factor now" in out.getvalue()
        assert not is_in(senior)
        with connections[OWNER].cursor() as cursor:
            cursor.execute(
                "SELECT reason, member_id FROM events WHERE tenant_id = %s AND object_id = %s",
                [office.tenant.id, office.senior.member.id],
            )
            assert cursor.fetchall() == [("by the operator", None)]
        with pytest.raises(CommandError, match="has no second factor"):
            call_command("reset_second_factor", office.senior.member.username)
        with pytest.raises(CommandError, match="no log-in"):
            call_command("reset_second_factor", f"nobody-{office.slug}")
