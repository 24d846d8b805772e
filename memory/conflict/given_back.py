"""What a memory had won comes back, if the memory itself loses to what was there before it."""

from uuid import UUID

from django.db import connection

from memory.conflict.left_to_the_judge import leave_to_the_judge
from memory.models import Lifecycle, Memory
from tenants.audit import Told, record_all
from tenants.ids import Prefix, wire_id

_WHY = "what it lost to has lost itself to what was there before"


def give_back_what_it_won(loser: Memory, *, batch_id: UUID | None = None) -> None:
    """
    Bring back what the policy retired for a memory that it has just retired for an older one.

    In the door, as the judge. Whoever loses supersedes nobody, and in which order that was found
    makes no difference. Those that are back are compared with what they missed.

    :param loser: as it was when it was live
    :param batch_id: the sweep that retired it, if one did: what they come to is the sweep's, too
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT give_back_what_it_won(%s)", [loser.id])
        ids = [one for (one,) in cursor.fetchall()]
    if not ids:
        return
    back = list(Memory.objects.filter(id__in=ids).order_by("id"))
    record_all(
        "restore_memory",
        "memory",
        [
            Told(
                one.id,
                one.id,
                _WHY,
                before={
                    "lifecycle": Lifecycle.SUPERSEDED,
                    "superseded_by": wire_id(Prefix.MEMORY, loser.id),
                },
                after={"lifecycle": Lifecycle.LIVE},
            )
            for one in back
        ],
    )
    leave_to_the_judge(*back, again="given back", batch_id=batch_id)
