"""What strangers are shown: that the product is there, and nothing of its inside."""

import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from tests.test_admin import remember
from tests.web_process import HEAD, web_process

pytestmark = pytest.mark.rule("T211")

INTERNALS = re.compile(
    r"Traceback|DEBUG|SECRET|urlpatterns|/home/|/root/|/tmp/|site-packages|\.py\b|"
    r"postgres(ql)?://|palimpsest_(runtime|owner|member)|psycopg|\bDjango/|granian|whitenoise|"
    r"Python/|OperationalError|pg_|relation \"",
    re.IGNORECASE,
)
ODD_PATHS = [
    "/static/../deploy/settings.py",
    "/static/%2e%2e/deploy/settings.py",
    "/static/%2e%2e%2fdeploy%2fsettings.py",
    "/static/..%2f..%2f..%2f..%2fetc/passwd",
    "/static/%252e%252e%252fdeploy%252fsettings.py",
    "/static/..\\..\\deploy\\settings.py",
    "/static/....//....//etc/passwd",
    "/static//etc/passwd",
    "/static/palimpsest/../../../../../../etc/passwd",
    "/static/palimpsest/%00palimpsest.css",
    "/static/",
    "/static/palimpsest/",
    "/static/palimpsest",
    "/.env",
    "/.git/config",
    "/var/secret_key",
    "/demo.json",
    "/admin/doc/",
    "/admin/jsi18n/../../../",
    "/__debug__/",
    "/api/v1/",
    "/api/",
    "/api/v2/memories",
    "/metrics/",
    "/server-status",
]


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    with web_process(tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.mark.parametrize("path", ODD_PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_no_path_leads_out_of_the_static_files_or_tells_of_the_inside(web, method, path):
    answer = web.raw(f"{method} {path} HTTP/1.1\r\n".encode() + HEAD + b"\r\n").decode("latin-1")
    status = int(answer.split(" ")[1])
    assert status in (301, 302, 400, 401, 404, 405), answer[:300]
    assert INTERNALS.search(answer) is None, answer
    assert "root:" not in answer


def test_a_static_file_is_given_as_it_is(web):
    head = b"GET /static/palimpsest/palimpsest.css HTTP/1.1\r\n" + HEAD + b"\r\n"
    answer = web.raw(head).decode()
    assert answer.split(" ")[1] == "200"
    assert "nosniff" in answer.lower()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1@evil.example", "a" * 300, ""])
def test_a_foreign_host_learns_nothing(web, host):
    answer = web.raw(
        f"GET /admin/login/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    ).decode("latin-1")
    assert answer.split(" ")[1] == "400"
    assert INTERNALS.search(answer) is None, answer


def test_health_and_metrics_tell_no_tenant_and_no_inside(office):
    remember(office.senior, "canary-metrics")
    for path in ("/healthz", "/readyz", "/metrics"):
        answer = Client().get(path)
        text = answer.content.decode()
        assert answer.status_code == 200, text
        assert "canary" not in text
        assert office.slug not in text
        assert str(office.tenant.id) not in text
        assert INTERNALS.search(re.sub(r"^# .*$", "", text, flags=re.MULTILINE)) is None, text


def test_the_document_and_its_page_tell_of_nobody(office):
    remember(office.senior, "canary-docs")
    document, page = Client().get("/api/schema"), Client().get("/api/docs")
    assert json.loads(document.content)["openapi"] == "3.1.0"
    for answer in (document, page):
        assert answer.status_code == 200
        text = answer.content.decode()
        assert "canary" not in text
        assert office.slug not in text
        assert re.search(r"Traceback|/home/|site-packages|postgresql://|SECRET_KEY", text) is None
    policy = page["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "unsafe-eval" not in policy
    assert "<script>" not in page.content.decode()
    assert Client().get("/api/docs?script=").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/api/v1/memories", "/api/v1/audit", "/admin/", "/admin/login/", "/healthz", "/metrics"],
)
def test_options_tell_nothing(path):
    answer = Client().options(path)
    assert answer.status_code in (200, 302, 401, 405)
    if "/api/" in path or "/admin/" in path:
        assert answer.content == b"" or answer.status_code in (401, 405)
    assert INTERNALS.search(answer.content.decode()) is None


def test_no_debugging_in_production():
    assert settings.DEBUG is False
    options: Any = settings.TEMPLATES[0]["OPTIONS"]
    assert options.get("debug", False) is False


def test_pages_of_the_admin_say_how_they_are_to_be_treated():
    answer = Client().get("/admin/login/")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in answer["Permissions-Policy"]
    assert "no-store" in answer["Cache-Control"]
