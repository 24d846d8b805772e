"""Connections with the application taken away: SQL as the logins of production, nothing else."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

MEMBER, JUDGE, REVIEWER = "palimpsest_member", "palimpsest_judge", "palimpsest_reviewer"
DOOR_ROLES = (MEMBER, JUDGE, REVIEWER)
REFUSED = "42501"

# Written anew, not taken from the application: here it is the application that is left out.
_ENTER = """
SELECT set_config('app.tenant_id', %s, true), set_config('app.member_id', %s, true),
       set_config('app.agent_id', %s, true), set_config('app.project_id', %s, true),
       set_config('app.personal', %s, true), set_config('role', %s, true)
"""


@dataclass(frozen=True)
class Who:
    """What the open door says, to the letter; a test may have it say anything."""

    tenant: UUID | str = ""
    member: UUID | str = ""
    agent: UUID | str = ""
    project: UUID | str = ""
    personal: bool = True
    role: str = MEMBER


@dataclass(frozen=True)
class Step:
    """Something that somebody has done before."""

    who: Who
    statement: str
    params: Any = ()


NOBODY = Who()


def login(name: str = "DATABASE_URL", **options: Any) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a connection of one of the logins, by the name of its URL in the environment."""
    return psycopg.connect(os.environ[name], prepare_threshold=None, **options)


def enter(connection: psycopg.Connection[Any], who: Who) -> None:
    """Step through the door, for the rest of the transaction."""
    said = (who.tenant, who.member, who.agent, who.project, "on" if who.personal else "", who.role)
    connection.execute(_ENTER, [str(one) for one in said])


def leave(connection: psycopg.Connection[Any]) -> None:
    """Step out of it again, in the same transaction."""
    enter(connection, Who(personal=False, role="none"))


@contextmanager
def door(connection: psycopg.Connection[Any], who: Who) -> Iterator[psycopg.Connection[Any]]:
    """Open the door, and undo at its end whatever was done behind it."""
    with connection.transaction(force_rollback=True):
        enter(connection, who)
        yield connection


def outcome(
    connection: psycopg.Connection[Any],
    who: Who,
    statement: str,
    params: Any = (),
    after: Iterable[Step] = (),
) -> set[Any] | int | str:
    """
    Return what a statement gives: its first column, the rows it touched, or its SQLSTATE.

    :param after: what others, or the same, have done before it in the same transaction
    """
    try:
        with connection.transaction(force_rollback=True):
            for step in after:
                enter(connection, step.who)
                connection.execute(step.statement, step.params)
            enter(connection, who)
            done = connection.execute(statement, params)
            if done.description is None:
                return done.rowcount
            return {row[0] for row in done.fetchall()}
    except psycopg.Error as error:
        return str(error.sqlstate)


def column(connection: psycopg.Connection[Any], statement: str, params: Any = ()) -> list[Any]:
    """Return the first column of what a query finds."""
    return [row[0] for row in connection.execute(statement, params).fetchall()]
