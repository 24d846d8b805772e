"""`manage.py evidence_confidence MEMORY_ID`: where a memory's evidence confidence comes from."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from memory.conflict.disputes import DISAGREEING
from memory.models import Component, Conflict, ConflictState, Corroboration, Memory, Verification
from memory.trust.confidence import Sources, confidence_of, sources
from memory.trust.looked import Looked, Part, Repeat
from tenants.ids import MalformedId, Prefix, moment, read_id, wire_id

OWNER = "owner"


class Command(BaseCommand):
    help = "Work out a memory's evidence confidence from the stored rows, line by line."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("memory_id", help="such as mem_01h455vb4pex5vsknk084sn02q")

    def handle(self, *_args: Any, **options: Any) -> None:
        """
        Write the rows that count, what they count as, and the number.

        :raises CommandError: without the owner's login, or without such a memory
        """
        if OWNER not in settings.DATABASES:
            raise CommandError("Set OWNER_DATABASE_URL: only the owner of the tables reads all.")
        try:
            memory_id = read_id(Prefix.MEMORY, options["memory_id"])
        except MalformedId as error:
            raise CommandError(f"{options['memory_id']} is {error}.") from None
        memory = Memory.objects.using(OWNER).filter(id=memory_id).first()
        if memory is None:
            raise CommandError(f"There is no memory {options['memory_id']}.")
        for line in explained(memory):
            self.stdout.write(line)


def explained(memory: Memory) -> Iterator[str]:
    """Return where the number comes from, a line for each row, the number last."""
    verifications = list(_of(memory, Verification).order_by("observed_at", "created_at", "id"))
    wrote_the_same = _of(memory, Corroboration).select_related("by_memory")
    corroborations = list(wrote_the_same.order_by("created_at", "id"))
    stated = _of(memory, Component).filter(suggested=False, dismissed_at=None)
    attested = memory.provenance_rank >= 1 or memory.accepted_at is not None
    spoken = sources(
        memory,
        attested=attested,
        looked=[Looked.from_row(one) for one in verifications],
        repeats=[
            Repeat(one.by_member_id, one.by_memory.author_agent_id, one.created_at)
            for one in corroborations
        ],
        parts=[Part(one.subject, one.value, one.created_at) for one in stated],
    )
    yield f"owner {wire_id(Prefix.MEMBER, memory.owner_id)}, rank {memory.provenance_rank}"
    yield f"accepted {moment(memory.accepted_at)}" if memory.accepted_at else "not accepted"
    for one in verifications:
        yield (
            f"{wire_id(Prefix.VERIFICATION, one.id)} by {wire_id(Prefix.MEMBER, one.by_member_id)} "
            f"at {moment(one.observed_at)}: {one.outcome} by {one.method}, "
            f"{'weighs' if one.weighs else 'does not weigh'}"
        )
    for said in corroborations:
        yield (
            f"{wire_id(Prefix.MEMBER, said.by_member_id)} wrote the same: "
            f"{wire_id(Prefix.MEMORY, said.by_memory_id)}"
        )
    yield from _summed_up(spoken)
    conflicted = _is_conflicted(memory)
    yield "in an open conflict" if conflicted else "in no open conflict"
    yield f"evidence_confidence {confidence_of(spoken, conflicted=conflicted)}"


def _of(memory: Memory, model: Any) -> Any:
    return model.objects.using(OWNER).filter(tenant=memory.tenant_id, memory=memory.id)


def _summed_up(spoken: Sources) -> Iterator[str]:
    yield "vouched for by its author" if spoken.attested else "nobody vouches for it"
    for what, members in (
        ("verified by", spoken.verifying),
        ("said the same by", spoken.saying_the_same),
    ):
        named = ", ".join(sorted(wire_id(Prefix.MEMBER, one) for one in members))
        yield f"{what} {len(members)} others{': ' if named else ''}{named}"


def _is_conflicted(memory: Memory) -> bool:
    about = Q(memory_a=memory.id) | Q(memory_b=memory.id)
    open_ones = Conflict.objects.using(OWNER).filter(
        about, tenant=memory.tenant_id, state=ConflictState.PENDING, kind__in=DISAGREEING
    )
    return bool(open_ones.exists())
