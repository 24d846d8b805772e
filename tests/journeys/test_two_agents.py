"""
A day of two agents and a reviewer, with the official client over real HTTP, in both eras.

Each acts on what earlier answers told it, and on nothing else: an id that it was never shown fails
the test.
"""

import asyncio
import json
import re
from contextlib import AsyncExitStack

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp_process import MODES, mcp_process
from tests.memories import kept

IDS = re.compile(r"(?:mem|cfl)_[0-9a-hjkmnp-tv-z]{26}")
SECRET = "The vault opens to a knock in the rhythm of a waltz."


@pytest.fixture(scope="module")
def mcp(tmp_path_factory):
    with mcp_process(tmp_path_factory.mktemp("mcp")) as running:
        yield running


class Acting:
    """Somebody at work: calls tools, and knows what the answers told."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.told = ""

    async def __call__(self, tool, **arguments):
        """Return the answer of a call that worked."""
        result = await self._called(tool, arguments)
        assert not result.is_error, (tool, arguments, result.structured_content)
        return result.structured_content

    async def refused(self, tool, **arguments):
        """Return why a call did not work."""
        result = await self._called(tool, arguments)
        assert result.is_error, (tool, result)
        return result.structured_content["code"]

    async def _called(self, tool, arguments):
        named = IDS.findall(json.dumps(arguments))
        assert all(one in self.told for one in named), (tool, named)
        result = await self._client.call_tool(tool, arguments)
        self.told += json.dumps(result.structured_content, ensure_ascii=False)
        self.told += result.content[0].model_dump()["text"]
        return result

    async def first_about(self, query):
        """Return what a recall finds first."""
        return (await self("recall", query=query))["results"][0]


@pytest.mark.rule(
    *("VI-03", "RC-02", "RC-08", "NE-01", "NE-04", "SU-01", "SU-13", "DI-02", "DI-04", "DI-12"),
    *("SB-01", "VE-01", "RE-01", "T067", "T214"),
)
@pytest.mark.parametrize("mode", MODES)
def test_a_day_of_two_agents(mcp, office, mode):
    hidden = kept(office.senior, SECRET, scope="personal")
    private = kept(office.senior, f"Mine: {SECRET}", project="apollo", visibility="private")
    people = [office.agent, office.agent2, office.reviewer]

    async def day():
        async with AsyncExitStack() as stack:
            ada, ben, robin = [
                Acting(await _client(stack, mcp.mcp_url, one.token, mode)) for one in people
            ]
            await _morning(ada)
            await _a_colleague_arrives(ada, ben)
            await _the_world_moves(ada, ben)
            await _a_reviewer_decides(robin)
            await _evening(ada, ben, robin)
            return ben.told

    seen_by_ben = asyncio.run(day())
    # The other agent's sponsor keeps to herself what is hers.
    for theirs in (SECRET, hidden, private):
        assert theirs not in seen_by_ben


async def _client(stack, url, token, mode):
    http_client = await stack.enter_async_context(
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    )
    transport = streamable_http_client(url, http_client=http_client)
    return await stack.enter_async_context(Client(transport, mode=mode))


async def _morning(ada):
    briefing = await ada("build_context", task="prepare the release")
    assert briefing["rules"] == []
    known = (await ada("recall", query="Which port does staging use?"))["results"]
    # Her sponsor's own notes are hers to see; none of them says it.
    assert [one for one in known if SECRET not in one["content"]] == []
    await ada("remember", content="Staging listens on port 5432.")
    again = await ada("remember", content="Staging listens on port 5433.")
    # She did not say what that replaces; the answer says what she may have missed, and what to do.
    older = again["similar_existing"][0]
    assert older["preview"] == "Staging listens on port 5432."
    assert "supersedes" in again["hint"]
    replaced = await ada(
        "remember",
        content="Staging listens on port 5433.",
        links=[{"type": "supersedes", "dst": older["id"]}],
        components=[{"subject": "staging.port", "value": "5433"}],
    )
    assert replaced["absorbed"]
    assert replaced["memory_id"] == again["memory_id"]
    assert replaced["superseded"] == [older["id"]]
    await ada(
        "remember",
        content="Releases are cut from the branch main.",
        components=[{"subject": "release.branch", "value": "main"}],
    )
    await ada("remember", content="Backups of the ledger run at three in the morning.")
    await ada("remember", content="Write the release notes.", kind="task")


async def _a_colleague_arrives(ada, ben):
    briefing = await ben("build_context", task="cut the release")
    assert [one["kind"] for one in briefing["open_loops"]["items"]] == ["task"]
    found = await ben.first_about("Which port does staging use?")
    assert found["content"] == "Staging listens on port 5433."
    assert found["history_available"]
    chain = (await ben("history", memory_id=found["memory_id"]))["chain"]
    assert [one["content"][-5:] for one in chain] == ["5432.", "5433."]
    # He knows it otherwise, and says it as a rule: no machine decides that.
    written = await ben(
        "remember",
        content="Releases are cut from the branch stable.",
        kind="convention",
        components=[{"subject": "release.branch", "value": "stable"}],
    )
    [conflict] = written["conflicts"]
    assert conflict["state"] == "pending"
    about = await ben.first_about("From which branch are releases cut?")
    assert about["temporal_status"] == "conflicted"
    assert about["competing_claims"]
    backups = await ben.first_about("When do backups of the ledger run?")
    await ben("challenge", memory_id=backups["memory_id"], reason="The log says five.")
    await ben("report_misled", memory_id=backups["memory_id"], reason="I came too early.")
    assert (await ada.first_about("When do backups of the ledger run?"))["disputed"]
    # Neither may judge what it takes part in, and their tokens are not for that.
    assert await ben.refused("resolve_conflict", dispute_id=conflict["id"], keep_both=True) == (
        "insufficient_scope"
    )


async def _the_world_moves(ada, ben):
    changed = await ben("report_change", subject="staging.port", summary="Staging was moved.")
    assert [one["subject"] for one in changed["marked"]] == ["staging.port"]
    found = await ada.first_about("Which port does staging use?")
    assert found["temporal_status"] == "verify_before_use"
    assert "Staging was moved" in found["dirty_reason"]
    assert "last verified" in found["safe_rendering"]
    how = found["how_to_verify"]
    done = await ada(
        how["tool"],
        memory_id=how["memory_id"],
        components=how["arguments"]["components"],
        outcome="confirmed",
        method="command",
        observed_value="5433",
        evidence="ss -ltn on staging",
    )
    assert len(done["cleared"]) == 1
    found = await ada.first_about("Which port does staging use?")
    assert found["temporal_status"] == "current_enough"


async def _a_reviewer_decides(robin):
    pending = (await robin("list_conflicts"))["results"]
    pairs = [one for one in pending if one["memory_b"]]
    alone = [one for one in pending if not one["memory_b"]]
    assert (len(pairs), len(alone)) == (1, 1)
    conflict = await robin("get_conflict", dispute_id=pairs[0]["id"])
    assert {conflict["side_a"]["author"]["level"], conflict["side_b"]["author"]["level"]} == {
        10,
        30,
    }
    decided = await robin(
        "resolve_conflict", dispute_id=conflict["id"], winner=conflict["recommended_winner"]
    )
    assert decided["state"] == "resolved"
    await robin("resolve_conflict", dispute_id=alone[0]["id"], keep_both=True, note="I looked.")
    assert (await robin("list_conflicts"))["results"] == []


async def _evening(ada, ben, robin):
    found = await ben.first_about("From which branch are releases cut?")
    assert found["content"] == "Releases are cut from the branch main."
    assert not found["disputed"]
    lost = (await ben("get_memory", memory_id=found["memory_id"]))["supersedes"]
    assert len(lost) == 1
    shown = await robin.first_about("From which branch are releases cut?")
    theirs = (await robin("get_memory", memory_id=shown["memory_id"]))["supersedes"]
    restored = await robin("restore_memory", memory_id=theirs[0], reason="Both hold, it turns out.")
    assert restored["memory"]["lifecycle"] == "live"
    assert restored["successor"] == shown["memory_id"]
    [task] = (await ada("build_context"))["open_loops"]["items"]
    await ada("close_loop", memory_id=task["memory_id"], note="They are written.")
    briefing = await ada("build_context")
    assert briefing["open_loops"]["items"] == []
    assert [one["kind"] for one in briefing["rules"]] == ["convention"]
