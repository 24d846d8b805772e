"""The wire of sweeps, health and batches: what requests may say, and what they are answered."""

from typing import Any

from rest_framework import serializers

from hygiene.health import ALARMS
from memory.requests import Label
from tenants.fields import Body, Whole

MOST_SWEPT = 1_000_000


class SweepBody(Body):
    project = Label(required=False)
    limit = Whole(required=False, min_value=1, max_value=MOST_SWEPT)


class SweepAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    state = serializers.ChoiceField(["queued", "running", "done", "failed", "obsolete"])
    project = serializers.CharField(allow_null=True)
    judge = serializers.CharField()
    prompt_version = serializers.CharField()
    memories = serializers.IntegerField()
    of_memories = serializers.IntegerField()
    pairs = serializers.IntegerField()
    skipped = serializers.IntegerField()
    actions = serializers.IntegerField()
    disputes = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class AlarmAnswer(serializers.Serializer[Any]):
    code = serializers.ChoiceField(ALARMS)
    message = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True)


class HealthAnswer(serializers.Serializer[Any]):
    since = serializers.DateTimeField()
    judge = serializers.CharField()
    prompt_version = serializers.CharField(allow_null=True)
    certified = serializers.BooleanField()
    pairs_examined = serializers.IntegerField()
    verdicts = serializers.DictField(child=serializers.IntegerField())
    automatic_actions = serializers.IntegerField()
    disputes = serializers.IntegerField()
    disputes_pending = serializers.IntegerField()
    unjudged = serializers.IntegerField()
    deferred = serializers.IntegerField()
    jobs_waiting = serializers.IntegerField()
    jobs_failed = serializers.IntegerField()
    workers_alive = serializers.IntegerField()
    tokens_today = serializers.IntegerField()
    tokens_a_day = serializers.IntegerField(allow_null=True)
    money_today = serializers.FloatField()
    money_a_day = serializers.FloatField(allow_null=True)
    lost_of_yours = serializers.IntegerField()
    brake_on = serializers.BooleanField()
    last_sweep = SweepAnswer(allow_null=True)
    alarms = AlarmAnswer(many=True)
