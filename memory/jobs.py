"""What is done later for a memory."""

from datetime import timedelta

from memory.conflict.on_write import JUDGE_MEMORY
from memory.exchange.transfer import do_transfer
from memory.finding.embedding import EmbedderDown, embed
from memory.models import Memory
from memory.store import EMBED_MEMORY, store_embedding
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.jobs import JobInHand, NotNow, finishing, job_kind, leave_job

# The worker looks for kinds of jobs here.
__all__ = ["do_transfer", "embed_memory"]

EMBEDDER_RETRY = timedelta(seconds=30)


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
