"""The chain of events: everything is sealed once, and whatever is changed afterwards is named."""

import hashlib
import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import DataError, connection

from tenants import verifying
from tenants.audit import record
from tenants.context import acting_as
from tenants.sealing import Anchor, anchor_in_time, read_anchors, seal_events, write_anchors
from tenants.verifying import verify
from tests.promises.raw import DOOR_ROLES, REFUSED, Who, login, outcome

STRANGE = {
    "ünïcode": "مرحبا 你好 🎉 \u202e\u200b",
    "quotes": "\"\\/\b\f\n\r\t'",
    "b": 1.50,
    "aa": -0.0,
    "a": 1e21,
    "": None,
    "nested": {"z": [1, [], {}, True], "y": False, "0": ""},
}


@pytest.fixture
def owner():
    with login("OWNER_DATABASE_URL", autocommit=True) as opened:
        yield opened


def write(office, count, **said):
    for number in range(count):
        with acting_as(office.senior.caller):
            record("test", "thing", uuid.uuid4(), reason=f"number {number}", **said)


def sealed(office, count=9, **said):
    """Return an office whose record has this many more events, all sealed."""
    write(office, count, **said)
    seal_events()
    return office


def verdict(office, anchors=()):
    return verify(office.tenant, anchors, using="owner")


def tamper(owner, office, *statements):
    """Change the record as only the owner of the tables can, who switches the triggers off."""
    with owner.transaction():
        for table in ("events", "event_chain"):
            owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for statement in statements:
            owner.execute(statement, {"tenant": office.tenant.id})
        for table in ("events", "event_chain"):
            owner.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


NTH = (
    "(SELECT event_id FROM event_chain WHERE tenant_id = %(tenant)s"
    " ORDER BY place OFFSET {} LIMIT 1)"
)
EVENT = f"UPDATE events SET {{}} WHERE id = {NTH}"
SEAL = "UPDATE event_chain SET {} WHERE tenant_id = %(tenant)s AND place = 2"
PLACE = "UPDATE event_chain SET place = {} WHERE tenant_id = %(tenant)s AND place {}"
SWAP = [("103 - place", "IN (3, 4)"), ("place - 96", "> 90")]
SEALS = "DELETE FROM event_chain WHERE tenant_id = %(tenant)s AND place {}"
CUT = (
    "DELETE FROM events WHERE id IN (SELECT event_id FROM event_chain"
    " WHERE tenant_id = %(tenant)s AND place {})"
)
# The chain made anew over what now stands in the record, as whoever knows our functions would.
REWRITE = """
DO $do$
DECLARE one record; before bytea := '\\x'; whose uuid := '{tenant}';
BEGIN
    FOR one IN SELECT c.place, c.salt, e FROM event_chain c JOIN events e ON e.id = c.event_id
               WHERE c.tenant_id = whose ORDER BY c.place LOOP
        UPDATE event_chain c
        SET said = hash_of_what_is_said(one.salt, (one.e).reason, (one.e).before, (one.e).after)
        WHERE c.tenant_id = whose AND c.place = one.place;
        UPDATE event_chain c SET hash = hash_of_event(one.e, one.place, c.said, before)
        WHERE c.tenant_id = whose AND c.place = one.place RETURNING c.hash INTO before;
    END LOOP;
    UPDATE event_heads SET hash = before WHERE tenant_id = whose;
END $do$
"""


@pytest.mark.rule("HI-03")
def test_every_event_is_sealed_once_in_a_place_of_its_own(office, owner):
    sealed(office, 9)
    places = owner.execute(
        "SELECT c.place, e.sequence FROM event_chain c JOIN events e ON e.id = c.event_id"
        " WHERE c.tenant_id = %s ORDER BY c.place",
        [office.tenant.id],
    ).fetchall()
    assert [place for place, _ in places] == list(range(1, 10))
    assert [sequence for _, sequence in places] == sorted(sequence for _, sequence in places)
    assert seal_events() == 0, "and not again"
    found = verdict(office)
    assert (found.sealed, found.waiting, found.bad_place, found.problem) == (9, 0, None, "")


