"""The admin in a real browser, over a real server: what somebody does in it on an ordinary day."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tenants.ids import Prefix, wire_id
from tests.admin_login import log_in

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FEED = "/admin/memory/memory/"


@pytest.fixture(scope="module")
def address():
    """Start the product's own web server on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1"]
    server = subprocess.Popen(
        [*command, "--port", str(port), "--blocking-threads", "2", "deploy.wsgi:application"],
        env={**os.environ, "PORT": str(port), "DJANGO_SETTINGS_MODULE": "deploy.settings"},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{url}/admin/login/", server)
        yield url
    finally:
        server.terminate()
        server.wait(20)


def _wait_for(url, server):
    for _ in range(150):
        assert server.poll() is None, "the server has stopped"
        try:
            urllib.request.urlopen(url, timeout=2).close()  # noqa: S310  our own server
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail("the server does not answer")


@pytest.fixture(scope="module")
def browser():
    """Start Debian's chromium."""
    if not Path(CHROMIUM).exists():
        missing = "there is no chromium: the admin is not seen in a browser"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    # Playwright keeps a loop running in this thread, which Django takes for an asynchronous caller.
    with pytest.MonkeyPatch.context() as patched, sync_playwright() as playwright:
        patched.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def page(browser, address):
    """Open a page whose console must stay silent."""
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints = []
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
    page.on(
        "response",
        lambda answer: (
            complaints.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
        ),
    )
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def look(tmp_path):
    """Return what keeps a picture of the page, in SCREENSHOTS if that is set."""
    folder = Path(os.environ.get("SCREENSHOTS") or tmp_path)

    def keep(page, name):
        page.wait_for_timeout(150)
        page.screenshot(path=folder / f"{name}.png", full_page=True)

    return keep


def furnish(office):
    """Write what a team writes in a week."""
    senior, agent = office.senior, office.agent

    def write(who, content, **more):
        answer = who.post("/memories", {"content": content, "project": "apollo", **more})
        assert answer.status_code in (200, 201), answer.content
        return answer.json()["memory_id"]

    first = write(
        senior,
        "Deploys go out from the branch `main`, every Tuesday at 10:00 UTC.",
        kind="decision",
        tags=["deploy"],
        components=[{"subject": "deployment.branch", "value": "main"}],
    )
    second = write(
        senior,
        "Deploys go out from the branch `release`, every Tuesday at 10:00 UTC.",
        kind="decision",
        tags=["deploy"],
        links=[{"type": "supersedes", "dst": first}],
    )
    third = write(
        office.reviewer,
        "Deploys go out from the branch `release`, every Wednesday at 09:00 UTC.\n\n"
        "\t- the release manager is on call\n\t- `make release` tags the commit",
        kind="decision",
        tags=["deploy", "on-call"],
        subjects=["deployment"],
        components=[
            {"subject": "deployment.branch", "value": "release"},
            {"subject": "deployment.day", "value": "Wednesday"},
        ],
        source={"kind": "file", "uri": "docs/deploy.md"},
        links=[{"type": "supersedes", "dst": second}],
    )
    write(agent, "The staging database listens on port 5433, not 5432. Ask *Ops*.", kind="gotcha")
    write(office.watcher, "Somebody mentioned that the cache is flushed at midnight.")
    write(
        office.contractor,
        "Rotate the signing certificate before March.",
        kind="task",
        tags=["security"],
    )
    write(
        senior, "<script>alert(1)</script><img src=x onerror=alert(2)> is shown, and nothing runs."
    )
    write(
        agent,
        "We use two spaces in YAML and four in Python.",
        kind="convention",
        links=[{"type": "relates_to", "dst": third}],
    )
    parrot = write(senior, "The office parrot is called Kepler.", kind="reference")
    senior.post("/memories", {"content": "My own note: buy coffee.", "kind": "preference"})
    senior.post(f"/memories/{parrot}/forget", {"reason": "it flew away"})
    return third


@pytest.mark.rule("HI-01", "HI-02", "T208")
def test_a_day_of_a_senior(office, page, look):
    deploys = furnish(office)
    page.goto("/admin/")
    look(page, "01-login")
    log_in(page, office.senior)
    assert page.locator(".pl-numbers").inner_text().split()[0] != "0"
    look(page, "02-overview")

    page.click("text=Memories")
    page.wait_for_selector(".pl-feed")
    look(page, "03-feed")
    assert page.locator(".pl-dimmed", has_text="Kepler").count() == 1
    page.click("[data-lifecycle=superseded]")
    page.wait_for_url("**lifecycle=superseded**")
    assert page.locator(".pl-line").count() == 2
    page.click("[data-lifecycle=current]")
    page.select_option("select[name=kind]", "gotcha")
    page.wait_for_url("**kind=gotcha**")
    assert page.locator(".pl-line").count() == 1
    page.click("text=Clear")
    page.fill("input[name=q]", "Wednesday deploys")
    page.press("input[name=q]", "Enter")
    page.wait_for_url("**q=Wednesday**")
    assert page.locator(".pl-line").count() >= 1

    page.click(f"a[href*='{deploys}']")
    page.wait_for_selector(".pl-chain")
    assert page.locator(".pl-version").count() == 3
    assert page.locator(".pl-version.pl-this .pl-good").inner_text() == "current"
    look(page, "04-memory")
    page.click("summary:has-text('Forget')")
    page.fill("#forget-reason", "the process was given up")
    look(page, "05-forget")
    page.click("button:has-text('Forget it')")
    page.wait_for_selector("text=Forgotten; it can be restored.")
    assert page.locator(".pl-step", has_text="the process was given up").count() == 1
    look(page, "06-forgotten")
    page.click("summary:has-text('Restore')")
    page.click("button:has-text('Restore it')")
    page.wait_for_selector("text=Restored.")

    page.emulate_media(color_scheme="dark")
    page.goto(FEED)
    assert page.evaluate("document.documentElement.classList.contains('dark')")
    look(page, "07-feed-dark")
    page.goto(f"{FEED}{deploys}/change/")
    look(page, "08-memory-dark")
    page.set_viewport_size({"width": 820, "height": 1180})
    look(page, "09-memory-tablet")
    page.goto(FEED)
    look(page, "10-feed-tablet")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.rule("T052")
def test_a_day_of_an_administrator(office, page, look):
    furnish(office)
    for person in (office.viewer, office.outsider, office.colleague, office.agent2):
        assert person
    log_in(page, office.admin)
    look(page, "20-overview-admin")
    page.click("text=Tokens")
    page.wait_for_selector(".pl-table")
    look(page, "21-tokens")
    page.click("a:has-text('New token')")
    page.fill("#id_name", "for the builds")
    page.select_option("#id_agent", wire_id(Prefix.AGENT, office.agent.agent.id))
    look(page, "22-new-token")
    page.click("button:has-text('Make token')")
    token = page.locator("#secret").inner_text()
    assert re.fullmatch(r"plm_[0-9A-Za-z]{36}", token)
    look(page, "23-token-once")
    page.click("button:has-text('Copy')")
    page.reload()
    assert token not in page.content()
    look(page, "24-token")

    page.goto("/admin/tenants/member/")
    look(page, "25-members")
    page.click(".pl-table a:text-is('viewer')")
    look(page, "26-member")
    page.check("input[aria-label='Hermes: see']")
    page.click("button:has-text('Save permissions')")
    page.wait_for_selector("text=Permissions saved.")
    assert page.is_checked("input[aria-label='Hermes: see']")
    page.goto("/admin/tenants/project/")
    look(page, "27-projects")
    page.click("a:has-text('Hermes')")
    assert page.is_checked("input[aria-label='viewer: see']")
    look(page, "28-project")
    page.goto("/admin/tenants/agent/add/")
    look(page, "29-new-agent")

    page.click(f"text={office.admin.member.username}")
    look(page, "30-menu")
    page.click("button:has-text('Log out')")
    page.wait_for_selector("text=logged out")
    page.goto("/admin/")
    assert "/admin/login/" in page.url
