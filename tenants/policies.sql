-- Who may do what to the things of a tenant. Run whole, by the owner; safe to run again.
--
--                      member (and agents)              administrator        runtime, outside the door
-- tenants              read own                         rename, levels       -
-- projects             read those in sight              all                  -
-- project permissions  read own                         all                  -
-- members              read those of the tenant         all                  -
-- agents               read those in sight              all                  -
-- tokens               read own                         all                  by authenticate() alone
-- events               add; read those of what one sees read                 -
-- idempotency keys     own                              own                  -
-- jobs                 add, read own                    read                 by claim functions alone
-- users, sessions      -                                -                    read, log in
-- second factors       -                                take                 read, enrol, use up
--
-- No grant, no access: a table somebody forgot is shut, not open.

-- What the open door says. A setting that was never set is NULL, one whose transaction has ended
-- is '', and neither is a tenant.

CREATE OR REPLACE FUNCTION current_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_input_is_valid(current_setting('app.tenant_id', true), 'uuid')
                THEN current_setting('app.tenant_id', true)::uuid END
$$;

-- NULL confines to nothing, so what is no project's id must not become NULL: it is the id of none.
CREATE OR REPLACE FUNCTION confined_to_project() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN coalesce(current_setting('app.project_id', true), '') = '' THEN NULL
                WHEN pg_input_is_valid(current_setting('app.project_id', true), 'uuid')
                THEN current_setting('app.project_id', true)::uuid
                ELSE '00000000-0000-0000-0000-000000000000' END
$$;

CREATE OR REPLACE FUNCTION current_agent() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_input_is_valid(current_setting('app.agent_id', true), 'uuid')
                THEN current_setting('app.agent_id', true)::uuid END
$$;

CREATE OR REPLACE FUNCTION personal_in_reach() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(current_setting('app.personal', true), '') = 'on'
$$;

-- The candidate functions force a new plan for what they search; these keep theirs all the same
-- (plan_cache_mode), or asking who it is would take longer than searching a small tenant.

-- The member behind the caller, as long as the log-in, the seat, the tenant and the agent are active,
-- and the agent confined to its project. Read again in every transaction, so that whoever has left is
-- out at once.
CREATE OR REPLACE FUNCTION current_member() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = auto AS $$
    SELECT m.id
    FROM members m JOIN tenants t ON t.id = m.tenant_id JOIN users u ON u.id = m.user_id
    WHERE m.tenant_id = current_tenant()
      AND m.id = CASE WHEN pg_input_is_valid(current_setting('app.member_id', true), 'uuid')
                      THEN current_setting('app.member_id', true)::uuid END
      AND m.active AND u.is_active AND t.state = 'active'
      AND (coalesce(current_setting('app.agent_id', true), '') = ''
           OR EXISTS (SELECT FROM agents a
                      WHERE a.tenant_id = m.tenant_id AND a.id = current_agent()
                        AND a.sponsor_id = m.id AND a.active
                        AND a.project_id = confined_to_project()))
$$;

-- May be shown what only administrators see. Never an agent, nor a token for one project.
CREATE OR REPLACE FUNCTION administers() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT coalesce(current_setting('app.agent_id', true), '') = ''
       AND coalesce(current_setting('app.project_id', true), '') = ''
       AND EXISTS (SELECT FROM members m
                   WHERE m.tenant_id = current_tenant() AND m.id = (SELECT current_member())
                     AND m.role = 'admin')
$$;

-- Guardian's rows say who may do what in a project; a confined caller has only its own. Who it is is
-- asked once, in a sub-select: among few members the planner would ask it anew for each of them.
CREATE OR REPLACE FUNCTION projects_with(permission text) RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = auto AS $$
    SELECT coalesce(array_agg(p.content_object_id), '{}')
    FROM members m
    JOIN project_permissions p ON p.tenant_id = m.tenant_id AND p.user_id = m.user_id
    WHERE m.tenant_id = current_tenant() AND m.id = (SELECT current_member())
      AND p.permission_id = ANY (ARRAY(SELECT a.id FROM auth_permission a WHERE a.codename = permission))
      AND (coalesce(current_setting('app.project_id', true), '') = ''
           OR p.content_object_id = confined_to_project())
$$;

CREATE OR REPLACE FUNCTION visible_projects() RETURNS uuid[]
LANGUAGE sql STABLE AS $$ SELECT projects_with('see_project') $$;

