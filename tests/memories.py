"""What tests about memories say often."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.db import connections, transaction
from django.test import Client

from memory.models import Memory
from tenants.ids import Prefix, read_id
from tests.people import Office, Person

MISSING = "mem_01h455vb4pex5vsknk084sn02q"


def remember(person: Person, content: str, **more: Any) -> Any:
    """Return the answer to a write that is taken."""
    answer = person.post("/memories", {"content": content, **more})
    assert answer.status_code in (200, 201), answer.content
    return answer.json()


def kept(person: Person, content: str, **more: Any) -> str:
    """Return the id of a memory that was written for it."""
    answer = remember(person, content, **more)
    assert not answer["absorbed"]
    return str(answer["memory_id"])


def replacing(*targets: str) -> list[dict[str, str]]:
    """Return the links that declare what a write replaces."""
    return [{"type": "supersedes", "dst": target} for target in targets]


def done(answer: Any) -> Any:
    """Return what a request that went well was answered."""
    assert answer.status_code in (200, 201), answer.content
    return answer.json()


def refused(answer: Any, status: int, code: str, field: str | None = None) -> Any:
    """Return the problem that a request was answered with, once it is the expected one."""
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    if field is not None:
        assert [error["field"] for error in problem["errors"]] == [field], problem
    return problem


def seen(person: Person, memory_id: str) -> Any:
    """Return a memory as somebody sees it who may."""
    return done(person.get(f"/memories/{memory_id}"))


def recalled(person: Person, query: str, **more: Any) -> list[str]:
    """Return the contents that somebody recalls, best first."""
    found = done(person.post("/recall", {"query": query, **more}))
    return [one["content"] for one in found["results"]]


def commands(person: Person, memory_id: str) -> list[str]:
    """Return what was done to this very memory, oldest first."""
    events = done(person.get(f"/memories/{memory_id}/history"))["events"]
    return [event["command"] for event in events if event["memory_id"] == memory_id]


def memories_of(office: Office) -> int:
    """Return how many memories the tenant has, whoever may see them."""
    return Memory.objects.using("owner").filter(tenant=office.tenant).count()


def row(memory_id: str) -> Memory:
    """Return what the tables hold of a memory, whoever may see it."""
    return Memory.objects.using("owner").get(id=read_id(Prefix.MEMORY, memory_id))


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Do all at the same moment, each on a connection of its own, and return what came."""
    barrier = threading.Barrier(len(calls))

    def meet_and(call: Callable[[], Any]) -> Any:
        try:
            barrier.wait(timeout=30)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [running.result() for running in [threads.submit(meet_and, call) for call in calls]]


def posting(person: Person, path: str, body: Any = None, **headers: str) -> Callable[[], Any]:
    """Return a call that posts, with a client of its own."""
    own = replace(person, client=Client())
    return lambda: own.post(path, body, **headers)


@contextmanager
def held(*memory_ids: str, seconds: float = 0.4) -> Iterator[None]:
    """Hold the rows of the memories while the block starts: all who want them meet there."""
    ids = [read_id(Prefix.MEMORY, one) for one in memory_ids]
    locked, enough = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic("owner"):
                list(Memory.objects.using("owner").filter(id__in=ids).select_for_update())
                locked.set()
                enough.wait(seconds)
        finally:
            connections["owner"].close()

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait(10)
    yield
    enough.set()
    holder.join()
