"""The agents' tools: what is listed, the same declaration as REST, and the same answers."""

import hashlib
import json

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from deploy.mcp.server import listed
from deploy.mcp.tools import KEY, TOOLS
from deploy.mcp.words import INSTRUCTIONS
from memory.trust.activation import write_counts
from tenants.caller import Scope
from tests.mcp_listing import PINNED, pinned
from tests.mcp_process import MODES, mcp_process
from tests.memories import kept
from tests.offered import offers
from tests.people import ALL_SCOPES, REVIEW

NAMES = (
    *("remember", "recall", "build_context", "get_memory", "history", "forget", "restore_memory"),
    *("challenge", "report_misled", "verify", "report_change", "link", "close_loop"),
    *("list_conflicts", "get_conflict", "resolve_conflict", "resolve_conflicts", "whoami"),
)
# What REST offers to the scopes of agents, and the contract names no tool for: lists to page
# through, and what people do at their desk.
NO_TOOLS = {
    *("list_memories", "needs_verification", "patch_memory", "unlink", "auto_resolved"),
    *("defer", "assign", "accept", "reject", "undo_batch", "accept_component", "dismiss_component"),
    "report_files",  # from build servers: clients/palimpsest_changes.py
}


@pytest.fixture(scope="module")
def mcp(tmp_path_factory):
    with mcp_process(tmp_path_factory.mktemp("mcp")) as running:
        yield running


def test_the_tools_are_those_of_the_contract():
    assert set(TOOLS) == set(NAMES)


@pytest.mark.rule("T076")
def test_the_listing_is_the_one_that_was_reviewed():
    # Agents learn from it alone, so no change of it goes unseen: `python -m tests.mcp_listing`.
    assert json.loads(PINNED.read_text("utf-8")) == pinned()


@pytest.mark.rule("VI-02", "T071")
def test_every_operation_that_rest_offers_to_agents_is_a_tool():
    for_agents = {
        offer.operation.name
        for offer in offers()
        if offer.operation.scope in (None, Scope.READ, Scope.WRITE, Scope.REVIEW)
    }
    names = {tool.operation.name for tool in TOOLS.values()}
    assert for_agents - NO_TOOLS == names


@pytest.mark.rule("VI-02", "T071")
@pytest.mark.parametrize("name", NAMES)
def test_a_tool_is_declared_where_rest_is(name):
    tool = TOOLS[name]
    offer = next(one for one in offers() if one.operation is tool.operation)
    body = offer.operation.takes
    assert set(tool.takes().fields) == {
        *(body().fields if body else ()),
        *offer.operation.path_ids,
        *([KEY] if offer.operation.changes else ()),
    }
    assert tool.read_only == (not offer.operation.changes)


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_says_all_that_an_agent_must_know(name):
    tool = listed(TOOLS[name])
    assert tool.title
    assert tool.description
    assert tool.annotations is not None
    assert None not in (
        tool.annotations.read_only_hint,
        tool.annotations.destructive_hint,
        tool.annotations.idempotent_hint,
    )
    assert tool.input_schema["additionalProperties"] is False
    assert all(one["description"] for one in tool.input_schema["properties"].values())
    Draft202012Validator.check_schema(tool.input_schema)
    Draft202012Validator.check_schema(tool.output_schema)


def test_the_habit_is_taught_where_agents_look():
    for habit in ("recall before", "supersedes", "verify_before_use", "challenge", "misled"):
        assert habit in INSTRUCTIONS
    words = {name: listed(tool).description or "" for name, tool in TOOLS.items()}
    assert "recall first" in words["remember"]
    assert '"type": "supersedes"' in words["remember"]
    assert "verify_before_use" in words["recall"]
    assert "verify_before_use" in words["verify"]


@pytest.mark.rule("T067", "T071")
@pytest.mark.parametrize("mode", MODES)
def test_every_tool_once_with_the_official_client(mcp, office, mode):
    reviewer = office.person(
        "judge", grants=[(office.apollo, ("see_project", "write_project", "review_project"))],
        scopes=ALL_SCOPES,
    )  # fmt: skip
    agent = office.agent
    office.colleague  # noqa: B018  seated before the loop starts

    async def by_an_agent(client):
        called = {}

        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, (tool, result)
            called[tool] = result.structured_content
            return result.structured_content

        me = await call("whoami")
        assert me["principal"]["type"] == "agent"
        first = await call(
            "remember",
            content="The deploy branch is main.",
            kind="decision",
            components=[{"subject": "deploy.branch", "value": "main"}],
        )
        found = await call("recall", query="Which branch is deployed?")
        assert found["results"][0]["memory_id"] == first["memory_id"]
        other = await call(
            "remember",
            content="The deploy branch is release.",
            components=[{"subject": "deploy.branch", "value": "release"}],
        )
        task = await call("remember", content="Write the release notes.", kind="task")
        await call("link", src=task["memory_id"], dst=first["memory_id"], type="relates_to")
        await call("get_memory", memory_id=first["memory_id"])
        await call("build_context", task="release")
        await call("verify", memory_id=first["memory_id"], outcome="confirmed", method="command",
                   components=["deploy.branch"], observed_value="main")  # fmt: skip
        await call("report_change", subject="deploy", summary="Deploying is done elsewhere now.")
        await call("report_misled", memory_id=other["memory_id"], reason="It was not so.")
        await call("challenge", memory_id=task["memory_id"], reason="Nobody asked for these.")
        await call("close_loop", memory_id=task["memory_id"], note="They are written.")
        await call("restore_memory", memory_id=task["memory_id"])
        await call("forget", memory_id=task["memory_id"], reason="It was a mistake.")
        await call("history", memory_id=first["memory_id"])
        listed_conflicts = await call("list_conflicts")
        await call("get_conflict", dispute_id=listed_conflicts["results"][0]["id"])
        return called

    async def by_a_reviewer(client):
        pending = await client.call_tool("list_conflicts", {})
        pair = next(one for one in pending.structured_content["results"] if one["memory_b"])
        called = {}
        called["resolve_conflicts"] = await client.call_tool(
            "resolve_conflicts", {"policy": "keep_both", "dry_run": True}
        )
        called["resolve_conflict"] = await client.call_tool(
            "resolve_conflict", {"dispute_id": pair["id"], "keep_both": True}
        )
        for name, result in called.items():
            assert not result.is_error, (name, result)
        return called

    called = mcp.in_client(agent, mode, by_an_agent) | mcp.in_client(reviewer, mode, by_a_reviewer)
    # The client has checked each answer against the tool's schema.
    assert set(called) == set(TOOLS)