CREATE OR REPLACE FUNCTION writable_projects() RETURNS uuid[]
LANGUAGE sql STABLE AS $$ SELECT projects_with('write_project') $$;

-- An agent reviews where its sponsor does, in its own project, if its token is for reviewing; what it
-- may not decide there is said at the conflicts.
CREATE OR REPLACE FUNCTION reviewable_projects() RETURNS uuid[]
LANGUAGE sql STABLE AS $$ SELECT projects_with('review_project') $$;

-- Outside the door: from a token's digest to the principal behind it, and the request counted.
CREATE OR REPLACE FUNCTION count_request(subject_counted text, weight integer) RETURNS integer
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    INSERT INTO request_counts AS c (subject, minute, requests)
    VALUES (subject_counted, date_trunc('minute', clock_timestamp()), weight)
    ON CONFLICT (subject) DO UPDATE
    SET requests = CASE WHEN c.minute = excluded.minute THEN c.requests + weight ELSE weight END,
        minute = excluded.minute
    RETURNING requests
$$;

DROP FUNCTION IF EXISTS authenticate(bytea);
CREATE FUNCTION authenticate(digest_shown bytea) RETURNS TABLE (
    token_id uuid, kind text, scopes text[], personal boolean, expired boolean, revoked boolean,
    tenant_id uuid, tenant_state text, member_id uuid, member_name text, member_active boolean,
    member_role text, member_level integer, agent_id uuid, agent_name text, agent_active boolean,
    agent_level integer, project_id uuid, requests integer
)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT t.id, t.kind, t.scopes, t.personal, coalesce(t.expires_at <= clock_timestamp(), false),
           coalesce(t.revoked_at <= clock_timestamp(), false),
           t.tenant_id, n.state, m.id, m.name, m.active AND u.is_active, m.role, m.level,
           a.id, a.name, a.active, a.level,
           coalesce(a.project_id, t.project_id), count_request('token:' || t.id, 1)
    FROM tokens t
    JOIN tenants n ON n.id = t.tenant_id
    LEFT JOIN agents a ON a.tenant_id = t.tenant_id AND a.id = t.agent_id
    JOIN members m ON m.tenant_id = t.tenant_id AND m.id = coalesce(t.member_id, a.sponsor_id)
    JOIN users u ON u.id = m.user_id
    WHERE t.digest = digest_shown
$$;

