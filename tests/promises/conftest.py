"""The world of the wall, and the logins that try to get through it."""

import pytest
from psycopg.errors import DeadlockDetected

from tests.promises.cast import Cast
from tests.promises.raw import login
from tests.promises.world import World, build


@pytest.fixture(scope="session")
def world() -> World:
    """Two tenants of the same shape, with rows of both in every table."""
    with login("OWNER_DATABASE_URL") as owner:
        return build(owner)


@pytest.fixture
def runtime():
    """The login of the server processes."""
    with login(autocommit=True) as connection:
        yield connection


@pytest.fixture
def owner():
    """The owner of the tables, which row-level security does not bind."""
    with login("OWNER_DATABASE_URL", autocommit=True) as connection:
        yield connection


@pytest.fixture
def admin():
    """A superuser, where the tests have a cluster of their own."""
    with login("ADMIN_DATABASE_URL", autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def cast() -> Cast:
    """Everybody who knocks over HTTP."""
    return Cast()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """
    Try again what met another test crosswise.

    Tests here change tables for a moment, in a transaction that is rolled back, while those of
    other processes use them; PostgreSQL then ends one of the two.
    """
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    for _ in range(5):
        try:
            pyfuncitem.obj(**arguments)
        except DeadlockDetected:
            continue
        return True
    return None
