"""How ids and times stand on the wire: TypeIDs (a prefix and a UUIDv7 in base 32), RFC 3339."""

from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from typeid import TypeID
from typeid.errors import TypeIDException
from uuid_utils.compat import uuid7


class Prefix(StrEnum):
    """What an id names, by its first letters."""

    AGENT = "agt"
    BATCH = "bat"
    CERTIFICATE = "crt"
    CHANGE = "chg"
    COMPONENT = "cmp"
    CONFLICT = "cfl"
    EVENT = "evt"
    JOB = "job"
    LINK = "lnk"
    MARK = "mrk"
    MEMBER = "usr"
    MEMORY = "mem"
    PROJECT = "prj"
    PUSH_SOURCE = "psh"
    SIGNAL = "sig"
    TENANT = "ten"
    TOKEN = "tok"  # noqa: S105  a prefix, not a password
    TRANSFER = "trf"
    VERIFICATION = "ver"


class MalformedId(ValueError):
    """The text is no id of the expected sort."""


def new_id() -> UUID:
    """Return an id that sorts by the time it was made (UUIDv7, RFC 9562)."""
    return uuid7()


def wire_id(prefix: Prefix, of: UUID) -> str:
    """Return the id as it is shown outside."""
    # Its types name uuid_utils' class; the standard one is as good to it.
    return str(TypeID.from_uuid(of, prefix.value))  # type: ignore[arg-type]


def wire_id_or_none(prefix: Prefix, of: UUID | None) -> str | None:
    """Return the id as it is shown outside, or nothing where there is none."""
    return None if of is None else wire_id(prefix, of)


def read_id(prefix: Prefix, text: str) -> UUID:
    """
    Return what the text names.

    :raises MalformedId: if it is no id with this prefix
    """
    letters, _, rest = text.partition("_")
    if letters != prefix.value:
        raise MalformedId(f"not an id: it should start with {prefix.value}_")
    try:
        # Given nothing, TypeID would make up an id.
        return UUID(bytes=TypeID(prefix.value, rest or "-").uuid.bytes)
    except (TypeIDException, ValueError):
        raise MalformedId(
            f"not an id: {prefix.value}_ must be followed by 26 characters of base 32"
        ) from None


def moment(at: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC, to the microsecond."""
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
