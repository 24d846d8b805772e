"""What must hold of every table, view and function, told by the system catalogue."""

from typing import Any

import psycopg

from tests.promises.raw import column

OWN_TENANT = "({column} = ( SELECT current_tenant() AS current_tenant))"
DEFINER_PATH = "search_path=pg_catalog, public, pg_temp"

# A table belongs to tenants if it says whose a row is, or points at a table that does.
_TENANT_TABLES = """
WITH RECURSIVE own (oid) AS (
    SELECT c.oid FROM pg_class c
    WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
      AND (c.relname = 'tenants' OR EXISTS (SELECT FROM pg_attribute a
           WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped))
  UNION
    SELECT k.conrelid FROM pg_constraint k JOIN own ON k.confrelid = own.oid WHERE k.contype = 'f'
) SELECT oid::regclass::text FROM own ORDER BY 1
"""
_OPEN_FLAGS = """
SELECT relname || ': row-level security is not enabled and forced' FROM pg_class
WHERE oid = ANY (%s::regclass[]) AND NOT (relrowsecurity AND relforcerowsecurity)
"""
_NO_WALL = """
SELECT t::text || ': no restrictive policy keeps it to its tenant' FROM unnest(%s::regclass[]) t
WHERE NOT EXISTS (
    SELECT FROM pg_policies p
    WHERE p.tablename = t::text AND p.permissive = 'RESTRICTIVE' AND p.cmd = 'ALL'
      AND (SELECT array_agg(r::text ORDER BY r::text) FROM unnest(p.roles) r)
          = '{palimpsest_judge,palimpsest_member,palimpsest_reviewer}'
      AND p.qual = replace(%s, '{column}', CASE t::text WHEN 'tenants' THEN 'id' ELSE 'tenant_id'
      END)
      AND p.with_check = p.qual)
"""
_LOOSE = """
SELECT tablename || ': ' || policyname || ' lets everything through' FROM pg_policies
WHERE (btrim(qual, '()') = 'true' OR btrim(with_check, '()') = 'true')
  AND NOT (cmd = 'SELECT' AND roles = '{palimpsest_search}')
UNION ALL
SELECT tablename || ': ' || policyname || ' is for everybody' FROM pg_policies WHERE 'public' =
    ANY (roles)
"""
_VIEWS = """
SELECT c.oid::regclass::text || ': a view with the rights of its owner' FROM pg_class c
WHERE c.relkind = 'v' AND c.relnamespace = 'public'::regnamespace
  AND NOT coalesce('security_invoker=true' = ANY (c.reloptions), false)
UNION ALL
SELECT c.oid::regclass::text || ': a materialized view knows no policies' FROM pg_class c
WHERE c.relkind = 'm' AND EXISTS (SELECT FROM aclexplode(c.relacl) g WHERE g.grantee <> c.relowner)
"""
_CHILDREN = """
SELECT inhrelid::regclass::text || ': a child that can be read past its parent' FROM pg_inherits
WHERE inhparent = ANY (%s::regclass[])
"""
_RIGHTS = """
SELECT c.relname || ': ' || g.grantee::regrole::text || ' may ' || g.privilege_type
FROM pg_class c, aclexplode(c.relacl) g
WHERE c.oid = ANY (%s::regclass[]) AND g.grantee <> c.relowner
  AND (g.grantee = 0 OR g.grantee = 'palimpsest_runtime'::regrole
       OR g.privilege_type IN ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN')
       OR g.privilege_type = 'DELETE' AND c.relname <> 'project_permissions')
"""
_KEYS = r"""
SELECT k.conrelid::regclass::text || ': ' || k.conname || ' does not carry the tenant' FROM
    pg_constraint k
WHERE k.contype = 'f' AND k.conrelid = ANY (%(tables)s::regclass[]) AND k.confrelid = ANY
    (%(tables)s::regclass[])
  AND k.confrelid <> 'tenants'::regclass
  AND NOT EXISTS (SELECT FROM pg_attribute a
                  WHERE a.attrelid = k.conrelid AND a.attname = 'tenant_id' AND a.attnum = ANY
                  (k.conkey))
UNION ALL
SELECT i.indrelid::regclass::text || ': ' || i.indexrelid::regclass::text || ' is unique across
    tenants'
FROM pg_index i
WHERE i.indisunique AND NOT i.indisprimary AND i.indrelid = ANY (%(tables)s::regclass[])
  AND i.indexrelid::regclass::text NOT IN ('tenants_slug_key', 'tokens_digest_key')
  -- guardian's own, on a project, whose key says the tenant
  AND i.indexrelid::regclass::text NOT LIKE 'project\_permissions\_user\_id\_permission\_id\_co%%'
  AND NOT EXISTS (SELECT FROM pg_attribute a
                  WHERE a.attrelid = i.indrelid AND a.attname = 'tenant_id' AND a.attnum = ANY
                  (i.indkey))
"""
_FUNCTIONS = """
SELECT p.oid::regprocedure::text || CASE
         WHEN p.proleakproof THEN ': leakproof'
         WHEN o.rolsuper THEN ': runs as a superuser'
         WHEN NOT coalesce(%s = ANY (p.proconfig), false) THEN ': its search_path is not pinned'
         ELSE ': everybody may call it' END
FROM pg_proc p JOIN pg_roles o ON o.oid = p.proowner
WHERE p.pronamespace = 'public'::regnamespace
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  AND (p.proleakproof OR p.prosecdef AND (
       o.rolsuper OR NOT coalesce(%s = ANY (p.proconfig), false)
       OR p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) g WHERE g.grantee = 0)))
"""


def tenant_tables(connection: psycopg.Connection[Any]) -> list[str]:
    """Return the tables in which rows of tenants stand."""
    return column(connection, _TENANT_TABLES)


def faults(connection: psycopg.Connection[Any]) -> list[str]:
    """Return everything in the catalogue that would let something through the wall."""
    tables = tenant_tables(connection)
    return [
        *column(connection, _OPEN_FLAGS, [tables]),
        *column(connection, _NO_WALL, [tables, OWN_TENANT]),
        *column(connection, _LOOSE),
        *column(connection, _VIEWS),
        *column(connection, _CHILDREN, [tables]),
        *column(connection, _RIGHTS, [tables]),
        *column(connection, _KEYS, {"tables": tables}),
        *column(connection, _FUNCTIONS, [DEFINER_PATH, DEFINER_PATH]),
    ]
