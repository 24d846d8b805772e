"""
The demo tenant: two projects, people of several levels, agents, and a token for each.

Runs as the owner of the tables at every `make up`, and changes nothing that is there already.
Log-ins and tokens in the clear stand in DATA_DIR/demo.json and nowhere else; what is lost from
there is given anew.
"""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db.models import Q
from django.utils import timezone

from deploy.secrets_store import keep_secrets
from tenants.caller import Scope
from tenants.founding import (
    OWNER,
    found_agent,
    found_project,
    found_tenant,
    give_token,
    grant,
    seat,
)
from tenants.ids import Prefix, wire_id
from tenants.models import Agent, Member, Project, Tenant, Token, User
from tenants.tokens import digest_of, is_well_formed

SEE = ("see_project",)
WRITE = ("see_project", "write_project")
REVIEW = ("see_project", "write_project", "review_project")

READ_ALONE = (Scope.READ,)
READ_AND_WRITE = (Scope.READ, Scope.WRITE)
ALL_BUT_ADMIN = (Scope.READ, Scope.WRITE, Scope.REVIEW, Scope.HYGIENE)


@dataclass(frozen=True)
class Holder:
    """Somebody in the demo who gets a token."""

    principal: Member | Agent
    kind: str
    scopes: tuple[Scope, ...]
    level: int
    project: Project


def seed(data_dir: Path, base_url: str, mcp_url: str) -> dict[str, Any]:
    """Found what is missing of the demo, and return what stands in demo.json."""
    path = data_dir / "demo.json"
    earlier = json.loads(path.read_text()) if path.is_file() else {}
    tenant = found_tenant("demo", "Demo")
    first = found_project(tenant, "palimpsest", "Palimpsest")
    second = found_project(tenant, "billing", "Billing")
    logins = {
        name: _login(name, earlier.get("logins", {}).get(name)) for name in ("admin", "reviewer")
    }
    holders = _people(tenant, first, second)
    demo = {
        "base_url": base_url,
        "mcp_url": mcp_url,
        "logins": logins,
        "tenant": wire_id(Prefix.TENANT, tenant.id),
        "projects": [
            {"id": wire_id(Prefix.PROJECT, project.id), "slug": project.slug}
            for project in (first, second)
        ],
        "tokens": {
            name: _token(name, holder, earlier.get("tokens", {}).get(name, {}).get("token", ""))
            for name, holder in holders.items()
        },
    }
    keep_secrets(path, demo)
    return demo


def _people(tenant: Tenant, first: Project, second: Project) -> dict[str, Holder]:
    admin = seat(tenant, "admin", "Ada Admin", level=30, role=Member.SeatRole.ADMIN)
    senior = seat(tenant, "senior", "Sasha Senior", level=30)
    contractor = seat(tenant, "contractor", "Chris Contractor", level=10)
    reviewer = seat(tenant, "reviewer", "Robin Reviewer", level=30)
    viewer = seat(tenant, "viewer", "Vic Viewer", level=10)
    outsider = seat(tenant, "outsider", "Olu Outsider", level=30)
    for member, project, permissions in (
        (admin, first, REVIEW),
        (admin, second, REVIEW),
        (senior, first, REVIEW),
        (contractor, first, WRITE),
        (reviewer, first, REVIEW),
        (viewer, first, SEE),
        (outsider, second, WRITE),
    ):
        grant(member, project, permissions)
    agent = found_agent(first, "agent", senior, level=30)
    agent2 = found_agent(first, "agent2", contractor, level=10)
    watcher = found_agent(first, "watcher", senior, level=30)
    elsewhere = found_tenant("elsewhere", "Elsewhere")
    their_project = found_project(elsewhere, "palimpsest", "Their own Palimpsest")
    stranger = seat(elsewhere, "stranger", "Sam Stranger", level=30)
    grant(stranger, their_project, WRITE)
    human, bot = Token.Kind.HUMAN.value, Token.Kind.AGENT.value
    return {
        "senior": Holder(senior, human, ALL_BUT_ADMIN, 30, first),
        "contractor": Holder(contractor, human, READ_AND_WRITE, 10, first),
        "reviewer": Holder(reviewer, human, ALL_BUT_ADMIN, 30, first),
        "viewer": Holder(viewer, human, READ_ALONE, 10, first),
        "outsider": Holder(outsider, human, READ_AND_WRITE, 30, second),
        "agent": Holder(agent, bot, READ_AND_WRITE, 30, first),
        "agent2": Holder(agent2, bot, READ_AND_WRITE, 10, first),
        "watcher": Holder(watcher, Token.Kind.WATCHER.value, READ_AND_WRITE, 30, first),
        "other_tenant": Holder(stranger, human, READ_AND_WRITE, 30, their_project),
    }


def _login(username: str, earlier: dict[str, Any] | None) -> dict[str, Any]:
    users = User.objects.using(OWNER)
    if earlier and users.filter(username=username).exists():
        return earlier
    password = secrets.token_urlsafe(15)
    users.update_or_create(
        username=username, defaults={"password": make_password(password), "is_staff": True}
    )
    return {"username": username, "password": password, "totp_secret": None}


def _token(name: str, holder: Holder, earlier: str) -> dict[str, Any]:
    text = (
        earlier
        if _is_good(earlier)
        else give_token(holder.principal, name, kind=holder.kind, scopes=holder.scopes)[1]
    )
    prefix = Prefix.AGENT if isinstance(holder.principal, Agent) else Prefix.MEMBER
    return {
        "token": text,
        "principal": wire_id(prefix, holder.principal.id),
        "kind": holder.kind,
        "level": holder.level,
        "project": wire_id(Prefix.PROJECT, holder.project.id),
    }


def _is_good(text: str) -> bool:
    if not is_well_formed(text):
        return False
    now = timezone.now()
    return (
        Token.objects.using(OWNER)
        .filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=now),
            digest=digest_of(text),
            revoked_at=None,
        )
        .exists()
    )
