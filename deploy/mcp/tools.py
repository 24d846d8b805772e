"""The agents' tools: which operation each of them does, from the same declaration as REST."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deploy.mcp import words
from deploy.mcp.schemas import Schema, input_schema, output_schema
from memory import api as memories
from reviews import api as reviews
from tenants.api import WHOAMI
from tenants.caller import Scope
from tenants.fields import Body, Id, Text
from tenants.openapi import LONGEST_KEY
from tenants.operations import Operation

KEY = "idempotency_key"
# What a token that may not read is told of its write (memory.api).
BLIND = ("memory_id", "absorbed", "superseded", "skipped")


@dataclass(frozen=True)
class Tool:
    """
    An operation as agents call it.

    :param destructive: something goes out of use with it, though it can be brought back
    :param idempotent: doing it again with the same arguments changes nothing more
    """

    name: str
    title: str
    operation: Operation
    destructive: bool = False
    idempotent: bool = False

    @property
    def read_only(self) -> bool:
        return not self.operation.changes

    @property
    def description(self) -> str:
        """What it is for and when: all that an agent ever learns of it."""
        return words.TOOLS[self.name]

    @cached_property
    def takes(self) -> type[Body]:
        """The operation's own body, with the ids that stand in REST's path and the key."""
        operation = self.operation
        arguments: dict[str, Any] = {
            name: Id(prefix) for name, prefix in operation.path_ids.items()
        }
        body = operation.takes or Body
        if operation.changes:
            arguments[KEY] = Text(required=False, max_length=LONGEST_KEY)
        return type("Arguments", (body,), arguments)

    @cached_property
    def input_schema(self) -> Schema:
        names = [*self.operation.path_ids, *self.takes().fields]
        described = {name: words.argument(self.name, name) for name in names}
        return input_schema(self.takes(), described)

    @cached_property
    def output_schema(self) -> Schema:
        operation = self.operation
        told = reviews.DECIDED if operation.scope == Scope.REVIEW else BLIND
        return output_schema(operation.gives(), None if operation.hides is None else told)


_ALL = (
    Tool("remember", "Remember", memories.REMEMBER, idempotent=True),
    Tool("recall", "Recall", memories.RECALL, idempotent=True),
    Tool("build_context", "Brief yourself", memories.BRIEFING, idempotent=True),
    Tool("get_memory", "Read one memory", memories.GET_MEMORY, idempotent=True),
    Tool("history", "History of a memory", memories.HISTORY, idempotent=True),
    Tool("forget", "Forget a memory", memories.FORGET, destructive=True, idempotent=True),
    Tool("restore_memory", "Restore a memory", memories.RESTORE, idempotent=True),
    Tool("challenge", "Challenge a memory", reviews.CHALLENGE, idempotent=True),
    Tool("report_misled", "Report that a memory misled you", reviews.MISLED),
    Tool("verify", "Record a check", memories.VERIFY),
    Tool("report_change", "Report a change of the world", memories.REPORT_CHANGE),
    Tool("link", "Link two memories", memories.LINK, idempotent=True),
    Tool("close_loop", "Close a task or question", memories.CLOSE, idempotent=True),
    Tool("list_conflicts", "List conflicts", memories.LIST_CONFLICTS, idempotent=True),
    Tool("get_conflict", "Read one conflict", memories.GET_CONFLICT, idempotent=True),
    Tool(
        "resolve_conflict",
        "Resolve a conflict",
        reviews.RESOLVE,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "resolve_conflicts",
        "Resolve many conflicts",
        reviews.RESOLVE_MANY,
        destructive=True,
        idempotent=True,
    ),
    Tool("whoami", "Who am I here", WHOAMI, idempotent=True),
)
TOOLS = {tool.name: tool for tool in _ALL}