@pytest.mark.rule("T067", "VI-02")
@pytest.mark.parametrize(
    "case",
    [
        ("whoami", "get", "/whoami", {}),
        ("recall", "post", "/recall", {"query": "staging port", "explain": True}),
        ("get_memory", "get", "/memories/{id}", None),
        ("history", "get", "/memories/{id}/history", None),
        ("list_conflicts", "get", "/conflicts", {}),
    ],
)
def test_a_tool_answers_what_rest_answers(mcp, office, case):
    tool, method, path, arguments = case
    memory = kept(office.senior, "Staging listens on port 5433.", kind="gotcha", project="apollo")
    given = {"memory_id": memory} if arguments is None else arguments
    rest = getattr(office.agent, method)(path.format(id=memory), arguments or {}).json()
    # It is written every two seconds: who asks second finds it, or not, by chance. Here always.
    write_counts()

    told = mcp.told(office.agent, tool, **given)

    assert _timeless(told) == _timeless(rest)


def _timeless(answer):
    """Return the answer without what changes by itself from one moment to the next."""
    text = json.dumps(answer, sort_keys=True)
    found = json.loads(text)
    # So long are the results as they are sent: an activation of more digits is longer.
    found.pop("tokens", None)
    for one in found.get("results", []):
        for name in ("activation", "score", "score_parts"):
            one.pop(name, None)
    return found


@pytest.mark.rule("T073")
def test_a_failed_call_fits_its_schema_too(mcp, office):
    for name, arguments in (("recall", {}), ("link", {"src": "x"}), ("get_memory", {})):
        problem = mcp.refused(office.agent, name, **arguments)
        Draft202012Validator(TOOLS[name].output_schema).validate(problem)


@pytest.mark.rule("T071")
def test_what_a_blind_token_is_told_fits_the_schema(mcp, office):
    blind = office.person("blind", grants=[(office.apollo, ("see_project", "write_project"))],
                          scopes=(Scope.WRITE,))  # fmt: skip
    told = mcp.told(blind, "remember", content="A task to do.", kind="task", project="apollo")
    Draft202012Validator(TOOLS["remember"].output_schema).validate(told)
    closed = mcp.told(blind, "close_loop", memory_id=told["memory_id"])
    Draft202012Validator(TOOLS["close_loop"].output_schema).validate(closed)
    assert set(told) == set(closed) == {"memory_id", "absorbed", "superseded", "skipped"}


@pytest.mark.rule("T071", "DI-12")
def test_what_a_blind_reviewer_is_told_fits_the_schema(mcp, office):
    blind = office.person("blind", grants=[(office.apollo, REVIEW)], scopes=(Scope.REVIEW,))
    memory = mcp.told(office.agent, "remember", content="Builds need four cores.")["memory_id"]
    raised = mcp.told(office.agent2, "challenge", memory_id=memory, reason="Two will do.")
    told = mcp.told(blind, "resolve_conflict", dispute_id=raised["dispute_id"], keep_both=True)
    Draft202012Validator(TOOLS["resolve_conflict"].output_schema).validate(told)
    assert told["state"] == "resolved"
    assert "side_a" not in told


@pytest.mark.rule("T076", "T084")
def test_the_listing_is_the_same_for_everybody_and_private(mcp, office, other_office):
    seen = [
        mcp.ask(person, "tools/list")[2]["result"]
        for person in (office.agent, office.viewer, other_office.senior)
    ]
    assert seen[0] == seen[1] == seen[2]
    assert [tool["name"] for tool in seen[0]["tools"]] == list(TOOLS)
    assert seen[0]["cacheScope"] == "private"
    assert office.slug not in json.dumps(seen)


@pytest.mark.rule("T084", "T077")
@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list"])
def test_everything_cached_is_private(mcp, office, method):
    assert mcp.ask(office.agent, method)[2]["result"]["cacheScope"] == "private"


def test_descriptions_are_short_enough_to_be_read_in_every_session():
    total = len(INSTRUCTIONS) + sum(len(tool.description) for tool in TOOLS.values())
    assert total < 12_000
    assert hashlib.sha256(INSTRUCTIONS.encode()).hexdigest() == pinned()["instructions_sha256"]
