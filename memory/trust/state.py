"""
Trust state: what may be said of a memory's standing, derived from stored facts and a time.

The first that applies: rejected, superseded, expired, conflicted, proposed; else verified.
"""

from datetime import datetime

from django.db.models import Q, TextChoices

from memory.conflict.disputes import conflicted_in_database
from memory.models import Door, Lifecycle, Memory


class TrustState(TextChoices):
    PROPOSED = "proposed"
    VERIFIED = "verified"
    DIRTY = "dirty"
    CONFLICTED = "conflicted"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    REJECTED = "rejected"


def trust_state(memory: Memory, now: datetime, *, conflicted: bool) -> TrustState:
    """
    Return the state at this time.

    :param conflicted: whether somebody says, in an open dispute, that it is not so
    """
    if memory.invalidated_reason == Door.REJECTED:
        return TrustState.REJECTED
    if memory.lifecycle == Lifecycle.SUPERSEDED:
        return TrustState.SUPERSEDED
    if has_expired(memory, now):
        return TrustState.EXPIRED
    if conflicted:
        return TrustState.CONFLICTED
    if memory.provenance_rank == 0 and memory.accepted_at is None:
        return TrustState.PROPOSED
    return TrustState.VERIFIED


def has_expired(memory: Memory, now: datetime) -> bool:
    """Return whether its declared end has passed."""
    return memory.valid_until is not None and memory.valid_until <= now


def lifecycle(memory: Memory, now: datetime) -> Lifecycle:
    """Return whether it counts as current: what has expired does not."""
    if memory.lifecycle == Lifecycle.LIVE and has_expired(memory, now):
        return Lifecycle.RETIRED
    return Lifecycle(memory.lifecycle)


def in_state(state: str, now: datetime) -> Q:
    """Return the condition for memories in this state: the same table, for the database."""
    rejected = Q(invalidated_reason=Door.REJECTED)
    superseded = Q(lifecycle=Lifecycle.SUPERSEDED)
    # Written so that an unset end counts as "not passed" instead of as unknown.
    expired = Q(valid_until__isnull=False, valid_until__lte=now)
    unexpired = Q(valid_until__isnull=True) | Q(valid_until__gt=now)
    unrejected = Q(invalidated_reason__isnull=True) | ~rejected
    current = unrejected & ~superseded & unexpired
    conflicted = Q(conflicted_in_database())
    proposed = Q(provenance_rank=0, accepted_at__isnull=True)
    conditions = {
        TrustState.REJECTED: rejected,
        TrustState.SUPERSEDED: unrejected & superseded,
        TrustState.EXPIRED: unrejected & ~superseded & expired,
        TrustState.CONFLICTED: current & conflicted,
        TrustState.PROPOSED: current & ~conflicted & proposed,
        TrustState.VERIFIED: current & ~conflicted & ~proposed,
    }
    return conditions.get(TrustState(state), Q(pk__in=[]))


def last_verified_at(memory: Memory) -> datetime | None:
    """
    Return when it was last vouched for.

    Writing it deliberately is vouching for it; a capture vouches for nothing.
    """
    if memory.provenance_rank >= 1:
        return memory.created_at
    return memory.accepted_at
