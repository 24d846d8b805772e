"""When of two values of one subject one rules out the other, and when both may be true."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rival_values import rules_out

pytestmark = pytest.mark.rule("DE-04", "PO-05")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5432", "5433"),
        ("main", "develop"),
        ("Postgres", "SQLite"),
        ("30 days", "14 days"),
        ("90 s", "2 min"),
        ("512 MB", "1 GB"),
        ("eu-west-1", "eu-central-1"),
        ("v1.2", "v1.3"),
        ("3.11", "3.12"),
        ("Ana", "Ben"),
        ("on", "off"),
        ("release-24", "hotfix-3"),
        ("https://a.example/x", "https://b.example/x"),
        ("/var/a", "/var/b"),
        ("2026-12-01", "2026-12-02"),
        ("03:00", "04:00"),
        ("Monday", "Friday"),
        ("6.80 EUR", "7.20 EUR"),
        ("oak1", "elm1"),
        ("required", "not required"),
        ("up to 500 EUR", "up to 300 EUR"),
        ("10-20", "30-40"),
        ("`make a`", "`make b`"),
        ("blue", "green"),
        ("5432 (production)", "5433 (production)"),
        ("100", "none"),
        ("web-3", "web-14"),
        ("16", "16.4"),
        ("16 s", "16.4 s"),
        ("postgres 16.4", "postgres 17"),
        ("postgres 16", "mariadb 16.4"),
        ("3.1", "3.11.7"),
        ("v1", "v10.2"),
        ("eingeschaltet", "ausgeschaltet"),
        ("Berlin, Germany", "Paris, France"),
        ("Redis", "Valkey"),
        ("ab12cd", "9fceb02"),
        ("10.0.0.1", "10.0.0.2"),
        ("db1.internal:5432", "db2.internal:5432"),
        ("1 week", "2 weeks"),
        ("80%", "90%"),
        ("1 GB", "2 GB"),
        ("on Fridays", "on Mondays"),
        ("every 5 minutes", "every 10 minutes"),
        ("JSON", "XML"),
        ("Alice Smith", "Bob Jones"),
        ("node 22", "node 20"),
        ("python:3.12-slim", "python:3.11-slim"),
        ("0", "1"),
        ("-5", "5"),
        ("a", "b"),
        ("1 h", "1 day"),
        ("30 days", "2 weeks"),
        ("a@b.de", "c@b.de"),
        ("in review", "in progress"),
        ("东京", "大阪"),
        ("release", "release-24"),
        ("1.5", "15"),
        ("東京", "大阪"),
    ],
)
def test_one_rules_out_the_other(one: str, other: str):
    assert rules_out(one, other)
    assert rules_out(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("45 EUR", "EUR 45"),
        ("45 EUR", "€45"),
        ("port 5432", "5432"),
        ("5432", "5432/tcp"),
        ("Ana and Ben", "Ben and Ana"),
        ("Ana", "Ana, Ben"),
        ("5432", "unknown"),
        ("5432", "TBD"),
        ("5432", "?"),
        ("5432", "n/a"),
        ("5432", "depends on the environment"),
        ("5432", "not 5433"),
        ("5432", "!= 80"),
        ("1.2.5", "^1.2"),
        ("3.12", ">=3.11"),
        ("3.12", "3.x"),
        ("Postgres 16", "Postgres"),
        ("5432 (production)", "5433 (staging)"),
        ("staging: 5433", "production: 5432"),
        ("100 in production", "5 in staging"),
        ("50 km", "31 miles"),
        ("20 °C", "68 °F"),
        ("up to 500 EUR", "200 EUR"),
        ("<= 500", "200"),
        ("about 30 days", "31 days"),
        ("10-20", "15"),
        ("maybe 5433", "5432"),
        ("5432", "ask Ben"),
        ("nicht 5433", "5432"),
        ("不是5433", "5432"),
        ("Ana", "Ana (deputy: Ben)"),
        ("5432", "5432 or 5433"),
        ("main", "branch main"),
        ("16+", "17"),
        ("5 or more", "7"),
        ("100 USD", "92 EUR"),
        ("10 MB", "80 Mbit"),
        ("не 5433", "5432"),
        ("pas 5433", "5432"),
        ("до 500", "300"),
        ("至少5", "7"),
        ("90 min", "1 h 30 min"),
        ("2 weeks", "14 days"),
        ("2 GB", "2048 MB"),
        ("03:00 UTC", "04:00 CET"),
        ("Zürich", "Zurich"),
        ("Postgres 16", "PostgreSQL 16"),
        ("3.11", "3.11.7"),
        ("2", "2.0.1"),
        ("postgres 16", "Postgres 16.4"),
        ("node:22", "node:22.1"),
        ("release-24", "release-24.1"),
        ("10.000 EUR", "10,000 EUR"),
        ("not main", "not develop"),
        ("不是 main", "develop"),
    ],
)
def test_both_may_be_true(one: str, other: str):
    assert not rules_out(one, other)
    assert not rules_out(other, one)


@given(st.text(max_size=80), st.text(max_size=80))
def test_it_is_the_same_seen_from_either_side(one: str, other: str):
    assert rules_out(one, other) == rules_out(other, one)
    assert not rules_out(one, one)


@pytest.mark.parametrize("piece", ["in ", "(", "1.", "a ", "x: ", "not ", "<", "1-"])
def test_no_value_takes_long(piece: str):
    started = time.perf_counter()
    rules_out(piece * (1000 // len(piece)), piece * (900 // len(piece)) + "z")
    assert time.perf_counter() - started < 1
