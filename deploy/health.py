"""Whether the process lives, whether it can serve, and what it has been doing."""

import time
from collections.abc import Callable
from typing import Any

from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from deploy.guards import role_settings
from deploy.problems import DATABASE_DOWN
from hygiene.health import alarm_counts
from tenants.job_desk import job_counts, workers_alive

_registry = CollectorRegistry()
_answers = Counter(
    "palimpsest_http_answers",
    "Answers by route, method and status",
    ["route", "method", "status"],
    registry=_registry,
)
_seconds = Histogram(
    "palimpsest_http_seconds", "Time to answer, by route", ["route"], registry=_registry
)
_jobs = Gauge("palimpsest_jobs", "Jobs by state", ["state"], registry=_registry)
_workers = Gauge(
    "palimpsest_workers_alive", "Workers that gave a sign of life lately", registry=_registry
)
_alarms = Gauge(
    "palimpsest_alarms", "Tenants with this alarm of hygiene", ["code"], registry=_registry
)


class Metered:
    """Counts and times answers by route: never by tenant, id or content."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, and note how."""
        started = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        route = match.route if match is not None else "none"
        method = request.method if request.method in _METHODS else "other"
        _answers.labels(route, method, response.status_code).inc()
        _seconds.labels(route).observe(time.perf_counter() - started)
        return response


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def healthz(_request: HttpRequest) -> HttpResponse:
    """Say that the process lives."""
    return JsonResponse({"status": "ok"})


def readyz(_request: HttpRequest) -> HttpResponse:
    """Say whether requests can be served, and if not, what is wrong."""
    problems = _problems()
    return JsonResponse(
        {"status": "ready" if not problems else "not ready", "problems": problems},
        status=503 if problems else 200,
    )


def _problems() -> list[str]:
    try:
        found = [f"role setting: {setting}" for setting in role_settings(connection)]
        if _unapplied():
            found.append("migrations are missing")
    except DATABASE_DOWN:
        return ["the database does not answer"]
    return found


def _unapplied() -> list[Any]:
    executor = MigrationExecutor(connections["default"])
    return executor.migration_plan(executor.loader.graph.leaf_nodes())


def metrics(_request: HttpRequest) -> HttpResponse:
    """Give the numbers in Prometheus' format."""
    try:
        for state, number in job_counts().items():
            _jobs.labels(state).set(number)
        _workers.set(workers_alive())
        for code, tenants in alarm_counts().items():
            _alarms.labels(code).set(tenants)
    except DATABASE_DOWN:
        _workers.set(0)
    return HttpResponse(generate_latest(_registry), content_type=CONTENT_TYPE_LATEST)
