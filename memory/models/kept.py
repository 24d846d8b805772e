"""What is remembered, and how one memory hangs on another."""

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now
from pgvector.django import HalfVectorField

from memory.models.keys import maybe_by_agent, of_memory, of_tenant
from memory.models.words import (
    LOOP_KINDS,
    PROTECTED_KINDS,
    Door,
    Kind,
    LinkType,
    SupersedeReason,
    Visibility,
)
from tenants.ids import new_id
from tenants.models import Member, Project


class Memory(models.Model):
    """
    A text that somebody found worth keeping, as it was written.

    The content never changes: no role of the application may update it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    # The server's own order of writing; keys.sql makes it an identity column.
    sequence = models.BigIntegerField(db_default=0)
    owner = models.ForeignKey(
        Member, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    # The author is this agent, or else the owner.
    author_agent = maybe_by_agent()
    author_level = models.IntegerField()
    provenance_rank = models.SmallIntegerField()
    project = models.ForeignKey(
        Project,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    visibility = models.TextField(choices=Visibility.choices)
    kind = models.TextField(choices=Kind.choices)
    content = models.TextField()
    # SHA-256 of the text with white space folded: equal for exact repeats.
    text_key = models.BinaryField()
    words = SearchVectorField()
    subjects = ArrayField(models.TextField(), default=list)
    tags = ArrayField(models.TextField(), default=list)
    importance = models.FloatField(default=0.5)
    session = models.TextField(null=True)
    source = models.JSONField(null=True)
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    # Whose beginning is its end, and since when that is said; without them the end is its own.
    ends_with = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    end_set_at = models.DateTimeField(null=True)
    # What depends on it was told that its end has passed.
    end_is_told = models.BooleanField(default=False, db_default=False)
    review_after = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    # When it was asserted where it was brought in from, as the file tells: it makes nothing win.
    asserted_at = models.DateTimeField(null=True)
    version = models.IntegerField(default=1)
    accepted_at = models.DateTimeField(null=True)
    invalidated_at = models.DateTimeField(null=True)
    invalidated_reason = models.TextField(choices=Door.choices, null=True)
    superseded_by = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    superseded_at = models.DateTimeField(null=True)
    supersede_reason = models.TextField(choices=SupersedeReason.choices, null=True)
    # A person brought it back, so no automation may take it away again.
    restored_by_person_at = models.DateTimeField(null=True)
    lifecycle = models.GeneratedField(
        expression=Case(
            When(superseded_by__isnull=False, then=Value("superseded")),
            When(invalidated_at__isnull=False, then=Value("retired")),
            default=Value("live"),
        ),
        output_field=models.TextField(),
        db_persist=True,
    )

    class Meta:
        db_table = "memories"
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in Kind]), name="memory_kind_is_known"
            ),
            models.CheckConstraint(
                condition=Q(visibility__in=("private", "tenant"))
                | Q(visibility="project", project__isnull=False),
                name="memory_of_a_project_has_one",
            ),
            models.CheckConstraint(
                condition=Q(provenance_rank__in=(0, 1, 2)), name="memory_rank_is_known"
            ),
            models.CheckConstraint(
                condition=Q(importance__gte=0, importance__lte=1),
                name="memory_importance_is_a_share",
            ),
            models.CheckConstraint(
                condition=Q(invalidated_at__isnull=True, invalidated_reason__isnull=True)
                | Q(
                    invalidated_at__isnull=False,
                    invalidated_reason__in=[door.value for door in Door],
                ),
                name="memory_is_retired_for_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(
                    superseded_by__isnull=True,
                    superseded_at__isnull=True,
                    supersede_reason__isnull=True,
                )
                | Q(
                    superseded_by__isnull=False,
                    superseded_at__isnull=False,
                    invalidated_reason="superseded",
                    supersede_reason__in=[reason.value for reason in SupersedeReason],
                ),
                name="memory_is_superseded_wholly",
            ),
            models.CheckConstraint(
                condition=~Q(superseded_by=F("id")), name="memory_does_not_supersede_itself"
            ),
        ]
        indexes = [
            GinIndex(fields=["tenant", "words"], name="memories_by_word"),
            models.Index(fields=["tenant", "owner", "text_key"], name="memories_by_text"),
            models.Index(fields=["tenant", "-sequence"], name="memories_in_order"),
            models.Index(fields=["tenant", "project", "-sequence"], name="memories_of_project"),
            models.Index(
                fields=["tenant", "superseded_by"],
                condition=Q(superseded_by__isnull=False),
                name="memories_by_successor",
            ),
            models.Index(
                fields=["tenant", "ends_with"],
                condition=Q(ends_with__isnull=False),
                name="memories_that_end_with",
            ),
            models.Index(
                fields=["valid_until"],
                condition=Q(
                    valid_until__isnull=False, invalidated_at__isnull=True, end_is_told=False
                ),
                name="memories_that_end",
            ),
        ]

    def __str__(self) -> str:
        # Never the content: this ends in logs and in tables outside the tenant's.
        return f"{self.kind} {self.id}"

    @property
    def said_at(self) -> datetime:
        """When it was asserted: here, or where it was brought in from."""
        return self.asserted_at or self.created_at

    @property
    def rank(self) -> int:
        """Its provenance rank; what a reviewer has accepted counts as written deliberately."""
        return max(self.provenance_rank, 1) if self.accepted_at else self.provenance_rank

    @property
    def is_protected(self) -> bool:
        """Whether no machine may retire it."""
        return self.kind in PROTECTED_KINDS and self.rank >= 1

    @property
    def is_loop(self) -> bool:
        return self.kind in LOOP_KINDS


class Link(models.Model):
    """An edge from one memory to another; taken away, it stays in the history."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    src = of_memory("links_out")
    dst = of_memory("links_in")
    type = models.TextField(choices=LinkType.choices)
    # The sweep or bulk resolution that drew it, if one did.
    batch_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "links"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "src", "dst", "type"),
                condition=Q(removed_at__isnull=True),
                name="link_exists_already",
            ),
            models.CheckConstraint(
                condition=Q(type__in=[kind.value for kind in LinkType]), name="link_type_is_known"
            ),
            models.CheckConstraint(condition=~Q(src=F("dst")), name="link_has_two_ends"),
        ]
        indexes = [
            models.Index(fields=["tenant", "dst"], name="links_by_target"),
            models.Index(
                fields=["tenant", "batch_id"],
                condition=Q(batch_id__isnull=False),
                name="links_of_batch",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"


class Component(models.Model):
    """One checkable statement inside a memory: a subject and, often, its value."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("components")
    subject = models.TextField()
    value = models.TextField(null=True)
    multi = models.BooleanField(default=False)
    # Read out of the text by a pattern; it counts for nothing but candidates until accepted.
    suggested = models.BooleanField(default=False)
    # When it was; a trigger writes it. What was stated with the write has none.
    accepted_at = models.DateTimeField(null=True)
    dismissed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "components"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "memory", "subject", "value"),
                nulls_distinct=False,
                name="component_is_stated_already",
            )
        ]
        indexes = [
            models.Index(fields=["tenant", "subject"], name="components_by_subject"),
            models.Index(
                fields=["tenant", "subject"],
                condition=Q(multi=True),
                name="components_of_several_values",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Dependency(models.Model):
    """What a memory relies on: another memory, or a subject."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("dependencies")
    on_memory = models.ForeignKey(
        Memory,
        null=True,
        on_delete=models.PROTECT,
        related_name="dependents",
        db_constraint=False,
        db_index=False,
    )
    on_subject = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "dependencies"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "memory", "on_memory", "on_subject"),
                nulls_distinct=False,
                name="dependency_is_stated_already",
            ),
            models.CheckConstraint(
                condition=Q(on_memory__isnull=True, on_subject__isnull=False)
                | Q(on_memory__isnull=False, on_subject__isnull=True),
                name="dependency_is_on_one_thing",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "on_memory"], name="dependencies_on_memory"),
            models.Index(fields=["tenant", "on_subject"], name="dependencies_on_subject"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Embedding(models.Model):
    """
    A memory's place in one embedder's space.

    Everything beside the vector is the memory's own, copied by a trigger so that the nearest can be
    sought among what somebody may see without a join.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = of_tenant()
    memory = of_memory("embeddings")
    space = models.TextField()
    vector = HalfVectorField()
    owner_id = models.UUIDField()
    project_id = models.UUIDField(null=True)
    visibility = models.TextField()
    kind = models.TextField()
    lifecycle = models.TextField()
    valid_until = models.DateTimeField(null=True)

    class Meta:
        db_table = "embeddings"
        constraints = [
            models.UniqueConstraint(
                fields=("tenant", "space", "memory"), name="memory_is_embedded_already"
            )
        ]

    def __str__(self) -> str:
        return str(self.id)
