"""Agents: principals that are no people, each in one project and answered for by a member."""

from contextlib import AbstractContextManager
from uuid import UUID

from django.db import models
from django.utils import timezone

from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id
from tenants.levels import clearance
from tenants.models import Agent, Member, Project, Token
from tenants.once import Answer, writing_as
from tenants.paging import PAGE, page
from tenants.projects import ProjectArchived, named_project, permissions_of
from tenants.refusals import Invalid, NotFound
from tenants.taken import must_be_free


def create_agent(
    caller: Caller,
    *,
    name: str,
    project: UUID | str,
    sponsor: UUID | None = None,
    level: str | int | None = None,
) -> Answer:
    """
    Make an agent in a project, sponsored by a member who sees it: the caller if nobody is named.

    :raises Taken: if the tenant has an agent of this name
    """
    caller.must_administer()
    with writing_as(caller) as keep:
        where = named_project(project)
        if where.archived_at is not None:
            raise ProjectArchived
        agent = Agent(
            tenant_id=caller.tenant_id,
            name=name,
            project=where,
            sponsor=_sponsor(sponsor or caller.member_id, where),
            level=clearance(level),
        )
        with _free_name():
            agent.save(force_insert=True)
        record("create_agent", "agent", agent.id, after=agent_wire(agent))
        return keep(agent_wire(agent))


def _sponsor(member_id: UUID, project: Project) -> Member:
    member = Member.objects.filter(id=member_id, active=True).first()
    if member is None:
        raise Invalid.field("sponsor", "there is no such member, or none that is active")
    if "see_project" not in permissions_of(member.user_id, project):
        raise Invalid.field("sponsor", "must be somebody who may see the project")
    return member


def list_agents(caller: Caller, *, cursor: str | None = None, limit: int = PAGE) -> Answer:
    """List the agents in sight, newest first: the tenant's, or those of one's own projects."""
    with acting_as(caller):
        found = page(_with_sponsors(), of="agents", cursor=cursor, limit=limit)
        return found.wire([agent_wire(agent) for agent in found.rows])


def get_agent(caller: Caller, *, agent_id: UUID) -> Answer:
    """Tell about an agent."""
    with acting_as(caller):
        agent = _with_sponsors().filter(id=agent_id).first()
        if agent is None:
            raise NotFound
        return agent_wire(agent)


def update_agent(
    caller: Caller,
    *,
    agent_id: UUID,
    name: str | None = None,
    level: str | int | None = None,
    active: bool | None = None,
    sponsor: UUID | None = None,
) -> Answer:
    """
    Change an agent's name, level or sponsor, or put it out or in again.

    With another sponsor, those of its tokens that open the personal layer end: the old sponsor
    opened their own layer with them, and not the new one's.

    :raises Taken: if the tenant has another agent of this name
    """
    caller.must_administer()
    with writing_as(caller) as keep:
        agent = _with_sponsors().select_for_update(of=("self",)).filter(id=agent_id).first()
        if agent is None:
            raise NotFound
        before = agent_wire(agent)
        agent.name = agent.name if name is None else name
        agent.level = agent.level if level is None else clearance(level)
        agent.active = agent.active if active is None else active
        if sponsor is not None and sponsor != agent.sponsor_id:
            agent.sponsor = _sponsor(sponsor, agent.project)
            _end_personal_tokens(agent)
        with _free_name():
            agent.save(update_fields=["name", "level", "active", "sponsor"])
        after = agent_wire(agent)
        if after != before:
            record("update_agent", "agent", agent.id, before=before, after=after)
        return keep(after)


def deactivate_agent(caller: Caller, *, agent_id: UUID) -> Answer:
    """Put an agent out from this moment on."""
    return update_agent(caller, agent_id=agent_id, active=False)


def _end_personal_tokens(agent: Agent) -> None:
    now = timezone.now()
    alive = models.Q(revoked_at=None) | models.Q(revoked_at__gt=now)
    personal = Token.objects.filter(alive, agent=agent, personal=True)
    for token_id in list(personal.values_list("id", flat=True)):
        Token.objects.filter(id=token_id).update(revoked_at=now)
        record("revoke_token", "token", token_id, reason="the agent has another sponsor")


def _with_sponsors() -> "models.QuerySet[Agent, Agent]":
    return Agent.objects.select_related("sponsor")


def _free_name() -> AbstractContextManager[None]:
    return must_be_free("agent_name_is_taken", "name", "another agent of the tenant has it")


def agent_wire(agent: Agent) -> Answer:
    """Return what may be told of an agent, with the level that it really acts at."""
    return {
        "id": wire_id(Prefix.AGENT, agent.id),
        "name": agent.name,
        "project": wire_id(Prefix.PROJECT, agent.project_id),
        "sponsor": wire_id(Prefix.MEMBER, agent.sponsor_id),
        "level": agent.level,
        "acting_level": min(agent.level, agent.sponsor.level),
        "active": agent.active,
        "created_at": moment(agent.created_at),
    }
