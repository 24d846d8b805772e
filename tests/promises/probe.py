"""A statement of somebody's, and what must come of it."""

from dataclasses import dataclass
from typing import Any

import psycopg

from tests.promises.raw import Step, Who, outcome


@dataclass(frozen=True)
class Probe:
    """A statement of somebody's, and what must come of it: ids, some rows, or an SQLSTATE."""

    name: str
    who: Who
    statement: str
    params: Any
    expected: set[Any] | int | str
    after: tuple[Step, ...] = ()

    def names(self, table: str, verb: str = "") -> bool:
        """
        Return whether it, or what was done before it, has to do with a table.

        :param verb: SELECT, INSERT, UPDATE or DELETE, if it is to begin with that
        """
        said = (self.statement, *(step.statement for step in self.after))
        return any(table in one and one.lstrip().startswith(verb) for one in said)

    def fault(self, connection: psycopg.Connection[Any]) -> str | None:
        """Return what is wrong, if anything is."""
        found = outcome(connection, self.who, self.statement, self.params, self.after)
        return None if found == self.expected else f"{self.name}: {found} and not {self.expected}"


def sees(name: str, who: Who, table: str, expected: set[Any], key: str = "id") -> Probe:
    return Probe(f"{name} reads {table}", who, f"SELECT {key} FROM {table}", (), expected)
