"""
Everything the product may refuse, and why.

Refusal                 409  conflict
├── Invalid             400  validation_failed
├── Unauthenticated     401  unauthenticated
├── NotAllowed          403  forbidden
│   ├── ScopeMissing    403  insufficient_scope
│   └── TenantInactive  403  tenant_inactive
├── NotFound            404  no such thing, or none that this caller may know of
├── StaleVersion        409  the thing has changed since the caller saw it
├── KeyReused           409  an idempotency key came back with another body
├── RateLimited         429  with the seconds to wait
├── Unavailable         503  a part that is needed is down
└── (each operation's own, defined beside it)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one field of a request."""

    field: str
    code: str
    message: str


class Refusal(Exception):
    """What was asked cannot be done, and the message says why."""

    status: ClassVar[HTTPStatus] = HTTPStatus.CONFLICT
    code: ClassVar[str] = "conflict"
    title: ClassVar[str] = "Not possible in this state"

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)


class Invalid(Refusal):
    status = HTTPStatus.BAD_REQUEST
    code = "validation_failed"
    title = "The request has errors"

    @classmethod
    def field(cls, field: str, message: str, code: str = "invalid") -> "Invalid":
        """Return the refusal of one field."""
        return cls(f"{field}: {message}", [FieldError(field, code, message)])


class Unauthenticated(Refusal):
    status = HTTPStatus.UNAUTHORIZED
    code = "unauthenticated"
    title = "No valid token"


class NotAllowed(Refusal):
    status = HTTPStatus.FORBIDDEN
    code = "forbidden"
    title = "Not allowed"


class ScopeMissing(NotAllowed):
    code = "insufficient_scope"
    title = "The token lacks a scope"


class TenantInactive(NotAllowed):
    code = "tenant_inactive"
    title = "The tenant is not active"


class NotFound(Refusal):
    """Says the same for what is missing and for what is hidden."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"
    title = "Not found"

    def __init__(self, detail: str = "There is no such thing, or none that you may see.") -> None:
        super().__init__(detail)


class StaleVersion(Refusal):
    code = "stale_version"
    title = "Changed meanwhile"


class KeyReused(Refusal):
    code = "idempotency_mismatch"
    title = "Idempotency key used with another request"


class RateLimited(Refusal):
    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "rate_limited"
    title = "Too many requests"

    def __init__(self, detail: str, retry_after: int) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Unavailable(Refusal):
    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "unavailable"
    title = "Not available right now"
