"""Calls, keys, decorators and commands are specifics, and what only looks like them is not."""

import pytest

from memory.conflict.coverage import lost_with_replaced
from memory.specifics import missing, specifics
from tests.growth import grows_with

pytestmark = pytest.mark.rule("PO-11")

OLD = "The staging database listens on port 5432"
NEW = "The staging database listens on port 5433."

TOLD = {
    "; call flush() first.": "flush()",
    "; call pool.drain() first.": "pool.drain()",
    "; sleep(delay=quick) comes first.": "sleep(delay=quick)",
    "; use @retry there.": "@retry",
    "; use @app.task there.": "@app.task",
    "; stop it with Ctrl+C.": "Ctrl+C",
    "; stop it with Ctrl-C.": "Ctrl-C",
    "; stop it with Cmd + Shift + P.": "Cmd + Shift + P",
    "; stop it with ⌘Q.": "⌘Q",
    "; leave it with C-x.": "C-x",
    "; restart it as sudo.": "sudo",
    "; restart it as root.": "root",
    "; starte sie als root.": "root",
    ". Run reboot after a change.": "reboot",
    ", then run vacuum.": "vacuum",
    ". Type yes when asked.": "yes",
    ". Führe reboot aus.": "reboot",
    ". Ejecuta reboot luego.": "reboot",
    "。然后运行reboot。": "reboot",
    "。rebootを実行。": "reboot",
    " and greets with ‘Read only’.": "Read only",
    " and greets with ‘don’t write’.": "don’t write",
    " und grüßt mit ‚nur lesen‘.": "nur lesen",
    " und grüßt mit »nur lesen«.": "nur lesen",
    " und grüßt mit ›nur lesen‹.": "nur lesen",
    " et dit ‹ lecture seule ›.": " lecture seule ",
    " och säger ”bara läsa”.": "bara läsa",
    "，提示《只读》。": "只读",
    "、〈読取専用〉と出す。": "読取専用",
}


@pytest.mark.parametrize("told", TOLD)
def test_it_would_be_lost(told):
    assert TOLD[told] in lost_with_replaced(OLD + told, NEW)


@pytest.mark.parametrize("told", TOLD)
def test_and_is_not_if_it_is_said_again(told):
    assert lost_with_replaced(OLD + told, NEW.rstrip(".") + told) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stop it with Ctrl+C.", "Stop it with Control-c."),
        ("Stop it with Strg+C.", "Stop it with Ctrl + C."),
        ("Call flush() first.", "First, call `flush`."),
        ("Run reboot afterwards.", "Afterwards a reboot is due."),
        ("It says ‘Read only’.", 'It says "Read only".'),
        ("It says »Read only«.", "It says “Read only”."),
    ],
)
def test_it_may_be_written_otherwise(one, other):
    assert missing(one, other) == []


@pytest.mark.parametrize(
    "prose",
    [
        "Backups run nightly and are checked by hand.",
        "The jobs are to run daily, and to run slowly.",
        "Run the suite, run tests, and run them often.",
        "Choose the option(s) that the engineer(in) likes.",
        "The root cause is known as root cause.",
        "A command-line tool with a shift-based plan.",
        "We start early, and then start over.",
        "They don't like the engineers' plan, and the teams' either.",
        "We call on customers and enter markets.",
        "Mail goes to the team, as is the custom.",
    ],
)
def test_prose_holds_nothing_of_the_kind(prose):
    assert not [one for one in specifics(prose) if one.kind != "negation"]


@pytest.mark.parametrize(
    "text", ["run " * 4000, "a(" * 8000, "Ctrl+" * 4000, "@a." * 6000, "‘a" * 8000, "«" * 16000]
)
def test_the_time_is_linear_in_the_text(text):
    assert grows_with(specifics, text)
