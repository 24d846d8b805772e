"""The OpenAPI document: complete, valid, and true of what is answered."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from schemathesis.specs.openapi import checks as promises

from deploy.up import BASE
from tenants.ids import Prefix, wire_id
from tests.offered import offers
from tests.people import ALL_SCOPES, REVIEW, new_office

OFFERS = offers()
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "4"))
SEED = int(os.environ.get("SCHEMATHESIS_SEED", "20261130"))


@cache
def document():
    answer = Client().get("/api/schema")
    assert answer.status_code == 200
    return json.loads(answer.content)


def said_of(offer):
    """Return what the document says of an operation."""
    for described in document()["paths"].values():
        found = described.get(offer.method.lower())
        if found is not None and found["operationId"] == offer.operation.name:
            return found
    raise AssertionError(f"{offer.operation.name} is not in the document")


def test_the_document_is_made_without_a_warning():
    made = subprocess.run(
        [
            sys.executable,
            "manage.py",
            "spectacular",
            "--validate",
            "--fail-on-warn",
            "--file",
            os.devnull,
        ],
        cwd=BASE,
        capture_output=True,
        text=True,
        check=False,
    )

    assert made.returncode == 0, made.stderr
    assert "Warning" not in made.stderr


def test_the_document_is_openapi_3_1_and_open_to_all():
    assert document()["openapi"].startswith("3.1")
    assert Client().get("/api/schema").headers["Content-Type"] == "application/json"
    assert document()["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_every_operation_is_in_it_once_under_its_name():
    names = [
        described["operationId"]
        for methods in document()["paths"].values()
        for method, described in methods.items()
        if method in ("get", "post", "put", "patch", "delete")
    ]

    # What a signature opens, and no token, is no operation (tests/test_pushes.py).
    assert sorted(names) == sorted(["take_push", *(offer.operation.name for offer in OFFERS)])


@pytest.mark.parametrize("offer", OFFERS, ids=lambda one: one.operation.name)
def test_an_operation_says_what_it_needs_and_how_it_fails(offer):
    said = said_of(offer)
    scope = offer.operation.scope

    assert said["summary"]
    assert said["security"] == [{"bearer": [scope.value] if scope else []}]
    assert {"400", "401", "403", "429", "503"} <= set(said["responses"])
    for status, answer in said["responses"].items():
        if int(status) >= 400:
            schema = answer["content"]["application/problem+json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/Problem"}
    assert "Retry-After" in said["responses"]["429"]["headers"]
    headers = {one["name"] for one in said.get("parameters", ()) if one["in"] == "header"}
    assert ("Idempotency-Key" in headers) == (offer.method == "POST" and offer.operation.changes)
    if offer.operation.path_ids:
        assert "404" in said["responses"]
        patterns = [one["schema"]["pattern"] for one in said["parameters"] if one["in"] == "path"]
        assert all("_[0-7]" in pattern for pattern in patterns)
    if offer.operation.takes is not None and not offer.by_query:
        reference = said["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        body = document()["components"]["schemas"][reference.rsplit("/", 1)[1]]
        assert body["additionalProperties"] is False
        assert set(body["properties"]) == set(offer.operation.takes().fields)


@pytest.mark.parametrize("name", ["remember", "recall"])
def test_the_main_calls_have_examples_that_are_taken(office, name):
    (offer,) = (one for one in OFFERS if one.operation.name == name)
    examples = said_of(offer)["requestBody"]["content"]["application/json"]["examples"]

    assert examples
    for example in examples.values():
        answer = office.senior.post(offer.path.removeprefix("/api/v1"), example["value"])
        assert answer.status_code in (200, 201), answer.content


def must_fit(name, answer, status):
    """Check that an answer is one that the document promises of the operation."""
    (offer,) = (one for one in OFFERS if one.operation.name == name)
    assert answer.status_code == status, answer.content
    promised = said_of(offer)["responses"][str(status)]["content"]["application/json"]["schema"]
    whole = {**promised, "components": document()["components"]}
    checker = jsonschema.Draft202012Validator(whole, format_checker=jsonschema.FormatChecker())
    problems = [
        f"{error.json_path}: {error.message}"[:200] for error in checker.iter_errors(answer.json())
    ]
    assert problems == []
    return answer.json()


def test_what_is_answered_about_memories_is_what_is_promised(office):
    senior = office.senior
    first = must_fit(
        "remember",
        senior.post(
            "/memories",
            {
                "content": "The gateway listens on port 8443.",
                "project": "apollo",
                "kind": "fact",
                "tags": ["net"],
                "subjects": ["gateway.port"],
                "components": [{"subject": "gateway.port", "value": "8443"}],
                "source": {"kind": "file", "uri": "README.md"},
                "session": "s1",
                "depends_on": ["gateway"],
                "valid_from": "2026-01-01T00:00:00Z",
                "review_after": "2027-01-01T00:00:00Z",
            },
        ),
        201,
    )["memory_id"]
    links = [{"type": "supersedes", "dst": first}]
    second = must_fit(
        "remember",
        senior.post(
            "/memories",
            {"content": "The gateway listens on port 9443.", "project": "apollo", "links": links},
        ),
        201,
    )["memory_id"]
    must_fit(
        "remember",
        senior.post(
            "/memories", {"content": "The gateway listens on port 9443.", "project": "apollo"}
        ),
        200,
    )
    loop = must_fit(
        "remember",
        senior.post("/memories", {"content": "Ask Ops.", "project": "apollo", "kind": "task"}),
        201,
    )["memory_id"]
    must_fit(
        "recall",
        senior.post(
            "/recall",
            {
                "query": "gateway port",
                "project": "apollo",
                "explain": True,
                "include": ["superseded"],
            },
        ),
        200,
    )
    must_fit("list_memories", senior.get("/memories", {"lifecycle": "all", "limit": 1}), 200)
    must_fit("get_memory", senior.get(f"/memories/{second}"), 200)
    must_fit("get_memory", senior.get(f"/memories/{first}"), 200)
    must_fit("history", senior.get(f"/memories/{first}/history"), 200)
    must_fit(
        "patch_memory", senior.patch(f"/memories/{second}", {"tags": ["x"], "importance": 1}), 200
    )
    drawn = must_fit(
        "link", senior.post("/links", {"src": second, "dst": loop, "type": "relates_to"}), 201
    )
    must_fit("unlink", senior.delete(f"/links/{drawn['id']}"), 200)
    must_fit("close_loop", senior.post(f"/memories/{loop}/close", {"note": "done"}), 200)
    must_fit("forget", senior.post(f"/memories/{second}/forget", {"reason": "wrong"}), 200)
    must_fit("restore_memory", senior.post(f"/memories/{first}/restore", {"reason": "needed"}), 200)


def test_what_is_answered_about_tenants_is_what_is_promised(office):
    admin = office.admin
    must_fit("whoami", office.agent.get("/whoami"), 200)
    project = must_fit(
        "create_project", admin.post("/projects", {"slug": "gemini", "name": "Gemini"}), 200
    )["id"]
    must_fit("get_project", admin.get(f"/projects/{project}"), 200)
    must_fit("list_projects", admin.get("/projects", {"limit": 1}), 200)
    sponsor = wire_id(Prefix.MEMBER, office.senior.member.id)
    body = {"name": "bot", "project": "apollo", "sponsor": sponsor}
    agent = must_fit("create_agent", admin.post("/agents", body), 200)["id"]
    must_fit("list_agents", admin.get("/agents"), 200)
    wanted = {"name": "bot's", "kind": "agent", "agent": agent, "scopes": ["memory:read"]}
    token = must_fit("create_token", admin.post("/tokens", wanted), 201)["id"]
    must_fit("list_tokens", admin.get("/tokens"), 200)
    must_fit("rotate_token", admin.post(f"/tokens/{token}/rotate", {}), 201)
    must_fit("revoke_token", admin.delete(f"/tokens/{token}"), 200)
    must_fit("list_members", admin.get("/members"), 200)


def test_what_is_answered_about_conflicts_is_what_is_promised(office):
    senior = office.senior

    def say(value, **more):
        body = {
            "content": f"Staging listens on {value}.",
            "project": "apollo",
            "components": [{"subject": "staging.port", "value": value}],
        }
        return must_fit("remember", senior.post("/memories", body | more), 201)

    say("5432")
    (lost,) = say("5433")["conflicts"]
    (disputed,) = say("5434", visibility="private")["conflicts"]

    must_fit("list_conflicts", senior.get("/conflicts"), 200)
    must_fit("list_conflicts", senior.get("/conflicts", {"state": "all", "limit": 1}), 200)
    must_fit("get_conflict", senior.get(f"/conflicts/{lost['id']}"), 200)
    must_fit("get_conflict", senior.get(f"/conflicts/{disputed['id']}"), 200)
    must_fit("auto_resolved", senior.get("/auto-resolved"), 200)
    must_fit("recall", senior.post("/recall", {"query": "staging", "project": "apollo"}), 200)
    sweep = must_fit("start_sweep", senior.post("/hygiene/sweeps", {}), 202)
    must_fit("get_sweep", senior.get(f"/hygiene/sweeps/{sweep['id']}"), 200)
    must_fit("hygiene_health", senior.get("/hygiene/health"), 200)


def test_the_documentation_page_asks_nobody_else(client):
    page = client.get("/api/docs")

    assert page.status_code == 200
    text = page.content.decode() + client.get("/api/docs?script=").content.decode()
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//[^"']*""", text) == []
    assert '"validatorUrl": null' in text
    for asset in re.findall(r"""(?:src|href)=["'](/static/[^"']+)""", text):
        answer = client.get(asset)
        assert answer.status_code == 200, asset
        answer.close()


