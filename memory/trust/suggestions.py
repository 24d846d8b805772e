"""What was read out of a text about subjects, until somebody accepts it or dismisses it."""

from uuid import UUID

from django.db.models.functions import Now

from memory.authority import must_be_replaceable
from memory.conflict.on_write import face, wait_for_the_same_subjects
from memory.conflict.record import conflict_wire
from memory.conflict.supersede import locked
from memory.declared import must_not_overrule
from memory.models import Component, Memory
from memory.reading import existing, told
from memory.trust.suggest import suggested_components
from tenants.audit import record
from tenants.caller import Caller
from tenants.ids import new_id
from tenants.once import Answer, writing_as
from tenants.refusals import NotAllowed, NotFound, Refusal


def suggest_components(memory: Memory) -> int:
    """
    Note what a new text says of subjects, and return of how many. Belongs inside a door.

    Only where the writer stated none: who states components knows which they want.
    """
    found = suggested_components(memory.content)
    Component.objects.bulk_create(
        Component(
            id=new_id(),
            tenant_id=memory.tenant_id,
            memory_id=memory.id,
            subject=one.subject,
            value=one.value,
            suggested=True,
        )
        for one in found
    )
    return len(found)


def accept_component(caller: Caller, *, component_id: UUID) -> Answer:
    """
    Accept what was read out of a memory's text: from now on it states it.

    As with a component that a writer states, a clash with another memory is judged at once.

    :raises NotFound: if there is none for the caller
    :raises NotAllowed: if the caller may see the memory and not replace it; and to a watcher, of
        what is no capture
    :raises Refusal: if it was accepted or dismissed already
    """
    with writing_as(caller) as keep:
        component = _open(component_id)
        wait_for_the_same_subjects(component.memory.project_id, [component.subject])
        memory = _lock(caller, component)
        _take_up(component, suggested=False)
        record("accept_component", "component", component.id, memory_id=memory.id)
        faced = face(memory, {}, gone=(), with_components=True)
        return keep(
            {
                "memory": told(memory.id),
                "conflicts": [conflict_wire(one) for one in faced.conflicts],
            }
        )


def dismiss_component(caller: Caller, *, component_id: UUID) -> Answer:
    """
    Dismiss what was read out of a memory's text; it is not suggested again.

    :raises NotFound: if there is none for the caller
    :raises NotAllowed: if the caller may see the memory and not replace it; and to a watcher, of
        what is no capture
    :raises Refusal: if it was accepted or dismissed already
    """
    with writing_as(caller) as keep:
        component = _open(component_id)
        memory = _lock(caller, component)
        _take_up(component, dismissed_at=Now())
        record("dismiss_component", "component", component.id, memory_id=memory.id)
        return keep({"memory": told(memory.id), "conflicts": []})


def _open(component_id: UUID) -> Component:
    component = Component.objects.filter(id=component_id).first()
    if component is None:
        raise NotFound
    if not component.suggested or component.dismissed_at is not None:
        raise Refusal("It was accepted or dismissed already.")
    return component


def _lock(caller: Caller, component: Component) -> Memory:
    memory = existing(component.memory_id)
    must_be_replaceable(caller, memory)
    must_not_overrule(caller, memory)
    now = locked([memory.id]).get(memory.id)
    if now is None:
        raise NotAllowed("You may not change it any more.")
    return now


def _take_up(component: Component, **change: object) -> None:
    waiting = Component.objects.filter(id=component.id, suggested=True, dismissed_at=None)
    if not waiting.update(**change):
        raise Refusal("It was accepted or dismissed meanwhile.")
