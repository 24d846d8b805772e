"""A request sent twice has one effect."""

import pytest

from tests.memories import commands, done, kept, memories_of, refused, remember
from tests.people import WRITE

BODY = {"content": "The staging database listens on port 5432.", "project": "apollo"}


def keyed(key):
    return {"Idempotency-Key": key}


@pytest.mark.rule("WR-05", "field-fault-23", "T142")
def test_the_same_request_is_answered_alike_and_stores_once(office):
    first = office.senior.post("/memories", BODY, **keyed("k1"))
    again = office.senior.post("/memories", dict(reversed(BODY.items())), **keyed("k1"))

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert memories_of(office) == 1
    assert commands(office.senior, first.json()["memory_id"]) == ["remember"]


@pytest.mark.rule("WR-05", "T142")
def test_the_same_key_with_another_body_is_refused(office):
    done(office.senior.post("/memories", BODY, **keyed("k1")))

    for body in ({**BODY, "content": "Something else."}, {**BODY, "kind": "fact"}):
        refused(office.senior.post("/memories", body, **keyed("k1")), 409, "idempotency_mismatch")
    assert memories_of(office) == 1


@pytest.mark.rule("WR-05", "T142")
def test_a_key_belongs_to_its_principal_and_its_endpoint(office):
    body = {"content": BODY["content"]}
    by_agent = done(office.agent.post("/memories", body, **keyed("k1")))
    by_other = done(office.agent2.post("/memories", body, **keyed("k1")))
    assert by_agent["memory_id"] != by_other["memory_id"]

    path = f"/memories/{by_agent['memory_id']}"
    reason = {"reason": "x"}
    done(office.agent.post(f"{path}/forget", reason, **keyed("k1")))
    assert (
        done(office.agent.post(f"{path}/forget", reason, **keyed("k1")))["lifecycle"] == "retired"
    )
    done(office.agent.post(f"{path}/restore", {}, **keyed("k1")))
    refused(office.agent2.post(f"{path}/forget", reason, **keyed("k2")), 403, "forbidden")
    # Another memory is another endpoint.
    other = kept(office.agent, "Another memory.")
    done(office.agent.post(f"/memories/{other}/forget", reason, **keyed("k1")))


@pytest.mark.rule("WR-05", "T142")
@pytest.mark.parametrize("key", ["", "x" * 256, "schlüssel", "a\tb"])
def test_a_key_is_1_to_255_printable_characters(office, key):
    refused(
        office.senior.post("/memories", BODY, **keyed(key)),
        400,
        "validation_failed",
        "Idempotency-Key",
    )
    assert memories_of(office) == 0


@pytest.mark.rule("WR-05", "T142")
def test_a_key_may_be_255_long(office):
    done(office.senior.post("/memories", BODY, **keyed("x" * 255)))
    assert office.senior.post("/memories", BODY, **keyed("x" * 255)).json()["absorbed"] is False


@pytest.mark.rule("WR-05")
def test_what_was_refused_may_be_sent_again_with_the_same_key(office):
    newcomer = office.person("newcomer", grants=[(office.apollo, ("see_project",))])
    refused(newcomer.post("/memories", BODY, **keyed("k1")), 403, "forbidden")

    from tenants.founding import grant

    grant(newcomer.member, office.apollo, WRITE)

    assert newcomer.post("/memories", BODY, **keyed("k1")).status_code == 201


@pytest.mark.rule("WR-05")
def test_an_absorbed_write_is_answered_alike(office):
    remember(office.senior, **BODY)

    first = office.senior.post("/memories", BODY, **keyed("k1"))
    again = office.senior.post("/memories", BODY, **keyed("k1"))

    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json() == first.json()
    assert commands(office.senior, first.json()["memory_id"]) == ["remember", "absorb"]


@pytest.mark.rule("WR-05")
def test_after_a_day_a_key_is_new(office):
    from tenants.models import IdempotencyKey

    done(office.senior.post("/memories", BODY, **keyed("k1")))
    kept_keys = IdempotencyKey.objects.using("owner").filter(tenant=office.tenant)
    from datetime import timedelta

    from django.db.models import F

    kept_keys.update(created_at=F("created_at") - timedelta(hours=25))

    other = office.senior.post("/memories", {**BODY, "content": "Something else."}, **keyed("k1"))

    assert other.status_code == 201
    assert memories_of(office) == 2