-- Outside the door: the seats of somebody who has logged in.
DROP FUNCTION IF EXISTS seats_of(uuid);
CREATE FUNCTION seats_of(person uuid) RETURNS TABLE (
    tenant_id uuid, tenant_name text, member_id uuid, member_name text, role text, level integer,
    reviews boolean
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT t.id, t.name, m.id, m.name, m.role, m.level,
           EXISTS (SELECT FROM project_permissions p JOIN auth_permission a ON a.id = p.permission_id
                   WHERE p.tenant_id = m.tenant_id AND p.user_id = m.user_id
                     AND a.codename = 'review_project')
    FROM members m JOIN tenants t ON t.id = m.tenant_id
    WHERE m.user_id = person AND m.active AND t.state = 'active'
    ORDER BY t.name, t.id
$$;

-- A log-in for a new seat. Names are global, so an existing one is given back, never changed.
CREATE OR REPLACE FUNCTION enrol(username_wanted text, email_given text, OUT user_id uuid, OUT is_new boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT administers() THEN
        RAISE insufficient_privilege USING MESSAGE = 'only an administrator may enrol';
    END IF;
    SELECT u.id, false INTO user_id, is_new FROM users u WHERE u.username = username_wanted;
    IF user_id IS NULL THEN
        user_id := gen_random_uuid();
        is_new := true;
        INSERT INTO users (id, username, email, password, first_name, last_name, is_staff, is_active,
                           is_superuser, date_joined)
        VALUES (user_id, username_wanted, email_given, '!', '', '', true, true, false, now());
    END IF;
END
$$;

-- A log-in is for all tenants. Its second factor is taken by an administrator of the only tenant in
-- which it ever had a seat: else whoever gives it another seat could weaken it everywhere.
CREATE OR REPLACE FUNCTION take_second_factor(wanted uuid) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    person uuid;
BEGIN
    IF NOT administers() THEN
        RAISE insufficient_privilege USING MESSAGE = 'only an administrator may take a second factor';
    END IF;
    SELECT m.user_id INTO person FROM members m WHERE m.tenant_id = current_tenant() AND m.id = wanted;
    IF person IS NULL OR EXISTS (SELECT FROM members m
                                 WHERE m.user_id = person AND m.tenant_id <> current_tenant()) THEN
        RETURN 'elsewhere';
    END IF;
    DELETE FROM otp_static_statictoken t USING otp_static_staticdevice d
    WHERE t.device_id = d.id AND d.user_id = person;
    DELETE FROM otp_static_staticdevice d WHERE d.user_id = person;
    DELETE FROM otp_totp_totpdevice d WHERE d.user_id = person;
    RETURN CASE WHEN FOUND THEN 'taken' ELSE 'none' END;
END
$$;

REVOKE ALL ON FUNCTION current_tenant(), confined_to_project(), current_agent(), personal_in_reach(),
    current_member(), administers(), projects_with(text), visible_projects(), writable_projects(),
    reviewable_projects(), count_request(text, integer), authenticate(bytea), seats_of(uuid),
    enrol(text, text), take_second_factor(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION current_tenant(), confined_to_project(), current_agent(), personal_in_reach(),
    current_member(), administers(), projects_with(text), visible_projects(), writable_projects(),
    reviewable_projects()
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer, palimpsest_search;
GRANT EXECUTE ON FUNCTION enrol(text, text), take_second_factor(uuid)
    TO palimpsest_member, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION authenticate(bytea), seats_of(uuid), count_request(text, integer)
    TO palimpsest_runtime;

-- Global tables, in which nothing of a tenant stands.
GRANT SELECT, UPDATE (last_login, password) ON users TO palimpsest_runtime;
GRANT SELECT, INSERT, UPDATE, DELETE ON django_session TO palimpsest_runtime;
GRANT SELECT, INSERT, UPDATE, DELETE ON axes_accessattempt, axes_accessattemptexpiration TO palimpsest_runtime;
GRANT SELECT, INSERT, UPDATE ON otp_totp_totpdevice TO palimpsest_runtime;
GRANT SELECT, INSERT, UPDATE, DELETE ON otp_static_staticdevice, otp_static_statictoken TO palimpsest_runtime;
GRANT USAGE ON SEQUENCE otp_totp_totpdevice_id_seq, otp_static_staticdevice_id_seq,
    otp_static_statictoken_id_seq TO palimpsest_runtime;
GRANT SELECT ON django_migrations TO palimpsest_runtime;
GRANT SELECT ON auth_permission, django_content_type
    TO palimpsest_runtime, palimpsest_member, palimpsest_judge, palimpsest_reviewer;

-- Every table of a tenant: shut for everybody, and a restrictive policy that no other reaches past.
-- Not TO PUBLIC: the search role would lose the text index to it.
DO $$
DECLARE relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['tenants', 'projects', 'project_permissions', 'members', 'agents',
                                    'tokens', 'events', 'idempotency_keys', 'jobs'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', relation);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', relation);
        EXECUTE format('REVOKE ALL ON %I FROM PUBLIC, palimpsest_runtime, palimpsest_member, '
                       'palimpsest_judge, palimpsest_reviewer, palimpsest_search', relation);
        EXECUTE format('DROP POLICY IF EXISTS only_this_tenant ON %I', relation);
        EXECUTE format('CREATE POLICY only_this_tenant ON %I AS RESTRICTIVE '
                       'TO palimpsest_member, palimpsest_judge, palimpsest_reviewer '
                       'USING (%I = (SELECT current_tenant())) WITH CHECK (%2$I = (SELECT current_tenant()))',
                       relation, CASE relation WHEN 'tenants' THEN 'id' ELSE 'tenant_id' END);
    END LOOP;
END
$$;

-- tenants
GRANT SELECT, UPDATE (name, levels) ON tenants TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT ON tenants TO palimpsest_judge;
DROP POLICY IF EXISTS members_read_their_tenant ON tenants;
CREATE POLICY members_read_their_tenant ON tenants FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING ((SELECT current_member()) IS NOT NULL);
DROP POLICY IF EXISTS administrators_configure_their_tenant ON tenants;
CREATE POLICY administrators_configure_their_tenant ON tenants FOR UPDATE
    TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT administers())) WITH CHECK ((SELECT administers()));

-- projects
GRANT SELECT, INSERT, UPDATE (name, slug, archived_at, review_intervals, path_subjects) ON projects
    TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT ON projects TO palimpsest_judge;
DROP POLICY IF EXISTS members_read_projects_in_sight ON projects;
CREATE POLICY members_read_projects_in_sight ON projects FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (id IN (SELECT unnest(visible_projects())));
DROP POLICY IF EXISTS administrators_keep_projects ON projects;
CREATE POLICY administrators_keep_projects ON projects FOR ALL TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT administers())) WITH CHECK ((SELECT administers()));

