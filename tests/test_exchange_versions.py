"""Of what somebody brings in that they said twice, the last version counts, as its times tell."""

from typing import Any

import pytest

from tests.memories import done, kept, recalled, remember, seen
from tests.people import Office, Person
from tests.test_absorbing import BACKUP, BACKUP_AGAIN
from tests.test_exchange_out_of_use import archivist, brought_in, file_of

__all__ = ["archivist"]

pytestmark = pytest.mark.rule("WR-08", "PO-10", "field-fault-29")

EARLIER, LATER = "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"


def said(content: str, at: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a memory of a file; at which time it was said, if the file tells."""
    times = {} if at is None else {"created_at": at}
    return {"content": content, "session": "s1", **times, **more}


def stored(person: Person) -> dict[str, Any]:
    """Return all that somebody has in apollo, by its text."""
    listed = done(person.get("/memories", {"lifecycle": "all", "project": "apollo"}))["results"]
    return {one["content"]: seen(person, one["id"]) for one in listed}


def is_last(person: Person, last: str, first: str) -> bool:
    told = stored(person)
    assert told[last]["lifecycle"] == "live"
    reasons = {one["id"]: one["supersede_reason"] for one in told[first]["chain"]}
    assert reasons == {told[first]["id"]: "duplicate", told[last]["id"]: None}
    return bool(told[first]["superseded_by"] == told[last]["id"])


@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_whichever_comes_in_first_the_last_version_is_in_use(
    office: Office, archivist: Person, files: int, order: tuple[int, int]
) -> None:
    versions = [said(BACKUP, EARLIER), said(BACKUP_AGAIN, LATER)]
    lines = [versions[one] for one in order]
    for part in [lines] if files == 1 else [[line] for line in lines]:
        brought_in(office, archivist, file_of(*part))

    assert is_last(archivist, BACKUP_AGAIN, BACKUP)
    assert recalled(archivist, "Where are backups kept?", project="apollo")[0] == BACKUP_AGAIN


@pytest.mark.parametrize("at", [None, EARLIER])
def test_of_one_time_or_of_none_the_last_that_comes_in_is_in_use(
    office: Office, archivist: Person, at: str | None
) -> None:
    brought_in(office, archivist, file_of(said(BACKUP, at), said(BACKUP_AGAIN, at)))

    assert is_last(archivist, BACKUP_AGAIN, BACKUP)


def test_what_was_said_here_is_later_than_what_is_brought_in(
    office: Office, archivist: Person
) -> None:
    here = kept(archivist, BACKUP_AGAIN, project="apollo", session="s1")
    brought_in(office, archivist, file_of(said(BACKUP, LATER)))

    assert is_last(archivist, BACKUP_AGAIN, BACKUP)
    answer = remember(archivist, BACKUP_AGAIN + " .", project="apollo", session="s1")
    assert answer["superseded"] == [here]


@pytest.mark.rule("PO-16", "RE-01")
def test_what_gives_way_is_told_and_comes_back_like_every_other(
    office: Office, archivist: Person
) -> None:
    part = {"subject": "backup.hour", "value": "two"}
    last = said(BACKUP_AGAIN, LATER)
    brought_in(
        office,
        archivist,
        file_of(last, said(BACKUP, EARLIER, tags=["nightly"], components=[part])),
    )

    (told,) = done(archivist.get("/auto-resolved"))["results"]
    now, gone = (stored(archivist)[one] for one in (BACKUP_AGAIN, BACKUP))
    assert (told["kind"], told["resolution"], told["winner"]) == (
        "duplicate",
        "duplicate",
        now["id"],
    )
    # What was declared beside it is not lost.
    assert now["tags"] == ["nightly"]
    assert [(one["subject"], one["value"]) for one in now["components"]] == [("backup.hour", "two")]
    done(archivist.post(f"/memories/{gone['id']}/restore"))
    assert {one["lifecycle"] for one in stored(archivist).values()} == {"live"}


@pytest.mark.parametrize("why", ["session", "kind", "specific", "challenged", "author"])
def test_it_gives_way_only_where_it_would_have_been_replaced(
    office: Office, archivist: Person, why: str
) -> None:
    last, first = said(BACKUP_AGAIN, LATER), said(BACKUP, EARLIER)
    if why == "session":
        first["session"] = "s2"
    if why == "kind":
        first["kind"] = "gotcha"
    if why == "specific":
        first["content"] = BACKUP[:-1] + ", by `backup --all`."
    if why == "author":
        kept(office.senior, BACKUP_AGAIN, project="apollo", session="s1")
        last = said("The office is closed on Sundays.", LATER)
    brought_in(office, archivist, file_of(last))
    if why == "challenged":
        memory = stored(archivist)[BACKUP_AGAIN]["id"]
        done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "I doubt it."}))
    brought_in(office, archivist, file_of(first))

    assert stored(archivist)[first["content"]]["lifecycle"] == "live"


@pytest.mark.rule("SU-02", "DE-09")
def test_of_three_versions_one_is_left_in_whichever_order_they_come(
    office: Office, archivist: Person
) -> None:
    versions = [
        said(BACKUP, "2020-01-01T00:00:00Z"),
        said(BACKUP_AGAIN, EARLIER),
        said(BACKUP_AGAIN + " .", LATER),
    ]
    for number in (2, 0, 1):
        brought_in(office, archivist, file_of(versions[number]))

    live = [text for text, one in stored(archivist).items() if one["lifecycle"] == "live"]
    assert live == [versions[2]["content"]]
