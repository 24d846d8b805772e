"""What a worker does of an import or an export, from where it was interrupted."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from memory.exchange.drafts import without_rejected
from memory.exchange.formats import MARKDOWN, read_file
from memory.exchange.jsonl import lines_of, rows_of, with_their_age
from memory.exchange.storing import Goal, known_already, store, tie
from memory.exchange.tree import files_of
from memory.models import Door, Memory, Transfer
from memory.quota import QuotaExceeded
from memory.wire import with_authors
from tenants.audit import record
from tenants.caller import Caller, Rank, Role
from tenants.context import acting_as
from tenants.ids import Prefix, read_id, wire_id, wire_id_or_none
from tenants.jobs import JobInHand, NotNow, job_kind, keep_lease_in_time
from tenants.models import Project
from tenants.once import Answer, writing_as
from tenants.refusals import Refusal

TRANSFER = "transfer"
AT_A_TIME = 20


def exportable(project_id: UUID | None) -> "QuerySet[Memory]":
    """Return what of a project, or of all, the caller may take out, in the order of writing."""
    unrejected = Q(invalidated_reason__isnull=True) | ~Q(invalidated_reason=Door.REJECTED)
    wanted = Memory.objects.filter(unrejected).order_by("sequence")
    return wanted if project_id is None else wanted.filter(project=project_id)


@job_kind(TRANSFER)
def do_transfer(caller: Caller, job: JobInHand) -> None:
    """
    Do an import or an export, from where it was interrupted.

    As its member, who asked for it, and with deliberate rank: a machine carries it out.
    """
    member = replace(caller, role=Role.MEMBER, rank=Rank.DELIBERATE)
    with acting_as(member):
        transfer = Transfer.objects.filter(id__in=[job.subject_id]).first()
    if transfer is None or transfer.state != Transfer.State.RUNNING:
        return
    if transfer.direction == Transfer.Direction.EXPORT:
        _export(member, transfer, job)
    else:
        _import(member, transfer, job)


def _import(caller: Caller, transfer: Transfer, job: JobInHand) -> None:
    is_tree = transfer.format == MARKDOWN
    content, files = (None, transfer.files) if is_tree else (transfer.files[0]["content"], ())
    drafts = without_rejected(read_file(transfer.format, content, files))
    goal = Goal(wire_id_or_none(Prefix.PROJECT, transfer.project_id))
    place_of = {draft.ref: draft.place for draft in drafts}
    known = known_already(caller, drafts, goal)
    stored = {place: read_id(Prefix.MEMORY, told) for place, told in transfer.stored.items()}
    counts = {name: transfer.counts.get(name, 0) for name in ("stored", "absorbed", "known")}
    if not stored:
        counts["known"] = 0
    try:
        for draft in drafts:
            if draft.place not in stored:
                others = (place_of[ref] for ref in draft.settled_with)
                beside = [stored[place] for place in others if place in stored]
                stored[draft.place], became = store(caller, draft, goal, known, beside)
                counts[became] += 1
                if len(stored) % AT_A_TIME == 0:
                    _note(caller, transfer, stored, counts)
                    keep_lease_in_time(job)
        tie(caller, drafts, stored)
    except QuotaExceeded as used_up:
        _note(caller, transfer, stored, counts, problem=used_up.detail)
        raise NotNow(used_up.title, after=timedelta(seconds=used_up.retry_after)) from None
    except Refusal as refusal:
        _note(caller, transfer, stored, counts, state=Transfer.State.FAILED, problem=refusal.detail)
        return
    _note(caller, transfer, stored, counts, state=Transfer.State.DONE)


def _note(
    caller: Caller,
    transfer: Transfer,
    stored: dict[str, UUID],
    counts: dict[str, int],
    *,
    state: Transfer.State = Transfer.State.RUNNING,
    problem: str = "",
) -> None:
    """
    Note how far an import is.

    :param problem: why it failed, or waits
    """
    is_over = state != Transfer.State.RUNNING
    ended = {"finished_at": Now(), "files": []} if is_over else {}
    with writing_as(caller):
        Transfer.objects.filter(id=transfer.id).update(
            stored={place: wire_id(Prefix.MEMORY, one) for place, one in stored.items()},
            counts=counts,
            done=len(stored),
            state=state,
            problem=problem,
            **ended,
        )
        if is_over:
            why = {"problem": problem} if problem else {}
            after = {**counts, "state": state, **why}
            record(f"end_{transfer.direction}", "transfer", transfer.id, after=after)


def _export(caller: Caller, transfer: Transfer, job: JobInHand) -> None:
    with acting_as(caller):
        # How many there may be was asked before; what has come since is not cut off.
        ids = list(exportable(transfer.project_id).values_list("id", flat=True))
        folders = {
            wire_id(Prefix.PROJECT, one): slug
            for one, slug in Project.objects.values_list("id", "slug")
        }
    told: list[Answer] = []
    for start in range(0, len(ids), AT_A_TIME):
        with acting_as(caller):
            chunk = with_authors(Memory.objects.filter(id__in=ids[start : start + AT_A_TIME]))
            told += with_their_age(list(chunk.order_by("sequence")))
            Transfer.objects.filter(id=transfer.id).update(done=len(told))
        keep_lease_in_time(job)
    known = [one["id"] for one in told]
    if transfer.format == MARKDOWN:
        files = list(files_of(rows_of(told, known), folders))
    else:
        files = [{"path": "memories.jsonl", "content": "".join(lines_of(told, known))}]
    with writing_as(caller):
        Transfer.objects.filter(id=transfer.id).update(
            files=files, state=Transfer.State.DONE, total=len(told), finished_at=Now()
        )
        record("end_export", "transfer", transfer.id, after={"memories": len(told)})
