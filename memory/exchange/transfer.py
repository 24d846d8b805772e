"""Imports and exports: started by an operation, done by a job, told while they go on."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from memory.exchange.drafts import Draft, must_be_storable, without_rejected
from memory.exchange.jsonl import lines_of, read_jsonl, rows_of, with_their_age
from memory.exchange.others import read_graph, read_mem0
from memory.exchange.storing import Goal, known_already, store, tie
from memory.exchange.tree import files_of, read_tree
from memory.models import Door, Memory, Transfer
from memory.place import project_in_sight, writing_place
from memory.quota import QuotaExceeded
from memory.wire import with_authors
from tenants.audit import record
from tenants.caller import Caller, Rank, Role
from tenants.context import acting_as
from tenants.ids import Prefix, moment, read_id, wire_id, wire_id_or_none
from tenants.jobs import JobInHand, NotNow, job_kind, keep_lease_in_time, leave_job
from tenants.models import Project
from tenants.once import Answer, writing_as
from tenants.refusals import Invalid, NotAllowed, NotFound, Refusal

JSONL, MARKDOWN, MEM0, GRAPH = "jsonl", "markdown", "mem0", "memory-graph"
EXPORTED = (JSONL, MARKDOWN)
IMPORTED = (JSONL, MARKDOWN, MEM0, GRAPH)
MOST_MEMORIES = 20_000
AT_A_TIME = 20
_READERS: dict[str, Callable[[str], list[Draft]]] = {
    JSONL: read_jsonl,
    MEM0: read_mem0,
    GRAPH: read_graph,
}
TRANSFER = "transfer"


def start_import(
    caller: Caller,
    *,
    format: str,  # noqa: A002  the wire's name
    content: str | None = None,
    files: Sequence[dict[str, str]] = (),
    project: str | None = None,
    scope: str | None = None,
    dry_run: bool = False,
) -> Answer:
    """
    Bring in what a file holds, word for word, as deliberate and not as a person's own word.

    All of it is read first, and nothing is stored if anything in it is wrong. What was brought in
    before is not stored again. The answer tells how many there are; the rest is done in the
    background.

    :param files: for Markdown: paths and texts
    :param dry_run: only count what would be stored
    :raises Invalid: naming the lines or files in which something is wrong
    :raises NotAllowed: for an agent, or where the caller may not write
    """
    if caller.is_agent:
        raise NotAllowed("Only a person may import.")
    drafts = _read(format, content, files)
    must_be_storable(drafts)
    drafts = without_rejected(drafts)
    with acting_as(caller):
        place = writing_place(caller, project=project, scope=scope, visibility=None)
    goal = Goal(wire_id_or_none(Prefix.PROJECT, place.project_id))
    known = known_already(caller, drafts, goal)
    transfer = Transfer(
        tenant_id=caller.tenant_id,
        member_id=caller.member_id,
        direction=Transfer.Direction.IMPORT,
        format=format,
        project_id=place.project_id,
        files=list(files) or [{"path": format, "content": content}],
        total=len(drafts),
        counts={"known": len(known), "new": len(drafts) - len(known)},
    )
    if dry_run:
        transfer.created_at = timezone.now()
        return transfer_wire(transfer) | {"id": None, "state": "dry_run"}
    return _started(caller, transfer)


def start_export(
    caller: Caller,
    *,
    format: str = JSONL,  # noqa: A002  the wire's name
    project: str | None = None,
) -> Answer:
    """
    Take out all that the caller sees, or a project's part of it, with the history of its versions.

    :raises NotAllowed: for an agent
    :raises Invalid: if that is more than one export holds
    """
    if caller.is_agent:
        raise NotAllowed("Only a person may export.")
    with acting_as(caller):
        where = project_in_sight(caller, project).id if project or caller.project_id else None
        total = _wanted(where).count()
    if total > MOST_MEMORIES:
        raise Invalid.field(
            "project", f"{total:,} memories; at most {MOST_MEMORIES:,} in one export, so name one"
        )
    return _started(
        caller,
        Transfer(
            tenant_id=caller.tenant_id,
            member_id=caller.member_id,
            direction=Transfer.Direction.EXPORT,
            format=format,
            project_id=where,
            total=total,
        ),
    )


def get_transfer(caller: Caller, *, transfer_id: UUID) -> Answer:
    """
    Tell how far an import or export has come.

    :raises NotFound: if there is none of the caller's
    """
    with acting_as(caller):
        return transfer_wire(_existing(transfer_id))


def get_transfer_files(caller: Caller, *, transfer_id: UUID) -> Answer:
    """
    Give what was exported.

    :raises NotFound: if there is no export of the caller's
    :raises Refusal: while it is still being made
    """
    with acting_as(caller):
        transfer = _existing(transfer_id)
        if transfer.direction != Transfer.Direction.EXPORT:
            raise NotFound
        if transfer.state != Transfer.State.DONE:
            raise Refusal(f"It is {transfer.state}: {transfer.done} of {transfer.total} are there.")
        return {"format": transfer.format, "files": transfer.files}


def _existing(transfer_id: UUID) -> Transfer:
    found = Transfer.objects.filter(id=transfer_id).first()
    if found is None:
        raise NotFound
    return found


def _started(caller: Caller, transfer: Transfer) -> Answer:
    with writing_as(caller) as keep:
        transfer.save(force_insert=True)
        transfer.refresh_from_db(fields=["created_at"])
        leave_job(TRANSFER, dedup_key=str(transfer.id), subject_id=transfer.id)
        record(
            f"start_{transfer.direction}",
            "transfer",
            transfer.id,
            after={"format": transfer.format, "memories": transfer.total},
        )
        return keep(transfer_wire(transfer))


def _read(format_: str, content: str | None, files: Sequence[dict[str, str]]) -> list[Draft]:
    if format_ == MARKDOWN:
        if content is not None or not files:
            raise Invalid.field("files", "Markdown comes as a list of files: path and content")
        drafts = read_tree(files)
    else:
        if files or content is None:
            raise Invalid.field("content", f"a {format_} file comes as one text in content")
        drafts = _READERS[format_](content)
    if not drafts:
        raise Invalid.field("files" if format_ == MARKDOWN else "content", "holds no memory")
    if len(drafts) > MOST_MEMORIES:
        raise Invalid.field(
            "content", f"{len(drafts):,} memories; at most {MOST_MEMORIES:,} in one import"
        )
    return drafts


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
    files = transfer.files
    is_tree = transfer.format == MARKDOWN
    drafts = without_rejected(
        _read(transfer.format, None if is_tree else files[0]["content"], files if is_tree else ())
    )
    goal = Goal(wire_id_or_none(Prefix.PROJECT, transfer.project_id))
    known = known_already(caller, drafts, goal)
    stored = {place: read_id(Prefix.MEMORY, told) for place, told in transfer.stored.items()}
    counts = {name: transfer.counts.get(name, 0) for name in ("stored", "absorbed", "known")}
    if not stored:
        counts["known"] = 0
    try:
        for draft in drafts:
            if draft.place not in stored:
                stored[draft.place], became = store(caller, draft, goal, known)
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
        ids = list(_wanted(transfer.project_id).values_list("id", flat=True))
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


def _wanted(project_id: UUID | None) -> "QuerySet[Memory]":
    unrejected = Q(invalidated_reason__isnull=True) | ~Q(invalidated_reason=Door.REJECTED)
    wanted = Memory.objects.filter(unrejected).order_by("sequence")
    return wanted if project_id is None else wanted.filter(project=project_id)


def transfer_wire(transfer: Transfer) -> Answer:
    """Return how far a transfer has come."""
    return {
        "id": wire_id(Prefix.TRANSFER, transfer.id),
        "direction": transfer.direction,
        "format": transfer.format,
        "project": wire_id_or_none(Prefix.PROJECT, transfer.project_id),
        "state": transfer.state,
        "total": transfer.total,
        "done": transfer.done,
        "counts": transfer.counts,
        "problem": transfer.problem or None,
        "created_at": moment(transfer.created_at),
        "finished_at": moment(transfer.finished_at),
    }
