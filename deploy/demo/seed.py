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
from django_otp.plugins.otp_totp.models import TOTPDevice

from deploy.demo.moving import PATH_SUBJECTS
from deploy.secrets_store import keep_secrets
from memory.models import PushSource
from memory.pushes.signatures import secret_of as push_secret_of
from memory.pushes.sources import source_wire
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
from tenants.one_time_codes import new_secret
from tenants.second_factor import device_with, secret_of
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
    keep_secrets(data_dir / "demo_push.json", _push_source(first, holders["senior"].principal))
    return demo


def _push_source(project: Project, reporter: Member | Agent) -> dict[str, Any]:
    """Return where pushes of the demo's repository arrive, made if there was no such place."""
    if not project.path_subjects:
        project.path_subjects = PATH_SUBJECTS
        project.save(using=OWNER, update_fields=["path_subjects"])
    source, _ = PushSource.objects.using(OWNER).get_or_create(
        tenant_id=project.tenant_id,
        project_id=project.id,
        name="demo",
        defaults={"host": PushSource.Host.GITHUB, "member_id": reporter.id},
    )
    told = source_wire(source)
    return {"path": told["path"], "secret": push_secret_of(source.id, source.secret_version)}


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
    if earlier and (user := users.filter(username=username).first()):
        return earlier | {"totp_secret": _totp_secret(user)}
    password = secrets.token_urlsafe(15)
    user, _ = users.update_or_create(
        username=username, defaults={"password": make_password(password), "is_staff": True}
    )
    return {"username": username, "password": password, "totp_secret": _totp_secret(user)}


def _totp_secret(user: User) -> str:
    """Return the secret of the log-in's authenticator, which is made if there is none."""
    device = TOTPDevice.objects.using(OWNER).filter(user=user).first()
    if device is None:
        device = device_with(user, new_secret())
        device.save(using=OWNER)
    return secret_of(device)


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
