"""What clients can read without calling a tool: one memory, and the project's rules."""

import re

import mcp_types as types
from mcp.shared.exceptions import MCPError

from deploy.mcp.calls import Asked
from deploy.mcp.text import DATA, compact, quoted
from deploy.problems import DATABASE_DOWN, foreseen
from memory import api as memories
from memory.models import PROTECTED_KINDS, Kind
from tenants.again import retried
from tenants.ids import MalformedId, Prefix, read_id
from tenants.refusals import NotFound, Refusal

MEMORY = types.ResourceTemplate(
    name="memory",
    title="A memory",
    uri_template="palimpsest://memories/{id}",
    description="One memory in full, with its chain of versions, as JSON; by an id from an answer.",
    mime_type="application/json",
)
RULES = types.Resource(
    name="rules",
    title="The project's rules",
    uri="palimpsest://rules",
    description="Decisions, conventions, preferences, gotchas: what no machine retires by itself.",
    mime_type="text/markdown",
)
_MEMORY_URI = re.compile(r"palimpsest://memories/([a-z0-9_]{1,40})")
# Server errors that are ours to name (JSON-RPC leaves -32000 to -32019 to servers).
REFUSED = -32000


def read(uri: str, asked: Asked) -> types.ReadResourceResult:
    """
    Return what stands at the address.

    :raises MCPError: if nothing does, or nothing that the caller may read
    """
    try:
        contents = retried(lambda: _contents(uri, asked))
    except (Refusal, *DATABASE_DOWN) as error:
        body = foreseen(error, asked.request_id)
        assert body is not None
        missing = isinstance(error, NotFound)
        raise MCPError(types.INVALID_PARAMS if missing else REFUSED, body["detail"], body) from None
    return types.ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")


def _contents(uri: str, asked: Asked) -> types.TextResourceContents:
    if uri == RULES.uri:
        return types.TextResourceContents(uri=uri, mime_type=RULES.mime_type, text=_rules(asked))
    found = _MEMORY_URI.fullmatch(uri)
    if found is None:
        raise NotFound
    try:
        memory_id = read_id(Prefix.MEMORY, found[1])
    except MalformedId:
        raise NotFound from None
    answer = memories.GET_MEMORY(asked.caller, memory_id=memory_id)
    return types.TextResourceContents(uri=uri, mime_type=MEMORY.mime_type, text=compact(answer))


def _rules(asked: Asked) -> str:
    lines = ["# Rules", "", DATA]
    for kind in (one for one in Kind if one in PROTECTED_KINDS):
        answer = memories.LIST_MEMORIES(asked.caller, kind=kind, lifecycle="live", limit=200)
        # What a watcher captured is no rule, whatever it calls itself.
        rules = [one for one in answer["results"] if one["provenance_rank"] > 0]
        if rules:
            lines += ["", f"## {kind.label}"]
        for memory in rules:
            by = f"{memory['author']['name']}, level {memory['author']['level']}"
            start = f", holds from {memory['valid_from']}" if memory["valid_from"] else ""
            lines += [
                "",
                f"{memory['id']} ({by}, {memory['trust_state']}{start})",
                quoted(memory["content"]),
            ]
    return "\n".join(lines)
