"""
Vectors of texts: `embed` one, `embed_all` many, with the embedder that the settings name.

Slow, so they refuse to run inside an open door; `embed_beside` begins before it is opened, and
computes while the database is at work. Vectors are not cached: a text that answers faster because
somebody else has sent it tells that somebody has.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memory.finding.embedding.embedder import Bars, Embedder, EmbedderDown, Vector
from tenants.context import must_be_outside

__all__ = [
    "Bars",
    "Embedder",
    "EmbedderDown",
    "Vector",
    "current",
    "embed",
    "embed_all",
    "embed_beside",
]

CHOICES = "bundled, openai:<model> or fastembed:<model>"

_built: dict[tuple[int, str, str, str], Embedder] = {}
"""By process: threads of a model's runtime do not live on in a forked one, which builds its own."""

_building = threading.Lock()
_beside: dict[int, ThreadPoolExecutor] = {}
"""By process, as what is built."""


def embed(text: str) -> Vector:
    """
    Return the vector of the text.

    :raises EmbedderDown: if the embedder gives none
    :raises RuntimeError: inside an open door
    """
    must_be_outside("embed()")
    return current().embed([text])[0]


def embed_all(texts: Sequence[str]) -> list[Vector]:
    """
    Return the vectors of the texts, in their order.

    :raises EmbedderDown: if the embedder gives none
    :raises RuntimeError: inside an open door
    """
    must_be_outside("embed()")
    return current().embed(texts)


def embed_beside(text: str) -> Callable[[], Vector]:
    """
    Begin to compute the vector of the text, and return what waits for it.

    A model in this very process is some milliseconds of computing, for which an open door may wait.
    A server may take its time: for that it is waited here.

    :raises EmbedderDown: if the embedder gives none, here or when it is waited for
    :raises RuntimeError: inside an open door
    """
    embedder = current()
    if not embedder.is_in_process:
        vector = embed(text)
        return lambda: vector
    must_be_outside("embed_beside()")
    with _building:
        threads = _beside.setdefault(os.getpid(), ThreadPoolExecutor(thread_name_prefix="embed"))
    computed = threads.submit(embedder.embed, [text])
    return lambda: computed.result()[0]


def current() -> Embedder:
    """
    Return the embedder that the settings name, built at the first call of the process.

    :raises ImproperlyConfigured: if they name none
    """
    name = settings.EMBEDDER
    base_url, api_key = settings.EMBEDDER_BASE_URL or "", settings.EMBEDDER_API_KEY or ""
    wanted = (os.getpid(), name, base_url, api_key)
    with _building:
        if wanted not in _built:
            _built[wanted] = _build(name, base_url, api_key)
        return _built[wanted]


def _build(name: str, base_url: str, api_key: str) -> Embedder:
    # Imported when chosen: a process that asks a server need not load a model's runtime.
    family, _, model = name.partition(":")
    threads = settings.EMBEDDER_THREADS
    models = settings.DATA_DIR / "models"
    if name == "bundled":
        from memory.finding.embedding.bundled import BundledEmbedder  # noqa: PLC0415

        return BundledEmbedder(models=models, threads=threads)
    if family == "openai" and model:
        from memory.finding.embedding.remote import RemoteEmbedder  # noqa: PLC0415

        return RemoteEmbedder(model=model, base_url=base_url, api_key=api_key)
    if family == "fastembed" and model:
        from memory.finding.embedding.fastembed import FastembedEmbedder  # noqa: PLC0415

        return FastembedEmbedder(model=model, models=models, threads=threads)
    raise ImproperlyConfigured(f"EMBEDDER is {name!r}; choose {CHOICES}")


def _unlock_in_child() -> None:
    # Another thread may have held the lock at the fork. What was built stays: a runtime that is
    # taken down waits for threads which the child does not have.
    global _building  # noqa: PLW0603
    _building = threading.Lock()


os.register_at_fork(after_in_child=_unlock_in_child)
