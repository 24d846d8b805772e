-- Keys that carry the tenant, and what Django cannot say about these tables. Safe to run again.

DO $$
DECLARE wanted record;
BEGIN
    FOR wanted IN SELECT * FROM (VALUES
        ('memories', 'memories_in_tenant', 'UNIQUE (tenant_id, id)'),
        ('memories', 'memory_is_owned_in_the_tenant',
         'FOREIGN KEY (tenant_id, owner_id) REFERENCES members (tenant_id, id)'),
        ('memories', 'memory_is_written_by_an_agent_of_the_tenant',
         'FOREIGN KEY (tenant_id, author_agent_id) REFERENCES agents (tenant_id, id)'),
        ('memories', 'memory_is_in_a_project_of_the_tenant',
         'FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)'),
        ('memories', 'memory_is_superseded_in_the_tenant',
         'FOREIGN KEY (tenant_id, superseded_by_id) REFERENCES memories (tenant_id, id)'),
        ('links', 'link_starts_in_the_tenant',
         'FOREIGN KEY (tenant_id, src_id) REFERENCES memories (tenant_id, id)'),
        ('links', 'link_ends_in_the_tenant',
         'FOREIGN KEY (tenant_id, dst_id) REFERENCES memories (tenant_id, id)'),
        ('components', 'component_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('dependencies', 'dependency_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('dependencies', 'dependency_is_on_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, on_memory_id) REFERENCES memories (tenant_id, id)'),
        ('embeddings', 'embedding_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('settled_pairs', 'settled_pair_starts_in_the_tenant',
         'FOREIGN KEY (tenant_id, low_id) REFERENCES memories (tenant_id, id)'),
        ('settled_pairs', 'settled_pair_ends_in_the_tenant',
         'FOREIGN KEY (tenant_id, high_id) REFERENCES memories (tenant_id, id)'),
        ('conflicts', 'conflict_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_a_id) REFERENCES memories (tenant_id, id)'),
        ('conflicts', 'conflict_is_with_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_b_id) REFERENCES memories (tenant_id, id)'),
        ('conflicts', 'conflict_is_won_by_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, winner_id) REFERENCES memories (tenant_id, id)'),
        ('conflicts', 'conflict_recommends_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, recommended_winner_id) REFERENCES memories (tenant_id, id)'),
        ('conflicts', 'conflict_is_raised_by_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, raised_by_member_id) REFERENCES members (tenant_id, id)'),
        ('conflicts', 'conflict_is_raised_by_an_agent_of_the_tenant',
         'FOREIGN KEY (tenant_id, raised_by_agent_id) REFERENCES agents (tenant_id, id)'),
        ('conflicts', 'conflict_is_resolved_by_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, resolved_by_member_id) REFERENCES members (tenant_id, id)'),
        ('conflicts', 'conflict_is_assigned_in_the_tenant',
         'FOREIGN KEY (tenant_id, assigned_to_id) REFERENCES members (tenant_id, id)'),
        ('conflicts', 'conflict_is_resolved_by_an_agent_of_the_tenant',
         'FOREIGN KEY (tenant_id, resolved_by_agent_id) REFERENCES agents (tenant_id, id)'),
        ('conflicts', 'conflicts_in_tenant', 'UNIQUE (tenant_id, id)'),
        ('components', 'components_in_tenant', 'UNIQUE (tenant_id, id)'),
        ('changes', 'changes_in_tenant', 'UNIQUE (tenant_id, id)'),
        ('verifications', 'verifications_in_tenant', 'UNIQUE (tenant_id, id)'),
        ('signals', 'signals_in_tenant', 'UNIQUE (tenant_id, id)'),
        ('changes', 'change_is_in_a_project_of_the_tenant',
         'FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)'),
        ('changes', 'change_came_with_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('changes', 'change_is_reported_by_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, by_member_id) REFERENCES members (tenant_id, id)'),
        ('changes', 'change_is_reported_by_an_agent_of_the_tenant',
         'FOREIGN KEY (tenant_id, by_agent_id) REFERENCES agents (tenant_id, id)'),
        ('marks', 'mark_is_on_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('marks', 'mark_is_on_a_component_of_the_tenant',
         'FOREIGN KEY (tenant_id, component_id) REFERENCES components (tenant_id, id)'),
        ('marks', 'mark_is_made_by_a_change_of_the_tenant',
         'FOREIGN KEY (tenant_id, change_id) REFERENCES changes (tenant_id, id)'),
        ('marks', 'mark_is_caused_by_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, cause_memory_id) REFERENCES memories (tenant_id, id)'),
        ('marks', 'mark_is_cleared_by_a_verification_of_the_tenant',
         'FOREIGN KEY (tenant_id, cleared_by_id) REFERENCES verifications (tenant_id, id)'),
        ('verifications', 'verification_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('verifications', 'verification_is_by_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, by_member_id) REFERENCES members (tenant_id, id)'),
        ('verifications', 'verification_is_by_an_agent_of_the_tenant',
         'FOREIGN KEY (tenant_id, by_agent_id) REFERENCES agents (tenant_id, id)'),
        ('corroborations', 'corroboration_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('corroborations', 'corroboration_is_by_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, by_memory_id) REFERENCES memories (tenant_id, id)'),
        ('corroborations', 'corroboration_is_by_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, by_member_id) REFERENCES members (tenant_id, id)'),
        ('activations', 'activation_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('retirements', 'retirement_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('retirements', 'retirement_has_a_successor_of_the_tenant',
         'FOREIGN KEY (tenant_id, successor_id) REFERENCES memories (tenant_id, id)'),
        ('acceptances', 'acceptance_is_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('dispute_periods', 'dispute_period_is_of_a_conflict_of_the_tenant',
         'FOREIGN KEY (tenant_id, conflict_id) REFERENCES conflicts (tenant_id, id)'),
        ('push_sources', 'push_source_is_of_a_project_of_the_tenant',
         'FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)'),
        ('push_sources', 'push_source_acts_for_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, member_id) REFERENCES members (tenant_id, id)'),
        ('transfers', 'transfer_is_of_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, member_id) REFERENCES members (tenant_id, id)'),
        ('transfers', 'transfer_is_of_a_project_of_the_tenant',
         'FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)'),
        ('signals', 'signal_is_about_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)'),
        ('signals', 'signal_is_given_by_a_member_of_the_tenant',
         'FOREIGN KEY (tenant_id, by_member_id) REFERENCES members (tenant_id, id)'),
        ('signals', 'signal_is_given_by_an_agent_of_the_tenant',
         'FOREIGN KEY (tenant_id, by_agent_id) REFERENCES agents (tenant_id, id)'),
        ('signals', 'signal_is_weighed_by_a_conflict_of_the_tenant',
         'FOREIGN KEY (tenant_id, weighed_by_id) REFERENCES conflicts (tenant_id, id)'),
        ('events', 'event_tells_of_a_memory_of_the_tenant',
         'FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)')
    ) AS v (relation, name, definition) LOOP
        IF NOT EXISTS (SELECT FROM pg_constraint
                       WHERE conrelid = wanted.relation::regclass AND conname = wanted.name) THEN
            EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s',
                           wanted.relation, wanted.name, wanted.definition);
        END IF;
    END LOOP;

    IF (SELECT attidentity FROM pg_attribute
        WHERE attrelid = 'memories'::regclass AND attname = 'sequence') = '' THEN
        ALTER TABLE memories ALTER COLUMN sequence DROP DEFAULT;
        ALTER TABLE memories ALTER COLUMN sequence ADD GENERATED ALWAYS AS IDENTITY;
    END IF;
END
$$;

-- Vectors stay in the row: read one after the other, they must not be fetched from elsewhere.
ALTER TABLE embeddings ALTER COLUMN vector SET STORAGE PLAIN;
-- Room for a new lifecycle beside the old row, so that the vector index is not touched by it.
ALTER TABLE embeddings SET (fillfactor = 85);

-- Every subject with all that stands above it: a change at deployment reaches deployment.branch. The tree
-- is kept as text and not as ltree, whose operators are not leakproof and whose labels know few letters.
CREATE OR REPLACE FUNCTION subjects_and_above(subjects text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT array_to_string(labels[1:depth], '.')), '{}')
    FROM unnest(subjects) AS subject, string_to_array(subject, '.') AS labels,
         generate_series(1, cardinality(labels)) AS depth
$$;
ALTER TABLE memories ADD COLUMN IF NOT EXISTS subject_tree text[]
    GENERATED ALWAYS AS (subjects_and_above(subjects)) STORED;
CREATE INDEX IF NOT EXISTS memories_kept_private_in_a_project ON memories (tenant_id, owner_id, project_id)
    WHERE visibility = 'private' AND project_id IS NOT NULL AND invalidated_at IS NULL;
CREATE INDEX IF NOT EXISTS memories_by_subject ON memories USING gin (tenant_id, subject_tree);
-- What lies below a subject is a range of its bytes: from "deployment." up to "deployment/".
CREATE INDEX IF NOT EXISTS components_below_subject ON components (tenant_id, subject COLLATE "C");
CREATE INDEX IF NOT EXISTS dependencies_below_subject ON dependencies (tenant_id, on_subject COLLATE "C")
    WHERE on_subject IS NOT NULL;
