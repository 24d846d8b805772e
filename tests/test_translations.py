"""What is said of memories can be said in other languages: each sentence whole, and all of them."""

import ast
import re
import struct
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings as configured
from django.core.exceptions import ImproperlyConfigured
from django.utils import translation

from deploy.settings import _language
from memory.models import Cause, Change, Component, Door, Mark, Memory
from memory.trust.marks import SUSPECTED, reason_of
from memory.trust.rendering import Telling, in_dispute, replaced_by_policy, safe_rendering
from memory.trust.state import TrustState
from tests.memories import done, kept
from tests.test_rendering import standing

ROOT = Path(configured.BASE_DIR)
CATALOGUE = ROOT / "locale" / "django.pot"
MARKERS = {"gettext", "gettext_lazy"}
SOURCES = ("memory.spoken", "django.utils.translation")
PLACEHOLDER = re.compile(r"%(\(\w+\))?.")
DAY, LATER, COMING = (datetime(year, 1, 1, tzinfo=UTC) for year in (2026, 2027, 2099))
AUTHOR = {"name": "名", "level": 30}
OTHER = {"content": "又", "author": AUTHOR, "created_at": "2026-01-01T00:00:00Z"}


def sentences() -> list[str]:
    """Return what a translator finds in the catalogue."""
    text = CATALOGUE.read_text(encoding="utf-8")
    found = re.findall(r'^msgid ((?:".*"\n)+)', text, re.MULTILINE)
    said = ["".join(map(ast.literal_eval, one.splitlines())) for one in found]
    assert said.pop(0) == ""
    return said


