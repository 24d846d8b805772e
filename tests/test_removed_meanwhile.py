"""Whoever is put out, and wherever nothing more is taken, while a write is under way."""

import threading

import pytest
from django.db import connections

from memory import remember as remembering
from memory import store, taking_in
from memory.finding import embedding
from memory.models import Memory
from tenants.ids import Prefix, wire_id
from tests.memories import done, posting, refused, together
from tests.test_judging import NEW, OLD
from tests.test_members import path_of
from tests.test_projects import let_in

pytestmark = pytest.mark.rule("WR-02", "VI-01")


@pytest.fixture
def before_the_door(monkeypatch):
    """Have something happen when the write is let in, and its transaction has not begun."""

    def let_happen(deed):
        embed, to_do = embedding.embed, iter([deed])

        def embed_meanwhile(text):
            for one in to_do:
                elsewhere(one)
            return embed(text)

        monkeypatch.setattr(store, "embed", embed_meanwhile)

    return let_happen


@pytest.fixture
def inside_the_door(monkeypatch):
    """Have something begin once the write's transaction has; it may have to wait for that."""
    begun: list[threading.Thread] = []

    def let_happen(deed):
        take_in = taking_in.take_in

        def take_in_meanwhile(*arguments):
            thread = threading.Thread(target=closing, args=(deed,))
            begun.append(thread)
            thread.start()
            thread.join(2)
            return take_in(*arguments)

        monkeypatch.setattr(remembering, "take_in", take_in_meanwhile)
        return begun

    return let_happen


def closing(deed):
    try:
        deed()
    finally:
        connections.close_all()


def elsewhere(deed):
    """Do it on another connection, to its end."""
    thread = threading.Thread(target=closing, args=(deed,))
    thread.start()
    thread.join()


def put_out(office, person):
    return lambda: done(office.admin.patch(path_of(person), {"active": False}))


def project_of(office):
    return f"/projects/{wire_id(Prefix.PROJECT, office.apollo.id)}"


def archive(office):
    return lambda: done(office.admin.delete(project_of(office)))


def stored(office):
    return Memory.objects.using("owner").filter(tenant=office.tenant).count()


IN_PROJECT = {"content": NEW, "project": "apollo"}
PERSONAL = {"content": NEW, "scope": "personal"}


@pytest.mark.rule("T155")
@pytest.mark.parametrize(
    ("who", "body"), [("senior", IN_PROJECT), ("senior", PERSONAL), ("agent", IN_PROJECT)]
)
def test_who_was_put_out_before_the_write_began_writes_nothing(office, before_the_door, who, body):
    before_the_door(put_out(office, office.senior))

    answer = getattr(office, who).post("/memories", body)

    assert answer.status_code in (401, 403), answer.content
    assert stored(office) == 0
    assert getattr(office, who).post("/memories", body).status_code == 401


@pytest.mark.rule("T155")
def test_who_is_put_out_while_the_write_is_made_wrote_before(office, inside_the_door):
    """The write and the removal come one after the other: all of it is there, or nothing is."""
    begun = inside_the_door(put_out(office, office.senior))

    answer = office.senior.post("/memories", IN_PROJECT)

    for thread in begun:
        thread.join()
    assert answer.status_code in (201, 401, 403), answer.content
    assert stored(office) == (1 if answer.status_code == 201 else 0)
    assert office.senior.post("/memories", {"content": OLD}).status_code == 401


@pytest.mark.rule("T155")
def test_whose_right_to_write_is_taken_before_the_write_began_is_refused(office, before_the_door):
    before_the_door(lambda: done(let_in(office, office.senior, "see")))

    refused(office.senior.post("/memories", IN_PROJECT), 403, "forbidden", "project")

    assert stored(office) == 0


@pytest.mark.rule("T155")
def test_whose_right_is_taken_while_the_write_is_made_wrote_before_or_is_refused(
    office, inside_the_door
):
    begun = inside_the_door(lambda: done(let_in(office, office.senior, "see")))

    answer = office.senior.post("/memories", IN_PROJECT)

    for thread in begun:
        thread.join()
    assert answer.status_code in (201, 403), answer.content
    assert stored(office) == (1 if answer.status_code == 201 else 0)
    refused(office.senior.post("/memories", IN_PROJECT), 403, "forbidden", "project")


@pytest.mark.rule("T159")
def test_nothing_is_written_in_a_project_archived_before_the_write_began(office, before_the_door):
    before_the_door(archive(office))

    answer = office.senior.post("/memories", IN_PROJECT)

    assert answer.status_code == 409, answer.content
    assert stored(office) == 0


@pytest.mark.rule("T159")
def test_what_is_written_while_a_project_is_archived_is_in_it(office, inside_the_door):
    begun = inside_the_door(archive(office))

    answer = office.senior.post("/memories", IN_PROJECT)

    for thread in begun:
        thread.join()
    assert answer.status_code in (201, 409), answer.content
    assert stored(office) == (1 if answer.status_code == 201 else 0)
    assert office.senior.post("/memories", {**IN_PROJECT, "content": OLD}).status_code == 409


@pytest.mark.rule("T159")
def test_many_writes_and_one_archiving_leave_nothing_half_done(office):
    texts = [f"The staging database listens on port {5500 + number}." for number in range(4)]
    calls = [
        posting(office.senior, "/memories", {"content": text, "project": "apollo"})
        for text in texts
    ]

    *answers, _archived = together(*calls, archive(office))

    written = [answer.status_code for answer in answers]
    assert set(written) <= {201, 409}
    assert stored(office) == written.count(201)
    for answer in answers:
        if answer.status_code == 201:
            memory = done(office.senior.get(f"/memories/{answer.json()['memory_id']}"))
            assert memory["lifecycle"] == "live"
    refused(office.senior.post("/memories", IN_PROJECT), 409, "conflict")
