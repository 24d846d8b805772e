"""
An operation and its wire: declared once, offered by every face.

The same declaration makes the REST endpoint, its place in the OpenAPI document and the agents'
tool, so none of them can do what the others may not.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from inspect import getdoc
from typing import Any

from rest_framework.serializers import Serializer

from tenants.caller import Caller, Scope
from tenants.ids import Prefix
from tenants.once import Answer

Status = HTTPStatus | Callable[[Answer], HTTPStatus]


@dataclass(frozen=True)
class Operation:
    """
    What may be asked for, what it takes and gives, and which scope it needs.

    :param run: takes the caller first and the rest by keyword
    :param path_ids: the ids that stand in the path, by argument
    :param hides: what a caller without memory:read is told of the answer, if not all
    """

    run: Callable[..., Answer]
    scope: Scope | None
    gives: type[Serializer[Any]]
    takes: type[Serializer[Any]] | None = None
    status: Status = HTTPStatus.OK
    path_ids: dict[str, Prefix] = field(default_factory=dict)
    changes: bool = True
    hides: Callable[[Caller, Answer], Answer] | None = None

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def summary(self) -> str:
        """The first sentence of the operation's own description."""
        return (getdoc(self.run) or "").split("\n\n")[0].replace("\n", " ")

    def __call__(self, caller: Caller, **arguments: Any) -> Answer:
        """
        Do it, if the caller's token is for that.

        :raises ScopeMissing: if it is not
        """
        if self.scope is not None:
            caller.needs(self.scope)
        answer = self.run(caller, **arguments)
        return answer if self.hides is None else self.hides(caller, answer)

    def status_of(self, answer: Answer) -> HTTPStatus:
        return self.status if isinstance(self.status, HTTPStatus) else self.status(answer)
