"""Whether what somebody says of a memory is anybody's word but its author's own."""

from uuid import UUID

from django.db.models import BooleanField, F, Func

from memory.models import Memory


def is_author(memory: Memory, member_id: UUID, agent_id: UUID | None) -> bool:
    """Return whether they wrote it: an agent stays who it is, whoever its sponsor is now."""
    if memory.author_agent_id is not None:
        return agent_id == memory.author_agent_id
    return agent_id is None and member_id == memory.owner_id


def is_independent(memory: Memory, member_id: UUID, agent_id: UUID | None) -> bool:
    """
    Return whether they are neither the author, nor the owner, nor an agent of the owner's.

    :param member_id: who said it, or was the sponsor of the agent that did, at that time
    """
    return member_id != memory.owner_id and not is_author(memory, member_id, agent_id)


def independent_in_database() -> Func:
    """Return the same of a row that says by whom it is, and of which memory, for the database."""
    return Func(
        F("by_member"),
        F("by_agent"),
        F("memory__owner"),
        F("memory__author_agent"),
        function="is_independent",
        output_field=BooleanField(),
    )
