-- The database roles, and what the database and its schema let them do.
-- Run whole, inside the product's database, by an administrative login; safe to run again.
--
--                       logs in   row security   may
-- palimpsest_owner      yes       bypasses       own the tables and migrate; no server process logs in as it
-- palimpsest_runtime    yes       obeys          nothing itself; become member, judge or reviewer
-- palimpsest_queue      yes       obeys          what the job queue's own schema grants it
-- palimpsest_backup     yes       bypasses       read everything
-- palimpsest_member     -         obeys          what policies.sql grants
-- palimpsest_judge      -         obeys          what policies.sql grants
-- palimpsest_reviewer   -         obeys          what policies.sql grants
-- palimpsest_search     -         obeys          own the functions that find candidates; the owner alone becomes it

DO $$
DECLARE
    wanted record;
    drifted boolean;
BEGIN
    FOR wanted IN
        SELECT * FROM (VALUES
            ('palimpsest_owner',    true,  true),
            ('palimpsest_runtime',  true,  false),
            ('palimpsest_queue',    true,  false),
            ('palimpsest_backup',   true,  true),
            ('palimpsest_member',   false, false),
            ('palimpsest_judge',    false, false),
            ('palimpsest_reviewer', false, false),
            ('palimpsest_search',   false, false)
        ) AS roles (name, logs_in, bypasses)
    LOOP
        SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolinherit
               OR rolcanlogin <> wanted.logs_in OR rolbypassrls <> wanted.bypasses
          INTO drifted
          FROM pg_roles WHERE rolname = wanted.name;

        IF NOT FOUND THEN
            -- NOINHERIT before any GRANT: what a membership inherits is fixed when it is granted.
            EXECUTE format('CREATE ROLE %I NOINHERIT %s %s', wanted.name,
                CASE WHEN wanted.logs_in THEN 'LOGIN' ELSE 'NOLOGIN' END,
                CASE WHEN wanted.bypasses THEN 'BYPASSRLS' ELSE '' END);
        ELSIF drifted THEN
            -- Only on a drift, since only a superuser may so much as name these attributes.
            EXECUTE format('ALTER ROLE %I NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOINHERIT %s %s',
                wanted.name,
                CASE WHEN wanted.logs_in THEN 'LOGIN' ELSE 'NOLOGIN' END,
                CASE WHEN wanted.bypasses THEN 'BYPASSRLS' ELSE 'NOBYPASSRLS' END);
        END IF;
    END LOOP;
END
$$;

-- An administrator who is no superuser must be in the owner's place to hand things over to it, and
-- to install extensions; database.py takes it back after that.
DO $$
BEGIN
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT palimpsest_owner TO %I WITH INHERIT TRUE, SET TRUE', current_user);
    END IF;
END
$$;

GRANT palimpsest_member, palimpsest_judge, palimpsest_reviewer
    TO palimpsest_runtime WITH ADMIN FALSE, INHERIT FALSE, SET TRUE;

-- CREATE OR REPLACE of a function of search's needs its rights, not only its name.
GRANT palimpsest_search TO palimpsest_owner WITH ADMIN FALSE, INHERIT TRUE, SET TRUE;

DO $$
BEGIN
    GRANT pg_read_all_data TO palimpsest_backup WITH ADMIN FALSE, INHERIT TRUE, SET FALSE;
EXCEPTION WHEN insufficient_privilege THEN
    IF NOT pg_has_role('palimpsest_backup', 'pg_read_all_data', 'USAGE') THEN
        RAISE WARNING 'no backups yet: let a superuser GRANT pg_read_all_data TO palimpsest_backup';
    END IF;
END
$$;

DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I OWNER TO palimpsest_owner', current_database());
    -- TEMPORARY goes too: a temporary table shadows the real one for whoever has the connection next.
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO palimpsest_runtime, palimpsest_queue, palimpsest_backup',
        current_database());
    -- PUBLIC was how an administrator who is no superuser came in; he is to come again.
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), current_user);
    END IF;
    -- For the database, not for a role: a setting of a role of ours counts as sabotage.
    EXECUTE format('ALTER DATABASE %I SET idle_in_transaction_session_timeout = %L', current_database(), '15s');
END
$$;

ALTER SCHEMA public OWNER TO palimpsest_owner;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public
    TO palimpsest_runtime, palimpsest_member, palimpsest_judge, palimpsest_reviewer, palimpsest_search;

-- Large objects know neither tenants nor policies, and everybody may make them; here nobody does.
DO $$
BEGIN
    IF NOT has_function_privilege('palimpsest_runtime', 'pg_catalog.lo_creat(integer)', 'EXECUTE') THEN
        RETURN;
    ELSIF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        REVOKE EXECUTE ON FUNCTION
            pg_catalog.lo_creat(integer), pg_catalog.lo_create(oid), pg_catalog.lo_from_bytea(oid, bytea)
            FROM PUBLIC;
    ELSE
        RAISE WARNING 'all logins may make large objects: let a superuser REVOKE EXECUTE ON FUNCTION '
            'lo_creat, lo_create, lo_from_bytea FROM PUBLIC in database %', current_database();
    END IF;
END
$$;
