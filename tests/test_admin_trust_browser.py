"""Trust in a real browser: somebody works through what needs verification."""

from typing import Any

import pytest

from tenants.ids import Prefix, wire_id
from tests.admin_login import log_in
from tests.dirty import reported, trust, verified
from tests.memories import done, kept, seen
from tests.people import Office
from tests.test_admin_browser import address, browser, look, page  # noqa: F401  fixtures
from tests.test_admin_trust import NEEDS, SUBJECTS, rules_of
from tests.test_desk_browser import XSS, serious
from tests.test_review_intervals import recalled_often, written_long_ago

# What can be opened on these pages.
OURS = ".pl-need summary, .pl-looks summary, .pl-tree summary, .pl-report-change summary"
FACTS = (
    ("deployment.host", "ams-2.example.net", "Production runs on ams-2.example.net.", 41),
    ("deployment.branch", "release", "Deploys go out from the branch `release`.", 28),
    ("deployment.region.primary", "eu-west", "The primary region is eu-west.", 5),
    ("deployment.region.fallback", "eu-north", "The fallback region is eu-north.", 2),
    ("build.command", "make dist", "Artifacts are built with `make dist`.", 17),
    ("build.artifact.path", "dist/app.tar.zst", "The artifact is dist/app.tar.zst.", 3),
    ("database.port", "5433", "The staging database listens on port 5433, not 5432.", 12),
    ("database.version", "16.4", "The database is PostgreSQL 16.4.", 9),
    ("database.backup.hour", "02:00", "The nightly backup starts at 02:00 UTC.", 1),
    ("on_call.rotation", "weekly", "On-call changes hands on Mondays at 10:00.", 7),
)
MOVED = (
    ("deployment.host", "The provider moved us to Frankfurt"),
    ("build.command", "Makefile changed in 3f2a91c"),
    ("database.version", "Upgraded last night"),
)


def furnish(office: Office) -> dict[str, str]:
    """Write what a team knows of its deployments, and let the world move under some of it."""
    known: dict[str, str] = {}
    for subject, value, content, recalls in FACTS:
        stated = [{"subject": subject, "value": value}]
        known[subject] = kept(office.senior, content, project="apollo", components=stated)
        recalled_often(known[subject], recalls)
    known["procedure"] = kept(
        office.colleague,
        "Rollback: check out the last tag, build, copy the artifact to the host, restart.",
        project="apollo",
        kind="procedure",
        components=[
            {"subject": "rollback.artifact", "value": "dist/app.tar.zst"},
            {"subject": "rollback.restart", "value": "systemctl restart app"},
        ],
        depends_on=["deployment.host", known["build.command"], "build.artifact.path"],
    )
    recalled_often(known["procedure"], 22)
    verified(
        office.colleague,
        known["database.version"],
        method="command",
        components=["database.version"],
        observed_value="16.4",
        evidence="SELECT version()",
    )
    for subject, summary in MOVED:
        reported(office.senior, subject, summary)
    known["old"] = kept(office.senior, "The lease ends in May.", project="apollo", kind="reference")
    written_long_ago(known["old"], 90)
    project = f"/projects/{wire_id(Prefix.PROJECT, office.apollo.id)}"
    done(office.admin.patch(project, {"review_intervals": {"reference": 60}}))
    known["suggested"] = kept(office.senior, "The cache server port is 6379.", project="apollo")
    return known


@pytest.mark.rule("VE-02", "VE-04", "VE-06", "T208")
def test_a_day_with_what_needs_verification(office, page, look):  # noqa: F811
    known = furnish(office)
    log_in(page, office.senior)
    page.click("nav >> text=Needs verification")
    page.wait_for_selector("[data-needs]")
    rows = page.locator(".pl-need")
    assert rows.count() == 5
    assert "Frankfurt" in rows.first.inner_text()
    look(page, "trust-needs-verification")

    # One click.
    rows.first.locator("button:has-text('Still so')").click()
    page.wait_for_selector("text=Verified.")
    assert trust(office.senior, known["deployment.host"]) == "verified"
    assert page.locator(".pl-need").count() == 4

    # Not so any more: what was seen instead is written at once.
    row = page.locator(".pl-need", has_text="make dist")
    row.locator("summary").click()
    page.wait_for_function("document.activeElement.name === 'observed_value'")
    page.keyboard.type("just dist")
    row.locator("textarea").fill("README, and it builds")
    look(page, "80-refuting")
    row.locator("button:has-text('It is not so any more')").click()
    page.wait_for_selector("text=waits at the desk")
    last = seen(office.senior, known["build.command"])["verifications"][-1]
    assert (last["outcome"], last["observed_value"]) == ("refuted", "just dist")

    # By keyboard: down, tick, and still so.
    page.keyboard.press("j")
    assert page.locator(".pl-need.pl-at").count() == 1
    page.keyboard.press("x")
    assert page.locator("input[name=memory]:checked").count() == 1
    with page.expect_navigation():
        page.keyboard.press("s")
    assert page.locator(".pl-need").count() == 2

    # Several at once.
    page.check("[data-ticks=memory]")
    page.click("button:has-text('the ticked ones')")
    page.wait_for_selector("text=Nothing needs verification.")
    look(page, "81-nothing")


