"""What was judged, which judges may act, and how far a sweep has come."""

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now

from memory.models import Memory, Signal
from tenants.ids import new_id
from tenants.models import Member, Project, Tenant


def _tenant() -> "models.ForeignKey[Tenant, Tenant]":
    return models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)


class Judgement(models.Model):
    """A verdict on a pair. Contents never change, so a judge is asked about it only once."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    # The older and the newer by the server's order of writing.
    older = models.ForeignKey(
        Memory, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    newer = models.ForeignKey(
        Memory, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    older_version = models.IntegerField()
    newer_version = models.IntegerField()
    judge = models.TextField()
    prompt_version = models.TextField()
    # One of the judge's words, or "unusable"; "unanswered": there is none yet, it is asked again.
    relation = models.TextField()
    confidence = models.FloatField()
    reasoning = models.TextField()
    shared_subject = models.TextField()
    missing_specifics = models.JSONField(default=list)
    # What was done; "waiting": nothing yet, because the others on its memory are not all in.
    deed = models.TextField()
    # How often the judge has left it unanswered, though it answered other questions.
    tries = models.IntegerField(db_default=0)
    tokens_in = models.IntegerField(default=0)
    tokens_out = models.IntegerField(default=0)
    latency_ms = models.IntegerField(default=0)
    # The sweep in which it was said, if it was said in one.
    batch_id = models.UUIDField(null=True)
    judged_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "judgements"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "older", "newer", "judge", "prompt_version"),
                name="pair_is_judged_already",
            )
        ]
        indexes = [
            models.Index(fields=["tenant", "-judged_at"], name="judgements_by_time"),
            models.Index(
                fields=["tenant", "batch_id"],
                condition=Q(batch_id__isnull=False),
                name="judgements_by_batch",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.relation} {self.id}"


class PairInHand(models.Model):
    """A pair about which a job asks a judge at this moment, so that no other job asks as well."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    low_id = models.UUIDField()
    high_id = models.UUIDField()
    judge = models.TextField()
    prompt_version = models.TextField()
    # Whose it is as long as the job has this lease.
    job_id = models.UUIDField()
    lease = models.UUIDField()

    class Meta:
        db_table = "pairs_in_hand"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "low_id", "high_id", "judge", "prompt_version"),
                name="pair_is_in_hand_already",
            )
        ]

    def __str__(self) -> str:
        return str(self.id)


class SpentInVain(models.Model):
    """Tokens of a question to which no answer came: the judge went down in the middle of it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    judge = models.TextField()
    tokens_in = models.IntegerField()
    tokens_out = models.IntegerField()
    spent_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "spent_in_vain"
        indexes = [models.Index(fields=["tenant", "-spent_at"], name="spent_in_vain_by_time")]

    def __str__(self) -> str:
        return str(self.id)


class Attribution(models.Model):
    """What a judge said of a report that a memory misled: of each report once."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    report = models.ForeignKey(
        Signal, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    memory_version = models.IntegerField()
    judge = models.TextField()
    prompt_version = models.TextField()
    # One of the judge's words, or "unusable".
    blame = models.TextField()
    confidence = models.FloatField()
    reasoning = models.TextField()
    # Whether it left a signal.
    counted = models.BooleanField()
    tokens_in = models.IntegerField(default=0)
    tokens_out = models.IntegerField(default=0)
    latency_ms = models.IntegerField(default=0)
    judged_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "attributions"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "report"), name="report_is_attributed_already"
            )
        ]
        indexes = [models.Index(fields=["tenant", "-judged_at"], name="attributions_by_time")]

    def __str__(self) -> str:
        return f"{self.blame} {self.id}"


class Certificate(models.Model):
    """A judge may act in a tenant: it passed the self-test, or somebody vouched for it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    judge = models.TextField()
    prompt_version = models.TextField()
    # Which server and which instructions it was given for; empty, if that was not kept yet.
    likeness = models.TextField(default="", db_default="")
    passed = models.BooleanField()
    reason = models.TextField()
    report = models.JSONField(default=dict)
    given_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "certificates"
        indexes = [
            models.Index(
                fields=["tenant", "judge", "prompt_version", "-given_at"],
                name="certificates_newest",
            )
        ]

    def __str__(self) -> str:
        return f"{self.judge} {self.prompt_version}"


class Sweep(models.Model):
    """
    A walk through what has changed since the last one, resumable at any memory.

    Its id is also that of the batch of everything it does.
    """

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    member = models.ForeignKey(
        Member, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    project = models.ForeignKey(
        Project,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    judge = models.TextField()
    prompt_version = models.TextField()
    state = models.TextField(choices=State.choices, default=State.RUNNING)
    # Memories in the order of writing: those from here on, up to there, and these before.
    since = models.BigIntegerField(default=0)
    # In order: sequences of those that have more neighbours than an earlier sweep has compared.
    again = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    reached = models.BigIntegerField(default=0)
    until = models.BigIntegerField()
    most = models.IntegerField(null=True)
    memories = models.IntegerField(default=0)
    of_memories = models.IntegerField(default=0)
    pairs = models.IntegerField(default=0)
    skipped = models.IntegerField(default=0)
    actions = models.IntegerField(default=0)
    disputes = models.IntegerField(default=0)
    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "sweeps"
        indexes = [models.Index(fields=["tenant", "-started_at"], name="sweeps_by_time")]

    def __str__(self) -> str:
        return f"{self.state} {self.id}"
