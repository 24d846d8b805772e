"""What a file holds, read and not yet stored: each draft knows the place it was read at."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.serializers import ValidationError

from memory.models import Door
from memory.parts import Statement
from memory.requests import RememberBody
from memory.secret_content import find_secret
from memory.text import is_blank, normalised
from memory.values import same_value
from tenants.refusals import FieldError, Invalid
from tenants.rest import invalid_fields

MOST_TOLD = 20


@dataclass(frozen=True)
class Draft:
    """
    A memory to be stored.

    :param place: the line or the file it stands in
    :param fields: what `remember` is told of it, without where it goes
    :param ref: its id in the file, by which others name it
    :param successor: the id there of what superseded it
    :param links: types and ids there of what it is linked to
    :param depends_on: ids there of what it depends on
    :param settled_with: ids there of what it stands beside because somebody decided so
    :param retired: why it was not in use any more, if it was not and has no successor
    :param in_doubt: whether nobody was to rely on it there before it had been looked at
    :param asserted_at: when it was asserted there, where the file tells
    """

    place: str
    fields: dict[str, Any]
    ref: str | None = None
    successor: str | None = None
    links: tuple[tuple[str, str], ...] = ()
    depends_on: tuple[str, ...] = ()
    settled_with: tuple[str, ...] = ()
    retired: str | None = None
    in_doubt: bool = False
    asserted_at: datetime | None = None

    @property
    def was_in_use(self) -> bool:
        """Whether nobody had retired it where it comes from."""
        return self.retired is None and self.successor is None

    def is_told_in(self, source: Mapping[str, Any] | None) -> bool:
        """Return whether a memory with this source was brought in by this draft."""
        here = self.source
        return all((source or {}).get(one) == here.get(one) for one in ("uri", "hash"))

    @property
    def source(self) -> dict[str, Any]:
        """Where it comes from; its hash tells whether it was brought in before."""
        said = self.fields.get("source") or {"kind": "import", "uri": self.ref or self.place}
        return {**said, "hash": said.get("hash") or digest_of(self.fields["content"])}


@dataclass
class Faults:
    """What is wrong with a file, by place; nothing of it is stored then."""

    errors: list[FieldError] = field(default_factory=list)

    def add(self, place: str, message: str, code: str = "invalid") -> None:
        self.errors.append(FieldError(place, code, message))

    def must_be_none(self) -> None:
        """
        Refuse the file if there are any.

        :raises Invalid: with the first of them, and how many there are
        """
        if not self.errors:
            return
        told = "; ".join(f"{one.field}: {one.message}" for one in self.errors[:3])
        number = len(self.errors)
        counted = "One mistake" if number == 1 else f"{number} mistakes"
        raise Invalid(f"{counted}, and nothing was stored. {told}", self.errors[:MOST_TOLD])


def digest_of(content: str) -> str:
    """Return the SHA-256 of a text."""
    return f"sha256:{hashlib.sha256(normalised(content).encode()).hexdigest()}"


def moment_or_none(told: object) -> datetime | None:
    """
    Return when something was asserted, as a file tells; what has yet to come tells nothing.

    :raises ValueError: if it is no time with its distance from UTC
    """
    if told is None:
        return None
    said = parse_datetime(told) if isinstance(told, str) else None
    if said is None or said.tzinfo is None:
        raise ValueError
    return said if said < timezone.now() else None


def must_be_storable(drafts: Sequence[Draft]) -> None:
    """
    Refuse drafts of which one could not be stored.

    :raises Invalid: naming the places
    """
    faults = Faults()
    refs = {draft.ref for draft in drafts if draft.ref is not None}
    seen: set[str] = set()
    for draft in drafts:
        if draft.ref is not None and draft.ref in seen:
            faults.add(draft.place, f"the id {draft.ref} was used before in this file", "repeated")
        seen.add(draft.ref or "")
        _check_fields(draft, faults)
        for other in _named(draft):
            if other not in refs:
                faults.add(draft.place, f"{other} is not in this file", "unknown_reference")
            elif other == draft.ref and other != draft.successor:
                faults.add(draft.place, "a memory hangs on others alone, and this names itself")
    _check_circles(drafts, faults)
    faults.must_be_none()


def without_rejected(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts without what was turned down, and what leads to it: it is no knowledge."""
    out = {draft.ref for draft in drafts if draft.retired == Door.REJECTED} - {None}
    return [
        replace(
            draft,
            successor=None if draft.successor in out else draft.successor,
            links=tuple(one for one in draft.links if one[1] not in out),
            depends_on=tuple(one for one in draft.depends_on if one not in out),
            settled_with=tuple(one for one in draft.settled_with if one not in out),
            retired=Door.SUPERSEDED.value if draft.successor in out else draft.retired,
        )
        for draft in drafts
        if draft.retired != Door.REJECTED
    ]


def _named(draft: Draft) -> Iterable[str]:
    successor = () if draft.successor is None else (draft.successor,)
    links = (ref for _, ref in draft.links)
    return (*successor, *links, *draft.depends_on, *draft.settled_with)


def _check_fields(draft: Draft, faults: Faults) -> None:
    body = RememberBody(data={**draft.fields, "source": draft.source})
    if not body.is_valid():
        for error in invalid_fields(ValidationError(body.errors)).errors:
            faults.add(draft.place, f"{error.field}: {error.message}", error.code)
        return
    if is_blank(draft.fields["content"]):
        faults.add(draft.place, "content: has nothing to read in it", "blank")
    start, end = (body.validated_data.get(name) for name in ("valid_from", "valid_until"))
    if start is not None and end is not None and end <= start:
        faults.add(draft.place, "valid_until: must be later than valid_from")
    for index in _second_values(body.validated_data.get("components", ())):
        said = "is a second value; say multi of each if there are several, or write two memories"
        faults.add(draft.place, f"components[{index}].value: {said}")
    for name, text in _texts(draft.fields):
        secret = find_secret(text)
        if secret is not None:
            faults.add(draft.place, f"{name}: holds what looks like {secret.kind}", "secret")


def _second_values(stated: Sequence[Statement]) -> Iterator[int]:
    """Give the places of what says another value of a subject that has one."""
    values: dict[str, str] = {}
    for index, one in enumerate(stated):
        if one.value is None or one.multi:
            continue
        if not same_value(values.setdefault(one.subject, one.value), one.value):
            yield index


def _texts(said: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Give every text in the fields, with its place."""
    if isinstance(said, str):
        yield name, said
    elif isinstance(said, dict):
        for key, inner in said.items():
            yield from _texts(inner, f"{name}.{key}".lstrip("."))
    elif isinstance(said, list):
        for index, inner in enumerate(said):
            yield from _texts(inner, f"{name}[{index}]")


def _check_circles(drafts: Sequence[Draft], faults: Faults) -> None:
    following = {draft.ref: draft.successor for draft in drafts if draft.ref is not None}
    for draft in drafts:
        passed = {draft.ref}
        after = draft.successor
        while after is not None and after not in passed:
            passed.add(after)
            after = following.get(after)
        if after is not None and after == draft.ref:
            faults.add(draft.place, "it supersedes itself in a circle", "cycle")
