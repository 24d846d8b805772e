"""What every test has at hand."""

from collections.abc import Iterator
from types import ModuleType

import pytest
from django.test.client import ClientHandler
from hypothesis import HealthCheck, settings

from memory.trust.activation import write_counts
from tests.people import Office, new_office

# How long an example took says how busy the machine is, and nothing about the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# What starts or meets other processes, threads or a browser, by the module that it comes from.
_COMPANY = {
    "threading",
    "subprocess",
    "concurrent.futures",
    "asyncio",
    "playwright.sync_api",
    "tests.admin_login",
    "tests.fake_openai",
    "tests.mcp_process",
    "tests.web_process",
}
_MEETINGS = {"together", "held"}


def _keeps_company(module: ModuleType) -> bool:
    return any(
        name in _MEETINGS
        or getattr(value, "__module__", getattr(value, "__name__", None)) in _COMPANY
        for name, value in vars(module).items()
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    Let a test that meets other processes be done over twice: a busy machine keeps it waiting.

    It is reported as rerun (R). A test that is alone with its database never is: where it fails
    once, it has failed. So has what hangs: there is no time to see it hang thrice.
    """
    for item in items:
        module = getattr(item, "module", None)
        if module is not None and _keeps_company(module):
            item.add_marker(pytest.mark.flaky(reruns=2, rerun_except="from pytest-timeout"))


@pytest.fixture(scope="session", autouse=True)
def _middleware_is_loaded_once() -> Iterator[None]:
    """Let all clients share what a server loads once, and a client would anew, all files listed."""
    first = ClientHandler()
    own = vars(first).copy()
    first.load_middleware()
    loaded = {name: value for name, value in vars(first).items() if name not in own}

    def share(handler: ClientHandler) -> None:
        for name, value in loaded.items():
            setattr(handler, name, value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientHandler, "load_middleware", share)
        yield


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