@pytest.mark.rule("HI-03")
def test_what_is_not_sealed_yet_is_told_and_sealed_later(office):
    sealed(office, 3)
    write(office, 2)
    found = verdict(office)
    assert (found.sealed, found.waiting, found.problem) == (3, 2, "")
    seal_events()
    assert (verdict(office).sealed, verdict(office).waiting) == (5, 0)


def _write_and_fail():
    record("test", "thing", uuid.uuid4())
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


@pytest.mark.rule("HI-03")
def test_an_event_that_was_taken_back_leaves_nothing_to_seal(office):
    with pytest.raises(DataError), acting_as(office.senior.caller):
        _write_and_fail()
    seal_events()
    assert (verdict(office).sealed, verdict(office).waiting) == (0, 0)


@pytest.mark.rule("HI-03", "T165")
@pytest.mark.parametrize(
    ("what", "statements", "place"),
    [
        ("reason", [EVENT.format("reason = 'x'", 4)], 5),
        ("before", [EVENT.format("before = 'null'", 0)], 1),
        ("after", [EVENT.format("after = '{}'", 8)], 9),
        ("time", [EVENT.format("at = at + interval '1 us'", 2)], 3),
        ("command", [EVENT.format("command = 'TEST'", 2)], 3),
        ("actor", [EVENT.format("member_id = NULL", 2)], 3),
        ("object", [EVENT.format("object_id = gen_random_uuid()", 2)], 3),
        ("token", [EVENT.format("token_id = gen_random_uuid()", 2)], 3),
        ("request", [EVENT.format("request_id = 'x'", 2)], 3),
        ("removed", [f"DELETE FROM events WHERE id = {NTH.format(5)}"], 6),
        ("removed with its seal", [CUT.format("= 6"), SEALS.format("= 6")], 6),
        ("the first seal removed", [SEALS.format("= 1")], 1),
        ("cut off, seal and all", [CUT.format("> 7"), SEALS.format("> 7")], 8),
        (
            "swapped",
            [PLACE.format("103 - place", "IN (3, 4)"), PLACE.format("place - 96", "> 90")],
            3,
        ),
        ("the salt", [SEAL.format("salt = gen_random_uuid()")], 2),
        ("what was said", [SEAL.format("salt = NULL, said = sha256('x')")], 2),
        ("the end", ["UPDATE event_heads SET hash = 'x' WHERE tenant_id = %(tenant)s"], 9),
    ],
)
def test_the_first_place_that_was_tampered_with_is_named(office, owner, what, statements, place):
    sealed(office, 9, before={"a": 1}, after={"a": 2})
    assert verdict(office).problem == ""
    tamper(owner, office, *statements)
    found = verdict(office)
    assert found.problem, what
    assert found.bad_place == place, found
    seal_events()
    assert verdict(office).bad_place == place, "sealing on heals nothing"


@pytest.mark.rule("HI-03", "T165")
def test_what_is_added_past_the_chain_is_found(office, owner):
    sealed(office, 3)
    tamper(
        owner,
        office,
        "INSERT INTO events (id, tenant_id, command, object_type, object_id, request_id, reason)"
        " VALUES (gen_random_uuid(), %(tenant)s, 'forged', 'thing', gen_random_uuid(), '', '')",
        "SET CONSTRAINTS ALL IMMEDIATE",
    )
    assert "added past the chain" in verdict(office).problem


@pytest.mark.rule("HI-03", "T165")
def test_what_is_removed_before_it_was_sealed_is_found(office, owner):
    sealed(office, 3)
    write(office, 1)
    tamper(
        owner,
        office,
        "DELETE FROM events e WHERE tenant_id = %(tenant)s AND EXISTS"
        " (SELECT FROM unsealed_events u WHERE u.event_id = e.id)",
    )
    assert "before they were sealed" in verdict(office).problem


