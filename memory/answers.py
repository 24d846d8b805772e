"""The form of answers about memories, for the OpenAPI document and the agents' tools."""

from typing import Any

from rest_framework import serializers

from memory.conflict.policy import ConflictKind
from memory.models import ConflictState, Kind, LinkType, Visibility
from memory.trust.answers import (
    MarkAnswer,
    VerificationAnswer,
    maybe_text,
    maybe_time,
    text,
)
from memory.trust.state import TrustState
from memory.trust.temporal import TemporalStatus

_STATES = [state.value for state in TrustState]


class AuthorAnswer(serializers.Serializer[Any]):
    id = text()
    name = text()
    type = serializers.ChoiceField(["member", "agent"])
    level = serializers.IntegerField()


class LinkAnswer(serializers.Serializer[Any]):
    id = text()
    type = serializers.ChoiceField(LinkType.choices)
    src = text()
    dst = text()


class ComponentAnswer(serializers.Serializer[Any]):
    id = text()
    subject = text()
    value = maybe_text()
    multi = serializers.BooleanField()
    verified_at = maybe_time()
    dirty = serializers.BooleanField()


class SuggestionAnswer(serializers.Serializer[Any]):
    id = text()
    subject = text()
    value = text()


class MemoryAnswer(serializers.Serializer[Any]):
    id = text()
    content = text()
    kind = serializers.ChoiceField(Kind.choices)
    project = maybe_text()
    visibility = serializers.ChoiceField(Visibility.choices)
    owner = text()
    author = AuthorAnswer()
    provenance_rank = serializers.IntegerField(min_value=0, max_value=2)
    author_level = serializers.IntegerField()
    trust_state = serializers.ChoiceField(_STATES)
    evidence_confidence = serializers.FloatField()
    last_verified_at = maybe_time()
    dirty_reason = maybe_text()
    created_at = serializers.DateTimeField()
    valid_from = maybe_time()
    valid_until = maybe_time()
    review_after = maybe_time()
    invalidated_at = maybe_time()
    invalidated_reason = maybe_text()
    superseded_by = maybe_text()
    superseded_at = maybe_time()
    supersedes = serializers.ListField(child=text())
    subjects = serializers.ListField(child=text())
    components = ComponentAnswer(many=True)
    suggested_components = SuggestionAnswer(many=True)
    depends_on = serializers.ListField(child=text())
    marks = MarkAnswer(many=True)
    # Of very many open marks those are told that say where they lie, and how many more there are.
    marks_omitted = serializers.IntegerField()
    verifications = VerificationAnswer(many=True)
    links = LinkAnswer(many=True)
    tags = serializers.ListField(child=text())
    importance = serializers.FloatField()
    session = maybe_text()
    source = serializers.DictField(allow_null=True)  # type: ignore[assignment]  # the wire's name
    disputed = serializers.BooleanField()
    dispute_id = maybe_text()
    version = serializers.IntegerField()
    lifecycle = serializers.ChoiceField(["live", "superseded", "retired"])


class VersionAnswer(serializers.Serializer[Any]):
    id = text()
    content = text()
    kind = serializers.ChoiceField(Kind.choices)
    author = AuthorAnswer()
    created_at = serializers.DateTimeField()
    lifecycle = serializers.ChoiceField(["live", "superseded", "retired"])
    invalidated_at = maybe_time()
    invalidated_reason = maybe_text()
    superseded_by = maybe_text()
    superseded_at = maybe_time()
    supersede_reason = maybe_text()


class MemoryWithChainAnswer(MemoryAnswer):
    chain = VersionAnswer(many=True)


class ActorAnswer(serializers.Serializer[Any]):
    id = maybe_text()
    name = maybe_text()
    type = serializers.ChoiceField(["member", "agent"])


class EventAnswer(serializers.Serializer[Any]):
    id = text()
    at = serializers.DateTimeField()
    command = text()
    memory_id = maybe_text()
    actor = ActorAnswer()
    token = maybe_text()
    reason = text(allow_blank=True)
    before = serializers.DictField(allow_null=True)
    after = serializers.DictField(allow_null=True)
    request_id = text(allow_blank=True)


class ObjectAnswer(serializers.Serializer[Any]):
    type = text()
    id = text()


