"""Whatever is put in order is in one order: what happened in the same moment has one, too."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
PRODUCT = ("tenants", "memory", "hygiene", "reviews", "deploy")
# What no two rows have in common that are put in order by it, as the last of their keys.
ONLY_ONCE = {"id", "pk", "batch_id", "sequence", "slug", "kind", "number", "place"}
# An agent's name is its tenant's, once.
AGENTS = {"memory/admin_audit.py", "tenants/admin.py", "tenants/admin_forms.py"}
# Here any of them would do: it is counted, done sooner or later, or there is but one.
ANY_WILL_DO = {"j.lease_until", "e.valid_until", "direct"}
_SQL = re.compile(r"ORDER BY\s+(.+?)(?=\s*(?:\)|;|LIMIT|LOOP|FOR |OFFSET|'|\"|\n\s*$))", re.DOTALL)
_TIMES = re.compile(r"(?:\w+\.)?(?:\w+_(?:at|until|from|after)|at|name)\Z")


def sources(suffix: str) -> Iterator[tuple[str, str]]:
    """Give the path and the text of each file of the product; what is frozen stays as it is."""
    for app in (*PRODUCT, "tests"):
        for path in sorted((ROOT / app).rglob(f"*.{suffix}")):
            if "migrations" not in path.parts:
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def last_keys(text: str) -> Iterator[str]:
    """Give the last key of each order that a query set is given, as far as it stands there."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "order_by" and node.args and isinstance(node.args[-1], ast.Constant):
            yield str(node.args[-1].value).lstrip("-")


def last_columns(text: str) -> Iterator[str]:
    """Give the last column of each order in SQL that is one."""
    without_comments = re.sub(r"--.*", "", text)
    for said in _SQL.findall(without_comments):
        yield from said.split(",")[-1].split()[:1]


@pytest.mark.rule("HI-03", "DE-09")
def test_no_query_set_is_in_the_order_of_times_alone():
    found = {
        (path, key)
        for path, text in sources("py")
        for key in last_keys(text)
        if key not in ONLY_ONCE and not (key == "name" and path in AGENTS)
    }
    assert found == set()


@pytest.mark.rule("HI-03", "DE-09")
def test_no_statement_is_in_the_order_of_times_alone():
    found = {
        (path, column)
        for suffix in ("sql", "py")
        for path, text in sources(suffix)
        for column in last_columns(text)
        if _TIMES.match(column) and column not in ANY_WILL_DO
    }
    assert found == set()
