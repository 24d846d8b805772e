"""
Labelled pairs, and the bars of an embedder found on them.

The pairs are made by hand in the manner of a team's notes. No two different notes differ by a
number, a name in code or a "not": those are told apart before any cosine is asked. What is left
is the hard part, words such as "before" and "after" that turn a sentence round and hardly move
its vector.
"""

from dataclasses import dataclass

import numpy as np

from memory.finding.embedding.embedder import Embedder

RESTATED = (
    ("We deploy on Mondays after the stand-up.", "we deploy on Mondays, after the stand-up"),
    ("The staging database is wiped every night.", "The staging database gets wiped every night."),
    ("Dana owns the billing service.", "The billing service is owned by Dana."),
    ("Use uv for installing packages.", "Use uv to install packages."),
    ("Please run the migrations before the deploy.", "Run the migrations before the deploy."),
    ("The search index is rebuilt each weekend.", "Each weekend the search index is rebuilt."),
    ("Customers want invoices in German.", "Customers want the invoices in German."),
    ("Feature flags live in LaunchDarkly.", "Our feature flags live in LaunchDarkly."),
    (
        "Logs are shipped to Loki, metrics to Prometheus.",
        "Logs are shipped to Loki and metrics to Prometheus.",
    ),
    (
        "The mobile app caches the session token in the keychain.",
        "The mobile app caches session tokens in the keychain.",
    ),
    (
        "Reviews need the approval of a senior engineer.",
        "A review needs the approval of a senior engineer.",
    ),
    (
        "The import job is slow because it locks the orders table.",
        "The import job is slow, because it locks the orders table.",
    ),
    (
        "Backups are encrypted with the key of the platform team.",
        "Backups are encrypted with the platform team's key.",
    ),
    (
        "We agreed to keep the old API alive until the partners have moved.",
        "We agreed to keep the old API alive until the partners have moved over.",
    ),
    ("Die Rechnungen werden nachts erzeugt.", "Die Rechnungen werden in der Nacht erzeugt."),
    ("Les sauvegardes tournent chaque nuit.", "Les sauvegardes tournent toutes les nuits."),
    (
        "The on-call engineer restarts the queue worker by hand.",
        "The on-call engineer has to restart the queue worker by hand.",
    ),
    (
        "Error messages are translated in the front end.",
        "Error messages get translated in the front end.",
    ),
)
"""The same sentence again, but for spelling, order or a filler word."""

COVERED = (
    ("We deploy on Mondays.", "We deploy on Mondays after the stand-up."),
    ("Staging data does not survive the night.", "The staging database is wiped every night."),
    ("Billing belongs to Dana.", "Dana owns the billing service."),
    ("Packages are installed with uv here.", "Use uv to install packages."),
    (
        "Migrations go before the deploy.",
        "Please run the migrations before the deploy, never in the middle of it.",
    ),
    (
        "The search index gets rebuilt at the weekend.",
        "The search index is rebuilt each weekend by a job of the platform team.",
    ),
    ("Customers asked for German invoices.", "Customers want the invoices in German."),
    ("LaunchDarkly holds the feature flags.", "Our feature flags live in LaunchDarkly."),
    ("Logs go to Loki.", "Logs are shipped to Loki and metrics to Prometheus."),
    (
        "The app keeps its session token in the keychain.",
        "The mobile app caches the session token in the keychain.",
    ),
    (
        "A senior engineer has to approve reviews.",
        "Reviews need the approval of a senior engineer.",
    ),
    (
        "The import locks the orders table, that is why it is slow.",
        "The import job is slow because it locks the orders table.",
    ),
    ("Backups are encrypted.", "Backups are encrypted with the key of the platform team."),
    (
        "The old API stays until the partners have moved.",
        "We agreed to keep the old API alive until the partners have moved.",
    ),
    (
        "The queue worker must be restarted manually.",
        "The on-call engineer restarts the queue worker by hand.",
    ),
    (
        "Translation of error messages happens in the front end.",
        "Error messages are translated in the front end.",
    ),
)
"""The first says nothing that the second does not."""

DIFFERENT = (
    ("Run the migrations before the deploy.", "Run the migrations after the deploy."),
    ("Dana owns the billing service.", "Dana owns the invoicing service."),
    ("Dana owns the billing service.", "Marek owns the billing service."),
    (
        "The staging database is wiped every night.",
        "The production database is backed up every night.",
    ),
    ("The staging database is wiped every night.", "The staging database is copied every night."),
    ("Enable the cache in production.", "Disable the cache in production."),
    ("Feature flags live in LaunchDarkly.", "Feature flags live in Unleash."),
    ("Customers want invoices in German.", "Customers want invoices in French."),
    ("Logs are shipped to Loki.", "Logs are shipped to Elasticsearch."),
    ("We deploy on Mondays.", "We deploy on Fridays."),
    ("We deploy on Mondays.", "We plan on Mondays."),
    ("The import job locks the orders table.", "The export job locks the orders table."),
    ("The client retries a failed payment.", "The server retries a failed payment."),
    (
        "Reviews need the approval of a senior engineer.",
        "Releases need the approval of a senior engineer.",
    ),
    (
        "Backups are encrypted with the key of the platform team.",
        "Backups are encrypted with the key of the security team.",
    ),
    ("Increase the timeout of the payment gateway.", "Reduce the timeout of the payment gateway."),
    ("The search index is rebuilt each weekend.", "The search index is rebuilt each morning."),
    ("The orders service calls the stock service.", "The stock service calls the orders service."),
    ("Use tabs in the front end.", "Use spaces in the front end."),
    ("The partners have moved to the new API.", "The partners have moved back to the old API."),
    (
        "Error messages are translated in the front end.",
        "Error messages are translated in the back end.",
    ),
    ("Session tokens are kept in the keychain.", "Session tokens are kept in local storage."),
    ("The queue worker is restarted by hand.", "The queue worker is restarted automatically."),
    ("The team prefers small pull requests.", "The team prefers small meetings."),
    ("Die Rechnungen werden nachts erzeugt.", "Die Rechnungen werden nachts verschickt."),
    ("Les sauvegardes tournent chaque nuit.", "Les sauvegardes tournent chaque semaine."),
)
"""Two notes that must both be kept."""


@dataclass(frozen=True)
class Found:
    """The cosines of the pairs, in ascending order."""

    restated: list[float]
    covered: list[float]
    different: list[float]

    def share(self, of: list[float], bar: float) -> float:
        """Return which share of the pairs lies at or above the bar."""
        return sum(cosine >= bar for cosine in of) / len(of)


def measure(embedder: Embedder) -> Found:
    """Return how near the labelled pairs lie to each other for the embedder."""
    return Found(
        *(_cosines(embedder, pairs) for pairs in (RESTATED, COVERED, DIFFERENT)),
    )


def _cosines(embedder: Embedder, pairs: tuple[tuple[str, str], ...]) -> list[float]:
    left = embedder.embed([pair[0] for pair in pairs])
    right = embedder.embed([pair[1] for pair in pairs])
    return sorted(float(np.dot(a, b)) for a, b in zip(left, right, strict=True))
