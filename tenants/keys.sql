-- Keys that carry the tenant. A plain foreign key would accept another tenant's row: integrity
-- checks do not look at row-level security. Safe to run again.

DO $$
DECLARE wanted record;
BEGIN
    FOR wanted IN SELECT * FROM (VALUES
        ('projects', 'projects_in_tenant',
         'UNIQUE (tenant_id, id)'),
        ('members', 'members_in_tenant',
         'UNIQUE (tenant_id, id)'),
        ('agents', 'agents_in_tenant',
         'UNIQUE (tenant_id, id)'),
        ('tokens', 'tokens_in_tenant',
         'UNIQUE (tenant_id, id)'),
        ('project_permissions', 'permission_is_for_a_project_of_the_tenant',
         'FOREIGN KEY (tenant_id, content_object_id) REFERENCES projects (tenant_id, id) ON DELETE CASCADE'),
        ('project_permissions', 'permission_is_for_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, user_id) REFERENCES members (tenant_id, user_id) ON DELETE CASCADE'),
        ('agents', 'agent_works_in_a_project_of_the_tenant',
         'FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)'),
        ('agents', 'agent_has_a_sponsor_in_the_tenant',
         'FOREIGN KEY (tenant_id, sponsor_id) REFERENCES members (tenant_id, id)'),
        ('tokens', 'token_is_of_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, member_id) REFERENCES members (tenant_id, id)'),
        ('tokens', 'token_is_of_an_agent_of_the_tenant',
         'FOREIGN KEY (tenant_id, agent_id) REFERENCES agents (tenant_id, id)'),
        ('tokens', 'token_is_for_a_project_of_the_tenant',
         'FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)'),
        ('tokens', 'token_is_rotated_to_one_of_the_tenant',
         'FOREIGN KEY (tenant_id, rotated_to_id) REFERENCES tokens (tenant_id, id)'),
        ('events', 'event_is_by_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, member_id) REFERENCES members (tenant_id, id)'),
        ('events', 'event_is_by_an_agent_of_the_tenant',
         'FOREIGN KEY (tenant_id, agent_id) REFERENCES agents (tenant_id, id)'),
        ('jobs', 'job_is_for_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, member_id) REFERENCES members (tenant_id, id)')
    ) AS v (relation, name, definition) LOOP
        IF NOT EXISTS (SELECT FROM pg_constraint
                       WHERE conrelid = wanted.relation::regclass AND conname = wanted.name) THEN
            EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s',
                           wanted.relation, wanted.name, wanted.definition);
        END IF;
    END LOOP;
END
$$;

-- The order in which things happened, as the server saw it. Never shown outside.
DO $$
BEGIN
    IF (SELECT attidentity FROM pg_attribute
        WHERE attrelid = 'events'::regclass AND attname = 'sequence') = '' THEN
        ALTER TABLE events ALTER COLUMN sequence DROP DEFAULT;
        ALTER TABLE events ALTER COLUMN sequence ADD GENERATED ALWAYS AS IDENTITY;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS events_in_order ON events (tenant_id, sequence DESC);
CREATE INDEX IF NOT EXISTS events_by_time ON events (tenant_id, at DESC, id DESC);
CREATE INDEX IF NOT EXISTS events_of_a_memory ON events (tenant_id, memory_id, sequence);
CREATE INDEX IF NOT EXISTS agents_of_a_project ON agents (tenant_id, project_id);
CREATE INDEX IF NOT EXISTS tokens_of_a_tenant ON tokens (tenant_id, created_at);

-- Requests and failed log-ins counted by the minute. Worth nothing after a crash, so not logged.
CREATE UNLOGGED TABLE IF NOT EXISTS request_counts (
    subject text NOT NULL,
    minute timestamptz NOT NULL,
    requests integer NOT NULL,
    PRIMARY KEY (subject)
);

-- jobs: what claiming reads, however many are done or queued.
CREATE INDEX IF NOT EXISTS queued_jobs_in_turn ON jobs (tenant_id, run_after, id) WHERE state = 'queued';
CREATE INDEX IF NOT EXISTS running_jobs_of_a_tenant ON jobs (tenant_id, lease_until) WHERE state = 'running';
-- And what a sweep looks for.
CREATE INDEX IF NOT EXISTS jobs_of_what_came_into_sight ON jobs (tenant_id, created_at)
    WHERE kind = 'judge_memory' AND dedup_key ~ ':(shown|restored|accepted|undone):';
CREATE INDEX IF NOT EXISTS jobs_put_off ON jobs (tenant_id, kind)
    WHERE state IN ('queued', 'running') AND last_error <> '';
CREATE INDEX IF NOT EXISTS failed_jobs_of_a_member ON jobs (tenant_id, member_id) WHERE state = 'failed';

-- A log-in has one authenticator: two sessions that enrol at once have one winner.
CREATE UNIQUE INDEX IF NOT EXISTS one_authenticator_a_login ON otp_totp_totpdevice (user_id);

-- When each worker was last alive. Worth nothing after a crash, so not logged.
CREATE UNLOGGED TABLE IF NOT EXISTS worker_beats (
    worker text PRIMARY KEY,
    beat_at timestamptz NOT NULL
);
