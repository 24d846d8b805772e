"""Conflicts in a real browser: what a reviewer and an administrator see of them."""

import pytest

import hygiene.jobs  # noqa: F401  whoever works must know how
from tests.admin_login import log_in
from tests.judging import work
from tests.test_admin_browser import (  # noqa: F401  fixtures
    address,
    browser,
    furnish,
    look,
    page,
)
from tests.test_admin_conflicts import CONFLICTS, JOBS, JUDGE, fail, jobs_of

BACKUP = (
    "The nightly backup of the ledger starts at {} UTC and is kept for 14 days under "
    "/srv/backups/ledger. The release manager is on call; ask Ops before changing it."
)


def disagree(office):
    """Write what a team disagrees about in a week."""

    def write(who, content, **more):
        answer = who.post("/memories", {"content": content, "project": "apollo", **more})
        assert answer.status_code in (200, 201), answer.content
        return answer.json()["memory_id"]

    def branch(name, subject="deployment.branch"):
        return [{"subject": subject, "value": name}]

    write(office.senior, BACKUP.format("02:00"), kind="decision")
    write(office.reviewer, BACKUP.format("03:30").replace("/srv", "/mnt"))
    write(office.senior, "The staging port is 5432. <script>alert(1)</script>", kind="gotcha")
    write(office.colleague, "The staging port is 5433. <img src=x onerror=alert(2)>")
    write(office.senior, "Deploys go out from main.", components=branch("main"))
    write(office.contractor, "Deploys go out from release.", components=branch("release"))
    write(
        office.contractor,
        "The cache keeps an hour.",
        components=branch("1h", "cache.lifetime"),
    )
    write(office.senior, "The cache keeps a day.", components=branch("24h", "cache.lifetime"))
    docs = branch("main", "docs.branch")
    write(
        office.contractor,
        "Docs go out from main with `make docs --strict`, built in /srv/docs.",
        components=docs,
    )
    write(office.senior, "Docs go out from trunk.", components=branch("trunk", "docs.branch"))
    work(office)
    pending = office.senior.get("/conflicts").json()["results"]
    return next(one for one in pending if "ledger" in one["side_a"]["content"])


@pytest.mark.rule("HI-02", "T208")
def test_a_reviewer_looks_at_conflicts(office, page, look):  # noqa: F811
    furnish(office)
    pending = disagree(office)
    log_in(page, office.senior)
    look(page, "40-overview")
    page.click("nav >> text=Conflicts")
    page.wait_for_selector(".pl-conflict")
    look(page, "41-conflicts")
    page.click("[data-state=automatic]")
    page.wait_for_url("**state=automatic**")
    look(page, "42-automatic")
    restored = page.locator("button:has-text('Restore')").first
    restored.click()
    page.wait_for_selector("text=Restored; both are live")
    look(page, "43-restored")
    page.goto(CONFLICTS)
    row = page.locator(".pl-conflict", has_text="Docs go out from trunk.")
    row.locator(".pl-open").click()
    page.wait_for_selector("mark.pl-missing:has-text('--strict')")
    look(page, "43-missing")
    for scheme, width in (("light", 1280), ("dark", 1280), ("dark", 820), ("light", 820)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        for name, path in (
            ("conflict", f"{CONFLICTS}{pending['id']}/change/"),
            ("conflicts", CONFLICTS),
            ("memory", f"/admin/memory/memory/{pending['memory_a']}/change/"),
            ("judge", JUDGE),
        ):
            page.goto(path)
            look(page, f"44-{name}-{scheme}-{width}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    assert page.locator(".pl-banner").count() <= 1


@pytest.mark.rule("HI-02")
def test_an_administrator_looks_after_jobs(office, page, look):  # noqa: F811
    disagree(office)
    for job in jobs_of(office)[:2]:
        fail(job, "OperationalError: the connection was lost <b>here</b>")
    log_in(page, office.admin)
    page.click("text=Jobs")
    page.wait_for_selector(".pl-table")
    look(page, "45-jobs")
    page.click("[data-state=failed]")
    page.wait_for_url("**state=failed**")
    look(page, "46-failed")
    page.locator("button:has-text('Retry')").first.click()
    page.wait_for_selector("text=Queued again.")
    page.set_viewport_size({"width": 820, "height": 900})
    page.emulate_media(color_scheme="dark")
    page.goto(JOBS)
    look(page, "47-jobs-dark-820")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
