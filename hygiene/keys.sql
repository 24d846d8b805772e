-- Keys that carry the tenant. Safe to run again.

DO $$
DECLARE wanted record;
BEGIN
    FOR wanted IN SELECT * FROM (VALUES
        ('judgements', 'judgement_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, older_id) REFERENCES memories (tenant_id, id)'),
        ('judgements', 'judgement_is_with_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, newer_id) REFERENCES memories (tenant_id, id)'),
        ('attributions', 'attribution_is_of_a_report_of_the_tenant',
         'FOREIGN KEY (tenant_id, report_id) REFERENCES signals (tenant_id, id)'),
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
