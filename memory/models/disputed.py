"""What is in conflict, what was decided about it, and what speaks against a memory."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from memory.conflict.policy import ConflictKind, Resolution
from memory.models.keys import maybe_by_agent, maybe_by_member, maybe_memory, of_memory, of_tenant
from tenants.ids import new_id


class SettledPair(models.Model):
    """Two memories between which somebody has decided: no automation touches the pair again."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    # The smaller id first, so that a pair is one row whichever way round it is met.
    low = of_memory("+")
    high = of_memory("+")
    why = models.TextField()
    settled_at = models.DateTimeField(db_default=Now())
    # Whoever decided it took that back.
    reopened_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "settled_pairs"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "low", "high"),
                condition=Q(reopened_at__isnull=True),
                name="pair_is_settled_already",
            ),
            models.CheckConstraint(condition=Q(low__lt=F("high")), name="pair_has_an_order"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class ConflictState(models.TextChoices):
    """Whether it still waits for somebody."""

    PENDING = "pending"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"
    MOOT = "moot"


class Conflict(models.Model):
    """
    Two memories that disagree, or one that is disputed; a dispute as long as it is pending.

    There is one record for a pair, however often it is looked at.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    # The one that came in, and the one that was there; a single-subject dispute has no second.
    memory_a = of_memory("+")
    memory_b = maybe_memory()
    # The pair in one order, so that it is found whichever way round it is met.
    low_id = models.UUIDField()
    high_id = models.UUIDField()
    kind = models.TextField(choices=[(kind.value, kind.value) for kind in ConflictKind])
    state = models.TextField(choices=ConflictState.choices, default=ConflictState.PENDING)
    resolution = models.TextField(choices=[(one.value, one.value) for one in Resolution], null=True)
    winner = maybe_memory()
    recommended_winner = maybe_memory()
    level_a = models.IntegerField()
    level_b = models.IntegerField(null=True)
    via = models.TextField()
    # Which row of the policy's table decided, and what would be lost with the loser.
    row = models.TextField()
    missing_specifics = ArrayField(models.TextField(), default=list)
    verdict = models.JSONField(null=True)
    reason = models.TextField(default="")
    evidence = models.TextField(default="")
    note = models.TextField(default="")
    batch_id = models.UUIDField(null=True)
    raised_by_member = maybe_by_member()
    raised_by_agent = maybe_by_agent()
    # Unset while the policy resolved it.
    resolved_by_member = maybe_by_member()
    resolved_by_agent = maybe_by_agent()
    created_at = models.DateTimeField(db_default=Now())
    resolved_at = models.DateTimeField(null=True)
    deferred_until = models.DateTimeField(null=True)
    assigned_to = maybe_by_member()

    class Meta:
        db_table = "conflicts"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "low_id", "high_id"),
                condition=Q(memory_b__isnull=False),
                name="pair_is_in_conflict_already",
            ),
            models.UniqueConstraint(
                fields=("tenant", "memory_a"),
                condition=Q(memory_b__isnull=True, state="pending"),
                name="memory_is_disputed_already",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "state", "-created_at"], name="conflicts_by_state"),
            models.Index(fields=["tenant", "memory_a"], name="conflicts_of_a"),
            models.Index(fields=["tenant", "memory_b"], name="conflicts_of_b"),
            models.Index(
                fields=["tenant", "batch_id"],
                condition=Q(batch_id__isnull=False),
                name="conflicts_of_batch",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
