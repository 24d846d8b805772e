"""Telling callers who they are here, and what bounds them."""

from collections.abc import Mapping
from types import MappingProxyType

from django.conf import settings
from django.db import connection

from tenants.caller import Caller, Scope
from tenants.context import acting_as
from tenants.ids import Prefix, wire_id
from tenants.levels import own_tenant
from tenants.once import Answer
from tenants.parsing import DEEPEST
from tenants.projects import PERMISSIONS, words

# What a request may hold at most; sizes in bytes.
LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "content_bytes": 32 * 1024,
        "query_bytes": 8 * 1024,
        "evidence_bytes": 2 * 1024,
        "supersedes": 10,
        "links": 50,
        "components": 50,
        "tags": 20,
        "subject_depth": 16,
        "k": 100,
        "json_depth": DEEPEST,
    }
)

# The policies' own functions: what is told here is what they let through.
_PROJECTS = """
SELECT id, slug, name, archived_at IS NOT NULL, true, id = ANY(writable_projects()),
       id = ANY(reviewable_projects())
FROM projects WHERE id IN (SELECT unnest(visible_projects())) ORDER BY slug
"""


def whoami(caller: Caller) -> Answer:
    """Tell who the caller is, what the token is for, what is in sight, and the limits."""
    with acting_as(caller):
        tenant = own_tenant()
        projects = _projects(caller)
    return {
        "tenant": {
            "id": wire_id(Prefix.TENANT, tenant.id),
            "slug": tenant.slug,
            "name": tenant.name,
        },
        "principal": _principal(caller),
        "level": caller.level,
        "rank": int(caller.rank),
        "scopes": sorted(scope.value for scope in caller.scopes),
        "personal": caller.personal,
        "administers": caller.administers,
        "projects": projects,
        "limits": {
            **LIMITS,
            "body_bytes": settings.LONGEST_BODY,
            "requests_per_minute": settings.RATE_LIMIT,
            **_quota(),
        },
    }


def _quota() -> dict[str, int]:
    most = settings.MEMORIES_PER_DAY
    return {"memories_per_day": most} if most else {}


def _principal(caller: Caller) -> Answer:
    prefix = Prefix.AGENT if caller.is_agent else Prefix.MEMBER
    return {
        "id": wire_id(prefix, caller.principal_id),
        "type": "agent" if caller.is_agent else "human",
        "name": caller.name,
    }


def _projects(caller: Caller) -> list[Answer]:
    with connection.cursor() as cursor:
        cursor.execute(_PROJECTS)
        rows = cursor.fetchall()
    # An agent has its sponsor's right to review only where its token is for that.
    idle = {"review_project"} if caller.is_agent and Scope.REVIEW not in caller.scopes else set()
    return [
        {
            "id": wire_id(Prefix.PROJECT, project_id),
            "slug": slug,
            "name": name,
            "archived": archived,
            "permissions": words(
                held
                for held, may in zip(PERMISSIONS, may_do, strict=True)
                if may and held not in idle
            ),
        }
        for project_id, slug, name, archived, *may_do in rows
    ]
