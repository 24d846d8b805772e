"""Imports and exports: started by an operation, done by a job, told while they go on."""

from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone

from memory.exchange.carrying_out import TRANSFER, exportable
from memory.exchange.drafts import must_be_storable, without_rejected
from memory.exchange.formats import JSONL, MOST_MEMORIES, read_file
from memory.exchange.storing import Goal, known_already
from memory.models import Transfer
from memory.place import project_in_sight, writing_place
from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.jobs import leave_job
from tenants.once import Answer, writing_as
from tenants.refusals import Invalid, NotAllowed, NotFound, Refusal


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
    drafts = read_file(format, content, files)
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
        total = exportable(where).count()
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
