"""Whoever and whatever goes while a judge is being asked: no trace of it, and nothing half done."""

import pytest
from django.db import connections

from memory.models import Memory
from tenants.job_desk import sweep_jobs
from tenants.models import Tenant
from tests.judging import certified, judgements, live, records, says, work
from tests.memories import done, kept, remember, row
from tests.test_failed_jobs import jobs
from tests.test_judging import NEW, OLD, due, model, server
from tests.test_members import path_of
from tests.test_removed_meanwhile import elsewhere, project_of

__all__ = ["certified", "model", "server"]

pytestmark = pytest.mark.rule("T157", "JU-03", "PO-15")

# What there would be of something that is not there any more.
NOTHING_WITHOUT = (
    ("judgements", "older_id", "memories"),
    ("judgements", "newer_id", "memories"),
    ("conflicts", "memory_a_id", "memories"),
    ("conflicts", "memory_b_id", "memories"),
    ("embeddings", "memory_id", "memories"),
    ("events", "memory_id", "memories"),
    ("memories", "tenant_id", "tenants"),
    ("memories", "owner_id", "members"),
    ("jobs", "member_id", "members"),
    ("pairs_in_hand", "job_id", "jobs"),
)


def orphans():
    found = []
    with connections["owner"].cursor() as cursor:
        for table, column, of in NOTHING_WITHOUT:
            cursor.execute(
                f"SELECT {column} FROM {table} t WHERE {column} IS NOT NULL"
                f" AND NOT EXISTS (SELECT FROM {of} o WHERE o.id = t.{column})"
            )
            found += [(table, column, one) for (one,) in cursor.fetchall()]
    return found


def suspend(office, state):
    return lambda: Tenant.objects.using("owner").filter(id=office.tenant.id).update(state=state)


def meanwhile(model, deed):
    """Have something happen once while the judge is being asked."""
    to_do = [deed]

    def happen():
        if to_do:
            elsewhere(to_do.pop())

    model.meddle = happen


@pytest.mark.parametrize("state", ["suspended", "deleting"])
def test_a_tenant_that_goes_while_it_is_judged(office, certified, state):
    says(certified, "contradiction")
    old, new = (kept(who, text, project="apollo")
                for who, text in ((office.colleague, OLD), (office.senior, NEW)))  # fmt: skip
    meanwhile(certified, suspend(office, state))
    try:
        work(office)

        # Nothing was concluded in a tenant that nobody may write in, and nobody is let in.
        assert (judgements(office), records(office)) == ([], 0)
        for answer in (
            office.senior.get(f"/memories/{new}"),
            office.senior.post("/memories", {"content": NEW}),
            office.senior.get("/hygiene/health"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (403, "tenant_inactive")
        due(office)
        assert work(office) == 0
        assert orphans() == []
    finally:
        suspend(office, "active")()
    # Once it is back, what waited is done, and once.
    jobs(office, state="running").update(lease_until="2020-01-01T00:00:00Z")
    sweep_jobs()
    due(office)
    work(office)
    assert live(office.viewer, [old, new]) == [new]
    assert len(judgements(office)) == records(office) == 1


def test_a_tenant_that_goes_while_somebody_waits_for_the_judge(office, certified):
    says(certified, "contradiction")
    kept(office.colleague, OLD, project="apollo")
    meanwhile(certified, suspend(office, "suspended"))
    try:
        answer = remember(office.senior, NEW, project="apollo", wait=5)

        # The write itself was over before: it is there, whole, and has its job.
        assert (answer["judging"], answer["conflicts"]) == ("queued", [])
        assert office.senior.get(f"/memories/{answer['memory_id']}").status_code == 403
        (written,) = Memory.objects.using("owner").filter(tenant=office.tenant, content=NEW)
        assert jobs(office, subject_id=written.id).count() == 1
        assert (judgements(office), records(office), orphans()) == ([], 0, [])
    finally:
        suspend(office, "active")()


def test_a_member_who_goes_while_what_they_wrote_is_judged(office, certified):
    says(certified, "contradiction")
    old = kept(office.colleague, OLD, project="apollo")
    new = remember(office.senior, NEW, project="apollo")["memory_id"]
    meanwhile(
        certified, lambda: done(office.admin.patch(path_of(office.senior), {"active": False}))
    )

    work(office)

    # Judged is in the sight of a member, and there is none any more.
    assert (judgements(office), records(office), orphans()) == ([], 0, [])
    assert live(office.viewer, [old, new]) == [old, new]
    assert office.senior.get(f"/memories/{new}").status_code in (401, 403)


def test_a_project_that_is_archived_while_it_is_judged(office, certified):
    says(certified, "contradiction")
    old = kept(office.colleague, OLD, project="apollo")
    new = remember(office.senior, NEW, project="apollo")["memory_id"]
    meanwhile(certified, lambda: done(office.admin.patch(project_of(office), {"archived": True})))

    work(office)

    assert len(judgements(office)) == 1
    assert orphans() == []
    assert set(live(office.viewer, [old, new])) <= {old, new}
    assert office.senior.post("/memories", {"content": NEW, "project": "apollo"}).status_code != 201


@pytest.mark.parametrize("which", [0, 1])
def test_a_memory_that_goes_while_it_is_judged(office, certified, which):
    says(certified, "contradiction")
    ids = [
        kept(office.colleague, OLD, project="apollo"),
        kept(office.senior, NEW, project="apollo"),
    ]
    owner = (office.colleague, office.senior)[which]
    gone = f"/memories/{ids[which]}/forget"
    meanwhile(certified, lambda: done(owner.post(gone, {"reason": "It was a mistake."})))

    work(office)

    assert records(office) == 0
    assert {one.deed for one in judgements(office)} <= {"late"}
    assert live(office.viewer, ids) == [ids[1 - which]]
    assert row(ids[which]).superseded_by_id is None
    assert orphans() == []
    assert not jobs(office, state__in=("queued", "running")).exists()
