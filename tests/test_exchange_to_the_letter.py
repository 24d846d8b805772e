"""What stands in an export comes in elsewhere, whatever was said, repeated or planned of it."""

import json
from typing import Any

import pytest

from memory.exchange import transfer
from tests.dirty import reported, verified
from tests.judging import branch, stating, work
from tests.memories import done, kept, remember, replacing, seen
from tests.people import ALL_SCOPES, REVIEW, Office, Person
from tests.test_absorbing import BACKUP, BACKUP_AGAIN
from tests.test_exchange import carried_out, files_of

pytestmark = pytest.mark.rule("field-fault-29", "T182")

COMING = "2099-01-01T00:00:00.000000Z"


def keeper(office: Office) -> Person:
    return office.person("archivist", grants=[(office.apollo, REVIEW)], scopes=ALL_SCOPES)


@pytest.fixture
def archivist(office: Office) -> Person:
    return keeper(office)


@pytest.fixture
def elsewhere(other_office: Office) -> Person:
    return keeper(other_office)


@pytest.fixture(params=["jsonl", "markdown"])
def handed_on(request, office, other_office, archivist, elsewhere):
    """Take out what stands in apollo, bring it in elsewhere, and return it there by its text."""

    def hand_on(end_of_line: str = "\n") -> dict[str, Any]:
        files = files_of(office, archivist, format=request.param, project="apollo")
        body: dict[str, Any] = {"format": request.param, "project": "apollo"}
        if request.param == "markdown":
            # As a folder is read: by their names, and so by their kinds.
            body["files"] = [
                {**one, "content": one["content"].replace("\n", end_of_line)}
                for one in sorted(files, key=lambda file: file["path"])
            ]
        else:
            body["content"] = files[0]["content"].replace("\n", end_of_line)
        ended = carried_out(other_office, elsewhere, "/import", body)
        assert ended["state"] == "done", ended
        listed = done(elsewhere.get("/memories", {"lifecycle": "all"}))["results"]
        return {one["content"]: one for one in listed}

    return hand_on


def several(memory: Any) -> set[tuple[str | None, bool]]:
    return {(one["value"], one["multi"]) for one in memory["components"]}


@pytest.mark.rule("DE-04")
def test_that_a_subject_has_several_values_may_have_been_said_later(archivist, handed_on):
    one = stating("x.host", "a")
    kept(archivist, "The host is a.", project="apollo", components=one)
    again = stating("x.host", "a", multi=True)
    assert remember(archivist, "The host is a.", project="apollo", components=again)["absorbed"]

    there = handed_on()["The host is a."]

    assert ("a", True) in several(there)
    assert not [one for one in several(there) if not one[1]]


@pytest.mark.rule("DE-04", "DE-08")
def test_that_a_subject_has_several_values_may_be_said_by_what_stays_behind(
    office, archivist, handed_on
):
    kept(
        office.colleague,
        "Mine is a.",
        project="apollo",
        visibility="private",
        components=stating("x.host", "a", multi=True),
    )
    kept(archivist, "b and c.", project="apollo", components=stating("x.host", "b", "c"))
    kept(archivist, "One.", project="apollo", components=stating("x.port", "5,433", "5433"))

    there = handed_on()

    assert several(there["b and c."]) == {("b", True), ("c", True)}
    # The same value in two ways of writing is one.
    assert several(there["One."]) == {("5,433", False), ("5433", False)}


@pytest.mark.rule("SB-05", "TR-01")
@pytest.mark.parametrize("looked_at", [True, False])
def test_what_rests_on_what_was_replaced_is_as_sure_as_it_was(
    office, archivist, handed_on, looked_at
):
    base = kept(archivist, "The base is one.", project="apollo", kind="reference")
    relies = {"kind": "episode", "depends_on": [base]}
    kept(archivist, "It relies on that.", project="apollo", **relies)
    later = kept(archivist, "The base is two.", project="apollo", links=replacing(base))
    kept(archivist, "It knows of both.", project="apollo", **relies)
    relying = done(archivist.get("/memories", {"q": "relies"}))["results"][0]["id"]
    if looked_at:
        verified(archivist, relying)

    there = handed_on()

    state = "verified" if looked_at else "dirty"
    assert seen(archivist, relying)["trust_state"] == state
    assert there["It relies on that."]["trust_state"] == state
    assert there["It knows of both."]["trust_state"] == "verified"
    gone = there["The base is one."]
    assert gone["superseded_by"] == there["The base is two."]["id"]
    assert gone["superseded_at"] == gone["invalidated_at"]
    assert seen(archivist, base)["superseded_by"] == later


def test_what_moved_there_after_it_came_in_marks_it_through_what_was_replaced(
    office, other_office, archivist, handed_on
):
    base = kept(archivist, "The base is one.", project="apollo")
    kept(archivist, "It relies on that.", project="apollo", depends_on=[base])
    said = {"components": stating("x.base", "two"), "links": replacing(base)}
    kept(archivist, "The base is two.", project="apollo", **said)
    verified(archivist, done(archivist.get("/memories", {"q": "relies"}))["results"][0]["id"])
    relying = handed_on()["It relies on that."]["id"]

    reported(other_office.colleague, "x.base")

    assert seen(other_office.colleague, relying)["trust_state"] == "dirty"


