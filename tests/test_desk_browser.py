"""The review desk in a real browser: a reviewer works through a queue, by mouse and by keyboard."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

from tests.admin_login import log_in
from tests.desk import DESK, challenged, dispute, everything, pair, state_of, verdict
from tests.memories import kept, seen
from tests.people import Office
from tests.test_admin_browser import address, browser, look, page  # noqa: F401  fixtures

FEED = "/admin/memory/memory/"
BACKUP = (
    "The nightly backup of the ledger starts at {} UTC and is kept for 14 days under "
    "{}/backups/ledger. The release manager is on call; ask Ops before changing it."
)
XSS = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>{{7*7}}"


def open_desk(screen, path=""):
    screen.goto(f"{DESK}{path}")
    screen.wait_for_selector("#keys", state="attached")


def press(screen, *keys):
    """Press keys of which the last leads to another page, and return how many they were."""
    for key in keys[:-1]:
        screen.keyboard.press(key)
    with screen.expect_navigation():
        screen.keyboard.press(keys[-1])
    return len(keys)


def backup(office, **more):
    """Return the newer and the older note on the backup, and their dispute."""
    older = kept(
        office.colleague, BACKUP.format("02:00", "/srv"), project="apollo", kind="decision"
    )
    newer = kept(office.contractor, BACKUP.format("03:30", "/mnt"), project="apollo")
    lost = ["/srv/backups/ledger"]
    said = verdict(0.91, missing_specifics=lost)
    return newer, older, dispute(
        office, newer, older, missing_specifics=lost, verdict=said, **more
    )  # fmt: skip


@pytest.mark.rule("DI-04", "RE-06")
def test_a_reviewer_decides_by_mouse(office, page, look):  # noqa: F811
    for number in range(2):
        pair(office.senior, office, number)
    newer, older, ledger = backup(office)
    memory, question = challenged(office.senior, office, 1)
    before = everything(office, [newer, older, memory])
    log_in(page, office.reviewer)
    page.click("nav >> text=Conflicts")
    row = page.locator(".pl-conflict", has_text="ledger")
    look(page, "60-queue")
    row.locator(".pl-open").click()
    page.wait_for_selector("mark.pl-missing:has-text('/srv/backups/ledger')")
    look(page, "61-dispute")

    # Merging: what would be lost is told as it is written.
    page.click("summary:has-text('Merge')")
    page.fill("#merge-content", "The backup of the ledger starts at 03:30 UTC.")
    assert page.locator("code.pl-missing").count() >= 2
    assert "missing" in page.locator("[data-lost]").inner_text()
    page.fill("#merge-content", f"{BACKUP.format('03:30', '/mnt')} Before: 02:00 UTC, /srv/backups")
    look(page, "62-merge")
    page.fill("#note", "both are true")
    page.click("#merge")
    page.wait_for_selector(".pl-last:has-text('Merged')")
    assert state_of(ledger) == ("resolved", "merged")
    assert seen(office.senior, older)["lifecycle"] == "superseded"
    look(page, "63-next")
    page.click(".pl-last button")
    page.wait_for_selector("text=Undone")

    # A wins, and undone from the tab of what was decided.
    page.click("button:has-text('A wins')")
    page.wait_for_selector(".pl-last:has-text('A won')")
    page.goto(f"{DESK}?state=decided")
    page.click(".pl-conflict button:has-text('Undo')")
    page.wait_for_selector("text=Undone")
    assert state_of(ledger) == ("pending", None)

    # Retired, and undone.
    page.goto(f"{DESK}?state=challenges")
    page.click(".pl-open")
    page.click("button:has-text('Retire it')")
    page.wait_for_selector(".pl-last:has-text('Retired')")
    assert state_of(question) == ("resolved", "retired")
    page.click(".pl-last button")
    page.wait_for_selector("button:has-text('Retire it')")
    after = everything(office, [newer, older, memory])
    assert (after["memories"], after["live"]) == (before["memories"], before["live"])


@pytest.mark.rule("DI-11", "T209")
def test_several_at_once_by_mouse(office, page, look):  # noqa: F811
    pairs = [pair(office.senior, office, number) for number in range(3)]
    log_in(page, office.reviewer)
    open_desk(page)
    page.check("[data-chooses=dispute]")
    assert page.locator("[data-chosen]").inner_text() == "3 chosen"
    page.locator(".pl-conflict input[type=checkbox]").first.uncheck()
    assert page.locator("[data-chosen]").inner_text() == "2 chosen"
    page.click("text=Try it first")
    page.wait_for_selector("text=Nothing has been done yet")
    look(page, "64-bulk")
    assert state_of(pairs[0][2])[0] == "pending"
    page.click("text=Do it: 2 disputes")
    page.wait_for_selector(".pl-last:has-text('2 disputes')")
    assert [state_of(one[2])[0] for one in pairs] == ["resolved", "resolved", "pending"]
    page.keyboard.press("u")
    page.wait_for_selector("text=Undone (")
    assert {state_of(one[2])[0] for one in pairs} == {"pending"}


@pytest.mark.rule("DI-04", "RE-06", "HI-02")
def test_fifty_disputes_by_keyboard_alone_and_all_undone(office, page):  # noqa: F811
    pairs = [pair(office.senior, office, number) for number in range(44)]
    questions = [challenged(office.senior, office, number) for number in range(6)]
    written = [one for newer, older, _ in pairs for one in (newer, older)]
    written += [memory for memory, _ in questions]
    disputes = [one[-1] for one in pairs + questions]
    before = everything(office, written)
    log_in(page, office.reviewer)
    open_desk(page)
    press(page, "j", "Enter")
    ways = [("1",), ("2",), ("b",), ("1",), ("m", "Control+Enter")]
    for number in range(len(pairs)):
        keys = ways[number % len(ways)]
        # Two at once are two keys: m, then Ctrl and Enter.
        assert press(page, *keys) + sum("+" in key for key in keys) <= 3
    assert "Nothing waits for a decision" in page.locator("#content").inner_text()
    open_desk(page, "?state=challenges")
    press(page, "j", "Enter")
    for number in range(len(questions)):
        assert press(page, "r" if number % 2 else "b") <= 3
    assert {state_of(one)[0] for one in disputes} == {"resolved"}
    assert everything(office, written)["memories"] != before["memories"]

    for _ in range(len(disputes)):
        press(page, "u")

    assert page.locator(".pl-last").count() == 0
    after = everything(office, written)
    for what in ("memories", "live", "links", "settled", "embeddings"):
        assert after[what] == before[what], what
    assert {state_of(one)[0] for one in disputes} == {"pending"}


def test_proposals_are_walked_by_the_keys_that_the_page_promises(office, page):  # noqa: F811
    ids = [kept(office.watcher, f"Somebody saw printer {number}.") for number in range(2)]
    log_in(page, office.reviewer)
    open_desk(page, "?state=proposals")
    promised = page.locator("#keys dt kbd").all_inner_texts()
    assert promised == ["j", "k", "Enter", "x", "u", "?", "Esc"]
    page.keyboard.press("j")
    assert page.locator(".pl-at").count() == 1
    page.keyboard.press("x")
    assert page.locator("[data-chosen]").inner_text() == "1 chosen"
    press(page, "j", "k", "j", "Enter")
    assert ids[0] in page.url


def test_a_refused_merge_is_still_open_with_its_text(office, page):  # noqa: F811
    _, older, dispute_id = pair(office.senior, office, 1)
    log_in(page, office.reviewer)
    page.goto(f"{DESK}{dispute_id}/change/")
    page.keyboard.press("m")
    page.fill("#merge-content", seen(office.senior, older)["content"])
    page.fill("#note", "as Ops said")
    page.click("#merge")
    page.wait_for_selector("#wrong-content")
    assert page.locator("#merge-content").is_visible()
    assert page.input_value("#note") == "as Ops said"
    page.fill("#merge-content", "Service 01 listens on 5001 and on 6001.")
    page.click("#merge")
    page.wait_for_selector(".pl-last:has-text('Merged')")
    assert state_of(dispute_id) == ("resolved", "merged")


@pytest.mark.rule("RE-06")
def test_u_takes_back_what_d_did_and_nothing_else(office, page):  # noqa: F811
    decided = pair(office.senior, office, 1)[2]
    put_off = pair(office.senior, office, 2)[2]
    log_in(page, office.reviewer)
    page.goto(f"{DESK}{decided}/change/")
    press(page, "b")
    page.goto(f"{DESK}{put_off}/change/")
    press(page, "d")
    page.wait_for_selector(".pl-last:has-text('Deferred until')")
    press(page, "u")
    assert put_off in page.url
    assert state_of(decided)[0] == "resolved"
    page.wait_for_selector(".pl-last:has-text('Kept both')")


def test_keys_leave_who_writes_alone(office, page):  # noqa: F811
    for number in range(2):
        pair(office.senior, office, number)
    log_in(page, office.reviewer)
    open_desk(page)
    press(page, "j", "Enter")
    address_before = page.url
    page.click("#note")
    page.keyboard.type("1 2 b m r u ? j k")
    assert page.url == address_before
    assert page.input_value("#note") == "1 2 b m r u ? j k"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("1")
    assert page.url == address_before
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()
    press(page, "j")
    assert page.url != address_before
    press(page, "k")
    assert page.url == address_before


@pytest.mark.rule("DI-05", "T148", "T210")
def test_two_reviewers_on_one_dispute(office, page, browser, address):  # noqa: F811
    newer, older, dispute_id = pair(office.colleague, office, 1)
    pair(office.colleague, office, 2)
    log_in(page, office.reviewer)
    page.goto(f"{DESK}{dispute_id}/change/")
    context = browser.new_context(base_url=address)
    other = context.new_page()
    log_in(other, office.senior)
    other.goto(f"{DESK}{dispute_id}/change/")
    press(page, "1")
    press(other, "2")
    assert other.url.split("?")[0].endswith(f"{dispute_id}/change/")
    shown = other.locator("#main").inner_text()
    assert "It was decided already" in shown
    assert "Decided by reviewer" in shown
    assert seen(office.senior, older)["superseded_by"] == newer
    # Back, and once more: still the first decision.
    other.go_back()
    if other.locator("button:has-text('B wins')").count():
        press(other, "2")
    assert seen(office.senior, older)["superseded_by"] == newer
    context.close()


@pytest.mark.rule("T208")
def test_what_is_stored_stays_inert_on_every_page(office, page):  # noqa: F811
    harmful = {"tags": [XSS[:60]], "source": {"kind": XSS[:60], "uri": XSS}}
    older = kept(office.colleague, f"The bell rings at 8. {XSS}", project="apollo", **harmful)
    newer = kept(office.senior, f"The bell rings at 9. {XSS}", project="apollo", **harmful)
    said = verdict(
        reasoning=XSS, shared_subject=XSS, missing_specifics=[XSS], judge=XSS, prompt_version=XSS
    )
    ids = [
        dispute(office, newer, older, verdict=said, row=XSS, missing_specifics=[XSS]),
        dispute(office, older, reason=XSS, evidence=XSS, verdict=None),
    ]
    office.colleague.post(f"/memories/{older}/misled", {"reason": XSS, "query": XSS})
    kept(office.watcher, f"Somebody heard it. {XSS}")
    log_in(page, office.reviewer)
    # A policy that is not kept to is told on the console, which the fixture wants silent.
    for path in (
        DESK,
        f"{DESK}?state=challenges",
        f"{DESK}?state=proposals",
        f"{DESK}statistics/",
        *(f"{DESK}{one}/change/" for one in ids),
        FEED,
        f"{FEED}{newer}/change/",
        f"{FEED}{older}/change/",
    ):
        page.goto(path)
        assert (
            page.evaluate("document.querySelectorAll('#content img, #content script').length") == 0
        )
    page.goto(f"{DESK}{ids[0]}/change/")
    page.fill("#note", XSS)
    press(page, "Escape", "1")
    for path in (f"{DESK}?state=decided", f"{DESK}{ids[0]}/change/", f"{FEED}{older}/change/"):
        page.goto(path)
        page.wait_for_load_state("networkidle")
        assert (
            page.evaluate("document.querySelectorAll('#content img, #content script').length") == 0
        )


@pytest.mark.rule("HI-01", "HI-02")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(office, page, look, scheme):  # noqa: F811
    furnish_desk(office)
    log_in(page, office.reviewer)
    page.emulate_media(color_scheme=scheme)
    ledger = dispute_of(page)
    memory = page.locator(".pl-preview").first.get_attribute("href")
    paths = {
        "queue": DESK,
        "challenges": f"{DESK}?state=challenges",
        "proposals": f"{DESK}?state=proposals",
        "decided": f"{DESK}?state=decided",
        "automatic": f"{DESK}?state=automatic",
        "empty": f"{DESK}?state=unjudged",
        "dispute": ledger,
        "statistics": f"{DESK}statistics/",
        "feed": FEED,
        "memory": memory,
        "retired": f"{FEED}?lifecycle=retired",
    }
    problems = {}
    for width in (1280, 820):
        page.set_viewport_size({"width": width, "height": 900})
        for name, path in paths.items():
            page.goto(path)
            if name == "dispute":
                page.keyboard.press("m")
            look(page, f"70-{name}-{scheme}-{width}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            # What a narrow screen moves is looked at there, too.
            if width == 1280 or name in ("queue", "dispute"):
                problems[f"{name} at {width}"] = serious(page)
    assert not any(problems.values()), problems


def serious(screen):
    """Return what the accessibility check finds on the page, and what it is at."""
    found = Axe().run(screen).response["violations"]
    return [
        (one["id"], [node["html"][:160] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def dispute_of(screen):
    screen.goto(DESK)
    row = screen.locator(".pl-conflict", has_text="ledger")
    return row.locator(".pl-open").get_attribute("href")


def furnish_desk(office: Office) -> None:
    """Leave what a team would have to decide in a week, and some of it decided."""
    for number in range(3):
        pair(office.senior, office, number)
    newer, older, _ = backup(office)
    del newer, older
    gone = kept(office.senior, "The old printer.", project="apollo", tags=["printer", "floor-2"])
    office.senior.post(f"/memories/{gone}/forget", {"reason": "sold"})
    challenged(office.senior, office, 1)
    kept(office.watcher, "Somebody mentioned that the cache is flushed at midnight.")
    one = pair(office.colleague, office, 7)
    office.reviewer.post(f"/conflicts/{one[2]}/resolve", {"winner": one[0], "note": "Ops said so"})
