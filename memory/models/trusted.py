"""What tells whether a memory still holds: changes, marks, verifications, and what came before."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from memory.models.keys import (
    KEY,
    by_member,
    maybe_by_agent,
    maybe_by_member,
    maybe_memory,
    of_memory,
    of_project,
    of_tenant,
)
from memory.models.words import Door, SupersedeReason
from tenants.ids import new_id


class Change(models.Model):
    """Somebody saw the world move at a subject, or only spoke of it (a mention)."""

    class Kind(models.TextChoices):
        CHANGE = "change"
        MENTION = "mention"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    project = of_project()
    subject = models.TextField()
    summary = models.TextField()
    kind = models.TextField(choices=Kind.choices, default=Kind.CHANGE)
    whole_tree = models.BooleanField(default=False)
    source = models.JSONField(null=True)
    # The write that carried it, if one did.
    memory = maybe_memory()
    by_member = by_member()
    by_agent = maybe_by_agent()
    observed_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "changes"
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=("change", "mention")), name="change_kind_is_known"
            )
        ]
        indexes = [
            models.Index(fields=["tenant", "project", "-created_at"], name="changes_of_project")
        ]

    def __str__(self) -> str:
        return str(self.id)


class Cause(models.TextChoices):
    """What happened, to the world or to something that a memory depends on."""

    CHANGE = "change"
    SUPERSEDED = "superseded"
    CONFLICTED = "conflicted"
    EXPIRED = "expired"
    REJECTED = "rejected"
    RETIRED = "retired"


class Mark(models.Model):
    """
    A stored reason why a memory, or one of its components, may no longer apply.

    It holds no words: what changed is told by the change, to those who may read that.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("marks")
    component = models.ForeignKey("memory.Component", null=True, related_name="+", **KEY)
    cause = models.TextField(choices=Cause.choices)
    change = models.ForeignKey(Change, null=True, related_name="marks", **KEY)
    # What was superseded, disputed, rejected, retired by review, or has expired.
    cause_memory = maybe_memory()
    # The memories by which it came here, from the one that was hit first; none: it hit this one.
    path = ArrayField(models.UUIDField(), default=list)
    # Whether it hit what the memory itself says, and not what it depends on.
    direct = models.BooleanField()
    observed_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())
    cleared_at = models.DateTimeField(null=True)
    cleared_by = models.ForeignKey("memory.Verification", null=True, related_name="cleared", **KEY)

    class Meta:
        db_table = "marks"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "memory", "component", "cause", "change", "cause_memory"),
                condition=Q(cleared_at__isnull=True),
                nulls_distinct=False,
                name="memory_is_marked_already",
            ),
            models.CheckConstraint(
                condition=Q(cause__in=[cause.value for cause in Cause]), name="mark_cause_is_known"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "memory"], name="marks_of_memory"),
            models.Index(
                fields=["tenant", "change"],
                condition=Q(change__isnull=False),
                name="marks_by_change",
            ),
            models.Index(
                fields=["tenant", "cause_memory"],
                condition=Q(cause_memory__isnull=False, cleared_at__isnull=True),
                name="marks_by_memory",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Method(models.TextChoices):
    """How something was verified."""

    SELF = "self"
    COMMAND = "command"
    FILE = "file"
    API = "api"
    DOCUMENT = "document"
    PERSON = "person"
    EXTERNAL_RECHECK = "external_recheck"
    OTHER = "other"


class Outcome(models.TextChoices):
    """What a verification found."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


class Verification(models.Model):
    """A record of what was looked at, by whom, how, with what outcome, and when."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("verifications")
    # Of which components; none where the memory stated none, and all that it says was meant.
    subjects = ArrayField(models.TextField(), default=list)
    # Which value was seen, where the one component that was looked at has several.
    stated_value = models.TextField(null=True)
    outcome = models.TextField(choices=Outcome.choices)
    method = models.TextField(choices=Method.choices)
    observed_value = models.TextField(null=True)
    evidence = models.TextField(default="")
    by_member = by_member()
    by_agent = maybe_by_agent()
    level = models.IntegerField()
    # Whether it may clear marks (VE-06).
    weighs = models.BooleanField()
    observed_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "verifications"
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome__in=[one.value for one in Outcome]),
                name="verification_outcome_is_known",
            ),
            models.CheckConstraint(
                condition=Q(method__in=[one.value for one in Method]),
                name="verification_method_is_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "memory", "-observed_at"], name="verifications_of_memory"
            )
        ]

    def __str__(self) -> str:
        return f"{self.outcome} {self.id}"


