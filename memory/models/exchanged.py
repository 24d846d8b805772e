"""What is brought in and taken out as a whole."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memory.models.keys import KEY, by_member, of_tenant
from tenants.ids import new_id
from tenants.models import Project


class Transfer(models.Model):
    """An import or an export, and how far it has come. Its content is its member's alone."""

    class Direction(models.TextChoices):
        IMPORT = "import"
        EXPORT = "export"

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    member = by_member()
    direction = models.TextField(choices=Direction.choices)
    format = models.TextField()
    # Where an import goes, and of what an export is made; none: personal, or all in sight.
    project = models.ForeignKey(Project, null=True, related_name="+", **KEY)
    state = models.TextField(choices=State.choices, default=State.RUNNING)
    # What is imported, or was exported: [{"path": ..., "content": ...}].
    files = models.JSONField(default=list)
    # Under which id each thing of the file was stored, by its id there.
    stored = models.JSONField(default=dict)
    total = models.IntegerField(default=0)
    done = models.IntegerField(default=0)
    counts = models.JSONField(default=dict)
    problem = models.TextField(default="")
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "transfers"
        constraints = [
            models.CheckConstraint(
                condition=Q(direction__in=("import", "export")), name="transfer_direction_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=("running", "done", "failed")), name="transfer_state_is_known"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "member", "-created_at"], name="transfers_of_member")
        ]

    def __str__(self) -> str:
        return f"{self.direction} {self.id}"
