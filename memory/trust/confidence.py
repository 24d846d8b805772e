"""Evidence confidence: how safe it is to rely on a memory, from stored rows alone."""

from memory.models import Memory

# A capture that nobody vouched for, and a text whose author vouches for it.
UNATTESTED = 0.2
SELF_ATTESTED = 0.5
WHILE_CONFLICTED = 0.4


def evidence_confidence(memory: Memory, *, conflicted: bool) -> float:
    """Return it, in [0, 1]; reads, importance and age have no part in it."""
    vouched_for = memory.provenance_rank >= 1 or memory.accepted_at is not None
    confidence = SELF_ATTESTED if vouched_for else UNATTESTED
    return min(confidence, WHILE_CONFLICTED) if conflicted else confidence
