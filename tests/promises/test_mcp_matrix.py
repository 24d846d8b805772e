"""Every actor and every tool over MCP, against the very table that REST is held to (authz.txt)."""

import json

import pytest

from deploy.mcp.tools import TOOLS
from tests.mcp_process import mcp_process
from tests.promises.cast import state_of
from tests.promises.surface import BODIES, FIRST, ask, made_up, operations
from tests.promises.test_matrix import HIDDEN_FROM, REVIEWED


@pytest.fixture(scope="module")
def mcp(tmp_path_factory):
    with mcp_process(tmp_path_factory.mktemp("mcp")) as running:
        yield running


def route_of(tool):
    """Return the verb and the route at which REST does what the tool does."""
    return next(at for at, operation in operations().items() if operation is tool.operation)


def call(mcp, person, tool, things):
    """Return the status that REST would have told, and what was answered."""
    arguments = BODIES.get(route_of(tool), lambda _: {})(things.ids)
    arguments |= {name: things.ids[name] for name in tool.operation.path_ids}
    params = {"name": tool.name, "arguments": arguments}
    status, _, said = mcp.ask(person, "tools/call", params)
    if status != 200:
        return status, said["error"]["data"]
    result = said["result"]
    told = result["structuredContent"]
    return (told["status"] if result.get("isError") else 200), told


@pytest.mark.rule("VI-02", "VI-04", "T001", "T002", "T003", "T006", "T071", "T072")
@pytest.mark.parametrize("name", TOOLS)
def test_everybody_is_answered_as_over_rest(cast, mcp, name):
    tool = TOOLS[name]
    at = route_of(tool)
    told = REVIEWED[at]
    things = _ready(cast, at)
    before = state_of(cast.office), state_of(cast.elsewhere)
    found = {}
    for actor in [actor for actor, status in told.items() if status >= 400]:
        found[actor], answer = call(mcp, cast.actors[actor], tool, things)
        cast.sniffer.sniff(json.dumps(answer), cast.tenant_of(actor))
        if actor in HIDDEN_FROM:
            _, missing = call(mcp, cast.actors[actor], tool, made_up())
            assert {**answer, "request_id": ""} == {**missing, "request_id": ""}, actor
    # Nobody who is refused has changed anything.
    assert (state_of(cast.office), state_of(cast.elsewhere)) == before
    for actor in [actor for actor, status in told.items() if status < 400]:
        found[actor], answer = call(
            mcp, cast.actors[actor], tool, things if tool.read_only else _ready(cast, at)
        )
        cast.sniffer.sniff(json.dumps(answer), cast.tenant_of(actor))
    assert found == {
        actor: min(status, 200) if status < 400 else status for actor, status in told.items()
    }


def _ready(cast, at):
    things = cast.things(*at)
    first = FIRST.get(at)
    if first is not None:
        assert ask(cast.office.senior, *first, things).status_code == 200
    return things
