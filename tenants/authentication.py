"""From a bearer token to the caller behind it."""

import time
from dataclasses import dataclass
from threading import Lock

from django.conf import settings
from django.db import connection
from django.http import HttpRequest

from tenants.caller import Caller, Rank, Scope
from tenants.models import Token
from tenants.refusals import RateLimited, TenantInactive, Unauthenticated
from tenants.refused_entries import tell_of_refusal
from tenants.tokens import digest_of, is_well_formed

_RANKS = {
    Token.Kind.HUMAN: Rank.HUMAN,
    Token.Kind.AGENT: Rank.DELIBERATE,
    Token.Kind.WATCHER: Rank.PROVISIONAL,
}


@dataclass(frozen=True)
class _Found:
    """A row of the database's authenticate()."""

    token_id: object
    kind: str
    scopes: list[str]
    personal: bool
    expired: bool
    revoked: bool
    tenant_id: object
    tenant_state: str
    member_id: object
    member_name: str
    member_active: bool
    member_role: str
    member_level: int
    agent_id: object
    agent_name: str | None
    agent_active: bool | None
    agent_level: int | None
    project_id: object
    requests: int


def authenticate(request: HttpRequest) -> Caller:
    """
    Return who is asking.

    :raises Unauthenticated: if no valid token was sent
    :raises TenantInactive: if the tenant is suspended or being deleted
    :raises RateLimited: after too many requests with the token, or too many failures from the
        address
    """
    address = client_address(request)
    token = _bearer(request)
    if token is None or not is_well_formed(token):
        raise _malformed(address)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM authenticate(%s)", [digest_of(token)])
        row = cursor.fetchone()
    if row is None:
        raise _failed(address, "a token that nobody has")
    found = _Found(*row)
    if found.expired or found.revoked or not found.member_active or found.agent_active is False:
        raise _failed(address, f"the token {found.token_id}, which is over")
    if found.tenant_state != "active":
        tell_of_refusal(f"the tenant {found.tenant_id} is not active", address)
        raise TenantInactive("The tenant is suspended or being deleted.")
    if found.requests > settings.RATE_LIMIT:
        tell_of_refusal(f"too many requests with the token {found.token_id}", address)
        raise RateLimited(
            f"More than {settings.RATE_LIMIT} requests a minute with this token.",
            _until_next_minute(),
        )
    return _caller(found, getattr(request, "request_id", ""))


def _caller(found: _Found, request_id: str) -> Caller:
    is_agent = found.agent_id is not None
    level = found.member_level
    if is_agent and found.agent_level is not None:
        level = min(level, found.agent_level)
    return Caller(
        tenant_id=found.tenant_id,  # type: ignore[arg-type]
        member_id=found.member_id,  # type: ignore[arg-type]
        name=found.agent_name or found.member_name,
        level=level,
        rank=_RANKS[Token.Kind(found.kind)],
        scopes=frozenset(map(Scope, found.scopes)),
        agent_id=found.agent_id,  # type: ignore[arg-type]
        token_id=found.token_id,  # type: ignore[arg-type]
        project_id=found.project_id,  # type: ignore[arg-type]
        personal=found.personal,
        # Who is confined to a project has no business with the rest of the tenant.
        administers=found.member_role == "admin" and not is_agent and found.project_id is None,
        request_id=request_id,
    )


def _bearer(request: HttpRequest) -> str | None:
    """Return the token of the one Authorization header, if it has the form of one."""
    header = request.META.get("HTTP_AUTHORIZATION", "")
    scheme, _, token = header.partition(" ")
    return token if scheme.lower() == "bearer" and token else None


class _Tries:
    """Tries with what cannot be a token, a minute and address; they never reach the database."""

    MOST_ADDRESSES = 10_000

    def __init__(self) -> None:
        self._minute = 0
        self._counts: dict[str, int] = {}
        self._lock = Lock()

    def count(self, address: str) -> int:
        """Count one more, and return how many there were in this minute."""
        minute = int(time.monotonic() // 60)
        with self._lock:
            if minute != self._minute or len(self._counts) >= self.MOST_ADDRESSES:
                self._minute, self._counts = minute, {}
            self._counts[address] = self._counts.get(address, 0) + 1
            return self._counts[address]


_tries = _Tries()


def _malformed(address: str) -> Unauthenticated | RateLimited:
    """Return the refusal of what cannot be a token; its check characters tell without a query."""
    return _refusal(_tries.count(address), "no token", address)


def _failed(address: str, why: str) -> Unauthenticated | RateLimited:
    """Return the refusal of a failed log-in, counted against the address it came from."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count_request(%s, 1)", [f"failed:{address}"])
        (failures,) = cursor.fetchone()
    return _refusal(failures, why, address)


def _refusal(failures: int, why: str, address: str) -> Unauthenticated | RateLimited:
    tell_of_refusal(why, address)
    if failures > settings.FAILED_LOGIN_LIMIT:
        return RateLimited("Too many failed log-ins from this address.", _until_next_minute())
    return Unauthenticated("Send a valid token as `Authorization: Bearer plm_...`.")


def _until_next_minute() -> int:
    return 60 - int(time.time()) % 60


def client_address(request: HttpRequest) -> str:
    """
    Return the address that the request came from.

    X-Forwarded-For is read only as far back as our own proxies wrote it (the setting PROXIES): what
    stands before that, anybody can send.
    """
    if settings.PROXIES:
        hops = [hop.strip() for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
        if len(hops) >= settings.PROXIES and hops[-settings.PROXIES]:
            return str(hops[-settings.PROXIES])
    return str(request.META.get("REMOTE_ADDR", ""))
