"""Independent repeats: whoever wrote the same without being told speaks for both texts."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import connection

from memory.conflict.detect import Candidate
from memory.models import Corroboration, Memory
from memory.text import same_text_key

# Texts that are equal lie so close together in every embedder's space.
AS_GOOD_AS_EQUAL = 0.97


def repeats_among(candidates: Iterable[Candidate], text_key: bytes, owner_id: UUID) -> list[UUID]:
    """Return the candidates of others that say the same word for word."""
    return [
        one.memory.id
        for one in candidates
        if one.score is not None
        and one.score >= AS_GOOD_AS_EQUAL
        and one.memory.owner_id != owner_id
        and same_text_key(one.memory.content) == text_key
    ]


def corroborate(memory: Memory, others: Sequence[UUID], *, batch_id: UUID | None = None) -> None:
    """
    Count the memory for each of the others and each of them for the memory. Inside the door.

    Of each member it counts once, and only where all who read the one may read the other.

    :param batch_id: the sweep that found it, if one did
    """
    if not others:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT corroborate(one, %(memory)s, %(batch)s), "
            "corroborate(%(memory)s, one, %(batch)s) FROM unnest(%(others)s::uuid[]) AS one",
            {"memory": memory.id, "others": list(others), "batch": batch_id},
        )


def corroborate_no_more(found: Corroboration) -> None:
    """Count it no more: the sweep that found it is undone. Inside the door."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT corroborate_no_more(%s, %s, %s)",
            [found.memory_id, found.by_memory_id, found.batch_id],
        )
