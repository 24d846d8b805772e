"""Changing what is around a memory (tags, importance, visibility), and never its content."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F

from memory.authority import must_be_replaceable, owns
from memory.conflict.left_to_the_judge import leave_to_the_judge
from memory.conflict.supersede import locked
from memory.declared import must_not_overrule
from memory.models import Memory, Visibility
from memory.parts import must_have_no_secret
from memory.place import Place, writable_projects
from memory.reading import existing, must_be_as_seen, told
from tenants.audit import record
from tenants.caller import Caller
from tenants.ids import moment
from tenants.once import Answer, writing_as
from tenants.refusals import Invalid, NotAllowed, Refusal


class WouldHide(Refusal):
    """It replaced what more people may read; hiding it would leave them with nothing."""


def patch_memory(
    caller: Caller, *, memory_id: UUID, if_match: int | None = None, **changes: Any
) -> Answer:
    """
    Change tags, importance, review_after or visibility of a memory.

    :param if_match: the version that the caller saw
    :raises StaleVersion: if it has changed since
    :raises ProvisionalWriter: for a watcher, unless it is a capture
    :raises NotAllowed: if the caller may see it and not change it
    :raises WouldHide: if readers of what it replaced could not read it any more
    """
    if not changes:
        raise Invalid("Nothing to change: say tags, importance, review_after or visibility.")
    must_have_no_secret(
        (f"tags[{index}]", tag) for index, tag in enumerate(changes.get("tags", ()))
    )
    with writing_as(caller) as keep:
        found = existing(memory_id)
        must_be_replaceable(caller, found)
        must_not_overrule(caller, found)
        memory = locked([memory_id]).get(memory_id)
        if memory is None:
            raise NotAllowed("You may see it, but not change it.")
        must_be_as_seen(memory, if_match)
        if "visibility" in changes:
            _must_be_showable(caller, memory, changes["visibility"])
        before = {name: _plain(getattr(memory, name)) for name in changes}
        Memory.objects.filter(id=memory.id).update(**changes, version=F("version") + 1)
        shown = changes.get("visibility", memory.visibility)
        here = Place(memory.owner_id, memory.project_id, shown)
        if not Place.of(memory).is_read_by_all_who_read(here):
            # Whoever sees it only now could not have what they wrote compared with it.
            leave_to_the_judge(memory, again="shown")
        record(
            "patch_memory",
            "memory",
            memory.id,
            memory_id=memory.id,
            before=before,
            after={name: _plain(value) for name, value in changes.items()},
        )
        return keep(told(memory.id))


def _plain(value: Any) -> Any:
    return moment(value) if isinstance(value, datetime) else value


def _must_be_showable(caller: Caller, memory: Memory, visibility: str) -> None:
    if visibility == memory.visibility:
        return
    if not owns(caller, memory):
        raise NotAllowed("Only its owner decides who may read it.")
    if visibility == Visibility.PROJECT and memory.project_id is None:
        raise Invalid.field("visibility", "a personal memory has no project to be shown to")
    if memory.project_id is not None and memory.project_id not in writable_projects():
        raise NotAllowed("You may not write in its project any more.")
    shown = Place(memory.owner_id, memory.project_id, visibility)
    replaced = Memory.objects.filter(superseded_by=memory.id)
    if not all(shown.is_read_by_all_who_read(Place.of(one)) for one in replaced):
        raise WouldHide("It replaced a memory that more people may read. Restore that one first.")
    successor = Memory.objects.filter(id__in=[memory.superseded_by_id]).first()
    if memory.superseded_by_id is not None and (
        successor is None or not Place.of(successor).is_read_by_all_who_read(shown)
    ):
        raise WouldHide("What replaced it is read by fewer people. Show them that one first.")
