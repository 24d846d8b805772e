"""Edges between memories: drawn and taken away, and nothing else happens."""

from uuid import UUID

from django.db.models.functions import Now

from memory.authority import owns
from memory.conflict.circles import those_above
from memory.declared import must_not_overrule
from memory.models import Link, LinkType, Memory
from memory.parts import NO_SUCH_MEMORY
from memory.place import writable_projects
from memory.wire import link_wire
from tenants.audit import record
from tenants.caller import Caller
from tenants.ids import new_id
from tenants.once import Answer, writing_as
from tenants.refusals import Invalid, NotAllowed, NotFound, Refusal


class GoesRound(Refusal):
    title = "Supersedes links would go round in a circle"


def link(caller: Caller, *, src: UUID, dst: UUID, type: str) -> Answer:  # noqa: A002  the contract's word
    """
    Draw an edge from one memory to another. It retires nothing, also when its type is supersedes.

    :raises Invalid: if an end is not there for the caller, or both ends are one
    :raises NotAllowed: if the caller may not write at the starting end
    :raises GoesRound: if supersedes links would lead from a memory back to itself
    """
    if src == dst:
        raise Invalid.field("dst", "a link leads to another memory")
    with writing_as(caller) as keep:
        ends = {memory.id: memory for memory in Memory.objects.filter(id__in=(src, dst))}
        for field, end in (("src", src), ("dst", dst)):
            if end not in ends:
                raise Invalid.field(field, NO_SUCH_MEMORY, "unknown_reference")
        _must_write_at(caller, ends[src])
        if type == LinkType.SUPERSEDES and dst in those_above(src):
            raise GoesRound("Supersedes links lead from there to here already.")
        new = Link(id=new_id(), tenant_id=caller.tenant_id, src_id=src, dst_id=dst, type=type)
        # Another may draw the same one this very moment; the database lets one of us do it.
        Link.objects.bulk_create([new], ignore_conflicts=True)
        drawn = Link.objects.get(src=src, dst=dst, type=type, removed_at=None)
        if drawn.id == new.id:
            record("link", "link", drawn.id, memory_id=src, after=link_wire(drawn))
        return keep(link_wire(drawn))


def unlink(caller: Caller, *, link_id: UUID) -> Answer:
    """
    Take an edge away; it stays in the history.

    :raises NotFound: if there is none for the caller
    :raises NotAllowed: if the caller may not write at its starting end
    :raises ProvisionalWriter: for a watcher, unless it starts at a capture
    """
    with writing_as(caller) as keep:
        drawn = Link.objects.filter(id=link_id, removed_at=None).select_related("src").first()
        if drawn is None:
            raise NotFound
        _must_write_at(caller, drawn.src)
        must_not_overrule(caller, drawn.src)
        if not Link.objects.filter(id=link_id, removed_at=None).update(removed_at=Now()):
            raise NotFound
        record("unlink", "link", drawn.id, memory_id=drawn.src_id, before=link_wire(drawn))
        return keep(link_wire(drawn))


def _must_write_at(caller: Caller, memory: Memory) -> None:
    if not (owns(caller, memory) or memory.project_id in writable_projects()):
        raise NotAllowed("You may read the memory that the link starts from, but not write there.")