@pytest.mark.rule("HI-03", "T165")
@pytest.mark.parametrize(
    ("statement", "place"), [(EVENT.format("reason = 'never said'", 4), 6), (CUT.format("> 4"), 5)]
)
def test_a_chain_that_was_made_anew_is_found_by_an_anchor(
    office, owner, tmp_path, statement, place
):
    sealed(office, 6)
    anchors = tmp_path / "anchors"
    written = [one for one in write_anchors(anchors) if one.tenant_id == office.tenant.id]
    assert [one.place for one in written] == [6]
    sealed(office, 3)
    tamper(
        owner,
        office,
        statement,
        "DELETE FROM event_chain c WHERE tenant_id = %(tenant)s"
        " AND NOT EXISTS (SELECT FROM events e WHERE e.id = c.event_id)",
        REWRITE.format(tenant=office.tenant.id).replace("%", "%%"),
        "UPDATE event_heads h SET place = (SELECT max(place) FROM event_chain c"
        " WHERE c.tenant_id = h.tenant_id) WHERE tenant_id = %(tenant)s",
    )
    assert verdict(office).problem == "", "whoever owns the database can forge all of it"
    found = verdict(office, read_anchors(anchors))
    assert found.bad_place == place
    assert ("rewritten" if place == 6 else "cut off") in found.problem


@pytest.mark.rule("HI-03", "T163")
@pytest.mark.parametrize("role", DOOR_ROLES)
@pytest.mark.parametrize("table", ["events", "event_chain", "event_heads", "unsealed_events"])
def test_no_role_of_the_product_changes_the_record(office, role, table):
    sealed(office, 1)
    who = Who(office.tenant.id, office.admin.member.id, role=role)
    with login(autocommit=True) as runtime:
        for statement in (
            f"UPDATE {table} SET tenant_id = tenant_id",
            f"DELETE FROM {table}",
            f"TRUNCATE {table}",
            "SELECT seal_events(1)",
            "SELECT * FROM audit_heads()",
        ):
            assert outcome(runtime, who, statement) == REFUSED, statement
        if table != "events":
            assert outcome(runtime, who, f"SELECT * FROM {table}") == REFUSED