-- project permissions
GRANT SELECT, INSERT, DELETE ON project_permissions TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT ON project_permissions TO palimpsest_judge;
DROP POLICY IF EXISTS members_read_their_own_permissions ON project_permissions;
CREATE POLICY members_read_their_own_permissions ON project_permissions FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (user_id = (SELECT m.user_id FROM members m WHERE m.id = (SELECT current_member())));
DROP POLICY IF EXISTS administrators_grant_and_withdraw ON project_permissions;
CREATE POLICY administrators_grant_and_withdraw ON project_permissions FOR ALL
    TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT administers())) WITH CHECK ((SELECT administers()));

-- members
GRANT SELECT, INSERT, UPDATE (name, role, level, active) ON members TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT ON members TO palimpsest_judge;
DROP POLICY IF EXISTS members_read_each_other ON members;
CREATE POLICY members_read_each_other ON members FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING ((SELECT current_member()) IS NOT NULL);
DROP POLICY IF EXISTS administrators_give_and_take_seats ON members;
CREATE POLICY administrators_give_and_take_seats ON members FOR ALL
    TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT administers())) WITH CHECK ((SELECT administers()));

-- agents
GRANT SELECT, INSERT, UPDATE (name, level, active, sponsor_id) ON agents TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT ON agents TO palimpsest_judge;
DROP POLICY IF EXISTS members_read_the_agents_of_their_projects ON agents;
CREATE POLICY members_read_the_agents_of_their_projects ON agents FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (project_id IN (SELECT unnest(visible_projects())) OR sponsor_id = (SELECT current_member()));
DROP POLICY IF EXISTS administrators_keep_agents ON agents;
CREATE POLICY administrators_keep_agents ON agents FOR ALL TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT administers())) WITH CHECK ((SELECT administers()));

-- tokens
GRANT SELECT, INSERT, UPDATE (name, expires_at, revoked_at, rotated_to_id) ON tokens
    TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS people_read_their_own_tokens ON tokens;
CREATE POLICY people_read_their_own_tokens ON tokens FOR SELECT TO palimpsest_member, palimpsest_reviewer
    USING (member_id = (SELECT current_member()) AND (SELECT current_agent()) IS NULL);
DROP POLICY IF EXISTS administrators_give_and_revoke_tokens ON tokens;
CREATE POLICY administrators_give_and_revoke_tokens ON tokens FOR ALL TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT administers())) WITH CHECK ((SELECT administers()));

-- events: added by whoever acts, in their own name; changed by nobody. Who may read those of a
-- memory stands beside the memories.
GRANT SELECT, INSERT ON events TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
DROP POLICY IF EXISTS callers_sign_what_they_do ON events;
CREATE POLICY callers_sign_what_they_do ON events FOR INSERT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    WITH CHECK (member_id = (SELECT current_member()) AND agent_id IS NOT DISTINCT FROM (SELECT current_agent()));
DROP POLICY IF EXISTS administrators_read_what_was_administered ON events;
CREATE POLICY administrators_read_what_was_administered ON events FOR SELECT
    TO palimpsest_member, palimpsest_reviewer
    USING (memory_id IS NULL AND (SELECT administers()));

-- idempotency keys: the principal's own
GRANT SELECT, INSERT, UPDATE ON idempotency_keys TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS callers_keep_their_own_keys ON idempotency_keys;
CREATE POLICY callers_keep_their_own_keys ON idempotency_keys FOR ALL TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT current_member()) IS NOT NULL
           AND principal_id = coalesce((SELECT current_agent()), (SELECT current_member())))
    WITH CHECK ((SELECT current_member()) IS NOT NULL
                AND principal_id = coalesce((SELECT current_agent()), (SELECT current_member())));

