"""Tenants, the people and agents in them, what they hold in hand, and what was done."""

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from guardian.models import UserObjectPermissionBase

from tenants.ids import new_id

DEFAULT_LEVELS = {"Contractor": 10, "Member": 20, "Senior": 30, "Lead": 40, "Principal": 50}


def default_levels() -> dict[str, int]:
    """Return the clearance levels that a tenant starts with."""
    return dict(DEFAULT_LEVELS)


class CurrentTenant(models.Func):
    """The tenant of the open door, as the database knows it."""

    function = "current_tenant"
    arity = 0
    output_field = models.UUIDField()


class User(AbstractUser):
    """A log-in: global, and nothing of any tenant stands in it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)

    class Meta:
        db_table = "users"

    def __str__(self) -> str:
        return str(self.username)


class Tenant(models.Model):
    """An organisation; the outermost wall."""

    class State(models.TextChoices):
        ACTIVE = "active"
        SUSPENDED = "suspended"
        DELETING = "deleting"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(max_length=63, unique=True)
    name = models.TextField()
    state = models.TextField(choices=State.choices, default=State.ACTIVE)
    # The ordered clearance levels by name; gaps leave room for more.
    levels = models.JSONField(default=default_levels)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "tenants"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=("active", "suspended", "deleting")),
                name="tenant_state_is_known",
            )
        ]

    def __str__(self) -> str:
        return self.slug


def _tenant() -> "models.ForeignKey[Tenant, Tenant]":
    return models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)


class Project(models.Model):
    """A body of work inside a tenant."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    slug = models.SlugField(max_length=63)
    name = models.TextField()
    archived_at = models.DateTimeField(null=True)
    # After how many days what was verified is to be looked at again, by kind of memory; none by
    # itself: age alone says nothing.
    review_intervals = models.JSONField(default=dict)
    # Which subject changed when a file did: [{"pattern": "deploy/**", "subject": "deployment"}].
    path_subjects = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "projects"
        default_permissions = ()
        permissions = [
            ("see_project", "May see the project"),
            ("write_project", "May write in the project"),
            ("review_project", "May review the project"),
        ]
        constraints = [
            models.UniqueConstraint(fields=("tenant", "slug"), name="project_slug_is_taken")
        ]

    def __str__(self) -> str:
        return self.slug


class ProjectPermission(UserObjectPermissionBase):
    """
    Guardian's row: this person may do that in this project.

    The policies read the same rows, so there is one truth about who may see what.
    """

    tenant = models.ForeignKey(
        Tenant,
        on_delete=models.PROTECT,
        related_name="+",
        db_default=CurrentTenant(),
        db_index=False,
    )
    content_object = models.ForeignKey(Project, on_delete=models.CASCADE, db_constraint=False)

    class Meta(UserObjectPermissionBase.Meta):
        db_table = "project_permissions"
        indexes = [models.Index(fields=("tenant", "user"), name="project_permissions_of_user")]

    def __str__(self) -> str:
        return str(self.pk)


class Member(models.Model):
    """A user's seat in a tenant: what the person administers, and how much their word counts."""

    class SeatRole(models.TextChoices):
        ADMIN = "admin"
        MEMBER = "member"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="seats")
    username = models.TextField()
    name = models.TextField()
    role = models.TextField(choices=SeatRole.choices, default=SeatRole.MEMBER)
    level = models.IntegerField(default=0)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "members"
        constraints = [
            models.UniqueConstraint(fields=("tenant", "user"), name="member_has_a_seat_already"),
            models.CheckConstraint(
                condition=models.Q(role__in=("admin", "member")), name="member_role_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(level__gte=0), name="member_level_is_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Agent(models.Model):
    """A principal that is no person: bound to one project, sponsored by a member."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="agents", db_constraint=False
    )
    sponsor = models.ForeignKey(
        Member, on_delete=models.PROTECT, related_name="agents", db_constraint=False
    )
    name = models.TextField()
    level = models.IntegerField(default=0)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "agents"
        constraints = [
            models.UniqueConstraint(fields=("tenant", "name"), name="agent_name_is_taken"),
            models.CheckConstraint(
                condition=models.Q(level__gte=0), name="agent_level_is_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Token(models.Model):
    """What a principal shows to be let in; only its hash is kept."""

    class Kind(models.TextChoices):
        HUMAN = "human"
        AGENT = "agent"
        WATCHER = "watcher"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    name = models.TextField()
    kind = models.TextField(choices=Kind.choices)
    member = models.ForeignKey(
        Member, null=True, on_delete=models.PROTECT, related_name="tokens", db_constraint=False
    )
    agent = models.ForeignKey(
        Agent, null=True, on_delete=models.PROTECT, related_name="tokens", db_constraint=False
    )
    # Confined to this project; an agent's token is by the agent.
    project = models.ForeignKey(
        Project, null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False
    )
    personal = models.BooleanField(default=False)
    scopes = ArrayField(models.TextField())
    digest = models.BinaryField(unique=True)
    last_four = models.TextField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    rotated_to = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "tokens"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind="human", member__isnull=False, agent__isnull=True)
                | models.Q(kind__in=("agent", "watcher"), member__isnull=True, agent__isnull=False),
                name="token_has_one_principal_of_its_kind",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} (…{self.last_four})"


class Event(models.Model):
    """One change of state: who, with what, why, before and after. Only ever added."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    sequence = models.BigIntegerField(db_default=0)
    at = models.DateTimeField(db_default=Now())
    command = models.TextField()
    object_type = models.TextField()
    object_id = models.UUIDField()
    # The memory that the event tells of; whoever may read it may read the event.
    memory_id = models.UUIDField(null=True)
    member = models.ForeignKey(
        Member, null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False
    )
    agent = models.ForeignKey(
        Agent, null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False
    )
    token_id = models.UUIDField(null=True)
    request_id = models.TextField()
    reason = models.TextField()
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        db_table = "events"

    def __str__(self) -> str:
        return f"{self.command} {self.object_id}"


class IdempotencyKey(models.Model):
    """A request that was answered, so that sending it again has no second effect."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    principal_id = models.UUIDField()
    endpoint = models.TextField()
    key = models.TextField()
    fingerprint = models.BinaryField()
    status = models.IntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "idempotency_keys"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "principal_id", "endpoint", "key"), name="idempotency_key_is_used"
            )
        ]

    def __str__(self) -> str:
        return str(self.id)


class Job(models.Model):
    """
    Work to be done later, written in the transaction that causes it.

    The row is the truth; a message on a broker only wakes somebody up.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        OBSOLETE = "obsolete"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = _tenant()
    kind = models.TextField()
    subject_id = models.UUIDField(null=True)
    dedup_key = models.TextField()
    # Whose sight the work is done in.
    member = models.ForeignKey(
        Member, null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False
    )
    arguments = models.JSONField(default=dict)
    state = models.TextField(choices=State.choices, default=State.QUEUED)
    attempts = models.IntegerField(default=0)
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    run_after = models.DateTimeField(db_default=Now())
    last_error = models.TextField(default="")
    result = models.JSONField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "jobs"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "kind", "dedup_key"),
                condition=models.Q(state__in=("queued", "running")),
                name="job_is_open_already",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=("queued", "running", "done", "failed", "obsolete")),
                name="job_state_is_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=("run_after",),
                condition=models.Q(state__in=("queued", "running")),
                name="open_jobs_by_time",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
