"""Waiting for the judge, for a writer who would rather know at once."""

import time
from uuid import UUID

from django.db.models import Q

from memory.conflict.record import conflict_wire
from memory.models import Conflict
from memory.reading import told
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.jobs import claim, run_job
from tenants.models import Job
from tenants.once import Answer

LOOKED_EVERY = 0.1  # seconds
OPEN = (Job.State.QUEUED, Job.State.RUNNING)


def judged_within(caller: Caller, memory_id: UUID, job_id: UUID, seconds: int) -> Answer:
    """
    Have a memory judged now, or wait for who does it, and return what a write's answer then says.

    Outside the door. When the time is over, judging goes on without us.
    """
    job = claim(job_id)
    if job is not None:
        run_job(job)
    deadline = time.monotonic() + seconds
    state = _state(caller, job_id)
    while state in OPEN and time.monotonic() < deadline:
        time.sleep(LOOKED_EVERY)
        state = _state(caller, job_id)
    with acting_as(caller):
        found = Conflict.objects.filter(Q(memory_a=memory_id) | Q(memory_b=memory_id))
        return {
            "memory": told(memory_id),
            "conflicts": [conflict_wire(one) for one in found.order_by("created_at", "id")],
            "judging": "queued" if state in OPEN else "done",
        }


def _state(caller: Caller, job_id: UUID) -> str:
    with acting_as(caller):
        return Job.objects.values_list("state", flat=True).get(id=job_id)
