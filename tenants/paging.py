"""
Pages of a list, one after the other.

A cursor holds the keys of the last row shown, so what is added meanwhile shifts nothing. It is
signed for the principal and the list that it was made for: another's is refused like a made-up one.
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core import signing
from django.core.exceptions import ValidationError
from django.db.models import Field, Model, Q, QuerySet

from tenants.context import whose_door
from tenants.refusals import Invalid

Row = TypeVar("Row", bound=Model)

PAGE = 50
LONGEST_PAGE = 200
NEWEST_FIRST = ("-created_at", "-id")


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Some rows of a list, what asks for the next ones, and how many there are in all."""

    rows: list[Row]
    next: str | None
    count: int

    def wire(self, results: list[Any]) -> dict[str, Any]:
        """Return the page in the form of the contract, with the rows as they are shown."""
        return {"results": results, "next": self.next, "count": self.count}


def page(
    found: "QuerySet[Row, Row]",
    *,
    of: str,
    cursor: str | None = None,
    limit: int = PAGE,
    by: tuple[str, ...] = NEWEST_FIRST,
) -> Page[Row]:
    """
    Return the rows after the cursor. Belongs inside a door.

    :param of: the list's name, with whatever else a cursor must not be carried over between
    :param by: the columns, or annotations, that order it, the last of them unique; a minus turns
        one around
    :raises Invalid: if the cursor was not made for this list and this principal
    """
    rest = found if cursor is None else found.filter(_after(found, by, _keys(cursor, of, by)))
    first = rest.order_by(*by)
    if found.query.select_related:
        # Chosen before others are joined: else all that there is may be joined, and sorted then.
        chosen = first.select_related(None).values("pk")[: limit + 1]
        rows = list(found.filter(pk__in=chosen).order_by(*by))
    else:
        rows = list(first[: limit + 1])
    following = _cursor(found, rows[limit - 1], of, by) if len(rows) > limit else None
    return Page(rows[:limit], following, found.count())


def _salt(of: str) -> str:
    caller = whose_door()
    return f"cursor:{caller.tenant_id}:{caller.principal_id}:{of}"


def _field(found: "QuerySet[Row, Row]", key: str) -> "Field[Any, Any]":
    name = key.lstrip("-")
    if name in found.query.annotations:
        return found.query.annotations[name].output_field
    field = found.model._meta.get_field(name)  # noqa: SLF001  public, its name aside
    assert isinstance(field, Field)
    return field


def _cursor(found: "QuerySet[Row, Row]", last: Row, of: str, by: tuple[str, ...]) -> str:
    keys = [
        str(getattr(last, key.lstrip("-")))
        if key.lstrip("-") in found.query.annotations
        else _field(found, key).value_to_string(last)
        for key in by
    ]
    return signing.dumps(keys, salt=_salt(of))


def _keys(cursor: str, of: str, by: tuple[str, ...]) -> list[str]:
    try:
        keys = signing.loads(cursor, salt=_salt(of))
    except (signing.BadSignature, ValueError):
        raise _foreign() from None
    if len(keys) != len(by):
        raise _foreign()
    return list(map(str, keys))


def _after(found: "QuerySet[Row, Row]", by: tuple[str, ...], keys: list[str]) -> Q:
    """Return what is true of the rows after these keys: (a, b) after (x, y), key by key."""
    after = Q()
    try:
        for key, text in reversed(list(zip(by, keys, strict=True))):
            name = key.lstrip("-")
            value = _field(found, key).to_python(text)
            beyond = "lt" if key.startswith("-") else "gt"
            tied = Q(**{name: value}) & after if after else Q(pk__in=[])
            # The first comparison alone would do for the answer; an index needs the second.
            after = (Q(**{f"{name}__{beyond}": value}) | tied) & Q(**{f"{name}__{beyond}e": value})
    except ValidationError:
        raise _foreign() from None
    return after


def _foreign() -> Invalid:
    return Invalid.field(
        "cursor", "is none that this list gave you; leave it out to start from the beginning"
    )