-- jobs: left by whoever causes them, done in the sight of the member whom they are for
GRANT SELECT, INSERT ON jobs TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT, INSERT, UPDATE ON jobs TO palimpsest_judge;
DROP POLICY IF EXISTS callers_leave_jobs_for_their_member ON jobs;
CREATE POLICY callers_leave_jobs_for_their_member ON jobs FOR INSERT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    WITH CHECK (member_id = (SELECT current_member()));
DROP POLICY IF EXISTS members_read_their_own_jobs ON jobs;
CREATE POLICY members_read_their_own_jobs ON jobs FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (member_id = (SELECT current_member()));
DROP POLICY IF EXISTS administrators_read_all_jobs ON jobs;
CREATE POLICY administrators_read_all_jobs ON jobs FOR SELECT TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT administers()));
DROP POLICY IF EXISTS the_judge_does_its_members_jobs ON jobs;
CREATE POLICY the_judge_does_its_members_jobs ON jobs FOR UPDATE TO palimpsest_judge
    USING (member_id = (SELECT current_member())) WITH CHECK (member_id = (SELECT current_member()));

-- jobs: claimed outside the door
--
-- A worker belongs to no tenant until it has a job in hand. These functions tell it ids and nothing
-- else; it reads the job through the door, in the sight of the member whom the job is for.

GRANT UPDATE (state, attempts, lease, lease_until, run_after, last_error, finished_at) ON jobs
    TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS administrators_retry_and_discard_jobs ON jobs;
CREATE POLICY administrators_retry_and_discard_jobs ON jobs FOR UPDATE TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT administers())) WITH CHECK ((SELECT administers()));

