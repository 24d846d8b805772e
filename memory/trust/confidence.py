"""Evidence confidence: how safe it is to rely on a memory, from stored rows alone."""

from memory.models import Memory

# A capture that nobody vouched for, and a text whose author vouches for it.
UNATTESTED = 0.2
SELF_ATTESTED = 0.5


def evidence_confidence(memory: Memory) -> float:
    """Return it, in [0, 1]. Reads, importance and age have no part in it."""
    vouched_for = memory.provenance_rank >= 1 or memory.accepted_at is not None
    return SELF_ATTESTED if vouched_for else UNATTESTED