@pytest.mark.rule("DE-04", "PO-10")
def test_an_end_that_is_anothers_beginning_is_taken_back_with_it_there_too(
    office, archivist, elsewhere, handed_on
):
    now = branch(archivist, "main")["memory_id"]
    branch(archivist, "release", valid_from=COMING)
    own = kept(archivist, "It ends by itself.", project="apollo", valid_until=COMING)
    assert seen(archivist, now)["valid_until"] == COMING

    there = handed_on()

    first, later = (there[f"Deploys go out from {name}."]["id"] for name in ("main", "release"))
    assert seen(elsewhere, first)["valid_until"] == COMING
    assert there["It ends by itself."]["valid_until"] == seen(archivist, own)["valid_until"]
    done(elsewhere.post(f"/memories/{later}/forget", {"reason": "It was put off."}))
    assert seen(elsewhere, first)["valid_until"] is None
    assert there["It ends by itself."]["valid_until"] == COMING


def test_what_two_said_alike_and_is_linked_is_one_there(office, handed_on, settings):
    settings.JUDGE = "off"
    one = kept(office.senior, "The host is a.", project="apollo")
    other = kept(office.colleague, "The host is a.", project="apollo")
    link = {"src": other, "dst": one, "type": "relates_to"}
    done(office.colleague.post("/links", link))

    assert handed_on()["The host is a."]["links"] == []


@pytest.mark.parametrize("end_of_line", ["\n", "\r\n"])
def test_texts_come_in_with_their_ends_of_lines_whatever_writes_the_file_down(
    archivist, handed_on, end_of_line
):
    texts = ["one\ntwo\n\nthree", "one\r\ntwo", "ends with one\r\n", "---\nno fence\n---\n"]
    for text in texts:
        kept(archivist, text, project="apollo")

    there = handed_on(end_of_line)

    if end_of_line == "\n":
        assert set(there) == set(texts)
    else:
        # What a system has rewritten whole cannot be told apart any more.
        assert {one.replace("\r\n", "\n") for one in there} >= {"one\ntwo\n\nthree", "one\ntwo"}


def test_what_came_in_since_it_was_counted_is_not_cut_off(office, archivist, monkeypatch):
    monkeypatch.setattr(transfer, "MOST_MEMORIES", 2)
    texts = ["One.", "Two.", "Three."]
    for text in texts[:2]:
        kept(archivist, text, project="apollo")
    started = archivist.post("/export", {"project": "apollo"})
    assert started.status_code == 202, started.content

    kept(archivist, texts[2], project="apollo")
    work(office)

    path = f"/transfers/{started.json()['id']}"
    assert done(archivist.get(path))["state"] == "done"
    (file,) = done(archivist.get(f"{path}/files"))["files"]
    assert [json.loads(line)["content"] for line in file["content"].splitlines()[1:]] == texts
    assert archivist.post("/export", {"project": "apollo"}).status_code == 400


@pytest.mark.rule("DE-04")
def test_a_file_may_say_only_of_one_statement_that_there_are_several(office, archivist):
    stated = [{"subject": "x.host", "value": "a", "multi": False}]
    stated += [{"subject": "x.host", "value": None, "multi": True}]
    line = json.dumps({"content": "The host is a.", "components": stated})

    body = {"format": "jsonl", "content": line, "project": "apollo"}
    assert carried_out(office, archivist, "/import", body)["state"] == "done"

    (there,) = done(archivist.get("/memories", {"project": "apollo"}))["results"]
    assert several(there) == {("a", True), (None, True)}


def restored(archivist: Person) -> list[str]:
    """Return two memories that contradict each other: the one that had lost was brought back."""
    first, second = (branch(archivist, value) for value in ("main", "trunk"))
    assert second["superseded"] == [first["memory_id"]]
    done(archivist.post(f"/memories/{first['memory_id']}/restore", {"reason": "Both are so."}))
    return [first["memory_id"], second["memory_id"]]


def both_kept(archivist: Person) -> list[str]:
    """Return two memories that contradict each other: somebody has decided that both stay."""
    first, second = (branch(archivist, value, kind="gotcha") for value in ("main", "trunk"))
    (dispute,) = second["conflicts"]
    done(archivist.post(f"/conflicts/{dispute['id']}/resolve", {"keep_both": True}))
    return [first["memory_id"], second["memory_id"]]


def said_twice(archivist: Person) -> list[str]:
    """Return two versions of one text by one author: the first was brought back."""
    said = {"project": "apollo", "session": "s", "components": stating("deploy.branch", "main")}
    first = kept(archivist, BACKUP, **said)
    second = remember(archivist, BACKUP_AGAIN, **said)
    assert second["superseded"] == [first]
    done(archivist.post(f"/memories/{first}/restore", {"reason": "Both are so."}))
    return [first, second["memory_id"]]


@pytest.mark.rule("RE-03", "PO-14")
@pytest.mark.parametrize("decided", [restored, both_kept, said_twice])
def test_what_somebody_let_stand_side_by_side_does_so_there(
    other_office, archivist, elsewhere, handed_on, decided
):
    texts = [seen(archivist, one)["content"] for one in decided(archivist)]

    there = handed_on()
    assert elsewhere.post("/hygiene/sweeps").status_code == 202
    work(other_office)

    brought_in = [there[text]["id"] for text in texts]
    assert [seen(elsewhere, one)["lifecycle"] for one in brought_in] == ["live", "live"]
    assert not done(elsewhere.get("/conflicts", {"state": "all"}))["results"]
    # Between these two alone it was decided: what else is said is compared as anywhere.
    assert branch(other_office.senior, "release")["conflicts"]


@pytest.mark.rule("RE-03")
def test_what_nobody_decided_is_decided_there_as_anywhere(elsewhere, archivist, handed_on):
    for value in ("main", "trunk"):
        branch(archivist, value, kind="gotcha")

    there = handed_on()

    assert {one["disputed"] for one in there.values()} == {True}
