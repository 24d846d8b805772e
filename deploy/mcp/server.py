"""The MCP server: tools, resources and prompts on the official SDK; it keeps nothing."""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any

import mcp_types as types
from django.conf import settings
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette

from deploy.mcp import prompts, resources
from deploy.mcp.calls import Asked, Threads, called
from deploy.mcp.tools import TOOLS, Tool
from deploy.mcp.words import INSTRUCTIONS

Context = ServerRequestContext[Any, Any]

ASKED = "palimpsest.asked"  # where the entrance leaves, in the ASGI scope, who asks
LISTS_STAY_FOR = 300_000  # milliseconds; they change with a release only


def mcp_app(threads: Threads) -> Starlette:
    """Return the ASGI application that speaks MCP; the entrance stands before it."""
    server: Server[Any] = Server(
        "palimpsest",
        version=str(settings.SPECTACULAR_SETTINGS["VERSION"]),
        title="Palimpsest",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": CacheHint(ttl_ms=LISTS_STAY_FOR),
            "prompts/list": CacheHint(ttl_ms=LISTS_STAY_FOR),
            "resources/list": CacheHint(ttl_ms=LISTS_STAY_FOR),
            "resources/templates/list": CacheHint(ttl_ms=LISTS_STAY_FOR),
            "resources/read": CacheHint(),
        },
        get_tool_input_schema=_input_schema,
        on_list_tools=_list_tools,
        on_call_tool=partial(_call_tool, threads),
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=partial(_read_resource, threads),
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
    )
    return server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=settings.LONGEST_BODY,
        # The entrance has looked at Host and Origin, by the settings that hold for REST as well.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def listed(tool: Tool) -> types.Tool:
    """Return a tool as it is listed, the same for everybody."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def _input_schema(name: str) -> Mapping[str, Any] | None:
    return TOOLS[name].input_schema if name in TOOLS else None


async def _list_tools(_context: Context, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[listed(tool) for tool in TOOLS.values()])


async def _call_tool(
    threads: Threads, context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    tool = TOOLS.get(params.name)
    if tool is None:
        near = get_close_matches(params.name[:80], TOOLS, 1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise MCPError(
            types.INVALID_PARAMS, f"There is no such tool. {hint}There are: {', '.join(TOOLS)}."
        )
    asked = _asked(context)
    call = partial(called, tool, params.arguments or {}, asked)
    return await threads.run_for(asked.caller.tenant_id, call)


async def _list_resources(_context: Context, _params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[resources.RULES])


async def _list_templates(_context: Context, _params: Any) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[resources.MEMORY])


async def _read_resource(
    threads: Threads, context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    asked = _asked(context)
    call = partial(resources.read, params.uri, asked)
    return await threads.run_for(asked.caller.tenant_id, call)


async def _list_prompts(_context: Context, _params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=prompts.PROMPTS)


async def _get_prompt(
    _context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    return prompts.said(params.name, params.arguments or {})


def _asked(context: Context) -> Asked:
    assert context.request is not None  # everything comes over HTTP
    asked: Asked = context.request.scope[ASKED]
    return asked
