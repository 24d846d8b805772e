"""What every test has at hand."""

import pytest

from memory.trust.activation import write_counts
from tests.people import Office, new_office


@pytest.fixture(scope="session")
def django_db_setup() -> None:
    """Do nothing: the cluster is prepared before Django starts (tests/cluster.py)."""


@pytest.fixture(scope="session", autouse=True)
def _database_is_open(django_db_blocker):
    """Let every test at the database: it logs in as production does."""
    with django_db_blocker.unblock():
        yield
        # Or the process would do it at its end, when nothing is open any more.
        write_counts()


@pytest.fixture
def office() -> Office:
    """A tenant with two projects and people of several levels, nobody else's."""
    return new_office()


@pytest.fixture
def other_office() -> Office:
    """Another tenant, of the same shape."""
    return new_office()
