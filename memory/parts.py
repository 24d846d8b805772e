"""What a write states beside its content: links, subjects, components, dependencies, tags."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db.models import F

from memory.conflict.detect import several_valued
from memory.conflict.supersede import draw_links
from memory.models import Component, Dependency, LinkType, Memory
from memory.secret_content import find_secret
from memory.values import same_value
from memory.wire import in_sight
from tenants.ids import new_id
from tenants.refusals import FieldError, Invalid, Refusal

MOST_TAGS = 20
NO_SUCH_MEMORY = "there is no such memory, or none that you may see"


class SecretContent(Refusal):
    """A key, token or password stands in the text: it was neither stored nor logged."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "secret_content_rejected"
    title = "A secret stands in the text"


@dataclass(frozen=True)
class LinkTo:
    """A link from the memory that is being written."""

    type: str
    dst: UUID


@dataclass(frozen=True)
class Statement:
    """A component as it was sent."""

    subject: str
    value: str | None = None
    multi: bool = False


@dataclass(frozen=True)
class Parts:
    """What a write states beside its content."""

    links: tuple[LinkTo, ...] = ()
    subjects: tuple[str, ...] = ()
    components: tuple[Statement, ...] = ()
    depends_on: tuple[UUID | str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def declared(self) -> list[UUID]:
        """The memories that the write declares to replace, each once, in the order said."""
        return list(
            dict.fromkeys(link.dst for link in self.links if link.type == LinkType.SUPERSEDES)
        )

    @property
    def other_links(self) -> list[LinkTo]:
        return [link for link in self.links if link.type != LinkType.SUPERSEDES]


def must_have_no_secret(texts: Iterable[tuple[str, str | None]]) -> None:
    """
    Refuse fields in which a key, token or password stands.

    :param texts: names of fields and what stands in them
    :raises SecretContent: if there is one; it says of what sort, and never what it is
    """
    errors = []
    for field, text in texts:
        secret = find_secret(text) if text else None
        if secret is not None:
            errors.append(
                FieldError(
                    field, "secret", f"holds what looks like {secret.kind}; say where it is kept"
                )
            )
    if errors:
        raise SecretContent(
            "; ".join(f"{error.field} {error.message}" for error in errors)
            + ". Nothing was stored. If it was a real one, consider it seen and replace it.",
            errors,
        )


def must_be_linkable(parts: Parts) -> None:
    """
    Refuse links and dependencies to what is not there for the caller.

    Targets of a declared supersede are another matter: `memory.declared`.

    :raises Invalid: naming the field, the same for what is missing and what is hidden
    """
    wanted = [
        (f"links[{index}].dst", link.dst)
        for index, link in enumerate(parts.links)
        if link.type != LinkType.SUPERSEDES
    ]
    wanted += [
        (f"depends_on[{index}]", one)
        for index, one in enumerate(parts.depends_on)
        if isinstance(one, UUID)
    ]
    found = in_sight(one for _, one in wanted)
    errors = [
        FieldError(field, "unknown_reference", NO_SUCH_MEMORY)
        for field, one in wanted
        if one not in found
    ]
    if errors:
        raise Invalid("; ".join(f"{error.field}: {error.message}" for error in errors), errors)


def state_parts(
    memory: Memory, parts: Parts, *, is_new: bool, as_suggestions: bool = False
) -> None:
    """
    Write down what was stated beside the content, as far as it does not stand there already.

    :param is_new: whether the memory was written just now, so that nothing can stand there
    :param as_suggestions: the components wait for somebody to accept them
    :raises Invalid: if the memory would have more tags than it may
    """
    by_type: dict[str, list[UUID]] = {}
    for link in parts.other_links:
        if link.dst != memory.id:
            by_type.setdefault(link.type, []).append(link.dst)
    for link_type, targets in by_type.items():
        draw_links(memory.id, targets, link_type)
    _state_components(memory, parts.components, is_new=is_new, as_suggestions=as_suggestions)
    _state_dependencies(memory, parts.depends_on, is_new=is_new)


def add_labels(memory: Memory, parts: Parts) -> None:
    """
    Add the tags and subjects of a repeat to the memory that absorbed it.

    :raises Invalid: if it would have more tags than it may
    """
    tags = list(dict.fromkeys([*memory.tags, *parts.tags]))
    subjects = list(dict.fromkeys([*memory.subjects, *parts.subjects]))
    if len(tags) > MOST_TAGS:
        raise Invalid.field("tags", f"{len(tags)} with those it has already; at most {MOST_TAGS}")
    if tags != memory.tags or subjects != memory.subjects:
        Memory.objects.filter(id=memory.id).update(
            tags=tags, subjects=subjects, version=F("version") + 1
        )


def must_say_one_value(memory: Memory, parts: Parts) -> None:
    """
    Refuse what says two values of a subject that has one: it would contradict itself.

    Belongs inside a door, once it is stated: that a subject has several may be known already.

    :raises Invalid: naming the second value, or the statement that is of two minds
    """
    first: dict[str, Statement] = {}
    for index, said in enumerate(parts.components):
        field = f"components[{index}]"
        before = first.setdefault(said.subject, said)
        if before.multi != said.multi:
            raise Invalid.field(
                f"{field}.multi",
                f"{said.subject} has one value or several; say the same in every statement of it",
            )
        one, other = before.value, said.value
        if said.multi or one is None or other is None or same_value(one, other):
            continue
        if said.subject not in several_valued([memory.id])[memory.id]:
            raise Invalid.field(
                f"{field}.value",
                f"{said.subject} has one value, and this is a second; say multi of each if it has"
                " several, or write two memories",
            )


def _state_components(
    memory: Memory, statements: Sequence[Statement], *, is_new: bool, as_suggestions: bool
) -> None:
    if not statements:
        return
    there = [] if is_new else list(Component.objects.filter(memory=memory.id))
    known = {(one.subject, one.value): one.multi for one in there}
    if not as_suggestions:
        said_now = {(one.subject, one.value) for one in statements}
        _take_as_stated(
            one.id for one in there if one.suggested and (one.subject, one.value) in said_now
        )
    new: dict[Any, Component] = {}
    for said in statements:
        key = said.subject, said.value
        if said.multi and not known.get(key, True):
            # What was stated is not rewritten: that there are several is stated beside it.
            key = said.subject, None
        if key not in known:
            new[key] = Component(
                id=new_id(),
                tenant_id=memory.tenant_id,
                memory_id=memory.id,
                subject=said.subject,
                value=key[1],
                multi=said.multi,
                suggested=as_suggestions,
            )
    Component.objects.bulk_create(new.values())


def _take_as_stated(suggestions: Iterable[UUID]) -> None:
    """
    State what was only read out of the text, now that the writer says the same.

    Also what somebody had dismissed: that it was read out wrongly says nothing against the writer.

    :raises Refusal: if it could not be; what a write says is not lost in silence
    """
    wanted = list(suggestions)
    taken = Component.objects.filter(id__in=wanted, suggested=True)
    if wanted and taken.update(suggested=False, dismissed_at=None) < len(wanted):
        raise Refusal("A component of it was accepted or dismissed meanwhile. Say it again.")


def _state_dependencies(memory: Memory, depends_on: Sequence[UUID | str], *, is_new: bool) -> None:
    if not depends_on:
        return
    there = Dependency.objects.filter(memory=memory.id).values_list("on_memory_id", "on_subject")
    known = set() if is_new else set(there)
    new: dict[Any, Dependency] = {}
    for one in depends_on:
        key = (one, None) if isinstance(one, UUID) else (None, one)
        if key not in known and one != memory.id:
            new[key] = Dependency(
                id=new_id(),
                tenant_id=memory.tenant_id,
                memory_id=memory.id,
                on_memory_id=key[0],
                on_subject=key[1],
            )
    Dependency.objects.bulk_create(new.values())
