"""The words that rows about memories use."""

from django.db import models


class Kind(models.TextChoices):
    """What sort of knowledge it is."""

    FACT = "fact"
    REFERENCE = "reference"
    EPISODE = "episode"
    GOTCHA = "gotcha"
    CONVENTION = "convention"
    DECISION = "decision"
    PREFERENCE = "preference"
    PROCEDURE = "procedure"
    TASK = "task"
    OPEN_QUESTION = "open_question"


PROTECTED_KINDS = frozenset({Kind.GOTCHA, Kind.CONVENTION, Kind.DECISION, Kind.PREFERENCE})
LOOP_KINDS = frozenset({Kind.TASK, Kind.OPEN_QUESTION})


class Visibility(models.TextChoices):
    """Who may read it, beside its owner."""

    PRIVATE = "private"
    PROJECT = "project"
    TENANT = "tenant"


class Lifecycle(models.TextChoices):
    """Whether it counts as current knowledge."""

    LIVE = "live"
    SUPERSEDED = "superseded"
    RETIRED = "retired"


class Door(models.TextChoices):
    """By which door a memory ceased to be live."""

    FORGOTTEN = "forgotten"
    RETIRED = "retired"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    REJECTED = "rejected"


class SupersedeReason(models.TextChoices):
    """Why another memory took its place."""

    DECLARED = "declared"
    AUTHORITY = "authority"
    RECENCY = "recency"
    DUPLICATE = "duplicate"
    MANUAL = "manual"


class LinkType(models.TextChoices):
    """What one memory has to do with another."""

    RELATES_TO = "relates_to"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    DERIVED_FROM = "derived_from"
    DEPENDS_ON = "depends_on"