class Corroboration(models.Model):
    """Somebody independent wrote the same; of each member it counts once."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("corroborations")
    by_member = by_member()
    by_memory = of_memory("+")
    # The sweep that found it, if one did: it is counted no more once that is undone.
    batch_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "corroborations"
        indexes = [
            models.Index(
                fields=["tenant", "batch_id"],
                condition=Q(batch_id__isnull=False),
                name="corroborations_by_batch",
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "memory", "by_member"), name="member_corroborates_already"
            ),
            models.CheckConstraint(
                condition=~Q(memory=F("by_memory")), name="nothing_corroborates_itself"
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Activation(models.Model):
    """How often a memory was recalled, and when last: it says nothing about whether it is true."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("activations")
    recalls = models.BigIntegerField(default=0)
    last_recalled_at = models.DateTimeField()

    class Meta:
        db_table = "activations"
        constraints = [
            models.UniqueConstraint(fields=("tenant", "memory"), name="memory_is_counted_already")
        ]

    def __str__(self) -> str:
        return str(self.id)


class Retirement(models.Model):
    """
    A time in which a memory was not live. A trigger writes it, whichever door the memory took.

    What recall at an earlier time would have given is told by these rows.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("retirements")
    door = models.TextField(choices=Door.choices)
    successor = maybe_memory()
    supersede_reason = models.TextField(choices=SupersedeReason.choices, null=True)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "retirements"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "memory"),
                condition=Q(ended_at__isnull=True),
                name="memory_is_retired_already",
            )
        ]
        indexes = [models.Index(fields=["tenant", "memory"], name="retirements_of_memory")]

    def __str__(self) -> str:
        return f"{self.door} {self.id}"


class Acceptance(models.Model):
    """A time in which a proposal counted as accepted, until it was undone. A trigger writes it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("acceptances")
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "acceptances"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "memory"),
                condition=Q(ended_at__isnull=True),
                name="memory_is_accepted_already",
            )
        ]
        indexes = [models.Index(fields=["tenant", "memory"], name="acceptances_of_memory")]

    def __str__(self) -> str:
        return str(self.id)


class DisputePeriod(models.Model):
    """A time in which a conflict was open. A trigger writes it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    conflict = models.ForeignKey("memory.Conflict", related_name="periods", **KEY)
    kind = models.TextField()
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "dispute_periods"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "conflict"),
                condition=Q(ended_at__isnull=True),
                name="conflict_is_open_already",
            )
        ]
        indexes = [models.Index(fields=["tenant", "conflict"], name="dispute_periods_of_conflict")]

    def __str__(self) -> str:
        return str(self.id)


class PushSource(models.Model):
    """
    Where pushes of a repository come from; each is a change at the subjects of its files.

    The secret that signs them is derived from SECRET_KEY and the version, and stored nowhere.
    """

    class Host(models.TextChoices):
        GITHUB = "github"
        GITLAB = "gitlab"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    project = of_project()
    name = models.TextField()
    host = models.TextField(choices=Host.choices)
    # In whose name changes are reported.
    member = by_member()
    branch = models.TextField(default="")
    secret_version = models.IntegerField(default=1)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now())
    last_push_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "push_sources"
        indexes = [models.Index(fields=["tenant", "project"], name="push_sources_of_project")]

    def __str__(self) -> str:
        return str(self.id)


class Signal(models.Model):
    """Somebody was misled by a memory, or says that it is wrong. A resolution weighs it once."""

    class Kind(models.TextChoices):
        CHALLENGE = "challenge"
        MISLED = "misled"
        JUDGED_MISLED = "judged_misled"
        RECHECK = "recheck"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("signals")
    kind = models.TextField(choices=Kind.choices)
    reason = models.TextField()
    query = models.TextField(default="")
    by_member = maybe_by_member()
    by_agent = maybe_by_agent()
    created_at = models.DateTimeField(db_default=Now())
    weighed_by = models.ForeignKey("memory.Conflict", null=True, related_name="signals", **KEY)

    class Meta:
        db_table = "signals"
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=("challenge", "misled", "judged_misled", "recheck")),
                name="signal_kind_is_known",
            )
        ]
        indexes = [
            models.Index(fields=["tenant", "memory", "-created_at"], name="signals_of_memory")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
