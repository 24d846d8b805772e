"""Values of a component: what is the same however it is written, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.values import normalised_value, same_value

pytestmark = pytest.mark.rule("DE-04")

SAME = [
    ("Kotlin", " kotlin."),
    ("Frau  Beispiel", "frau\u00a0Beispiel"),
    ("`make x`", "make x"),
    ('"four"', "4"),
    ("1,000", "1000"),
    ("5.0", "5"),
    ("20", "20.00"),
    ("2,5 s", "2.5 s"),
    ("10k", "10000"),
    ("１０", "10"),
    ("１０分钟", "10 min"),
    ("ten minutes", "10 min"),
    ("12 seconds", "12s"),
    ("90 s", "1.5 min"),
    ("48 h", "48 hours"),
    ("10分钟", "600 s"),
    ("99.5 %", "99.5%"),
    ("$5", "5 USD"),
    ("2 GiB", "2048 MiB"),
    ("5GB", "5 gigabyte"),
    ("v2.10.0", "2.10"),
    ("V2", "v2.0"),
    ("postgres 16", "Postgres 16"),
    ("1,000 requests, daily", "1000 requests, daily"),
    ("v2.0.0", "2"),
    ("s3://bucket/", "s3://bucket"),
    ("2 Jan 2024", "2024-01-02"),
    ("31.12.2024", "2024-12-31"),
    ("4 pm", "16:00"),
    ("Sunday 03:00", "sunday 3:00"),
    ("src/app/", "src/app"),
    ("./src/app", "src/app"),
    ("/srv//app", "/srv/app"),
    ("`/srv///app//x/`", "/srv/app/x"),
    ("2026-12-01T10:00:00Z", "2026-12-01T12:00:00+02:00"),
    ("2026-12-01 10:00 UTC", "2026-12-01t11:00:00.000+0100"),
    ("2026-12-31T23:30:00-01:00", "2027-01-01T00:30Z"),
    ("23:00 UTC", "01:00+02:00"),
    ("HTTPS://Example.com/", "https://example.com"),
    ("https://example.com:443/a/", "https://example.com/a"),
    ("yes", "TRUE"),
    ("on", "enabled"),
    ("ja", "oui"),
    ("off", "No"),
    ("是", "はい"),
]

DIFFERENT = [
    ("1.000", "1000"),
    ("1.000", "1"),
    ("2.10", "2.1"),
    ("2.5.0", "2.50"),
    ("16", "16.1"),
    ("-5", "5"),
    ("+5", "5"),
    ("5 min", "5"),
    ("5 min", "5 h"),
    ("1 d", "24 h"),
    ("1 GB", "1000 MB"),
    ("1 TB", "1 TiB"),
    ("10:00", "10:00 UTC"),
    ("01/02/2024", "2024-02-01"),
    ("/Data", "/data"),
    ("//srv/app", "/srv/app"),
    ("https://a.example//x", "https://a.example/x"),
    ("s3://bucket//key", "s3://bucket/key"),
    ("2026-12-01T10:00:00Z", "2026-12-01T10:00:00"),
    ("2026-12-01T10:00:00Z", "2026-12-01T10:00:00+02:00"),
    ("2026-12-01T10:00:00Z", "10:00Z"),
    ("2026-12-01T25:00:00Z", "2026-12-02T01:00:00Z"),
    ("2026-12-01T10:00:00.1234567Z", "2026-12-01T10:00:00.1234568Z"),
    ("23:00 UTC", "01:00"),
    ("MAX_SIZE", "max_size"),
    ("--force", "--Force"),
    ("http://a.example", "https://a.example"),
    ("https://a.example/X", "https://a.example/x"),
    ("https://a.example/?q=1", "https://a.example/"),
    ("a b", "ab"),
    ("yes", "1"),
    ("yes", "no"),
    ("yes please", "yes"),
    ("", " x"),
    ("Tuesday", "Thursday"),
    ("postgres 16", "mysql 16"),
    ("postgres 16.0", "Postgres 16"),
    ("release/v2.0", "release/v2"),
    ("feature/1.0", "feature/1"),
    ("main-v1.0", "main-v1"),
    ("postgres:16", "postgres:16.0"),
    ("image: postgres:v2.0", "image: postgres:v2"),
    ("release/2026-01-05", "release/05.01.2026"),
    ("release/May", "release/Mai"),
    ("release/ten", "release/10"),
    ("Release/x", "release/x"),
    ("model-10k", "model-10000"),
    ("..", "."),
    ("..", ""),
    ("/srv/..", "/srv"),
    ("/srv/app:v2.0", "/srv/app:v2"),
    ("/Data:x", "/data:x"),
    ("deploy/*", "deploy/"),
    ("/var/log/*", "/var/log"),
    ("$HOME", "HOME"),
    ("Maße", "Masse"),
    ("s3://bucket/key/", "s3://bucket/key"),
    ("DOS", "2"),
    ("null", "0"),
]
# One number or date, written in many ways.
SPELLINGS = [
    *("2", "02", "2.0", "2.00", "v2", "V2", "v2.0", "v2.0.0", "2.0.0", "two", "1,000", "1000"),
    *("1.000", "1k", "1000.0", "5s", "5000ms", "2026-01-05", "05.01.2026", "2026/01/05", "10:00"),
    *("10:00Z", "10:00UTC", "1.10", "1.1", "1.1.0", "99%", "99.0%", "yes", "true", "on", "May"),
]
NAMES = st.sampled_from(["release", "main", "postgres", "feature", "api.internal", "App"])
JOINTS = st.sampled_from(["/", ":", "-", "_", "@", "=", "#", "+", ".", "/v", ":v", "-v"])


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_value_however_it_is_written(one: str, other: str):
    assert same_value(one, other)
    assert same_value(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_is_doubtful_is_another_value(one: str, other: str):
    assert not same_value(one, other)
    assert not same_value(other, one)


def test_no_value_is_only_the_same_as_none():
    assert same_value(None, None)
    assert not same_value(None, "")
    assert not same_value("no", None)


@given(st.text(max_size=80))
def test_every_text_has_one_form_and_is_the_same_as_itself(text: str):
    assert normalised_value(text) == normalised_value(text)
    assert same_value(text, text)


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_two_whole_numbers_are_the_same_only_if_they_are_equal(one: int, other: int):
    assert same_value(f"{one:,}", str(other)) == (one == other)


@given(NAMES, JOINTS, st.sampled_from(SPELLINGS), st.sampled_from(SPELLINGS))
def test_in_a_name_nothing_is_read_whatever_it_would_mean_alone(
    name: str, joint: str, one: str, other: str
):
    here, there = (f"{name}{joint}{part}" for part in (one, other))
    before, behind = (f"{part}{joint}{name}" for part in (one, other))
    assert same_value(before, behind) == (one == other)
    assert same_value(here, there) == (one == other)
    assert same_value(f"{here}/x", f"{there}/x") == (one == other)
    assert same_value(f"branch {here}", f"branch {there}") == (one == other)


@given(
    NAMES, *[st.sampled_from([one for one in SPELLINGS if "." in one or "v" in one.lower()])] * 2
)
def test_a_version_beside_other_words_is_one_of_theirs(name: str, one: str, other: str):
    if not one.startswith("05"):
        assert same_value(f"{name} {one}", f"{name} {other}") == (one == other)
