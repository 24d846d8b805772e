"""
The cast. Every test gets an office of its own: a tenant with two projects.

    senior      level 30, writes and reviews in apollo
    colleague   level 30, writes in apollo
    contractor  level 10, writes in apollo
    viewer      level 10, sees apollo
    reviewer    level 30, writes and reviews in apollo and hermes
    outsider    level 30, writes in hermes alone
    admin       level 30, administers the tenant, sees no project
    agent       senior's, level 30, in apollo
    agent2      contractor's, level 10, in apollo
    watcher     senior's, rank 0, in apollo
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.test import Client

from tenants.caller import Caller, Rank, Scope
from tenants.founding import (
    found_agent,
    found_project,
    found_tenant,
    give_token,
    grant,
    seat,
)
from tenants.models import Agent, Member, Project, Tenant, Token

SEE = ("see_project",)
WRITE = ("see_project", "write_project")
REVIEW = ("see_project", "write_project", "review_project")
ALL_SCOPES = tuple(Scope)
MOST_SCOPES = (Scope.READ, Scope.WRITE, Scope.REVIEW, Scope.HYGIENE)


@dataclass
class Person:
    """Somebody with a token: a caller for operations, and a client for HTTP."""

    name: str
    caller: Caller
    token: str
    member: Member
    agent: Agent | None = None
    client: Client = field(default_factory=Client)

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", **more}

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Any:
        return self.client.get(f"/api/v1{path}", query or {}, headers=self._headers(headers))

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.client.post(
            f"/api/v1{path}", body or {}, "application/json", headers=self._headers(headers)
        )

    def patch(self, path: str, body: Any, **headers: str) -> Any:
        return self.client.patch(
            f"/api/v1{path}", body, "application/json", headers=self._headers(headers)
        )

    def delete(self, path: str, **headers: str) -> Any:
        return self.client.delete(f"/api/v1{path}", headers=self._headers(headers))


class Office:
    """A tenant and everybody in it; people are seated when they are first called for."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.tenant: Tenant = found_tenant(slug, f"Office {slug}")
        self.apollo: Project = found_project(self.tenant, "apollo", "Apollo")
        self.hermes: Project = found_project(self.tenant, "hermes", "Hermes")

    def person(
        self,
        name: str,
        *,
        level: int = 30,
        grants: Sequence[tuple[Project, Sequence[str]]] = (),
        scopes: Sequence[Scope] = MOST_SCOPES,
        role: str = "member",
        project: Project | None = None,
        password: str | None = None,
    ) -> Person:
        """Return a new member with a token."""
        member = seat(
            self.tenant, f"{name}-{self.slug}", name, level=level, role=role, password=password
        )
        for granted, permissions in grants:
            grant(member, granted, permissions)
        token, text = give_token(member, name, scopes=scopes, project=project)
        return Person(name, _caller(token, member), text, member)

    def bot(
        self,
        name: str,
        sponsor: Person,
        *,
        level: int = 30,
        kind: str = "agent",
        project: Project | None = None,
        personal: bool = False,
        scopes: Sequence[Scope] = (Scope.READ, Scope.WRITE),
    ) -> Person:
        """Return a new agent or watcher with a token."""
        agent = found_agent(
            project or self.apollo, f"{name}-{self.slug}", sponsor.member, level=level
        )
        token, text = give_token(agent, name, kind=kind, personal=personal, scopes=scopes)
        return Person(name, _caller(token, sponsor.member, agent), text, sponsor.member, agent)

    @cached_property
    def senior(self) -> Person:
        return self.person("senior", grants=[(self.apollo, REVIEW)])

    @cached_property
    def colleague(self) -> Person:
        return self.person("colleague", grants=[(self.apollo, WRITE)])

    @cached_property
    def contractor(self) -> Person:
        return self.person("contractor", level=10, grants=[(self.apollo, WRITE)])

    @cached_property
    def viewer(self) -> Person:
        return self.person("viewer", level=10, grants=[(self.apollo, SEE)], scopes=(Scope.READ,))

    @cached_property
    def reviewer(self) -> Person:
        return self.person("reviewer", grants=[(self.apollo, REVIEW), (self.hermes, REVIEW)])

    @cached_property
    def outsider(self) -> Person:
        return self.person("outsider", grants=[(self.hermes, WRITE)])

    @cached_property
    def admin(self) -> Person:
        return self.person("admin", role="admin", scopes=ALL_SCOPES)

    @cached_property
    def agent(self) -> Person:
        return self.bot("agent", self.senior)

    @cached_property
    def agent2(self) -> Person:
        return self.bot("agent2", self.contractor, level=10)

    @cached_property
    def watcher(self) -> Person:
        return self.bot("watcher", self.senior, kind="watcher")


def _caller(token: Token, member: Member, agent: Agent | None = None) -> Caller:
    ranks = {"human": Rank.HUMAN, "agent": Rank.DELIBERATE, "watcher": Rank.PROVISIONAL}
    return Caller(
        tenant_id=token.tenant_id,
        member_id=member.id,
        name=agent.name if agent else member.name,
        level=min(member.level, agent.level) if agent else member.level,
        rank=ranks[token.kind],
        scopes=frozenset(map(Scope, token.scopes)),
        agent_id=agent.id if agent else None,
        token_id=token.id,
        project_id=agent.project_id if agent else token.project_id,
        personal=token.personal,
        administers=member.role == "admin" and agent is None,
    )


def new_office() -> Office:
    """Found a tenant that nobody else has."""
    return Office(f"t{uuid.uuid4().hex[:12]}")
