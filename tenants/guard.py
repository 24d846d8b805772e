"""
No tenant's rows outside the door.

The database would refuse such a statement anyway: the login may read no tenant table. This says so
earlier, and names the way out.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper

from tenants.context import is_inside

# Of no model: only the functions of sealing.sql touch them.
SEALED = frozenset({"event_chain", "event_heads", "unsealed_events"})


class OutsideTheDoor(RuntimeError):
    """A statement named a tenant's table while no door was open."""


@cache
def tenant_tables() -> re.Pattern[str]:
    """Return what finds the name of any table that belongs to tenants."""
    every = [model._meta for model in apps.get_models(include_auto_created=True)]  # noqa: SLF001
    names = SEALED | {
        model.db_table
        for model in every
        if model.db_table == "tenants"
        or any(field.name == "tenant" for field in model.get_fields())
    }
    before = r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|TRUNCATE|COPY|LOCK)\s+(?:ONLY\s+|TABLE\s+)?"
    # One more table after a comma: a list of columns has no such thing before its FROM.
    another = r"(?:[\w\".]+(?:\s+(?:AS\s+)?\w+)?\s*,\s*)*"
    found = r"(?:\"?public\"?\.)?\"?(" + "|".join(sorted(names)) + r")\b"
    return re.compile(before + another + found, re.IGNORECASE)


def keep_to_the_door(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    """
    Run a statement, unless it names a tenant's table outside the door.

    :raises OutsideTheDoor: if it does
    """
    if not is_inside() and context["connection"].alias == "default":
        found = tenant_tables().search(sql)
        if found:
            raise OutsideTheDoor(f"{found[1]} is a tenant's: open the door with acting_as(caller)")
    return execute(sql, params, many, context)


def guard_connection(connection: BaseDatabaseWrapper, **_signal: object) -> None:
    """Have every statement of a new connection looked at."""
    if keep_to_the_door not in connection.execute_wrappers:
        connection.execute_wrappers.append(keep_to_the_door)