class AuditEventAnswer(EventAnswer):
    object = ObjectAnswer()


class HistoryAnswer(serializers.Serializer[Any]):
    memory_id = text()
    chain = VersionAnswer(many=True)
    events = EventAnswer(many=True)


class CountsAnswer(serializers.Serializer[Any]):
    current = serializers.IntegerField()
    live = serializers.IntegerField()
    superseded = serializers.IntegerField()
    retired = serializers.IntegerField()
    expired = serializers.IntegerField()
    all = serializers.IntegerField()


class FeedAnswer(serializers.Serializer[Any]):
    results = MemoryAnswer(many=True)
    next = maybe_text()
    count = serializers.IntegerField()
    counts = CountsAnswer()


class SkippedAnswer(serializers.Serializer[Any]):
    id = text()
    reason = serializers.ChoiceField(
        ["missing", "dead", "self", "insufficient_authority", "narrower_audience", "cycle"]
    )


class SimilarAnswer(serializers.Serializer[Any]):
    id = text()
    kind = serializers.ChoiceField(Kind.choices)
    age_days = serializers.IntegerField()
    similarity = serializers.FloatField()
    preview = text()


class CandidateAnswer(serializers.Serializer[Any]):
    memory_id = text()
    score = serializers.FloatField(allow_null=True)
    via = serializers.ChoiceField(["vector", "subject"])


class RememberAnswer(serializers.Serializer[Any]):
    """All but memory_id, absorbed, superseded and skipped is for tokens that may read."""

    memory_id = text()
    absorbed = serializers.BooleanField()
    superseded = serializers.ListField(child=text())
    skipped = SkippedAnswer(many=True)
    memory = MemoryAnswer(required=False)
    similar_existing = SimilarAnswer(many=True, required=False)
    hint = serializers.CharField(allow_null=True, required=False)
    conflict_candidates = CandidateAnswer(many=True, required=False)
    candidates_omitted = serializers.IntegerField(required=False)
    conflicts = serializers.ListField(child=serializers.DictField(), required=False)
    judging = serializers.ChoiceField(["done", "queued", "deferred", "off"], required=False)
    marked = serializers.ListField(child=text(), required=False)


class VerdictAnswer(serializers.Serializer[Any]):
    relation = text()
    # Whoever challenges says that something is wrong, and not how sure they are.
    confidence = serializers.FloatField(allow_null=True)
    reasoning = text(allow_blank=True)
    shared_subject = text(allow_blank=True)
    missing_specifics = serializers.ListField(child=text())
    judge = text()
    prompt_version = text()


class ConflictAnswer(serializers.Serializer[Any]):
    id = text()
    memory_a = text()
    memory_b = maybe_text()
    kind = serializers.ChoiceField([kind.value for kind in ConflictKind])
    state = serializers.ChoiceField(ConflictState.choices)
    resolution = maybe_text()
    winner = maybe_text()
    recommended_winner = maybe_text()
    dissent_retained = serializers.BooleanField()
    resolved_by = maybe_text()
    created_at = serializers.DateTimeField()
    resolved_at = maybe_time()
    verdict = VerdictAnswer(allow_null=True)
    missing_specifics = serializers.ListField(child=text())
    level_a = serializers.IntegerField()
    level_b = serializers.IntegerField(allow_null=True)
    via = text()
    note = text(allow_blank=True)
    batch = maybe_text()
    raised_by = maybe_text()
    reason = text(allow_blank=True)
    evidence = text(allow_blank=True)
    deferred_until = maybe_time()
    assigned_to = maybe_text()


class TakenUpAnswer(serializers.Serializer[Any]):
    memory = MemoryAnswer()
    conflicts = ConflictAnswer(many=True)


class ConflictWithSidesAnswer(ConflictAnswer):
    side_a = MemoryAnswer()
    side_b = MemoryAnswer(allow_null=True)


class AutoResolvedAnswer(ConflictWithSidesAnswer):
    orphaned = serializers.BooleanField()


class VerifyAnswer(serializers.Serializer[Any]):
    memory = MemoryAnswer()
    cleared = MarkAnswer(many=True)
    conflict = ConflictAnswer(required=False)
    # Why nobody is asked about what was found, where somebody might be expected to be.
    note = text(required=False)


