"""Every limit of the contract: what is just within it is taken, one more is refused."""

import json

import pytest

from tests.offered import ask, must_be_a_problem

pytestmark = pytest.mark.rule("T129")


BIG = 1024 * 1024


def _limited(office, name):
    memory = office.senior.post("/memories", {"content": f"A target for {name}."}).json()[
        "memory_id"
    ]
    made = {
        "links": lambda n: [{"type": "derived_from", "dst": memory}] * n,
        "components": lambda n: [{"subject": f"part.{i}", "value": "1"} for i in range(n)],
        "subjects": lambda n: [f"subject.s{i}" for i in range(n)],
        "depends_on": lambda n: [f"place.p{i}" for i in range(n)],
        "tags": lambda n: [f"tag{i}" for i in range(n)],
    }
    return made[name]


@pytest.mark.rule("T129")
@pytest.mark.parametrize(
    ("name", "most"),
    [("links", 50), ("components", 50), ("subjects", 50), ("depends_on", 50), ("tags", 20)],
)
def test_lists_are_taken_up_to_their_limit(office, name, most):
    make = _limited(office, name)

    full = office.senior.post("/memories", {"content": f"Full {name}.", name: make(most)})
    over = office.senior.post("/memories", {"content": f"Over {name}.", name: make(most + 1)})

    assert full.status_code == 201, full.content
    said = must_be_a_problem(over, 400, "validation_failed")
    assert said["errors"][0]["field"] == name
    assert str(most) in said["errors"][0]["message"]


@pytest.mark.rule("T129", "SU-08")
def test_ten_memories_may_be_superseded_at_once_and_repeats_count_once(office):
    ids = [
        office.senior.post(
            "/memories", {"content": f"Version {number} of the plan: go to {word}."}
        ).json()["memory_id"]
        for number, word in enumerate(
            [
                "Rome",
                "Oslo",
                "Lima",
                "Baku",
                "Kyiv",
                "Bonn",
                "Graz",
                "Lyon",
                "Nice",
                "Pisa",
                "Turin",
            ]
        )
    ]
    links = [{"type": "supersedes", "dst": one} for one in ids]

    over = office.senior.post("/memories", {"content": "Eleven.", "links": links})
    repeated = office.senior.post(
        "/memories", {"content": "Ten.", "links": [*links[:10], links[0]]}
    )

    said = must_be_a_problem(over, 400, "validation_failed")
    assert said["errors"][0]["field"] == "links"
    assert "10" in said["errors"][0]["message"]
    assert repeated.status_code == 201, repeated.content
    assert len(repeated.json()["superseded"]) == 10


@pytest.mark.rule("T129", "T130")
@pytest.mark.parametrize(
    "unit", ["x", "é", "漢", "😀", "e\u0301"], ids=["ascii", "two", "three", "four", "combining"]
)
def test_content_is_limited_by_its_bytes(office, unit):
    limit = 32 * 1024
    repeats, rest = divmod(limit, len(unit.encode()))
    full = unit * repeats + "." * rest

    taken = office.senior.post("/memories", {"content": full})
    over = office.senior.post("/memories", {"content": full + "."})

    assert taken.status_code == 201, taken.content[:300]
    said = must_be_a_problem(over, 400, "validation_failed")
    assert said["errors"][0]["field"] == "content"
    assert "32,768" in said["errors"][0]["message"]


@pytest.mark.rule("T129")
@pytest.mark.parametrize(
    ("path", "full", "over", "refused"),
    [
        (
            "/memories",
            {"content": "Deep.", "subjects": [".".join("a" * 16)]},
            {"content": "Deeper.", "subjects": [".".join("a" * 17)]},
            ("subjects[0]", "16"),
        ),
        ("/recall", {"query": "x", "k": 100}, {"query": "x", "k": 101}, ("k", "100")),
        ("/recall", {"query": "x" * 8192}, {"query": "x" * 8193}, ("query", "8,192")),
        (
            "/memories",
            {"content": "Soon.", "wait": 0},
            {"content": "Soon.", "wait": 61},
            ("wait", "60"),
        ),
        (
            "/memories",
            {"content": "Weighty.", "importance": 1},
            {"content": "Weighty.", "importance": 1.01},
            ("importance", "1"),
        ),
    ],
    ids=["depth", "k", "query", "wait", "importance"],
)
def test_values_are_taken_up_to_their_limit(office, path, full, over, refused):
    field, limit = refused
    assert office.senior.post(path, full).status_code in (200, 201)
    said = must_be_a_problem(office.senior.post(path, over), 400, "validation_failed")
    assert said["errors"][0]["field"] == field
    assert limit in said["errors"][0]["message"]


@pytest.mark.rule("T137")
def test_a_body_is_limited_to_a_mebibyte(office):
    full = json.dumps({"content": "Padded."}).encode()
    full += b" " * (BIG - len(full))

    assert ask(office.senior, "POST", "/api/v1/memories", full).status_code == 201
    said = must_be_a_problem(
        ask(office.senior, "POST", "/api/v1/memories", full + b" "), 413, "too_large"
    )
    assert "1 MiB" in said["detail"]
