"""What is done later for a memory."""

from datetime import timedelta

from django.utils import timezone

from memory.conflict.act import BEGIN_MEMORY
from memory.conflict.beginning import begin, has_begun
from memory.conflict.left_to_the_judge import JUDGE_MEMORY, batch_of
from memory.exchange.carrying_out import do_transfer
from memory.finding.embedding import EmbedderDown, embed
from memory.models import Memory
from memory.store import EMBED_MEMORY, store_embedding
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.jobs import JobInHand, NotNow, Obsolete, finishing, job_kind, leave_job

# The worker looks for kinds of jobs here.
__all__ = ["begin_memory", "do_transfer", "embed_memory"]

EMBEDDER_RETRY = timedelta(seconds=30)
BEGINNING_RETRY = timedelta(seconds=1)


@job_kind(EMBED_MEMORY)
def embed_memory(caller: Caller, job: JobInHand) -> None:
    """
    Embed a memory that was written while the embedder was down, and have it judged then.

    :raises NotNow: if it still is
    """
    with acting_as(caller):
        memory = Memory.objects.filter(id__in=[job.subject_id]).first()
    try:
        vector = None if memory is None else embed(memory.content)
    except EmbedderDown:
        raise NotNow("the embedder is down", after=EMBEDDER_RETRY) from None
    with finishing(caller, job) as done:
        if memory is not None and vector is not None:
            store_embedding(memory, vector)
            leave_job(JUDGE_MEMORY, dedup_key=str(memory.id), subject_id=memory.id)
        done({"embedded": memory is not None})


@job_kind(BEGIN_MEMORY)
def begin_memory(caller: Caller, job: JobInHand) -> None:
    """
    Have a memory that has begun to hold take the place of what ended with it.

    :raises Obsolete: if it is not live any more
    :raises NotNow: if its beginning has not come
    """
    with acting_as(caller):
        memory = Memory.objects.filter(id__in=[job.subject_id], invalidated_at=None).first()
        if memory is None:
            raise Obsolete("the memory is not live any more")
        if not has_begun(memory):
            wait = (memory.valid_from or timezone.now()) - timezone.now()
            raise NotNow("it has yet to begin", after=max(wait, BEGINNING_RETRY))
    with finishing(caller, job) as done:
        done({"conflicts": len(begin(memory, batch_id=batch_of(job)))})
