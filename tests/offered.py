"""Every operation that the REST face offers, as declared, and asking for it with raw bytes."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connections
from django.urls import URLPattern, get_resolver

from tenants.founding import OWNER
from tenants.ids import Prefix, wire_id
from tenants.operations import Operation
from tenants.rest import Endpoint

# The same in every process of a parallel run, which must collect the same tests.
NOBODYS = UUID("0199c0de-0000-7000-8000-000000000000")
PROBLEM_FIELDS = ["type", "title", "status", "code", "detail", "request_id", "errors"]


@dataclass(frozen=True)
class Offer:
    """An operation at its path, which has ids in it that nothing has."""

    method: str
    path: str
    operation: Operation

    @property
    def by_query(self) -> bool:
        return self.method in ("GET", "DELETE")


def offers() -> list[Offer]:
    """Return everything that is offered under /api/v1."""
    return sorted(_offers(get_resolver().url_patterns, ""), key=lambda one: one.operation.name)


def _offers(patterns: Any, before: str) -> Any:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        view = getattr(getattr(pattern, "callback", None), "cls", None)
        if not isinstance(pattern, URLPattern):
            yield from _offers(pattern.url_patterns, route)
        elif view is not None and issubclass(view, Endpoint):
            for method, operation in view.operations.items():
                yield Offer(method.upper(), f"/{_filled(route, operation)}", operation)


def _filled(route: str, operation: Operation) -> str:
    for name, prefix in operation.path_ids.items():
        route = route.replace(f"<str:{name}>", wire_id(Prefix(prefix), NOBODYS))
    return route


def ask(person, method, path, body=None, **options):
    """Send a body, as bytes or as what JSON says."""
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {person.token}", **options.pop("headers", {})}
    kind = options.pop("content_type", "application/json")
    return person.client.generic(method, path, data, kind, headers=headers, **options)


def must_be_a_problem(answer, status, code):
    """Check that an answer is a failure in the contract's form, and return it."""
    assert answer.status_code == status, (answer.status_code, answer.content[:500])
    assert answer.headers["Content-Type"] == "application/problem+json"
    said = json.loads(answer.content)
    assert list(said) == PROBLEM_FIELDS
    assert (said["status"], said["code"]) == (status, code), said
    assert said["request_id"] == answer.headers["X-Request-Id"]
    assert all(list(error) == ["field", "code", "message"] for error in said["errors"])
    assert said["title"]
    assert said["detail"]
    return said


def rows(office):
    """Count everything that is stored for a tenant, by table; requests and log-ins aside."""
    with connections[OWNER].cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.columns JOIN information_schema.tables"
            " USING (table_schema, table_name) WHERE table_schema = 'public'"
            " AND column_name = 'tenant_id' AND table_type = 'BASE TABLE'"
        )
        tables = sorted(name for (name,) in cursor.fetchall())
        counts = {}
        for table in tables:
            cursor.execute(
                f'SELECT count(*) FROM "{table}" WHERE tenant_id = %s', [office.tenant.id]
            )
            counts[table] = cursor.fetchone()[0]
    return counts
