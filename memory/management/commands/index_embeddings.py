"""Building the graph along which the nearest vectors of a space are found in large stores."""

import hashlib
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from psycopg import sql

from memory.finding.embedding import EmbedderDown, current

_IS_WHOLE = """
SELECT i.indisvalid FROM pg_index i
WHERE i.indexrelid = to_regclass(format('public.%%I', %s::text))
"""
# One graph for each space, because vectors of two embedders have nothing to do with each other and
# may be of different lengths. nearest_along_the_graph (search.sql) asks in these very words.
_BUILD = sql.SQL(
    "CREATE INDEX CONCURRENTLY {name} ON public.embeddings "
    "USING hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) WHERE space = {space}"
)


class Command(BaseCommand):
    help = (
        "Build the vector index of the configured embedder, beside all reading and writing. "
        "Needed where a tenant has more than some 20,000 memories, also after a new embedder."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--memory", default="256MB", help="what building may use (256MB)")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Build the index, unless it is there; one that was left half done is built anew."""
        if "owner" not in connections:
            raise CommandError("Set OWNER_DATABASE_URL: only the owner of the tables may do this.")
        embedder = current()
        try:
            dimension = embedder.dimension
        except EmbedderDown as down:
            raise CommandError(f"How long the vectors are cannot be asked: {down}") from None
        name = index_name(embedder.id, dimension)
        with connections["owner"].cursor() as cursor:
            cursor.execute(_IS_WHOLE, [name])
            found = cursor.fetchone()
            if found == (True,):
                self.stdout.write(f"{name} is there already")
                return
            if found is not None:
                cursor.execute(
                    sql.SQL("DROP INDEX CONCURRENTLY public.{}").format(sql.Identifier(name))
                )
            cursor.execute(
                "SELECT set_config('maintenance_work_mem', %s, false)", [options["memory"]]
            )
            cursor.execute(
                _BUILD.format(
                    name=sql.Identifier(name),
                    dimension=sql.Literal(dimension),
                    space=sql.Literal(embedder.id),
                )
            )
        self.stdout.write(f"{name} is built")


def index_name(space: str, dimension: int) -> str:
    """Return what the index of a space is called: short enough, and another for each."""
    digest = hashlib.sha256(space.encode()).hexdigest()[:12]
    return f"embeddings_near_{digest}_{dimension}"