@pytest.fixture(scope="module")
def everybody():
    """Somebody who may do nearly all there is, and somebody who administers."""
    office = new_office()
    return office.person(
        "tester", scopes=ALL_SCOPES, grants=[(office.apollo, REVIEW)]
    ), office.admin


CHECKS = (
    schemathesis.checks.not_a_server_error,
    promises.status_code_conformance,
    promises.content_type_conformance,
    promises.response_schema_conformance,
    promises.response_headers_conformance,
    promises.negative_data_rejection,
)


@pytest.mark.rule("T138")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_whatever_the_document_allows_or_forbids_is_answered_as_it_says(everybody, mode):
    print(f"SCHEMATHESIS_SEED={SEED} SCHEMATHESIS_EXAMPLES={EXAMPLES}")
    schema = schemathesis.openapi.from_wsgi("/api/schema", WSGIHandler())
    operations: Any = schema.get_all_operations()
    for result in operations:
        _try_out(result.ok(), schemathesis.GenerationMode(mode), everybody)


def _try_out(operation, mode, people):
    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    def tried(case):
        for person in people:
            case.headers = {**(case.headers or {}), "Authorization": f"Bearer {person.token}"}
            case.call_and_validate(checks=CHECKS)

    given(operation.as_strategy(generation_mode=mode))(tried)()
