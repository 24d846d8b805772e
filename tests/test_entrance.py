"""The admin's entrance: the first step of a log-in, sessions, and what stands around them."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.admin_login import (
    LOGIN,
    PASSWORD,
    SECOND_STEP,
    authenticator_of,
    fresh_code,
    logged_in,
    set_password,
    show_password,
)
from tests.test_admin import FEED, remember


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


class TestTheEntrance:
    @pytest.mark.rule("T206")
    def test_ten_wrong_passwords_lock_that_log_in_and_no_other(self, office):
        for person in (office.senior, office.colleague):
            set_password(person.member.user_id, PASSWORD)
        client = Client()
        said = {"username": office.senior.member.username, "password": "wrong"}
        answers = [client.post("/admin/login/", said).status_code for _ in range(10)]
        assert answers[-1] == 429
        locked = client.post("/admin/login/", said | {"password": PASSWORD})
        assert locked.status_code == 429
        assert "Too many wrong passwords" in locked.content.decode()
        assert len(logged_in(office.colleague).cookies) > 0
        elsewhere = Client(REMOTE_ADDR="192.0.2.7").post(
            "/admin/login/", said | {"password": PASSWORD}
        )
        assert elsewhere["Location"] == SECOND_STEP, (
            "the owner is not locked out of another address"
        )

    @pytest.mark.rule("T062")
    def test_the_lock_holds_against_a_rotating_x_forwarded_for(self, office):
        set_password(office.senior.member.user_id, PASSWORD)
        said = {"username": office.senior.member.username, "password": "wrong"}
        answer = None
        for number in range(10):
            answer = Client().post(
                "/admin/login/", said, headers={"X-Forwarded-For": f"203.0.113.{number}"}
            )
        assert answer is not None
        assert answer.status_code == 429
        last = Client().post(
            "/admin/login/",
            said | {"password": PASSWORD},
            headers={"X-Forwarded-For": "203.0.113.99"},
        )
        assert last.status_code == 429

    @pytest.mark.rule("T061")
    def test_a_session_opens_no_api_and_a_token_no_admin(self, office):
        client = logged_in(office.senior)
        assert client.get("/api/v1/whoami").status_code == 401
        bearer = {"Authorization": f"Bearer {office.admin.token}"}
        for path in ("/admin/", FEED, "/admin/tenants/token/"):
            answer = Client().get(path, headers=bearer)
            assert answer.status_code == 302
            assert answer["Location"].startswith("/admin/login/")

    @pytest.mark.rule("T207")
    @pytest.mark.parametrize(
        "evil",
        ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)",
         "http:///evil.example", "///evil.example/admin/", "\tjavascript:alert(1)"],
    )  # fmt: skip
    def test_next_leads_nowhere_else(self, office, evil):
        set_password(office.senior.member.user_id)
        code = fresh_code(office.senior.member.user_id)
        client = Client()
        said = {"username": office.senior.member.username, "password": PASSWORD, "next": evil}
        answer = client.post(f"{LOGIN}?next={evil}", said)
        assert answer["Location"] == SECOND_STEP
        answer = client.post(f"{SECOND_STEP}?next={evil}", {"code": code, "next": evil})
        assert answer["Location"] == "/admin/"

    @pytest.mark.rule("T207")
    def test_next_leads_back_to_the_page_that_was_asked_for(self, office):
        set_password(office.senior.member.user_id)
        code = fresh_code(office.senior.member.user_id)
        client = Client()
        asked = client.get(FEED)["Location"]
        client.post(asked, {"username": office.senior.member.username, "password": PASSWORD})
        assert client.post(SECOND_STEP, {"code": code})["Location"] == FEED

    @pytest.mark.rule("T207")
    def test_every_change_needs_the_csrf_token(self, office):
        memory_id = remember(office.senior, "The parrot is called Kepler.")
        logged = logged_in(office.admin)
        strict = Client(enforce_csrf_checks=True)
        strict.cookies = logged.cookies
        for path in (
            f"{FEED}{memory_id}/forget/",
            "/admin/tenants/token/add/",
            "/admin/seat/",
            "/admin/logout/",
            "/admin/login/",
            "/admin/second-step/",
            "/admin/password_change/",
        ):
            assert strict.post(path, {"reason": "x"}).status_code == 403, path

    @pytest.mark.rule("T207")
    def test_the_session_is_a_new_one_after_each_step(self, office):
        """A session that somebody was handed beforehand is not the one that is logged in."""
        set_password(office.senior.member.user_id)
        authenticator_of(office.senior.member.user_id)
        client = Client()
        session = client.session
        session["planted"] = "by a stranger"
        session.save()
        keys = [session.session_key]
        client.cookies["sessionid"] = str(session.session_key)
        show_password(office.senior.member.username, client=client)
        keys.append(client.cookies["sessionid"].value)
        client.post(SECOND_STEP, {"code": fresh_code(office.senior.member.user_id)})
        keys.append(client.cookies["sessionid"].value)
        assert len(set(keys)) == 3
        assert client.get(FEED).status_code == 200
        assert "planted" not in client.session
        for key in keys[:2]:
            stranger = Client()
            stranger.cookies["sessionid"] = str(key)
            assert stranger.get(FEED).status_code == 302
            assert stranger.get(SECOND_STEP)["Location"] == LOGIN

    @pytest.mark.rule("T207")
    def test_log_out_ends_the_session_on_the_server(self, office):
        client = logged_in(office.senior)
        key = client.cookies["sessionid"].value
        assert client.get("/admin/logout/").status_code == 405, "no link logs anybody out"
        client.post("/admin/logout/")
        stolen = Client()
        stolen.cookies["sessionid"] = key
        assert stolen.get(FEED).status_code == 302

    @pytest.mark.rule("T207")
    def test_cookies_are_out_of_reach_of_scripts_and_other_sites(self, office, settings):
        client = logged_in(office.senior)
        for name in ("sessionid", "csrftoken"):
            assert client.cookies[name]["httponly"], name
            assert client.cookies[name]["samesite"] == "Lax", name
            assert not client.cookies[name]["secure"], "over plain HTTP it would not come back"
        settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
        safe = logged_in(office.senior)
        for name in ("sessionid", "palimpsest_known"):
            assert safe.cookies[name]["secure"], name

    @pytest.mark.rule("T207")
    def test_a_new_password_ends_other_sessions(self, office):
        there, here = logged_in(office.senior), logged_in(office.senior)
        before = here.cookies["sessionid"].value
        other = "another horse battery staple"
        assert "new_password1" in here.get("/admin/password_change/").content.decode()
        answer = here.post(
            "/admin/password_change/",
            {"old_password": PASSWORD, "new_password1": other, "new_password2": other},
        )
        assert answer.status_code == 302, answer.content
        assert here.cookies["sessionid"].value != before
        assert here.get(answer["Location"]).status_code == 200
        assert here.get("/admin/").status_code == 200
        assert there.get("/admin/").status_code == 302

    @pytest.mark.rule("T207")
    @pytest.mark.parametrize(("stamp", "minutes"), [("seen", 30), ("since", 12 * 60)])
    def test_a_session_ends_when_nobody_is_there_and_after_half_a_day(self, office, stamp, minutes):
        for over in (False, True):
            client = logged_in(office.senior)
            assert client.get(FEED).status_code == 200
            session = client.session
            session[stamp] -= minutes * 60 + (60 if over else -60)
            session.save()
            answer = client.get(FEED)
            assert answer.status_code == (302 if over else 200)
            if over:
                assert answer["Location"].startswith(LOGIN)
                assert client.get(FEED).status_code == 302

    @pytest.mark.rule("T207")
    def test_both_limits_are_settings(self, office, settings):
        settings.ADMIN_IDLE_MINUTES, settings.ADMIN_SESSION_HOURS = 5, 1
        for stamp, minutes in (("seen", 6), ("since", 61)):
            client = logged_in(office.senior)
            assert client.get(FEED).status_code == 200
            session = client.session
            session[stamp] -= minutes * 60
            session.save()
            assert client.get(FEED).status_code == 302, stamp

    @pytest.mark.rule("T207")
    def test_no_other_site_may_show_a_page_in_a_frame(self, office):
        client = logged_in(office.senior)
        for path in ("/admin/", FEED, LOGIN, SECOND_STEP):
            answer = client.get(path)
            assert answer["X-Frame-Options"] == "DENY"
            assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]

    @pytest.mark.rule("T062")
    def test_an_address_that_guesses_at_many_log_ins_has_to_wait(self, office, settings):
        settings.FAILED_LOGIN_LIMIT = 5
        guesser, address = Client(REMOTE_ADDR="198.51.100.4"), "198.51.100.4"
        for number in range(6):
            said = {"username": f"nobody-{office.slug}-{number}", "password": "wrong"}
            assert "wait a minute" not in guesser.post("/admin/login/", said).content.decode()
        set_password(office.senior.member.user_id, PASSWORD)
        said = {"username": office.senior.member.username, "password": PASSWORD}
        assert "wait a minute" in guesser.post("/admin/login/", said).content.decode()
        spoofed = guesser.post("/admin/login/", said, headers={"X-Forwarded-For": f"{address}1"})
        assert "wait a minute" in spoofed.content.decode()
        assert Client(REMOTE_ADDR="198.51.100.5").post("/admin/login/", said).status_code == 302

    def test_an_inactive_log_in_is_refused(self, office):
        set_password(office.senior.member.user_id, PASSWORD)
        get_user_model().objects.using("owner").filter(pk=office.senior.member.user_id).update(
            is_active=False
        )
        answer = Client().post(
            "/admin/login/", {"username": office.senior.member.username, "password": PASSWORD}
        )
        assert answer.status_code == 200

    def test_the_root_leads_to_the_admin(self):
        client = Client()
        assert client.get("/")["Location"] == "/admin/"
        assert client.get("/admin")["Location"] == "/admin/"
        assert client.get("/favicon.ico")["Location"].endswith("favicon.svg")

    @pytest.mark.rule("T211")
    def test_errors_show_nothing_of_the_inside(self, office):
        client = logged_in(office.senior)
        for path in (
            "/admin/nowhere/",
            f"{FEED}nonsense/change/",
            "/admin/search/?s=memory",
            "/admin/doc/",
        ):
            answer = client.get(path)
            assert answer.status_code == 404, path
            text = answer.content.decode()
            assert "Traceback" not in text
            assert "DEBUG" not in text
            assert "urlpatterns" not in text
