"""Who may change what around a memory."""

from collections.abc import Collection
from uuid import UUID

from memory.independence import is_author
from memory.models import Door, Memory, SupersedeReason, Visibility
from memory.place import reviewable_projects, writable_projects
from tenants.caller import Caller, Rank
from tenants.refusals import NotAllowed


def owns(caller: Caller, memory: Memory) -> bool:
    """
    Return whether it is the caller's, or the caller's sponsor's, and in the caller's reach.

    Whoever is confined to a project has no say elsewhere, even over their own.
    """
    if memory.project_id is None:
        in_reach = caller.personal
    else:
        in_reach = caller.project_id in (None, memory.project_id)
    return memory.owner_id == caller.member_id and in_reach


def word_counts(caller: Caller, memory: Memory) -> bool:
    """
    Return whether it counts that the caller confirms it, with nothing to show for it.

    The author's word does, and that of a level that is not below the author's; a watcher's never.
    """
    wrote_it = is_author(memory, caller.member_id, caller.agent_id)
    return caller.rank >= Rank.DELIBERATE and (wrote_it or caller.level >= memory.author_level)


def stands_where(caller: Caller, memory: Memory, reviewed: Collection[UUID]) -> bool:
    """
    Return whether it stands in a project that the caller reviews, or is in none and theirs.

    :param reviewed: the projects that the caller reviews
    """
    if memory.project_id is None:
        return memory.owner_id == caller.member_id and caller.personal
    return memory.project_id in reviewed


def settles(caller: Caller, memory: Memory, reviewed: Collection[UUID]) -> bool:
    """Return whether the caller decides about it: who reviews it, or owns what is private."""
    if memory.visibility == Visibility.PRIVATE:
        return owns(caller, memory)
    return stands_where(caller, memory, reviewed)


def may_replace(caller: Caller, memory: Memory) -> bool:
    """
    Return whether the caller may retire it.

    The owner may, and who may write its project at a level that is no lower than its author's.
    """
    if owns(caller, memory):
        return True
    return (
        memory.visibility != Visibility.PRIVATE
        and memory.project_id is not None
        and caller.level >= memory.author_level
        and memory.project_id in writable_projects()
    )


def reviews(caller: Caller, memory: Memory) -> bool:
    """Return whether the caller reviews the project in which it stands."""
    return (
        not caller.is_agent
        and memory.visibility != Visibility.PRIVATE
        and memory.project_id is not None
        and memory.project_id in reviewable_projects()
    )


def must_be_replaceable(caller: Caller, memory: Memory) -> None:
    """
    Refuse who may see it and not retire it.

    :raises NotAllowed: if the caller is neither owner, nor reviewer, nor a writer of enough level
    """
    if not (may_replace(caller, memory) or reviews(caller, memory)):
        raise NotAllowed(
            "Only its owner, a reviewer of its project, or a writer of its project whose level is "
            "not below its author's may do this."
        )


def must_be_restorable(caller: Caller, memory: Memory) -> None:
    """
    Refuse who may see it and not bring it back.

    What people took away by review comes back by a reviewer or by its human owner alone.

    :raises NotAllowed: if the caller may not
    """
    decided_by_people = memory.supersede_reason == SupersedeReason.MANUAL
    if decided_by_people or memory.invalidated_reason in (Door.RETIRED, Door.REJECTED):
        if not (reviews(caller, memory) or (owns(caller, memory) and caller.rank == Rank.HUMAN)):
            raise NotAllowed(
                "People took this away by review; a reviewer or its owner may restore it."
            )
        return
    must_be_replaceable(caller, memory)