class RestoreAnswer(serializers.Serializer[Any]):
    memory = MemoryAnswer()
    successor = maybe_text()


class RecalledAuthorAnswer(serializers.Serializer[Any]):
    name = text()
    type = serializers.ChoiceField(["member", "agent"])
    level = serializers.IntegerField()


_TEMPORAL_STATUSES = [status.value for status in TemporalStatus]


class RecalledAnswer(serializers.Serializer[Any]):
    memory_id = text()
    content = maybe_text()
    kind = serializers.ChoiceField(Kind.choices)
    project = maybe_text()
    visibility = serializers.ChoiceField(Visibility.choices)
    author = RecalledAuthorAnswer()
    provenance_rank = serializers.IntegerField(min_value=0, max_value=2)
    created_at = serializers.DateTimeField()
    score = serializers.FloatField()
    score_parts = serializers.DictField(child=serializers.FloatField())
    activation = serializers.FloatField()
    evidence_confidence = serializers.FloatField()
    trust_state = serializers.ChoiceField(_STATES)
    last_verified_at = maybe_time()
    temporal_status = serializers.ChoiceField(_TEMPORAL_STATUSES)
    dirty_reason = maybe_text()
    safe_rendering = text()
    withheld = serializers.BooleanField()
    how_to_verify = serializers.DictField(allow_null=True)
    disputed = serializers.BooleanField()
    dispute_id = maybe_text()
    competing_claims = serializers.ListField(child=serializers.DictField())
    history_available = serializers.BooleanField()
    superseded_by = maybe_text()


class InterpretationAnswer(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(["current", "historical"])
    as_of = maybe_time()
    consequence = serializers.ChoiceField(["normal", "high"])
    # Of which time the words seem to speak: a hint that decided nothing.
    wording = serializers.ChoiceField(["current", "historical"], allow_null=True)
    search = serializers.ChoiceField(["hybrid", "text"])
    content_is = text()
    note = maybe_text()


class RecallAnswer(serializers.Serializer[Any]):
    results = RecalledAnswer(many=True)
    interpretation = InterpretationAnswer()
    tokens = serializers.IntegerField()
    omitted = serializers.IntegerField()
    diagnostics = serializers.DictField(required=False)


class BriefedAnswer(serializers.Serializer[Any]):
    """A memory in few words: safe_rendering is what may be said of it."""

    memory_id = text()
    kind = serializers.ChoiceField(Kind.choices)
    safe_rendering = text()
    temporal_status = serializers.ChoiceField(_TEMPORAL_STATUSES)
    trust_state = serializers.ChoiceField(_STATES)
    author = RecalledAuthorAnswer()
    created_at = serializers.DateTimeField()
    dirty_reason = maybe_text()
    disputed = serializers.BooleanField()
    dispute_id = maybe_text()


class ToVerifyAnswer(BriefedAnswer):
    how_to_verify = serializers.DictField(allow_null=True)


class LoopsAnswer(serializers.Serializer[Any]):
    items = BriefedAnswer(many=True)
    total = serializers.IntegerField()
    older = serializers.IntegerField()


class BriefedDisputeAnswer(serializers.Serializer[Any]):
    dispute_id = text()
    kind = serializers.ChoiceField([kind.value for kind in ConflictKind])
    memory_ids = serializers.ListField(child=text())
    recommended_winner = maybe_text()
    created_at = serializers.DateTimeField()
    safe_rendering = text()


class LossAnswer(serializers.Serializer[Any]):
    memory_id = text()
    kind = serializers.ChoiceField(Kind.choices)
    superseded_by = text()
    dispute_id = text()
    resolution = text()
    resolved_at = serializers.DateTimeField()
    safe_rendering = text()


class BriefingAnswer(serializers.Serializer[Any]):
    project = text()
    content_is = text()
    rules = BriefedAnswer(many=True)
    recent = BriefedAnswer(many=True)
    relevant = BriefedAnswer(many=True)
    open_loops = LoopsAnswer()
    to_verify = ToVerifyAnswer(many=True)
    disputes = BriefedDisputeAnswer(many=True)
    lost = LossAnswer(many=True)
    omitted = serializers.DictField(child=serializers.IntegerField())
    tokens = serializers.IntegerField()
