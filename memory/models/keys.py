"""
Keys of rows about memories.

The real ones carry the tenant: keys.sql. They also have the indexes that are needed.
"""

from typing import TYPE_CHECKING, Any

from django.db import models

from tenants.models import Agent, Member, Project, Tenant

if TYPE_CHECKING:
    from memory.models.kept import Memory

KEY: dict[str, Any] = {"on_delete": models.PROTECT, "db_constraint": False, "db_index": False}


def of_tenant() -> "models.ForeignKey[Tenant, Tenant]":
    return models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)


def of_memory(related_name: str) -> "models.ForeignKey[Memory, Memory]":
    return models.ForeignKey("memory.Memory", related_name=related_name, **KEY)


def maybe_memory() -> "models.ForeignKey[Memory | None, Memory | None]":
    return models.ForeignKey("memory.Memory", null=True, related_name="+", **KEY)


def by_member() -> "models.ForeignKey[Member, Member]":
    return models.ForeignKey(Member, related_name="+", **KEY)


def maybe_by_member() -> "models.ForeignKey[Member | None, Member | None]":
    return models.ForeignKey(Member, null=True, related_name="+", **KEY)


def maybe_by_agent() -> "models.ForeignKey[Agent | None, Agent | None]":
    return models.ForeignKey(Agent, null=True, related_name="+", **KEY)


def of_project() -> "models.ForeignKey[Project, Project]":
    return models.ForeignKey(Project, related_name="+", **KEY)
