"""The one door: a transaction in which PostgreSQL shows only what the caller may see."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connection, transaction
from psycopg.pq import TransactionStatus

from tenants.caller import Caller, Role

_inside: ContextVar[Caller | None] = ContextVar("inside", default=None)

# One statement, and every setting local to the transaction: nothing is left on a pooled connection.
_STEP = """
SELECT set_config('app.tenant_id', %s, true), set_config('app.member_id', %s, true),
       set_config('app.agent_id', %s, true), set_config('app.project_id', %s, true),
       set_config('app.personal', %s, true), set_config('role', %s, true)
"""
_OUT = ("", "", "", "", "", "none")


@contextmanager
def acting_as(caller: Caller) -> Iterator[None]:
    """
    Open a transaction in which PostgreSQL shows only what the caller may see.

    Inside an open door for the same caller this is a savepoint, so operations may use operations.
    The caller's level and membership are read again by the policies themselves, in this very
    transaction.

    :raises RuntimeError: inside a door opened for somebody else
    """
    already = _inside.get()
    if already is not None:
        if already != caller:
            raise RuntimeError("a door is open for somebody else already")
        with transaction.atomic():
            yield
        return

    # The settings last until the outermost transaction ends. Where this is a savepoint of a longer
    # one, step out by hand, so that a query after this block fails there as it would anywhere.
    outlasted = connection.in_atomic_block or not connection.get_autocommit()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_STEP, _settings_of(caller))
        entered = _inside.set(caller)
        try:
            yield
        finally:
            _inside.reset(entered)
        if outlasted and not connection.needs_rollback:
            cursor.execute(_STEP, _OUT)


def _settings_of(caller: Caller) -> tuple[str, ...]:
    return (
        str(caller.tenant_id),
        str(caller.member_id),
        str(caller.agent_id or ""),
        str(caller.project_id or ""),
        "on" if caller.personal else "",
        caller.role.value,
    )


@contextmanager
def stepping_to(role: Role) -> Iterator[None]:
    """
    Go on inside the open door as another database role, with the same sight, and step back.

    What the product does by its own rules in the course of somebody's request it does in the role
    for that, so that the grants say what it may.
    """
    before = whose_door().role
    _step_to(role)
    try:
        yield
    finally:
        if not _is_broken():
            _step_to(before)


def _is_broken() -> bool:
    # Whatever is said in a transaction that failed fails as well, and would hide what failed first.
    # Rolling back to where it was whole takes the step back, too.
    return connection.needs_rollback or (
        connection.connection.info.transaction_status == TransactionStatus.INERROR
    )


def _step_to(role: Role) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('role', %s, true)", [role.value])


def is_inside() -> bool:
    """Return whether a door is open."""
    return _inside.get() is not None


def whose_door() -> Caller:
    """
    Return the caller for whom the door is open.

    :raises RuntimeError: if none is
    """
    caller = _inside.get()
    if caller is None:
        raise RuntimeError("no door is open: wrap this in acting_as(caller)")
    return caller


def must_be_outside(what: str) -> None:
    """
    Refuse something slow while a transaction is open.

    :raises RuntimeError: inside a door
    """
    if is_inside():
        raise RuntimeError(f"{what} must not run inside acting_as(): it may be slow")
