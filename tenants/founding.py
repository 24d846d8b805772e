"""
Setting up a tenant, before there is anybody in it who could ask for it.

Runs as the owner of the tables, from commands and fixtures; no server process can.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission

from tenants.caller import Scope
from tenants.ids import new_id
from tenants.models import Agent, Member, Project, ProjectPermission, Tenant, Token, User
from tenants.projects import PERMISSIONS
from tenants.tokens import make_token

OWNER = "owner"
READ_AND_WRITE = (Scope.READ, Scope.WRITE)


def found_tenant(slug: str, name: str) -> Tenant:
    """Return the tenant with this slug, made if there was none."""
    tenant, _ = Tenant.objects.using(OWNER).get_or_create(slug=slug, defaults={"name": name})
    return tenant


def found_project(tenant: Tenant, slug: str, name: str) -> Project:
    """Return the tenant's project with this slug, made if there was none."""
    project, _ = Project.objects.using(OWNER).get_or_create(
        tenant=tenant, slug=slug, defaults={"name": name}
    )
    return project


def seat(
    tenant: Tenant,
    username: str,
    name: str,
    *,
    level: int = 10,
    role: str = Member.SeatRole.MEMBER,
    password: str | None = None,
) -> Member:
    """Return the user's seat in the tenant; a user is made, with the password, if need be."""
    user, _ = User.objects.using(OWNER).get_or_create(
        username=username, defaults={"password": make_password(password), "is_staff": True}
    )
    member, _ = Member.objects.using(OWNER).get_or_create(
        tenant=tenant,
        user=user,
        defaults={"username": username, "name": name, "level": level, "role": role},
    )
    return member


def grant(member: Member, project: Project, permissions: Iterable[str] = PERMISSIONS) -> None:
    """Let the member do that in the project (see, write, review)."""
    known = {
        p.codename: p for p in Permission.objects.using(OWNER).filter(codename__in=PERMISSIONS)
    }
    for codename in permissions:
        ProjectPermission.objects.using(OWNER).get_or_create(
            tenant_id=member.tenant_id,
            user_id=member.user_id,
            permission=known[codename],
            content_object=project,
        )


def found_agent(project: Project, name: str, sponsor: Member, *, level: int = 10) -> Agent:
    """Return the project's agent of this name, made if there was none."""
    agent, _ = Agent.objects.using(OWNER).get_or_create(
        tenant_id=project.tenant_id,
        name=name,
        defaults={"project": project, "sponsor": sponsor, "level": level},
    )
    return agent


def give_token(
    holder: Member | Agent,
    name: str,
    *,
    kind: str | None = None,
    scopes: Sequence[Scope] = READ_AND_WRITE,
    project: Project | None = None,
    personal: bool | None = None,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Return a new token for a member or an agent, and its text, which is kept nowhere."""
    is_agent = isinstance(holder, Agent)
    made = make_token()
    token = Token.objects.using(OWNER).create(
        id=new_id(),
        tenant_id=holder.tenant_id,
        name=name,
        kind=kind or (Token.Kind.AGENT if is_agent else Token.Kind.HUMAN),
        agent_id=holder.id if is_agent else None,
        member_id=None if is_agent else holder.id,
        project=project,
        personal=not is_agent if personal is None else personal,
        scopes=[scope.value for scope in scopes],
        digest=made.digest,
        last_four=made.last_four,
        expires_at=expires_at,
    )
    return token, made.text
