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