@pytest.mark.rule("HI-03", "T163")
@pytest.mark.parametrize("table", ["events", "event_chain"])
def test_the_owner_changes_nothing_by_mistake(owner, table):
    for statement in (
        f"UPDATE {table} SET tenant_id = tenant_id",
        f"DELETE FROM {table}",
        f"TRUNCATE {table} CASCADE",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only ever added to"):
            owner.execute(statement)


@pytest.mark.rule("HI-03", "T166")
def test_eight_writers_and_two_who_seal_leave_no_gap_and_no_fork(office):
    callers = [office.senior.caller, office.colleague.caller] * 4
    over = threading.Event()

    def add(caller):
        try:
            for _ in range(50):
                with acting_as(caller):
                    for number in range(10):
                        record("test", "thing", uuid.uuid4(), after={"n": number})
        finally:
            connection.close()

    def seal():
        try:
            while not over.is_set():
                seal_events()
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        sealing = [pool.submit(seal) for _ in range(2)]
        for done in [pool.submit(add, caller) for caller in callers]:
            done.result()
        over.set()
        for done in sealing:
            done.result()
    seal_events()
    found = verdict(office)
    assert (found.sealed, found.waiting, found.problem) == (4000, 0, "")


@pytest.mark.rule("HI-03", "T167")
def test_verifying_goes_on_beside_writers_and_page_by_page(office, monkeypatch):
    sealed(office, 25)
    monkeypatch.setattr(verifying, "PAGE", 4)
    over = threading.Event()

    def go_on():
        try:
            while not over.is_set():
                sealed(office, 1)
        finally:
            connection.close()

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        found = [verdict(office) for _ in range(10)]
    finally:
        over.set()
        writer.join()
    assert {one.problem for one in found} == {""}
    assert [one.sealed for one in found] == sorted(one.sealed for one in found)
    assert found[-1].sealed > 25


def canonical(value):
    """Return JSON as PostgreSQL writes it: keys by length, then by bytes; numbers as they were."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        pairs = (f"{canonical(key)}: {canonical(value[key])}" for key in keys)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(canonical, value))}]"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.rule("HI-03", "T168")
def test_the_canonical_form_is_the_same_in_another_hand(office, owner):
    """Unicode, floats, the order of keys, time zones, and nothing against the empty text."""
    sealed(office, 1, before=STRANGE, after=None)
    sealed(office, 1, before={}, after=STRANGE)
    owner.execute("SET timezone = 'Asia/Kathmandu'")
    before = ""
    for place, salt, said, made, event in owner.execute(
        "SELECT c.place, c.salt, c.said, c.hash, to_jsonb(e)::text FROM event_chain c"
        " JOIN events e ON e.id = c.event_id WHERE c.tenant_id = %s ORDER BY c.place",
        [office.tenant.id],
    ):
        told = json.loads(event, parse_float=Decimal, parse_int=Decimal)

        def field(text):
            return "-," if text is None else f"{len(text.encode())}:{text},"

        def written(value):
            return None if value is None else canonical(value)

        texts = (str(salt), told["reason"], written(told["before"]), written(told["after"]))
        assert hashlib.sha256("".join(map(field, texts)).encode()).digest() == said
        (moment,) = owner.execute(
            "SELECT (extract(epoch FROM %s::timestamptz) * 1000000)::bigint", [told["at"]]
        ).fetchone()
        head = (
            *("palimpsest event 1", told["tenant_id"], str(place), told["id"]),
            *(str(told["sequence"]), str(moment), told["command"], told["object_type"]),
            *(told["object_id"], told["memory_id"], told["member_id"], told["agent_id"]),
            *(told["token_id"], told["request_id"], said.hex(), before),
        )
        assert hashlib.sha256("".join(map(field, head)).encode()).digest() == made
        before = made.hex()
    assert verdict(office).head == before


@pytest.mark.rule("HI-03", "T169")
def test_a_text_can_be_erased_and_the_chain_holds(office, owner):
    sealed(office, 3, before={"content": "of a person who wants it gone"})
    tamper(
        owner,
        office,
        f"UPDATE events SET reason = '', before = NULL WHERE id = {NTH.format(1)}",
        "UPDATE event_chain SET salt = NULL WHERE tenant_id = %(tenant)s AND place = 2",
    )
    assert verdict(office).problem == ""


def command(*arguments):
    out = StringIO()
    try:
        call_command("verify_audit", *arguments, stdout=out)
    except CommandError as error:
        return f"{out.getvalue()}{error}"
    return out.getvalue()


@pytest.mark.rule("HI-03", "T165")
def test_the_command_says_how_far_it_holds_and_where_it_does_not(office, owner, tmp_path):
    sealed(office, 4)
    anchors = tmp_path / "anchors"
    write_anchors(anchors)
    asked = ("--tenant", office.slug, "--anchors", str(anchors))
    assert f"{office.slug}: holds; 4 events sealed, ends in" in command(*asked)
    tamper(owner, office, f"UPDATE events SET reason = 'x' WHERE id = {NTH.format(2)}")
    said = command(*asked)
    assert f"{office.slug}: DOES NOT HOLD at 3: changed" in said
    assert "(2 hold before that)" in said
    assert "The record does not hold" in said
    assert "There is no tenant" in command("--tenant", "nobody")
    assert "There is no file" in command("--anchors", str(tmp_path / "nowhere"))
    anchors.write_text("nonsense\n")
    assert "line 1, is no anchor" in command(*asked)


@pytest.mark.rule("HI-03")
def test_anchors_are_for_our_eyes_and_written_once_a_change(office, tmp_path):
    sealed(office, 2)
    anchors = tmp_path / "anchors"
    assert Anchor(office.tenant.id, 2, verdict(office).head) in write_anchors(anchors)
    assert anchors.stat().st_mode & 0o777 == 0o600
    assert write_anchors(anchors) == []
    sealed(office, 1)
    (third,) = write_anchors(anchors)
    assert third.place == 3
    assert read_anchors(anchors)[-1] == third


@pytest.mark.rule("HI-03")
def test_the_worker_writes_anchors_beside_the_database(office, settings, tmp_path, monkeypatch):
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr("tenants.sealing._Here.anchored_at", None)
    sealed(office, 1)
    anchor_in_time()
    kept = tmp_path / "audit-anchors.jsonl"
    size = kept.stat().st_size
    sealed(office, 1)
    anchor_in_time()
    assert kept.stat().st_size == size, "an hour is not over"
