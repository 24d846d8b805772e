"""
Trust state: what may be said of a memory's standing, derived from stored facts and a time.

The first that applies: rejected, superseded, expired, conflicted, proposed, dirty; else verified.
Dirty takes having been verified, so what nobody ever vouched for is proposed, marked or not.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, TextChoices

from memory.conflict.disputes import conflicted_in_database, suspected_in_database
from memory.models import Door, Lifecycle, Mark, Memory
from memory.trust.expiry import rests_on_what_ended


class TrustState(TextChoices):
    PROPOSED = "proposed"
    VERIFIED = "verified"
    DIRTY = "dirty"
    CONFLICTED = "conflicted"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Facts:
    """
    What the state is derived from.

    :param door: by which it is out of use, if it is
    :param valid_until: its declared end
    :param conflicted: somebody says, in an open dispute, that it is not so
    :param verified: somebody has vouched for all that it says
    :param doubted: it has an open mark, or is suspected of being out of date
    """

    door: str | None
    valid_until: datetime | None
    conflicted: bool
    verified: bool
    doubted: bool


def state_of(facts: Facts, at: datetime) -> TrustState:
    """Return the state at a time."""
    if facts.door == Door.REJECTED:
        return TrustState.REJECTED
    if facts.door == Door.SUPERSEDED:
        return TrustState.SUPERSEDED
    if facts.valid_until is not None and facts.valid_until <= at:
        return TrustState.EXPIRED
    if facts.conflicted:
        return TrustState.CONFLICTED
    if not facts.verified:
        return TrustState.PROPOSED
    return TrustState.DIRTY if facts.doubted else TrustState.VERIFIED


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
    conflicted = Q(conflicted_in_database())
    undisputed = unrejected & ~superseded & unexpired & ~conflicted
    verified, doubted = _verified(), _doubted(now)
    conditions = {
        TrustState.REJECTED: rejected,
        TrustState.SUPERSEDED: unrejected & superseded,
        TrustState.EXPIRED: unrejected & ~superseded & expired,
        TrustState.CONFLICTED: unrejected & ~superseded & unexpired & conflicted,
        TrustState.PROPOSED: undisputed & ~verified,
        TrustState.DIRTY: undisputed & doubted & verified,
        TrustState.VERIFIED: undisputed & ~doubted & verified,
    }
    return conditions[TrustState(state)]


def in_use(now: datetime) -> Q:
    """Return the condition for live memories that are either verified or dirty."""
    unexpired = Q(valid_until__isnull=True) | Q(valid_until__gt=now)
    return unexpired & ~Q(conflicted_in_database()) & _verified()


def _verified() -> Q:
    """Return whether somebody has vouched for all of it."""
    lifted = Func(F("id"), function="is_lifted", output_field=BooleanField())
    # What is written deliberately is vouched for, and the database need not look any further.
    return Q(provenance_rank__gt=0) | Q(accepted_at__isnull=False) | Q(lifted)


def _doubted(now: datetime) -> Q:
    """Return whether the world has moved, or people were misled by it."""
    marked = Exists(Mark.objects.filter(memory=OuterRef("id"), cleared_at=None))
    return Q(marked) | Q(suspected_in_database()) | rests_on_what_ended(now)
