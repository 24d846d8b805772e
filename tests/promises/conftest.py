"""The world of the wall, and the logins that try to get through it."""

import pytest

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