def marked_in(path: Path) -> Iterator[ast.expr]:
    """Yield what the module hands to gettext, by whatever name it calls it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in SOURCES
        for each in node.names
        if each.name in MARKERS
    }
    # The tools of translators do not look into strings with braces.
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            assert id(node) not in hidden, f"{path.name}:{node.lineno}"
            yield node.args[0]


def test_the_catalogue_has_every_sentence_that_is_marked_and_no_other():
    modules = [
        path
        for folder in ("tenants", "memory", "hygiene", "reviews", "deploy")
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts
    ]

    marked = [one for path in modules for one in marked_in(path)]

    assert all(isinstance(one, ast.Constant) for one in marked)
    assert {one.value for one in marked if isinstance(one, ast.Constant)} == set(sentences())
    assert len(sentences()) == len(set(sentences())) > 30


def test_every_placeholder_has_a_name_so_that_words_may_change_places():
    for one in sentences():
        for found in PLACEHOLDER.finditer(one):
            assert re.fullmatch(r"%\(\w+\)s", found[0]), one


def compiled(messages: Mapping[str, str]) -> bytes:
    """Return a catalogue in the form that gettext reads: two tables of strings, by their places."""
    pairs = sorted((one.encode(), said.encode()) for one, said in messages.items())
    tables: list[bytes] = []
    strings, start = b"", 28 + 16 * len(pairs)
    for column in zip(*pairs, strict=True):
        for one in column:
            tables.append(struct.pack("<2I", len(one), start + len(strings)))
            strings += one + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return head + b"".join(tables) + strings


@pytest.fixture
def numbered(settings, tmp_path):
    """A catalogue that says every sentence as its number and its placeholders, the last first."""
    messages = {"": "Content-Type: text/plain; charset=UTF-8\n"}
    for number, one in enumerate(sentences()):
        names = [found[0] for found in PLACEHOLDER.finditer(one)]
        messages[one] = f"⟦{number}⟧" + "".join(reversed(names))
    folder = tmp_path / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "django.mo").write_bytes(compiled(messages))
    settings.LOCALE_PATHS = [tmp_path]
    settings.MEMORY_LANGUAGE = "de"


def all_that_is_said_of_memories() -> Iterator[str]:
    """Yield whatever can be said of a claim, in every state and to everybody."""
    component = Component(id=uuid4(), subject="项.目")
    marked = {
        "marks": (Mark(direct=True, component=component, change=Change(subject="项.目")),),
        "verified": {"项.目": DAY},
        "last_value": {"项.目": "值"},
    }
    doors = (None, Door.SUPERSEDED, Door.FORGOTTEN, Door.CLOSED, Door.RETIRED)
    ways = product((False, True), repeat=4)
    for door, (withheld, to_come, overdue, doubted), gone_at in product(doors, ways, (DAY, LATER)):
        memory = Memory(content="人", created_at=DAY, valid_from=DAY if to_come else None)
        if door is not None:
            memory.invalidated_at, memory.invalidated_reason = gone_at, door
        for state, successor, as_of in product(TrustState, (None, "号"), (None, LATER)):
            telling = Telling(
                author=AUTHOR,
                competing=[OTHER] if doubted else [],
                successor=successor,
                to_decide="争" if doubted else None,
                as_of=as_of,
                withheld=withheld,
                still_to_come=to_come,
                looks_at=["项.目"] if overdue else [],
                is_beside_the_point=overdue and successor is None,
            )
            known = {"overdue": overdue, **(marked if doubted else {})}
            for reason in (None, "因"):
                stands = standing(state, dirty_reason=reason, **known)
                yield safe_rendering(memory, stands, telling)
    yield in_dispute([OTHER, {**OTHER, "valid_from": "2099-01-01T00:00:00Z"}], disagreeing=False)
    yield in_dispute([OTHER] * 20)
    yield replaced_by_policy("号", "又")


def all_that_is_said_of_marks() -> Iterator[str]:
    yield str(SUSPECTED)
    change = Change(subject="项.目", summary="变")
    for cause, direct, known in product(Cause, (False, True), (None, change)):
        by = uuid4()
        one = Mark(cause=cause, direct=direct, change=known, observed_at=DAY, cause_memory_id=by)
        one.created_at = DAY
        yield reason_of(one, set())
        yield re.sub(r"mem_\w+", "号", reason_of(one, {by}))


@pytest.mark.rule("RC-05", "SB-04")
@pytest.mark.usefixtures("numbered")
def test_in_another_language_nothing_stays_in_english_and_no_sentence_is_idle():
    told = [*all_that_is_said_of_memories(), *all_that_is_said_of_marks()]

    for one in told:
        # What lists claims by letters, and the name of the clock, are no words.
        assert not re.search("[A-Za-z]", re.sub(r"\([a-j]\)|UTC", "", one)), one
    found = {int(number) for one in told for number in re.findall(r"⟦(\d+)⟧", one)}
    assert {sentences()[number] for number in found} == set(sentences())


def test_english_needs_no_catalogue(settings):
    memory = Memory(content="It is so.", created_at=DAY, valid_from=COMING)
    telling = Telling(author=AUTHOR, still_to_come=True)

    for language in ("en", "fr"):
        settings.MEMORY_LANGUAGE = language
        said = safe_rendering(memory, standing("verified"), telling)
        assert said == "From 2099-01-01: It is so."


@pytest.mark.usefixtures("numbered")
def test_a_deployment_chooses_the_language_and_nobody_who_asks(office):
    kept(office.watcher, "It is so, says the okapi.")
    for asked in ("en", "fr"):
        said = {"query": "okapi", "project": "apollo"}
        with translation.override(asked):
            (one,) = done(office.senior.post("/recall", said))["results"]
        assert one["safe_rendering"].startswith("⟦")
    # What is no sentence about a memory stays as it is.
    problem = office.senior.post("/recall", {}).json()
    assert problem["errors"][0]["message"] == "This field is required."


@pytest.mark.parametrize(
    ("said", "spoken"),
    [({}, "en"), ({"MEMORY_LANGUAGE": ""}, "en"), ({"MEMORY_LANGUAGE": "de"}, "de")],
)
def test_the_language_comes_from_the_environment(monkeypatch, said, spoken):
    monkeypatch.delenv("MEMORY_LANGUAGE", raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)

    assert _language() == spoken


@pytest.mark.parametrize("code", ["xx", "German", "../de"])
def test_what_is_no_language_is_refused_by_name(monkeypatch, code):
    monkeypatch.setenv("MEMORY_LANGUAGE", code)

    with pytest.raises(ImproperlyConfigured, match="MEMORY_LANGUAGE"):
        _language()
