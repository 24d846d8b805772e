"""Independent repeats: whoever wrote the same without being told speaks for both texts."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import connection

from memory.conflict.detect import Candidate
from memory.models import Memory
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


def corroborate(memory: Memory, others: Sequence[UUID]) -> None:
    """
    Count the memory for each of the others and each of them for the memory. Inside the door.

    Of each member it counts once, and only where all who read the one may read the other.
    """
    if not others:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT corroborate(one, %(memory)s), corroborate(%(memory)s, one) "
            "FROM unnest(%(others)s::uuid[]) AS one",
            {"memory": memory.id, "others": list(others)},
        )