def test_looking_at_one_memory(office, page, look):  # noqa: F811
    known = furnish(office)
    log_in(page, office.senior)
    page.goto(f"/admin/memory/memory/{known['procedure']}/change/")
    look(page, "82-memory")
    page.click("summary:has-text('I looked')")
    page.select_option("form[action='../verify/'] select[name=subject]", "rollback.restart")
    page.fill("input[name=observed_value]", "systemctl restart app")
    look(page, "83-looked")
    page.click("button:has-text('Write it down')")
    page.wait_for_selector("text=Noted, and still dirty")
    page.click("summary:has-text('Something changed')")
    page.fill("textarea[name=summary]", "the unit has another name")
    page.click("form:has(textarea[name=summary]) button:has-text('Report it')")
    page.wait_for_selector("text=1 memory is marked by it")

    page.goto(f"/admin/memory/memory/{known['suggested']}/change/")
    page.click("button:has-text('Accept')")
    page.wait_for_selector("text=Accepted.")

    page.click("nav >> text=Subjects")
    page.wait_for_selector(".pl-tree")
    look(page, "trust-subjects")
    page.click("a[aria-label*='dirty on deployment.host']")
    page.wait_for_selector(".pl-feed")
    assert page.locator(".pl-line").count() == 1


@pytest.mark.rule("T208")
def test_stored_markup_runs_nowhere_and_everybody_can_use_the_pages(office, page, look):  # noqa: F811
    known = furnish(office)
    stated = [{"subject": "deployment.host", "value": XSS[:120]}]
    nasty = kept(office.senior, f"Deploys {XSS}", project="apollo", components=stated)
    reported(office.senior, "deployment.host", f"moved {XSS}")
    log_in(page, office.admin)
    problems: dict[str, Any] = {}
    paths = {"rules": rules_of(office), "push": "/admin/memory/pushsource/add/"}
    _visit(page, paths, problems)
    page.goto(rules_of(office))
    look(page, "84-rules")
    page.goto("/admin/memory/pushsource/add/")
    page.fill("#id_name", "apollo.git")
    page.select_option("#id_member", wire_id(Prefix.MEMBER, office.senior.member.id))
    page.click("button:has-text('Make push source')")
    page.wait_for_selector("#secret")
    look(page, "85-push-secret")
    page.click("text=I have it")
    look(page, "86-push-source")
    page.context.clear_cookies()
    log_in(page, office.senior)
    _visit(
        page,
        {
            "needs": NEEDS,
            "subjects": SUBJECTS,
            "nasty": f"/admin/memory/memory/{nasty}/change/",
            "procedure": f"/admin/memory/memory/{known['procedure']}/change/",
        },
        problems,
    )
    page.goto(NEEDS)
    look(page, "87-needs-dark")
    page.goto(SUBJECTS)
    look(page, "88-subjects-dark")
    page.set_viewport_size({"width": 820, "height": 1180})
    for path in (NEEDS, SUBJECTS):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    look(page, "89-tablet")
    assert not any(problems.values()), problems


def _visit(screen, paths, problems):
    """Check each page in light and in dark, with everything opened."""
    for colours in ("light", "dark"):
        screen.emulate_media(color_scheme=colours)
        for name, path in paths.items():
            screen.goto(path)
            for summary in screen.locator(OURS).all():
                summary.evaluate("(one) => { one.parentElement.open = true }")
            problems[name, colours] = serious(screen)
