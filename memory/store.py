"""Putting a memory and its vector into the tables."""

from collections.abc import Callable

from django.db import connection
from pgvector import HalfVector

from memory.finding.embedding import EmbedderDown, Vector, current, embed, embed_beside
from memory.models import Memory
from tenants.ids import new_id
from tenants.jobs import leave_job

EMBED_MEMORY = "embed_memory"

_ADD_VECTOR = """
INSERT INTO embeddings
    (id, tenant_id, memory_id, space, vector, owner_id, visibility, kind, lifecycle)
VALUES (%s, %s, %s, %s, %s::halfvec, %s, '', '', '')
"""


def vector_or_none(content: str) -> Vector | None:
    """Return the vector of a text, or nothing while the embedder is down."""
    try:
        return embed(content)
    except EmbedderDown:
        return None


def vector_soon(content: str) -> Callable[[], Vector | None]:
    """Begin to compute the vector of a text, and return what waits for it as vector_or_none."""
    try:
        computed = embed_beside(content)
    except EmbedderDown:
        return lambda: None

    def vector() -> Vector | None:
        try:
            return computed()
        except EmbedderDown:
            return None

    return vector


def store_embedding(memory: Memory, vector: Vector | None) -> None:
    """Put a memory into the embedder's space, or leave that for later without a vector."""
    if vector is None:
        leave_job(EMBED_MEMORY, dedup_key=str(memory.id), subject_id=memory.id)
        return
    with connection.cursor() as cursor:
        # The trigger fills in what the row copies from its memory.
        cursor.execute(
            _ADD_VECTOR,
            [
                new_id(),
                memory.tenant_id,
                memory.id,
                current().id,
                HalfVector(vector).to_text(),
                memory.owner_id,
            ],
        )
