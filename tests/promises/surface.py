"""What the product offers over HTTP, told by the URL resolver, and a valid request for each."""

import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from memory.conflict.policy import ConflictKind
from memory.models import Conflict
from tenants.founding import OWNER, found_agent, found_project, give_token, grant, seat
from tenants.ids import Prefix, new_id, read_id, wire_id
from tenants.rest import Endpoint
from tests.judging import work
from tests.people import WRITE, Office, Person

API = "api/v1/"
Ids = dict[str, str]


def every_pattern(patterns: Any = None, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each route and its view."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from every_pattern(one.url_patterns, route)
        elif isinstance(one, URLPattern):
            yield route, one.callback


def _class_of(view: Any) -> type[Any]:
    found: Any = getattr(view, "view_class", None) or getattr(view, "cls", None)
    return found if isinstance(found, type) else object


def operations() -> dict[tuple[str, str], Any]:
    """Return every operation of the API by verb and route."""
    return {
        (verb.upper(), route.removeprefix(API)): operation
        for route, view in every_pattern()
        if issubclass(kind := _class_of(view), Endpoint)
        for verb, operation in kind.operations.items()
    }


def other_routes() -> set[str]:
    """Return the routes that no operation stands behind, the admin's aside."""
    return {
        route
        for route, view in every_pattern()
        if not route.startswith("admin/") and not issubclass(_class_of(view), Endpoint)
    }


@dataclass
class Things:
    """Ids to ask for: existing ones of an office, or made up."""

    ids: Ids = field(default_factory=dict)

    def path(self, route: str) -> str:
        filled = route
        for name, value in self.ids.items():
            filled = filled.replace(f"<str:{name}>", value)
        return f"/{filled}"


PREFIXES = {
    "memory_id": Prefix.MEMORY,
    "other_id": Prefix.MEMORY,
    "link_id": Prefix.LINK,
    "project_id": Prefix.PROJECT,
    "member_id": Prefix.MEMBER,
    "agent_id": Prefix.AGENT,
    "token_id": Prefix.TOKEN,
    "job_id": Prefix.JOB,
    "dispute_id": Prefix.CONFLICT,
    "sweep_id": Prefix.BATCH,
    "batch_id": Prefix.BATCH,
    "event_id": Prefix.EVENT,
    "component_id": Prefix.COMPONENT,
    "source_id": Prefix.PUSH_SOURCE,
    "transfer_id": Prefix.TRANSFER,
}


def made_up() -> Things:
    """Return ids that nothing has."""
    return Things({name: wire_id(prefix, new_id()) for name, prefix in PREFIXES.items()})


def existing(office: Office, canary: str, wanted: Iterable[str] = PREFIXES) -> Things:
    """Return new things of the office's: its senior's memories, and what an administrator makes."""
    things = made_up()
    for name in sorted(wanted, key=list(PREFIXES).index):
        if name in _MAKERS:
            things.ids[name] = _MAKERS[name](office, canary)
    return things


def _memory(office: Office, canary: str) -> str:
    body = {"content": f"{uuid.uuid4()} {canary}", "project": "apollo", "kind": "task"}
    written = office.senior.post("/memories", body)
    assert written.status_code == 201, written.content
    return str(written.json()["memory_id"])


def _link(office: Office, canary: str) -> str:
    ends = {"src": _memory(office, canary), "dst": _memory(office, canary)}
    drawn = office.senior.post("/links", {**ends, "type": "relates_to"})
    assert drawn.status_code == 201, drawn.content
    return str(drawn.json()["id"])


def _project(office: Office, canary: str) -> str:
    return wire_id(Prefix.PROJECT, found_project(office.tenant, _unique("p"), canary).id)


def _member(office: Office, canary: str) -> str:
    member = seat(office.tenant, _unique("u"), canary)
    grant(member, office.apollo, WRITE)
    return wire_id(Prefix.MEMBER, member.id)


def _agent(office: Office, canary: str) -> str:
    agent = found_agent(office.apollo, _unique(canary), office.colleague.member)
    return wire_id(Prefix.AGENT, agent.id)


def _token(office: Office, canary: str) -> str:
    agent = found_agent(office.apollo, _unique(canary), office.colleague.member)
    return wire_id(Prefix.TOKEN, give_token(agent, canary)[0].id)


def _dispute(office: Office, canary: str) -> str:
    subject, told = _unique("port"), {}
    for value in ("5432", "5433"):
        body = {
            "content": f"{subject} is {value} {canary}",
            "project": "apollo",
            # What is protected waits for people.
            "kind": "decision",
            "components": [{"subject": subject, "value": value}],
        }
        told = office.senior.post("/memories", body).json()
    return str(told["conflicts"][0]["id"])


def _sweep(office: Office, canary: str) -> str:
    started = office.senior.post("/hygiene/sweeps", {"project": "apollo"})
    assert started.status_code == 202, started.content
    return str(started.json()["id"])


def _batch(office: Office, canary: str) -> str:
    """Return a batch of one dispute, as a sweep would have opened it."""
    sides = [read_id(Prefix.MEMORY, _memory(office, canary)) for _ in range(2)]
    batch = new_id()
    Conflict.objects.using(OWNER).create(
        id=new_id(),
        tenant_id=office.tenant.id,
        memory_a_id=sides[1],
        memory_b_id=sides[0],
        low_id=min(sides),
        high_id=max(sides),
        kind=ConflictKind.CONTRADICTION,
        level_a=30,
        level_b=30,
        via="vector",
        row="",
        batch_id=batch,
    )
    return wire_id(Prefix.BATCH, batch)


def _component(office: Office, canary: str) -> str:
    body = {"content": f"The {_unique('db')} port is 5432.\n{canary}", "project": "apollo"}
    written = office.senior.post("/memories", body).json()
    return str(written["memory"]["suggested_components"][0]["id"])


def _push_source(office: Office, canary: str) -> str:
    body = {
        "name": canary,
        "project": "apollo",
        "host": "github",
        "member": wire_id(Prefix.MEMBER, office.senior.member.id),
    }
    return str(office.admin.post("/push-sources", body).json()["id"])


def _transfer(office: Office, _canary: str) -> str:
    started = office.admin.post("/export", {}).json()
    work(office)
    return str(started["id"])


_MAKERS: dict[str, Callable[[Office, str], str]] = {
    "memory_id": _memory,
    "other_id": _memory,
    "link_id": _link,
    "project_id": _project,
    "member_id": _member,
    "agent_id": _agent,
    "token_id": _token,
    "dispute_id": _dispute,
    "sweep_id": _sweep,
    "batch_id": _batch,
    "component_id": _component,
    "source_id": _push_source,
    "transfer_id": _transfer,
}


def _unique(word: str) -> str:
    return f"{word}-{uuid.uuid4().hex[:12]}"


# What each request says; whatever is not here is sent without a body.
BODIES: dict[tuple[str, str], Callable[[Ids], dict[str, Any]]] = {
    ("POST", "memories"): lambda _: {"content": f"Said by {uuid.uuid4()}", "project": "apollo"},
    ("PATCH", "memories/<str:memory_id>"): lambda _: {"importance": 0.9},
    ("POST", "memories/<str:memory_id>/forget"): lambda _: {"reason": "tidying up"},
    ("POST", "memories/<str:memory_id>/verify"): lambda _: {
        "outcome": "confirmed", "method": "self"
    },
    ("POST", "changes"): lambda _: {
        "subject": "deploy.branch", "summary": "Moved", "project": "apollo"
    },
    ("GET", "briefing"): lambda _: {"project": "apollo"},
    ("POST", "changes/files"): lambda _: {
        "files": ["deploy/app.toml"], "summary": "Moved", "project": "apollo"
    },
    ("POST", "push-sources"): lambda ids: {
        "name": _unique("n"), "project": "apollo", "host": "github", "member": ids["member_id"]
    },
    ("POST", "import"): lambda _: {
        "format": "jsonl", "content": json.dumps({"content": _unique("c")}), "project": "apollo"
    },
    ("PATCH", "push-sources/<str:source_id>"): lambda _: {"branch": "main"},
    ("POST", "memories/<str:memory_id>/challenge"): lambda _: {"reason": "it moved"},
    ("POST", "memories/<str:memory_id>/misled"): lambda _: {"reason": "it moved"},
    ("POST", "memories/<str:memory_id>/accept"): lambda _: {"reason": "seen it"},
    ("POST", "memories/<str:memory_id>/reject"): lambda _: {"reason": "hearsay"},
    ("POST", "conflicts/<str:dispute_id>/resolve"): lambda _: {"keep_both": True},
    ("POST", "conflicts/<str:dispute_id>/defer"): lambda _: {"until": None},
    ("POST", "conflicts/<str:dispute_id>/assign"): lambda _: {"member": None},
    ("POST", "conflicts/resolve"): lambda ids: {
        "resolutions": [{"dispute_id": ids["dispute_id"], "keep_both": True}]
    },
    ("POST", "recall"): lambda _: {"query": "which memory", "project": "apollo"},
    ("POST", "links"): lambda ids: {
        "src": ids["memory_id"], "dst": ids["other_id"], "type": "depends_on"
    },
    ("POST", "projects"): lambda _: {"slug": _unique("s"), "name": "New"},
    ("PATCH", "projects/<str:project_id>"): lambda _: {"name": "Renamed"},
    ("PUT", "projects/<str:project_id>/members"): lambda ids: {
        "member": ids["member_id"], "permissions": ["see"]
    },
    ("POST", "members"): lambda _: {"username": _unique("u"), "name": "New"},
    ("PATCH", "members/<str:member_id>"): lambda _: {"name": "Renamed"},
    ("POST", "agents"): lambda ids: {
        "name": _unique("a"), "project": "apollo", "sponsor": ids["member_id"]
    },
    ("PATCH", "agents/<str:agent_id>"): lambda _: {"name": _unique("a")},
    ("POST", "tokens"): lambda ids: {
        "name": "t", "kind": "agent", "agent": ids["agent_id"], "scopes": ["memory:read"]
    },
}  # fmt: skip
# What has to be done to a thing before it can be asked for.
FIRST = {
    ("POST", "memories/<str:memory_id>/restore"): ("POST", "memories/<str:memory_id>/forget"),
}


class _Noting(dict[str, str]):
    """Notes which ids are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def __missing__(self, name: str) -> str:
        self.asked.add(name)
        return ""


def needs(verb: str, route: str) -> set[str]:
    """Return the ids that a request names, in its path or its body."""
    noting = _Noting()
    BODIES.get((verb, route), lambda _: {})(noting)
    return set(re.findall(r"<str:(\w+)>", route)) | noting.asked


def ask(person: Person | None, verb: str, route: str, things: Things, **headers: str) -> Any:
    """Return the answer to a valid request of somebody's; anonymous ones are nobody's."""
    body = BODIES.get((verb, route), lambda _: None)(things.ids)
    client = Client() if person is None else person.client
    if person is not None:
        headers["Authorization"] = f"Bearer {person.token}"
    data = "" if body is None or verb == "GET" else json.dumps(body)
    if body is None and verb == "POST":
        data = "{}"
    asked = f"?{urlencode(body)}" if body and verb == "GET" else ""
    return client.generic(
        verb, f"/{API}{things.path(route)[1:]}{asked}", data, "application/json", headers=headers
    )


def without_request_id(answer: Any) -> bytes:
    """Return the body byte for byte, the request's own id aside."""
    request_id = answer.headers["X-Request-Id"].encode()
    content: bytes = answer.content
    return content.replace(request_id, b"*")
