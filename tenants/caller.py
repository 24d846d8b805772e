"""Who is asking, as far as the product is concerned."""

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from uuid import UUID

from tenants.refusals import NotAllowed, ScopeMissing


class Role(StrEnum):
    """The database role that a caller's statements run as."""

    MEMBER = "palimpsest_member"
    JUDGE = "palimpsest_judge"
    REVIEWER = "palimpsest_reviewer"


class Scope(StrEnum):
    """What a token may be used for."""

    READ = "memory:read"
    WRITE = "memory:write"
    REVIEW = "review"
    HYGIENE = "hygiene"
    ADMIN = "admin"


class Rank(IntEnum):
    """Provenance: how deliberately something was written. Stamped from the token, never sent."""

    PROVISIONAL = 0
    DELIBERATE = 1
    HUMAN = 2


@dataclass(frozen=True)
class Once:
    """A request that must have one effect however often it is sent (an idempotency key)."""

    endpoint: str
    key: str
    fingerprint: bytes


@dataclass(frozen=True)
class Caller:
    """
    A principal, and how it came in.

    The member is the person whose memories are in play: the principal, or the sponsor of the
    agent that is the principal. A project confines the caller to it: an agent to its own, a token
    to the one that it was made for. Personal says whether the member's own layer is in reach.
    """

    tenant_id: UUID
    member_id: UUID
    name: str
    level: int
    rank: Rank
    scopes: frozenset[Scope]
    agent_id: UUID | None = None
    token_id: UUID | None = None
    project_id: UUID | None = None
    personal: bool = True
    administers: bool = False
    role: Role = Role.MEMBER
    request_id: str = ""
    once: Once | None = None

    @property
    def is_agent(self) -> bool:
        return self.agent_id is not None

    @property
    def principal_id(self) -> UUID:
        return self.agent_id or self.member_id

    @property
    def reads(self) -> bool:
        return Scope.READ in self.scopes

    def needs(self, scope: Scope) -> None:
        """
        Refuse what the caller's token was not made for.

        :raises ScopeMissing: if the scope is not among the caller's
        """
        if scope not in self.scopes:
            raise ScopeMissing(f"This needs a token with the scope {scope.value}.")

    def must_administer(self) -> None:
        """
        Refuse whom the tenant has not made an administrator.

        :raises NotAllowed: if the caller is an agent, or a member without that role
        """
        if not self.administers or self.is_agent:
            raise NotAllowed("Only an administrator of the tenant may do this.")

    def as_role(self, role: Role) -> "Caller":
        """Return the same caller, running as another database role."""
        return replace(self, role=role)