-- Not exact: two that ask at the same moment may both be let in. It is for fairness, not for safety.
-- The order, with sorting off, leaves one index to read, whatever the statistics say.
CREATE OR REPLACE FUNCTION tenant_has_room(wanted uuid, most integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
    SELECT EXISTS (SELECT FROM tenants t WHERE t.id = wanted AND t.state = 'active')
       AND (SELECT count(*) FROM (SELECT FROM jobs j WHERE j.tenant_id = wanted AND j.state = 'running'
                                  ORDER BY j.lease_until LIMIT most) AS running) < most
$$;

-- Lease a job whose row is locked. One that had its three attempts has failed, and one of a member
-- who has left has nobody in whose sight it could be done: these end here.
CREATE OR REPLACE FUNCTION take_job(wanted uuid, lasts interval)
RETURNS TABLE (job_id uuid, tenant_id uuid, member_id uuid, lease uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    job jobs%ROWTYPE;
BEGIN
    SELECT j.* INTO STRICT job FROM jobs j WHERE j.id = wanted;
    IF job.attempts >= 3 THEN
        UPDATE jobs j SET state = 'failed', lease = NULL, lease_until = NULL, finished_at = clock_timestamp(),
               last_error = coalesce(nullif(j.last_error, ''), 'the worker died, or took too long')
        WHERE j.id = wanted;
    ELSIF NOT EXISTS (SELECT FROM members m
                      WHERE m.tenant_id = job.tenant_id AND m.id = job.member_id AND m.active) THEN
        UPDATE jobs j SET state = 'obsolete', lease = NULL, lease_until = NULL, finished_at = clock_timestamp(),
               last_error = 'the member has left'
        WHERE j.id = wanted;
    ELSE
        RETURN QUERY
        UPDATE jobs j SET state = 'running', attempts = j.attempts + 1, lease = gen_random_uuid(),
               lease_until = clock_timestamp() + lasts
        WHERE j.id = wanted
        RETURNING j.id, j.tenant_id, j.member_id, j.lease;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION claim_job(wanted uuid, lasts interval, most integer)
RETURNS TABLE (job_id uuid, tenant_id uuid, member_id uuid, lease uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    owner uuid;
BEGIN
    SELECT j.tenant_id INTO owner FROM jobs j
    WHERE j.id = wanted
      AND (j.state = 'queued' AND j.run_after <= clock_timestamp()
           OR j.state = 'running' AND j.lease_until < clock_timestamp())
    FOR UPDATE SKIP LOCKED;
    IF FOUND AND tenant_has_room(owner, most) THEN
        RETURN QUERY SELECT * FROM take_job(wanted, lasts);
    END IF;
END
$$;

-- Tenants take turns, in the order of their ids: first whoever comes after the one served last.
-- One probe of an index a tenant, however long its queue; the settings are there because a plan made
-- while the table was small would read all of it.
CREATE OR REPLACE FUNCTION claim_next_job(after uuid, lasts interval, most integer)
RETURNS TABLE (job_id uuid, tenant_id uuid, member_id uuid, lease uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    nobody uuid := '00000000-0000-0000-0000-000000000000';
    turn uuid := coalesce(after, nobody);
    around boolean := after IS NULL;
    picked uuid;
BEGIN
    -- Should the server crash, the job is queued again, and its lease is nobody's: nothing is lost.
    PERFORM set_config('synchronous_commit', 'off', true);
    LOOP
        SELECT j.tenant_id INTO turn FROM jobs j
        WHERE j.state = 'queued' AND j.tenant_id > turn
        ORDER BY j.tenant_id LIMIT 1;
        IF turn IS NULL AND around OR turn > after AND around THEN
            RETURN;
        ELSIF turn IS NULL THEN
            around := true;
            turn := nobody;
            CONTINUE;
        END IF;
        WHILE tenant_has_room(turn, most) LOOP
            SELECT j.id INTO picked FROM jobs j
            WHERE j.state = 'queued' AND j.tenant_id = turn AND j.run_after <= moment
            ORDER BY j.run_after, j.id LIMIT 1
            FOR UPDATE SKIP LOCKED;
            EXIT WHEN picked IS NULL;
            RETURN QUERY SELECT * FROM take_job(picked, lasts);
            IF FOUND THEN
                RETURN;
            END IF;
        END LOOP;
    END LOOP;
END
$$;

-- What was leased to a worker that is gone.
CREATE OR REPLACE FUNCTION release_overdue_jobs(most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    released integer;
BEGIN
    WITH overdue AS (
        SELECT j.id FROM jobs j
        WHERE j.state = 'running' AND j.lease_until < clock_timestamp()
        LIMIT most FOR UPDATE SKIP LOCKED
    )
    UPDATE jobs j
    SET state = CASE WHEN j.attempts >= 3 THEN 'failed' ELSE 'queued' END,
        finished_at = CASE WHEN j.attempts >= 3 THEN clock_timestamp() END,
        lease = NULL, lease_until = NULL, run_after = clock_timestamp(),
        last_error = 'the worker died, or took too long'
    FROM overdue WHERE j.id = overdue.id;
    GET DIAGNOSTICS released = ROW_COUNT;
    RETURN released;
END
$$;

-- Whether one waits because what it takes is down or used up: a member sees their own jobs alone, and is told of
-- all of them this one bit. One that is tried again is put off all the same, until it is done.
CREATE OR REPLACE FUNCTION job_is_put_off(of_kind text, why text[]) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT current_member() IS NOT NULL
       AND EXISTS (SELECT FROM jobs j
                   WHERE j.tenant_id = current_tenant() AND j.kind = of_kind
                     AND j.state IN ('queued', 'running') AND j.last_error <> ''
                     AND EXISTS (SELECT FROM unnest(why) AS w (begins) WHERE starts_with(j.last_error, w.begins)))
$$;
REVOKE ALL ON FUNCTION job_is_put_off(text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION job_is_put_off(text, text[]) TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;

CREATE OR REPLACE FUNCTION count_jobs() RETURNS TABLE (state text, jobs bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT j.state, count(*) FROM jobs j GROUP BY j.state
$$;

-- A sign of life from every worker, and how many gave one of late.
CREATE OR REPLACE FUNCTION beat(worker_name text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DELETE FROM worker_beats b WHERE b.beat_at < clock_timestamp() - interval '1 hour';
    INSERT INTO worker_beats AS b (worker, beat_at) VALUES (worker_name, clock_timestamp())
    ON CONFLICT (worker) DO UPDATE SET beat_at = excluded.beat_at
$$;

CREATE OR REPLACE FUNCTION workers_alive(within interval) RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT count(*)::integer FROM worker_beats b WHERE b.beat_at > clock_timestamp() - within
$$;

-- Who gave one, and who gives none any more: whoever has stopped, or was found dead, is not alive for as long
-- as it would take to miss it.
CREATE OR REPLACE FUNCTION workers_that_beat() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT b.worker FROM worker_beats b
$$;
CREATE OR REPLACE FUNCTION beat_no_more(workers text[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DELETE FROM worker_beats b WHERE b.worker = ANY (workers)
$$;

REVOKE ALL ON FUNCTION tenant_has_room(uuid, integer), take_job(uuid, interval),
    claim_job(uuid, interval, integer), claim_next_job(uuid, interval, integer),
    release_overdue_jobs(integer), count_jobs(), beat(text), workers_alive(interval), workers_that_beat(),
    beat_no_more(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_job(uuid, interval, integer), claim_next_job(uuid, interval, integer),
    release_overdue_jobs(integer), count_jobs(), beat(text), workers_alive(interval), workers_that_beat(),
    beat_no_more(text[])
    TO palimpsest_runtime;
