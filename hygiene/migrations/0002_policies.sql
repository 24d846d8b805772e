-- Keys that carry the tenant. Safe to run again.

DO $$
DECLARE wanted record;
BEGIN
    FOR wanted IN SELECT * FROM (VALUES
        ('judgements', 'judgement_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, older_id) REFERENCES memories (tenant_id, id)'),
        ('judgements', 'judgement_is_with_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, newer_id) REFERENCES memories (tenant_id, id)'),
        ('sweeps', 'sweep_is_in_the_sight_of_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, member_id) REFERENCES members (tenant_id, id)'),
        ('sweeps', 'sweep_is_of_a_project_of_the_tenant',
         'FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)')
    ) AS v (relation, name, definition) LOOP
        IF NOT EXISTS (SELECT FROM pg_constraint
                       WHERE conrelid = wanted.relation::regclass AND conname = wanted.name) THEN
            EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s',
                           wanted.relation, wanted.name, wanted.definition);
        END IF;
    END LOOP;
END
$$;

-- Who may do what to what the machine judged. Run whole, by the owner; safe to run again.
--
-- judgements     added by the judge's role; read by who may read both sides
-- certificates   read by members; given by the owner's commands alone
-- sweeps         started and read by the member whose sight they are done in, by an agent or a token for
--                one project there alone; moved on by the judge

DO $$
DECLARE relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['judgements', 'certificates', 'sweeps'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', relation);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', relation);
        EXECUTE format('REVOKE ALL ON %I FROM PUBLIC, palimpsest_runtime, palimpsest_member, '
                       'palimpsest_judge, palimpsest_reviewer, palimpsest_search', relation);
        EXECUTE format('DROP POLICY IF EXISTS only_this_tenant ON %I', relation);
        EXECUTE format('CREATE POLICY only_this_tenant ON %I AS RESTRICTIVE '
                       'TO palimpsest_member, palimpsest_judge, palimpsest_reviewer '
                       'USING (tenant_id = (SELECT current_tenant())) '
                       'WITH CHECK (tenant_id = (SELECT current_tenant()))', relation);
    END LOOP;
END
$$;

GRANT SELECT ON judgements TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT, INSERT ON judgements TO palimpsest_judge;
DROP POLICY IF EXISTS who_reads_both_sides_reads_the_judgement ON judgements;
CREATE POLICY who_reads_both_sides_reads_the_judgement ON judgements FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = judgements.tenant_id AND m.id = older_id)
       AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = judgements.tenant_id AND m.id = newer_id));
DROP POLICY IF EXISTS the_judge_notes_what_its_member_may_read ON judgements;
CREATE POLICY the_judge_notes_what_its_member_may_read ON judgements FOR INSERT TO palimpsest_judge
    WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = judgements.tenant_id AND m.id = older_id)
            AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = judgements.tenant_id AND m.id = newer_id));

GRANT SELECT ON certificates TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
DROP POLICY IF EXISTS members_know_which_judges_may_act ON certificates;
CREATE POLICY members_know_which_judges_may_act ON certificates FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING ((SELECT current_member()) IS NOT NULL);

GRANT SELECT, INSERT ON sweeps TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT, INSERT, UPDATE (state, reached, memories, pairs, skipped, actions, disputes, finished_at)
    ON sweeps TO palimpsest_judge;
DROP POLICY IF EXISTS members_read_their_own_sweeps ON sweeps;
CREATE POLICY members_read_their_own_sweeps ON sweeps FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (member_id = (SELECT current_member())
           AND ((SELECT confined_to_project()) IS NULL OR project_id = (SELECT confined_to_project())));
DROP POLICY IF EXISTS administrators_read_all_sweeps ON sweeps;
CREATE POLICY administrators_read_all_sweeps ON sweeps FOR SELECT TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT administers()));
DROP POLICY IF EXISTS members_start_sweeps_in_their_own_sight ON sweeps;
CREATE POLICY members_start_sweeps_in_their_own_sight ON sweeps FOR INSERT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    WITH CHECK (member_id = (SELECT current_member())
                AND ((SELECT confined_to_project()) IS NULL OR project_id = (SELECT confined_to_project())));
DROP POLICY IF EXISTS the_judge_moves_its_members_sweeps_on ON sweeps;
CREATE POLICY the_judge_moves_its_members_sweeps_on ON sweeps FOR UPDATE TO palimpsest_judge
    USING (member_id = (SELECT current_member())) WITH CHECK (member_id = (SELECT current_member()));

-- For the health page: what was judged of late in the whole tenant, as numbers alone.
CREATE OR REPLACE FUNCTION judged_lately(since timestamptz)
RETURNS TABLE (relation text, deed text, judge text, pairs bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT j.relation, j.deed, j.judge, count(*) FROM judgements j
    WHERE j.tenant_id = current_tenant() AND j.judged_at > since AND current_member() IS NOT NULL
    GROUP BY 1, 2, 3
$$;
-- And of tokens used today, for the budget.
CREATE OR REPLACE FUNCTION judge_tokens_since(since timestamptz, of_judge text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT coalesce(sum(j.tokens_in + j.tokens_out), 0)::bigint FROM judgements j
    WHERE j.tenant_id = current_tenant() AND j.judged_at > since AND j.judge = of_judge
      AND current_member() IS NOT NULL
$$;
-- Writes and pending judge jobs of the tenant, for the proof of life.
CREATE OR REPLACE FUNCTION written_lately(since timestamptz, OUT written bigint, OUT waiting bigint, OUT failed bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT (SELECT count(*) FROM memories m WHERE m.tenant_id = tenant AND m.created_at > since),
           (SELECT count(*) FROM jobs j WHERE j.tenant_id = tenant AND j.kind = 'judge_memory'
                                          AND j.state IN ('queued', 'running')),
           (SELECT count(*) FROM jobs j WHERE j.tenant_id = tenant AND j.kind = 'judge_memory'
                                          AND j.state = 'failed' AND j.created_at > since)
    FROM (SELECT CASE WHEN current_member() IS NOT NULL THEN current_tenant() END AS tenant) AS whose
$$;
REVOKE ALL ON FUNCTION judged_lately(timestamptz), judge_tokens_since(timestamptz, text),
    written_lately(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION judged_lately(timestamptz), written_lately(timestamptz)
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION judge_tokens_since(timestamptz, text) TO palimpsest_judge;
