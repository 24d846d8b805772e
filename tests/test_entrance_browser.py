"""The entrance in a real browser, and what the content security policy says on every page."""

import time

import pytest
from django.contrib.auth import get_user_model

from tenants.founding import OWNER
from tenants.one_time_codes import code_at
from tests.admin_login import PASSWORD, log_in, set_password
from tests.test_admin_browser import (  # noqa: F401  fixtures
    address,
    browser,
    furnish,
    look,
    page,
)

AT_MOST = 80  # pages
NOTE_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


@pytest.mark.rule("T206", "T207")
def test_the_first_log_in_of_somebody_new(office, page, look):  # noqa: F811
    set_password(office.senior.member.user_id)
    page.goto("/admin/memory/memory/")
    page.fill("#id_username", office.senior.member.username)
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url("**/second-step/")
    assert page.locator(".pl-qr img").evaluate("image => image.naturalWidth") > 100
    look(page, "40-enrol")
    secret = page.locator("#totp-secret").inner_text().replace(" ", "")
    page.wait_for_function("document.activeElement.id === 'id_code'")
    page.fill("#id_code", "12345")
    page.press("#id_code", "Enter")
    assert "wrong" in page.locator("#code-error").inner_text()
    page.fill("#id_code", code_at(secret, time.time()))
    page.press("#id_code", "Enter")
    page.wait_for_selector("#recovery-codes")
    codes = page.locator("#recovery-codes code").all_inner_texts()
    assert len(codes) == 8
    look(page, "41-recovery-codes")
    page.click("text=I have them")
    page.wait_for_url("**/admin/memory/memory/")

    page.click(f"text={office.senior.member.username}")
    page.click("button:has-text('Log out')")
    page.wait_for_selector("text=logged out")
    page.goto("/admin/")
    page.fill("#id_username", office.senior.member.username)
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_selector("#code-form")
    look(page, "42-second-step")
    page.fill("#id_code", codes[0])
    page.press("#id_code", "Enter")
    page.wait_for_url("**/admin/")
    users = get_user_model().objects.using(OWNER)
    assert users.filter(username=office.senior.member.username).exists()


def addresses_on(page):  # noqa: F811
    found = page.locator("a[href]").evaluate_all("links => links.map(link => link.href)")
    return {one.split("#")[0] for one in found if "/admin/" in one}


@pytest.mark.rule("T208")
@pytest.mark.parametrize("who", ["admin", "senior"])
def test_no_page_that_can_be_reached_breaks_the_policy(office, page, who):  # noqa: F811
    furnish(office)
    for value in ("5432", "5433"):
        office.senior.post(
            "/memories",
            {
                "content": f"The ledger's port is {value}.",
                "project": "apollo",
                "components": [{"subject": "ledger.port", "value": value}],
            },
        )
    person = getattr(office, who)
    page.add_init_script(NOTE_VIOLATIONS)
    log_in(page, person)
    seen: set[str] = set()
    waiting = ["/admin/"]
    shapes: dict[str, int] = {}
    while waiting and len(seen) < AT_MOST:
        address = waiting.pop(0)  # noqa: F811
        seen.add(address)
        page.goto(address)
        assert page.evaluate("window.violations") == [], address
        for one in sorted(addresses_on(page) - seen - set(waiting)):
            # Of pages of the same kind a few are enough.
            shape = "/".join(part for part in one.split("?")[0].split("/") if "_" not in part)
            shapes[shape] = shapes.get(shape, 0) + 1
            if shapes[shape] <= 3:
                waiting.append(one)
    assert len(seen) > (12 if who == "admin" else 6), seen


@pytest.mark.rule("T208", "T211")
def test_the_policy_is_as_tight_as_the_theme_allows(office, browser, address):  # noqa: F811
    page = browser.new_context(base_url=address).new_page()  # noqa: F811
    log_in(page, office.senior)
    said = page.goto("/admin/").headers["content-security-policy"]
    rules = dict(one.strip().split(" ", 1) for one in said.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self' 'unsafe-eval'"
    assert rules["style-src"] == "'self'"
    for directive in ("object-src", "base-uri", "frame-ancestors"):
        assert rules[directive] == "'none'"
    assert rules["form-action"] == "'self'"
    ran = page.evaluate(
        """() => new Promise((resolve) => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.addEventListener("securitypolicyviolation", () => resolve(window.ran || false));
          document.body.append(script);
        })"""
    )
    assert ran is False
    page.context.close()


@pytest.mark.rule("HI-03")
def test_an_administrator_reads_the_record(office, page, look):  # noqa: F811
    for name in ("Zeus", "Hera"):
        office.admin.post("/projects", {"slug": name.lower(), "name": name})
    zeus = office.admin.get("/projects").json()["results"][-1]["id"]
    office.admin.patch(f"/projects/{zeus}", {"name": "Renamed"})
    log_in(page, office.admin)
    page.click("text=Audit")
    page.wait_for_selector(".pl-audit")
    assert page.locator("#audit-count").inner_text() == "3 events"
    page.click("summary:has-text('All') >> nth=0")
    look(page, "43-audit")
    page.select_option("select[name=command]", "update_project")
    page.wait_for_url("**command=update_project**")
    assert page.locator("#audit-count").inner_text() == "1 event"
    page.click(f"[title='{zeus}'] a")
    page.wait_for_url(f"**/tenants/project/{zeus}/**")
