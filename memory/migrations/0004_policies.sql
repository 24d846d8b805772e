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

-- Who may do what to what is remembered. Run whole, by the owner; safe to run again.
--
--             own private      others' private   of a project          tenant-wide      another tenant's
-- member      read, change     -                 as guardian's rows    read             -
-- agent       its sponsor's,   -                 its own project, as   read             -
--             in its project,                    its sponsor may
--             and personal if
--             granted
-- reviewer    as a member      -                 change if reviewing   read             -
-- judge       the sight of the member whose work it does; adds vectors, changes nothing
-- search      the searched columns of all, for the candidate functions alone
--
-- Nobody changes a content, an author or an owner, and nobody deletes.

-- The one predicate of sight, for the candidate functions; the policies say it in sentences, and a
-- test holds the two together.
CREATE OR REPLACE FUNCTION in_sight(
    visibility text, owner_id uuid, project_id uuid,
    member uuid, projects uuid[], confined_to uuid, personal boolean
) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE visibility
        WHEN 'tenant' THEN member IS NOT NULL
        WHEN 'project' THEN project_id = ANY (projects)
        ELSE owner_id = member AND CASE WHEN project_id IS NULL THEN personal
                                        ELSE confined_to IS NULL OR project_id = confined_to END
    END
$$;

-- May the caller write what is around a memory that they read? Its owner may, as far as they reach, who
-- writes in its project, and who reviews there while reviewing: a right to review is none to write.
CREATE OR REPLACE FUNCTION writes_around(owner_id uuid, project_id uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (owner_id = current_member()
            AND CASE WHEN project_id IS NULL THEN personal_in_reach()
                     ELSE confined_to_project() IS NULL OR project_id = confined_to_project() END)
        OR coalesce(project_id = ANY (writable_projects())
                    OR current_user = 'palimpsest_reviewer' AND project_id = ANY (reviewable_projects()), false)
$$;

DO $$
DECLARE relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['memories', 'links', 'components', 'dependencies', 'embeddings',
                                    'settled_pairs', 'conflicts', 'signals', 'changes', 'marks',
                                    'verifications', 'corroborations', 'activations', 'retirements',
                                    'acceptances', 'dispute_periods', 'push_sources', 'transfers'] LOOP
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

-- memories: reading
GRANT SELECT ON memories TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
DROP POLICY IF EXISTS members_read_what_is_tenant_wide ON memories;
CREATE POLICY members_read_what_is_tenant_wide ON memories FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (visibility = 'tenant' AND (SELECT current_member()) IS NOT NULL);
DROP POLICY IF EXISTS those_who_see_a_project_read_its_memories ON memories;
CREATE POLICY those_who_see_a_project_read_its_memories ON memories FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (visibility = 'project' AND project_id IN (SELECT unnest(visible_projects())));
DROP POLICY IF EXISTS owners_and_their_agents_read_what_is_private ON memories;
CREATE POLICY owners_and_their_agents_read_what_is_private ON memories FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (visibility = 'private' AND owner_id = (SELECT current_member())
           AND CASE WHEN project_id IS NULL THEN (SELECT personal_in_reach())
                    ELSE (SELECT confined_to_project()) IS NULL
                         OR project_id = (SELECT confined_to_project()) END);

-- memories: writing, always as one's own
GRANT INSERT ON memories TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS members_write_their_own_where_they_may ON memories;
CREATE POLICY members_write_their_own_where_they_may ON memories FOR INSERT
    TO palimpsest_member, palimpsest_reviewer
    WITH CHECK (owner_id = (SELECT current_member())
                AND author_agent_id IS NOT DISTINCT FROM (SELECT current_agent())
                AND CASE WHEN project_id IS NULL THEN (SELECT personal_in_reach())
                         ELSE project_id IN (SELECT unnest(writable_projects())) END);

-- memories: changing what is around the content
GRANT UPDATE (visibility, subjects, tags, importance, review_after, version, accepted_at, invalidated_at,
              invalidated_reason, superseded_by_id, superseded_at, supersede_reason, restored_by_person_at)
    ON memories TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS owners_change_what_is_theirs ON memories;
CREATE POLICY owners_change_what_is_theirs ON memories FOR UPDATE
    TO palimpsest_member, palimpsest_reviewer
    USING (owner_id = (SELECT current_member())) WITH CHECK (owner_id = (SELECT current_member()));
DROP POLICY IF EXISTS writers_change_what_their_project_shares ON memories;
CREATE POLICY writers_change_what_their_project_shares ON memories FOR UPDATE
    TO palimpsest_member, palimpsest_reviewer
    USING (visibility <> 'private' AND project_id IN (SELECT unnest(writable_projects())))
    WITH CHECK (visibility <> 'private' AND project_id IN (SELECT unnest(writable_projects())));
DROP POLICY IF EXISTS reviewers_change_what_they_review ON memories;
CREATE POLICY reviewers_change_what_they_review ON memories FOR UPDATE TO palimpsest_reviewer
    USING (visibility <> 'private' AND project_id IN (SELECT unnest(reviewable_projects())))
    WITH CHECK (visibility <> 'private' AND project_id IN (SELECT unnest(reviewable_projects())));

-- A change that names no row and asks for none back is not looked at by the policies of reading.
DROP POLICY IF EXISTS nobody_changes_what_is_out_of_reach ON memories;
CREATE POLICY nobody_changes_what_is_out_of_reach ON memories AS RESTRICTIVE FOR UPDATE
    TO palimpsest_member, palimpsest_reviewer
    USING (in_sight(visibility, owner_id, project_id, (SELECT current_member()), (SELECT visible_projects()),
                    (SELECT confined_to_project()), (SELECT personal_in_reach()))
           AND CASE WHEN project_id IS NULL THEN (SELECT personal_in_reach())
                    ELSE (SELECT confined_to_project()) IS NULL
                         OR project_id = (SELECT confined_to_project()) END)
    WITH CHECK (in_sight(visibility, owner_id, project_id, (SELECT current_member()), (SELECT visible_projects()),
                         (SELECT confined_to_project()), (SELECT personal_in_reach())));

-- memories: searching. The columns that are searched, and no content.
GRANT SELECT (tenant_id, id, owner_id, project_id, visibility, kind, lifecycle, valid_until, words, subjects)
    ON memories TO palimpsest_search;
DROP POLICY IF EXISTS candidate_functions_search_all ON memories;
CREATE POLICY candidate_functions_search_all ON memories FOR SELECT TO palimpsest_search USING (true);

-- embeddings: added by who may read the memory; read by the candidate functions alone
GRANT INSERT ON embeddings TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
DROP POLICY IF EXISTS vectors_are_added_to_memories_in_sight ON embeddings;
CREATE POLICY vectors_are_added_to_memories_in_sight ON embeddings FOR INSERT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = embeddings.tenant_id
                                                 AND m.id = embeddings.memory_id));
GRANT SELECT ON embeddings TO palimpsest_search;
DROP POLICY IF EXISTS candidate_functions_search_all ON embeddings;
CREATE POLICY candidate_functions_search_all ON embeddings FOR SELECT TO palimpsest_search USING (true);

-- links: read by who may read both ends, drawn and taken away by those of them who may write at one
GRANT SELECT, INSERT, UPDATE (removed_at) ON links TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT ON links TO palimpsest_judge;
DROP POLICY IF EXISTS who_reads_both_ends_reads_the_link ON links;
CREATE POLICY who_reads_both_ends_reads_the_link ON links FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = links.tenant_id AND m.id = links.src_id)
       AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = links.tenant_id AND m.id = links.dst_id));
DROP POLICY IF EXISTS who_writes_at_an_end_draws_the_link ON links;
DROP POLICY IF EXISTS who_reads_both_ends_draws_the_link ON links;
CREATE POLICY who_writes_at_an_end_draws_the_link ON links FOR INSERT TO palimpsest_member, palimpsest_reviewer
    WITH CHECK ((SELECT count(*) = 2 AND bool_or(writes_around(m.owner_id, m.project_id)) FROM memories m
                 WHERE m.tenant_id = links.tenant_id AND m.id IN (links.src_id, links.dst_id)));
-- What a memory depends on decides when it is marked, so that is said where it starts.
DROP POLICY IF EXISTS nobody_says_what_anothers_memory_depends_on ON links;
CREATE POLICY nobody_says_what_anothers_memory_depends_on ON links AS RESTRICTIVE FOR INSERT
    TO palimpsest_member, palimpsest_reviewer
    WITH CHECK (type NOT IN ('depends_on', 'derived_from')
                OR EXISTS (SELECT FROM memories m WHERE m.tenant_id = links.tenant_id AND m.id = links.src_id
                           AND writes_around(m.owner_id, m.project_id)));
DROP POLICY IF EXISTS who_writes_at_an_end_takes_the_link_away ON links;
DROP POLICY IF EXISTS who_reads_both_ends_takes_the_link_away ON links;
CREATE POLICY who_writes_at_an_end_takes_the_link_away ON links FOR UPDATE
    TO palimpsest_member, palimpsest_reviewer
    USING ((SELECT count(*) = 2 AND bool_or(writes_around(m.owner_id, m.project_id)) FROM memories m
            WHERE m.tenant_id = links.tenant_id AND m.id IN (links.src_id, links.dst_id)))
    WITH CHECK ((SELECT count(*) = 2 AND bool_or(writes_around(m.owner_id, m.project_id)) FROM memories m
                 WHERE m.tenant_id = links.tenant_id AND m.id IN (links.src_id, links.dst_id)));

-- components and dependencies: as their memory; added by its owner
DO $$
DECLARE relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['components', 'dependencies'] LOOP
        EXECUTE format('GRANT SELECT, INSERT ON %I TO palimpsest_member, palimpsest_reviewer', relation);
        EXECUTE format('GRANT SELECT ON %I TO palimpsest_judge', relation);
        EXECUTE format('DROP POLICY IF EXISTS who_reads_the_memory_reads_its_parts ON %I', relation);
        EXECUTE format('CREATE POLICY who_reads_the_memory_reads_its_parts ON %I FOR SELECT '
                       'TO palimpsest_member, palimpsest_judge, palimpsest_reviewer '
                       'USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = %1$I.tenant_id '
                       'AND m.id = %1$I.memory_id))', relation);
        EXECUTE format('DROP POLICY IF EXISTS owners_state_the_parts ON %I', relation);
        EXECUTE format('CREATE POLICY owners_state_the_parts ON %I FOR INSERT '
                       'TO palimpsest_member, palimpsest_reviewer '
                       'WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = %1$I.tenant_id '
                       'AND m.id = %1$I.memory_id AND m.owner_id = (SELECT current_member()) '
                       'AND writes_around(m.owner_id, m.project_id)))', relation);
    END LOOP;
END
$$;

-- a dependency on a memory: read and stated by who reads that one too
DROP POLICY IF EXISTS nobody_learns_of_a_memory_out_of_sight ON dependencies;
CREATE POLICY nobody_learns_of_a_memory_out_of_sight ON dependencies AS RESTRICTIVE FOR ALL
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (on_memory_id IS NULL
           OR EXISTS (SELECT FROM memories m WHERE m.tenant_id = dependencies.tenant_id AND m.id = on_memory_id))
    WITH CHECK (on_memory_id IS NULL
                OR EXISTS (SELECT FROM memories m
                           WHERE m.tenant_id = dependencies.tenant_id AND m.id = on_memory_id));

-- settled pairs: known to who may read both, said by those of them who may write around one
GRANT SELECT, INSERT ON settled_pairs TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT ON settled_pairs TO palimpsest_judge;
DROP POLICY IF EXISTS who_reads_both_knows_that_the_pair_is_settled ON settled_pairs;
CREATE POLICY who_reads_both_knows_that_the_pair_is_settled ON settled_pairs FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = settled_pairs.tenant_id AND m.id = low_id)
       AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = settled_pairs.tenant_id AND m.id = high_id));
DROP POLICY IF EXISTS who_reads_both_settles_the_pair ON settled_pairs;
DROP POLICY IF EXISTS who_writes_around_one_settles_the_pair ON settled_pairs;
CREATE POLICY who_writes_around_one_settles_the_pair ON settled_pairs FOR INSERT
    TO palimpsest_member, palimpsest_reviewer
    WITH CHECK ((SELECT count(*) = 2 AND bool_or(writes_around(m.owner_id, m.project_id)) FROM memories m
                 WHERE m.tenant_id = settled_pairs.tenant_id AND m.id IN (low_id, high_id)));

-- conflicts: known to who may read all sides; of pairs noted and settled by the machine's role alone, about
-- those two and nothing else, never in a person's name, and never what a person has decided.
GRANT SELECT ON conflicts TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT, INSERT, UPDATE (memory_a_id, memory_b_id, kind, state, resolution, winner_id, recommended_winner_id,
                              level_a, level_b, via, row, missing_specifics, verdict, resolved_at, batch_id,
                              resolved_by_member_id, note, deferred_until, assigned_to_id)
    ON conflicts TO palimpsest_judge;
DROP POLICY IF EXISTS who_reads_all_sides_knows_of_the_conflict ON conflicts;
CREATE POLICY who_reads_all_sides_knows_of_the_conflict ON conflicts FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id AND m.id = memory_a_id)
       AND (memory_b_id IS NULL
            OR EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id AND m.id = memory_b_id)));
-- The pair that is looked for is the pair that is told of, and only one of the two wins it.
DROP POLICY IF EXISTS conflicts_are_noted_in_the_sight_of_who_reads_all_sides ON conflicts;
CREATE POLICY conflicts_are_noted_in_the_sight_of_who_reads_all_sides ON conflicts FOR INSERT TO palimpsest_judge
    WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id AND m.id = memory_a_id)
       AND (memory_b_id IS NULL
            OR EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id AND m.id = memory_b_id))
       AND low_id = least(memory_a_id, memory_b_id) AND high_id = greatest(memory_a_id, memory_b_id)
       AND (winner_id IS NULL OR winner_id IN (memory_a_id, memory_b_id))
       AND (recommended_winner_id IS NULL OR recommended_winner_id IN (memory_a_id, memory_b_id))
       AND num_nonnulls(resolved_by_member_id, resolved_by_agent_id) = 0
       AND (memory_b_id IS NOT NULL OR state = 'pending')
       AND (raised_by_member_id IS NULL OR raised_by_member_id = (SELECT current_member()))
       AND (raised_by_agent_id IS NULL OR raised_by_agent_id = (SELECT current_agent())));
DROP POLICY IF EXISTS the_policy_settles_what_its_member_sees ON conflicts;
CREATE POLICY the_policy_settles_what_its_member_sees ON conflicts FOR UPDATE TO palimpsest_judge
    USING (resolved_by_member_id IS NULL AND state <> 'dismissed'
       AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id AND m.id = memory_a_id)
       AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id AND m.id = memory_b_id))
    WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id AND m.id = memory_a_id)
       AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id AND m.id = memory_b_id)
       AND low_id = least(memory_a_id, memory_b_id) AND high_id = greatest(memory_a_id, memory_b_id)
       AND (winner_id IS NULL OR winner_id IN (memory_a_id, memory_b_id))
       AND (recommended_winner_id IS NULL OR recommended_winner_id IN (memory_a_id, memory_b_id))
       AND resolved_by_member_id IS NULL);

-- A memory of one's own, or of a project in which one writes, can be called into question: in one's own
-- name, and as a question alone.
GRANT INSERT ON conflicts TO palimpsest_member, palimpsest_reviewer;
-- Whoever confirms what was replaced calls into question what stands in its place, also where they do not write.
CREATE OR REPLACE FUNCTION confirmed_what_it_replaced(of_memory uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH RECURSIVE replaced AS (
        SELECT m.id FROM memories m WHERE m.tenant_id = current_tenant() AND m.superseded_by_id = of_memory
        UNION
        SELECT m.id FROM replaced r
        JOIN memories m ON m.tenant_id = current_tenant() AND m.superseded_by_id = r.id
    )
    SELECT EXISTS (SELECT FROM verifications v JOIN replaced r ON r.id = v.memory_id
                   WHERE v.tenant_id = current_tenant() AND v.outcome = 'confirmed'
                     AND v.by_member_id = current_member() AND v.by_agent_id IS NOT DISTINCT FROM current_agent())
$$;
REVOKE ALL ON FUNCTION confirmed_what_it_replaced(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION confirmed_what_it_replaced(uuid) TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS who_writes_around_a_memory_challenges_it ON conflicts;
CREATE POLICY who_writes_around_a_memory_challenges_it ON conflicts FOR INSERT
    TO palimpsest_member, palimpsest_reviewer
    WITH CHECK (memory_b_id IS NULL AND state = 'pending' AND kind IN ('challenged', 'stale_suspect')
            AND low_id = memory_a_id AND high_id = memory_a_id
            AND num_nonnulls(winner_id, recommended_winner_id, resolved_by_member_id, resolved_by_agent_id,
                             resolution, resolved_at, batch_id, deferred_until, assigned_to_id) = 0
            AND raised_by_member_id = (SELECT current_member())
            AND raised_by_agent_id IS NOT DISTINCT FROM (SELECT current_agent())
            AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id AND m.id = memory_a_id
                        AND (writes_around(m.owner_id, m.project_id) OR confirmed_what_it_replaced(m.id))));

-- People decide, put off, hand over and take back what they review: who reads all sides and reviews the
-- project of one, or owns one that is private or in no project. An agent decides nothing that its own side
-- raised, nothing about what belongs to it or was written by it, and nothing that was decided already.
CREATE OR REPLACE FUNCTION reviews_around(owner_id uuid, project_id uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN project_id IS NULL THEN owner_id = current_member() AND personal_in_reach()
                ELSE coalesce(project_id = ANY (reviewable_projects()), false) END
$$;
-- What is private nobody but its owner could ever decide about, in whichever project it stands.
CREATE OR REPLACE FUNCTION settles_around(visibility text, owner_id uuid, project_id uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN visibility <> 'private' OR project_id IS NULL THEN reviews_around(owner_id, project_id)
                ELSE owner_id = current_member()
                     AND (confined_to_project() IS NULL OR project_id = confined_to_project()) END
$$;
GRANT UPDATE (state, resolution, winner_id, note, resolved_at, resolved_by_member_id, resolved_by_agent_id,
              batch_id, deferred_until, assigned_to_id) ON conflicts TO palimpsest_reviewer;
DROP POLICY IF EXISTS people_dismiss_what_they_could_settle ON conflicts;
DROP POLICY IF EXISTS reviewers_decide_what_they_review ON conflicts;
CREATE POLICY reviewers_decide_what_they_review ON conflicts FOR UPDATE TO palimpsest_reviewer
    USING ((SELECT count(*) = num_nonnulls(memory_a_id, memory_b_id)
                   AND bool_or(settles_around(m.visibility, m.owner_id, m.project_id))
                   AND ((SELECT current_agent()) IS NULL
                        OR (bool_and(m.owner_id <> (SELECT current_member())
                                     AND m.author_agent_id IS DISTINCT FROM (SELECT current_agent()))
                            AND raised_by_member_id IS DISTINCT FROM (SELECT current_member())
                            AND raised_by_agent_id IS DISTINCT FROM (SELECT current_agent())
                            AND state = 'pending'))
            FROM memories m
            WHERE m.tenant_id = conflicts.tenant_id AND m.id IN (memory_a_id, memory_b_id)))
    WITH CHECK (CASE state
        WHEN 'pending' THEN num_nonnulls(resolved_by_member_id, resolved_by_agent_id, winner_id, resolution,
                                         resolved_at) = 0
        ELSE state IN ('resolved', 'dismissed')
             AND resolved_by_member_id = (SELECT current_member())
             AND resolved_by_agent_id IS NOT DISTINCT FROM (SELECT current_agent())
             AND (winner_id IS NULL OR winner_id IN (memory_a_id, memory_b_id)) END);
-- A suspicion is raised by whoever reported last, and is everybody's who reported before.
DROP POLICY IF EXISTS no_agent_decides_a_suspicion_of_its_own_side ON conflicts;
CREATE POLICY no_agent_decides_a_suspicion_of_its_own_side ON conflicts AS RESTRICTIVE FOR UPDATE
    TO palimpsest_reviewer
    USING ((SELECT current_agent()) IS NULL OR kind <> 'stale_suspect'
           OR NOT EXISTS (SELECT FROM signals s
                          WHERE s.tenant_id = conflicts.tenant_id AND s.memory_id = memory_a_id
                            AND s.weighed_by_id IS NULL
                            AND (s.by_member_id = (SELECT current_member())
                                 OR s.by_agent_id = (SELECT current_agent()))));

-- What a person decided is taken back before it is decided anew, so that nobody decides over another's
-- head, whatever a statement says. The owner's commands have no member, and may.
CREATE OR REPLACE FUNCTION decisions_stand_until_taken_back() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF current_member() IS NOT NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'it was decided already';
    END IF;
    RETURN NEW;
END
$$;
DROP TRIGGER IF EXISTS decisions_stand ON conflicts;
CREATE TRIGGER decisions_stand BEFORE UPDATE OF state, resolution, winner_id, resolved_at, resolved_by_member_id,
                                                resolved_by_agent_id ON conflicts
    FOR EACH ROW WHEN (OLD.resolved_by_member_id IS NOT NULL AND NEW.state <> 'pending')
    EXECUTE FUNCTION decisions_stand_until_taken_back();

-- A proposal is accepted or rejected by who reviews it, and not by who proposed it; by an agent never if
-- it is its own side's.
CREATE OR REPLACE FUNCTION proposals_are_decided_by_others() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF current_member() IS NULL
       OR current_user = 'palimpsest_reviewer' AND reviews_around(OLD.owner_id, OLD.project_id)
          AND (CASE WHEN current_agent() IS NULL
                   THEN OLD.owner_id <> current_member() OR OLD.author_agent_id IS NOT NULL
                   ELSE OLD.owner_id <> current_member() AND OLD.author_agent_id IS DISTINCT FROM current_agent()
              END) THEN
        RETURN NEW;
    END IF;
    RAISE insufficient_privilege USING MESSAGE = 'a proposal is decided by a reviewer who did not make it';
END
$$;
DROP TRIGGER IF EXISTS proposals_are_decided ON memories;
CREATE TRIGGER proposals_are_decided BEFORE UPDATE OF accepted_at, invalidated_reason ON memories
    FOR EACH ROW WHEN (OLD.accepted_at IS DISTINCT FROM NEW.accepted_at
                       OR NEW.invalidated_reason = 'rejected'
                          AND OLD.invalidated_reason IS DISTINCT FROM 'rejected')
    EXECUTE FUNCTION proposals_are_decided_by_others();

-- That a person brought something back keeps all machines away from it, so it is said as they do it, and by
-- nobody else.
CREATE OR REPLACE FUNCTION people_say_that_they_restored_it() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF current_member() IS NULL
       OR current_agent() IS NULL AND NEW.restored_by_person_at IS NOT NULL
          AND OLD.invalidated_at IS NOT NULL AND NEW.invalidated_at IS NULL THEN
        RETURN NEW;
    END IF;
    RAISE insufficient_privilege USING MESSAGE = 'no person is restoring it';
END
$$;
DROP TRIGGER IF EXISTS people_restore ON memories;
CREATE TRIGGER people_restore BEFORE UPDATE OF restored_by_person_at ON memories
    FOR EACH ROW WHEN (OLD.restored_by_person_at IS DISTINCT FROM NEW.restored_by_person_at)
    EXECUTE FUNCTION people_say_that_they_restored_it();

-- A pair that a person settled may be taken up again by who may settle it.
GRANT UPDATE (reopened_at) ON settled_pairs TO palimpsest_reviewer;
DROP POLICY IF EXISTS reviewers_take_a_pair_up_again ON settled_pairs;
CREATE POLICY reviewers_take_a_pair_up_again ON settled_pairs FOR UPDATE TO palimpsest_reviewer
    USING (reopened_at IS NULL AND (SELECT current_agent()) IS NULL
           AND (SELECT count(*) = 2 AND bool_or(settles_around(m.visibility, m.owner_id, m.project_id))
                FROM memories m
                WHERE m.tenant_id = settled_pairs.tenant_id AND m.id IN (low_id, high_id)))
    WITH CHECK (reopened_at IS NOT NULL);

-- What the policy does to memories: what is live and the member whose work it is may read it retires,
-- with a successor. It brings nothing back and closes no other door. Its one function is
-- memory/conflict/supersede.py.
GRANT UPDATE (version, invalidated_at, invalidated_reason, superseded_by_id, superseded_at, supersede_reason)
    ON memories TO palimpsest_judge;
DROP POLICY IF EXISTS the_policy_retires_what_its_member_reads ON memories;
CREATE POLICY the_policy_retires_what_its_member_reads ON memories FOR UPDATE TO palimpsest_judge
    USING (invalidated_at IS NULL
           AND in_sight(visibility, owner_id, project_id, (SELECT current_member()), (SELECT visible_projects()),
                        (SELECT confined_to_project()), (SELECT personal_in_reach())))
    WITH CHECK (invalidated_at IS NOT NULL AND invalidated_reason = 'superseded' AND superseded_by_id IS NOT NULL);
GRANT INSERT ON links, settled_pairs TO palimpsest_judge;
DROP POLICY IF EXISTS the_policy_links_what_its_member_reads ON links;
CREATE POLICY the_policy_links_what_its_member_reads ON links FOR INSERT TO palimpsest_judge
    WITH CHECK (type IN ('supersedes', 'relates_to')
            AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = links.tenant_id AND m.id = links.src_id)
            AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = links.tenant_id AND m.id = links.dst_id));
DROP POLICY IF EXISTS the_policy_settles_pairs_its_member_reads ON settled_pairs;
CREATE POLICY the_policy_settles_pairs_its_member_reads ON settled_pairs FOR INSERT TO palimpsest_judge
    WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = settled_pairs.tenant_id AND m.id = low_id)
            AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = settled_pairs.tenant_id AND m.id = high_id));

-- A dispute about something that is retired is moot, also for who may not see it: whichever door it
-- went by, in the same transaction.
CREATE OR REPLACE FUNCTION disputes_end_with_their_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE conflicts c SET state = 'moot', resolved_at = now()
    WHERE c.tenant_id = NEW.tenant_id AND c.state = 'pending' AND NEW.id IN (c.memory_a_id, c.memory_b_id);
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS disputes_end ON memories;
CREATE TRIGGER disputes_end AFTER UPDATE OF invalidated_at ON memories
    FOR EACH ROW WHEN (OLD.invalidated_at IS NULL AND NEW.invalidated_at IS NOT NULL)
    EXECUTE FUNCTION disputes_end_with_their_memory();

-- What was a question when a memory went is one again when it comes back, by whichever door, and also for
-- who may not see it: as far as all sides are live, nobody has settled it since, and nobody has asked anew.
CREATE OR REPLACE FUNCTION disputes_come_back_with_their_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE conflicts c SET state = 'pending', resolved_at = NULL
    WHERE c.tenant_id = NEW.tenant_id AND c.state = 'moot' AND NEW.id IN (c.memory_a_id, c.memory_b_id)
      AND c.row <> 'judged since'
      AND NOT EXISTS (SELECT FROM memories m
                      WHERE m.tenant_id = c.tenant_id AND m.id IN (c.memory_a_id, c.memory_b_id)
                        AND m.invalidated_at IS NOT NULL)
      AND CASE WHEN c.memory_b_id IS NOT NULL
               THEN NOT EXISTS (SELECT FROM settled_pairs s
                                WHERE s.tenant_id = c.tenant_id AND s.low_id = c.low_id
                                  AND s.high_id = c.high_id AND s.reopened_at IS NULL)
               ELSE NOT EXISTS (SELECT FROM conflicts o
                                WHERE o.tenant_id = c.tenant_id AND o.memory_a_id = c.memory_a_id
                                  AND o.memory_b_id IS NULL AND o.id <> c.id
                                  AND (o.state = 'pending' OR o.created_at > c.created_at)) END;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS disputes_come_back ON memories;
CREATE TRIGGER disputes_come_back AFTER UPDATE OF invalidated_at ON memories
    FOR EACH ROW WHEN (OLD.invalidated_at IS NOT NULL AND NEW.invalidated_at IS NULL)
    EXECUTE FUNCTION disputes_come_back_with_their_memory();

-- A memory that loses to an older one has won nothing: what it beat, by the policy alone, is live again, and
-- the two may be compared anew. Whoever is bringing one of them back at this moment is not waited for.
CREATE OR REPLACE FUNCTION give_back_what_it_won(loser uuid) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    beaten uuid[];
BEGIN
    WITH lost AS (
        SELECT m.id FROM memories n JOIN memories m ON m.tenant_id = n.tenant_id AND m.superseded_by_id = n.id
        WHERE n.tenant_id = current_tenant() AND current_member() IS NOT NULL AND n.id = loser
          AND n.supersede_reason IN ('authority', 'recency', 'duplicate')
          AND EXISTS (SELECT FROM conflicts c
                      JOIN memories w ON w.tenant_id = c.tenant_id AND w.id = c.winner_id
                      WHERE c.tenant_id = n.tenant_id AND n.id IN (c.memory_a_id, c.memory_b_id)
                        AND w.sequence < n.sequence AND c.state = 'resolved' AND c.resolved_by_member_id IS NULL)
          AND EXISTS (SELECT FROM conflicts c
                      WHERE c.tenant_id = n.tenant_id AND c.low_id = least(m.id, n.id)
                        AND c.high_id = greatest(m.id, n.id) AND c.memory_b_id IS NOT NULL AND c.winner_id = n.id
                        AND c.state = 'resolved' AND c.resolved_by_member_id IS NULL AND c.row <> 'said again')
        ORDER BY m.id FOR UPDATE OF m SKIP LOCKED)
    SELECT array_agg(id) INTO beaten FROM lost;
    UPDATE settled_pairs s SET reopened_at = now()
    WHERE s.tenant_id = current_tenant() AND s.reopened_at IS NULL AND loser IN (s.low_id, s.high_id)
      AND (s.low_id = ANY (beaten) OR s.high_id = ANY (beaten));
    UPDATE conflicts c SET state = 'moot', resolution = NULL, winner_id = NULL, resolved_at = now(),
                           row = 'the winner lost itself'
    WHERE c.tenant_id = current_tenant() AND c.winner_id = loser AND c.memory_b_id IS NOT NULL
      AND (c.memory_a_id = ANY (beaten) OR c.memory_b_id = ANY (beaten));
    UPDATE links l SET removed_at = now()
    WHERE l.tenant_id = current_tenant() AND l.type = 'supersedes' AND l.removed_at IS NULL
      AND l.src_id = loser AND l.dst_id = ANY (beaten);
    UPDATE memories m SET invalidated_at = NULL, invalidated_reason = NULL, superseded_by_id = NULL,
                          superseded_at = NULL, supersede_reason = NULL, version = m.version + 1
    WHERE m.tenant_id = current_tenant() AND m.id = ANY (beaten);
    RETURN QUERY SELECT unnest(beaten);
END
$$;
REVOKE ALL ON FUNCTION give_back_what_it_won(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION give_back_what_it_won(uuid) TO palimpsest_judge;

-- How much the policy has retired of late, and of how much: for the brake. Whoever lost to several was
-- retired once, provisional losers do not count, nor what its own author has said again, and nothing but two
-- numbers comes out.
CREATE OR REPLACE FUNCTION retired_by_policy(since timestamptz, OUT retired bigint, OUT live bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT (SELECT count(DISTINCT m.id) FROM conflicts c
            JOIN memories m ON m.tenant_id = c.tenant_id
                 AND m.id = CASE c.winner_id WHEN c.memory_a_id THEN c.memory_b_id ELSE c.memory_a_id END
            WHERE c.tenant_id = current_tenant() AND c.resolved_at > since AND c.resolved_by_member_id IS NULL
              AND c.state = 'resolved' AND c.row <> 'said again'
              AND (m.provenance_rank > 0 OR m.accepted_at IS NOT NULL) AND current_member() IS NOT NULL)
           + (SELECT count(*) FROM memories m
              WHERE m.tenant_id = current_tenant() AND m.ends_with_id IS NOT NULL AND m.end_set_at > since
                AND m.invalidated_at IS NULL AND (m.provenance_rank > 0 OR m.accepted_at IS NOT NULL)
                AND current_member() IS NOT NULL),
           (SELECT count(*) FROM memories m
            WHERE m.tenant_id = current_tenant() AND m.invalidated_at IS NULL AND current_member() IS NOT NULL)
$$;
REVOKE ALL ON FUNCTION disputes_end_with_their_memory(), disputes_come_back_with_their_memory(),
    retired_by_policy(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION retired_by_policy(timestamptz)
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;

-- events of memories: whoever may read the memory may read what happened to it; of a link or a
-- conflict, whoever may read both its ends
DROP POLICY IF EXISTS who_reads_the_memory_reads_its_events ON events;
CREATE POLICY who_reads_the_memory_reads_its_events ON events FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = events.tenant_id AND m.id = events.memory_id)
       AND (object_type <> 'link'
            OR EXISTS (SELECT FROM links l WHERE l.tenant_id = events.tenant_id AND l.id = events.object_id))
       AND (object_type <> 'conflict'
            OR EXISTS (SELECT FROM conflicts c WHERE c.tenant_id = events.tenant_id AND c.id = events.object_id)));
-- and of a change, whoever may see that, and no administrator who may not
DROP POLICY IF EXISTS who_knows_of_the_change_reads_its_events ON events;
CREATE POLICY who_knows_of_the_change_reads_its_events ON events FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (object_type = 'change' AND memory_id IS NULL
           AND EXISTS (SELECT FROM changes c WHERE c.tenant_id = events.tenant_id AND c.id = events.object_id));
DROP POLICY IF EXISTS nobody_reads_of_a_change_out_of_sight ON events;
CREATE POLICY nobody_reads_of_a_change_out_of_sight ON events AS RESTRICTIVE FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (object_type <> 'change'
           OR EXISTS (SELECT FROM changes c WHERE c.tenant_id = events.tenant_id AND c.id = events.object_id));
DROP POLICY IF EXISTS nobody_tells_of_a_memory_out_of_sight ON events;
CREATE POLICY nobody_tells_of_a_memory_out_of_sight ON events AS RESTRICTIVE FOR INSERT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    WITH CHECK (memory_id IS NULL
                OR EXISTS (SELECT FROM memories m WHERE m.tenant_id = events.tenant_id AND m.id = events.memory_id));

-- Does the tenant hold such a memory at all, seen or not? Tells a hidden supersede target from a
-- missing one; another tenant's is missing.
CREATE OR REPLACE FUNCTION held_by_the_tenant(wanted uuid[]) RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT coalesce(array_agg(m.id), '{}') FROM memories m
    WHERE m.tenant_id = current_tenant() AND m.id = ANY (wanted) AND current_member() IS NOT NULL
$$;

-- Has the tenant no more new memories today than it may, those of this transaction among them? Its writes
-- come here one after the other, each when the one before is committed, so that none is counted too late.
CREATE OR REPLACE FUNCTION has_at_most_today(most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('new memories of ' || current_tenant()::text, 0));
    RETURN current_member() IS NOT NULL
       AND NOT EXISTS (SELECT FROM (SELECT m.created_at FROM memories m WHERE m.tenant_id = current_tenant()
                                    ORDER BY m.sequence DESC OFFSET most LIMIT 1) one_too_many
                       WHERE one_too_many.created_at >= date_trunc('day', now(), 'UTC'));
END
$$;
REVOKE ALL ON FUNCTION has_at_most_today(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION has_at_most_today(integer) TO palimpsest_member;

-- Of which subjects that a memory in sight states somebody in its project has said that they have several
-- values, or its owner, if it is in none: whatever became of the memory that says so, unless it was a proposal
-- that was rejected, and whoever may read it. Nothing but that it was said comes out.
CREATE OR REPLACE FUNCTION several_valued(of_memories uuid[]) RETURNS TABLE (memory_id uuid, subject text)
LANGUAGE sql STABLE ROWS 10 SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT DISTINCT m.id, c.subject
    FROM memories m JOIN components c ON c.tenant_id = m.tenant_id AND c.memory_id = m.id
    WHERE m.tenant_id = (SELECT current_tenant()) AND m.id = ANY (of_memories)
      AND in_sight(m.visibility, m.owner_id, m.project_id, (SELECT current_member()), (SELECT visible_projects()),
                   (SELECT confined_to_project()), (SELECT personal_in_reach()))
      AND EXISTS (SELECT FROM components o JOIN memories p ON p.tenant_id = o.tenant_id AND p.id = o.memory_id
                  WHERE o.tenant_id = m.tenant_id AND o.subject = c.subject AND o.multi AND NOT o.suggested
                    AND o.dismissed_at IS NULL AND p.invalidated_reason IS DISTINCT FROM 'rejected'
                    AND p.project_id IS NOT DISTINCT FROM m.project_id
                    AND (m.project_id IS NOT NULL OR p.owner_id = m.owner_id))
$$;
REVOKE ALL ON FUNCTION several_valued(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION several_valued(uuid[]) TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;

-- What an embedding copies from its memory, at its birth and at every change.
CREATE OR REPLACE FUNCTION embedding_takes_after_its_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    SELECT m.owner_id, m.project_id, m.visibility, m.kind, m.lifecycle, m.valid_until
    INTO NEW.owner_id, NEW.project_id, NEW.visibility, NEW.kind, NEW.lifecycle, NEW.valid_until
    FROM memories m WHERE m.tenant_id = NEW.tenant_id AND m.id = NEW.memory_id;
    RETURN NEW;
END
$$;
DROP TRIGGER IF EXISTS takes_after_its_memory ON embeddings;
CREATE TRIGGER takes_after_its_memory BEFORE INSERT ON embeddings
    FOR EACH ROW EXECUTE FUNCTION embedding_takes_after_its_memory();

CREATE OR REPLACE FUNCTION embeddings_follow_their_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE embeddings e
    SET visibility = NEW.visibility, lifecycle = NEW.lifecycle, valid_until = NEW.valid_until
    WHERE e.tenant_id = NEW.tenant_id AND e.memory_id = NEW.id;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS embeddings_follow ON memories;
CREATE TRIGGER embeddings_follow AFTER UPDATE OF visibility, invalidated_at, superseded_by_id, valid_until ON memories
    FOR EACH ROW EXECUTE FUNCTION embeddings_follow_their_memory();

-- Recalls are added to, and never taken away: whoever reads a memory counts, and resets nobody's count.
CREATE OR REPLACE FUNCTION recalls_only_grow() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF current_member() IS NULL THEN
        RETURN NEW;
    END IF;
    RAISE insufficient_privilege USING MESSAGE = 'recalls are only ever added to';
END
$$;
DROP TRIGGER IF EXISTS recalls_only_grow ON activations;
CREATE TRIGGER recalls_only_grow BEFORE UPDATE ON activations
    FOR EACH ROW WHEN (NEW.recalls < OLD.recalls OR NEW.last_recalled_at < OLD.last_recalled_at)
    EXECUTE FUNCTION recalls_only_grow();

REVOKE ALL ON FUNCTION in_sight(text, uuid, uuid, uuid, uuid[], uuid, boolean), writes_around(uuid, uuid),
    reviews_around(uuid, uuid), settles_around(text, uuid, uuid), decisions_stand_until_taken_back(),
    proposals_are_decided_by_others(),
    people_say_that_they_restored_it(), recalls_only_grow(),
    held_by_the_tenant(uuid[]),
    embedding_takes_after_its_memory(), embeddings_follow_their_memory() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION in_sight(text, uuid, uuid, uuid, uuid[], uuid, boolean)
    TO palimpsest_search, palimpsest_member, palimpsest_judge, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION writes_around(uuid, uuid), reviews_around(uuid, uuid), settles_around(text, uuid, uuid)
    TO palimpsest_member, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION held_by_the_tenant(uuid[]) TO palimpsest_member, palimpsest_reviewer;

-- signals: read as their memory, given in one's own name by who writes around it, by the machine in
-- nobody's; weighed once, by who decides a dispute about that memory, and as they do: who had it weighed
-- before could decide in their own cause
GRANT SELECT, INSERT ON signals TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
GRANT UPDATE (weighed_by_id) ON signals TO palimpsest_reviewer;
DROP POLICY IF EXISTS who_reads_the_memory_reads_its_signals ON signals;
CREATE POLICY who_reads_the_memory_reads_its_signals ON signals FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = signals.tenant_id AND m.id = signals.memory_id));
DROP POLICY IF EXISTS who_writes_around_a_memory_says_that_it_misled ON signals;
CREATE POLICY who_writes_around_a_memory_says_that_it_misled ON signals FOR INSERT
    TO palimpsest_member, palimpsest_reviewer
    WITH CHECK (weighed_by_id IS NULL AND kind <> 'judged_misled' AND created_at <= statement_timestamp()
            AND by_member_id = (SELECT current_member())
            AND by_agent_id IS NOT DISTINCT FROM (SELECT current_agent())
            AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = signals.tenant_id AND m.id = signals.memory_id
                        AND writes_around(m.owner_id, m.project_id)));
DROP POLICY IF EXISTS the_judge_says_what_misled_in_its_members_sight ON signals;
CREATE POLICY the_judge_says_what_misled_in_its_members_sight ON signals FOR INSERT TO palimpsest_judge
    WITH CHECK (weighed_by_id IS NULL AND kind = 'judged_misled' AND created_at <= statement_timestamp()
            AND num_nonnulls(by_member_id, by_agent_id) = 0
            AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = signals.tenant_id
                                                 AND m.id = signals.memory_id));
DROP POLICY IF EXISTS reviewers_weigh_signals ON signals;
CREATE POLICY reviewers_weigh_signals ON signals FOR UPDATE TO palimpsest_reviewer
    USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = signals.tenant_id AND m.id = signals.memory_id
                   AND settles_around(m.visibility, m.owner_id, m.project_id)
                   AND ((SELECT current_agent()) IS NULL
                        OR m.owner_id <> (SELECT current_member())
                           AND m.author_agent_id IS DISTINCT FROM (SELECT current_agent()))))
    WITH CHECK (CASE WHEN weighed_by_id IS NULL THEN (SELECT current_agent()) IS NULL
                     ELSE EXISTS (SELECT FROM conflicts c
                                  WHERE c.tenant_id = signals.tenant_id AND c.id = weighed_by_id
                                    AND signals.memory_id IN (c.memory_a_id, c.memory_b_id)
                                    AND c.state = 'resolved' AND c.resolved_at = transaction_timestamp()
                                    AND c.resolved_by_member_id = (SELECT current_member())
                                    AND c.resolved_by_agent_id IS NOT DISTINCT FROM (SELECT current_agent()))
                END);

-- changes: known to who sees the project, reported in one's own name by who writes in it. Nobody has seen
-- what is to come: what was seen in the future could not be verified away, and what was verified there
-- never be marked again. A clock may be a little fast.
GRANT SELECT, INSERT ON changes TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT ON changes TO palimpsest_judge;
DROP POLICY IF EXISTS who_sees_a_project_knows_of_its_changes ON changes;
CREATE POLICY who_sees_a_project_knows_of_its_changes ON changes FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (project_id IN (SELECT unnest(visible_projects())));
DROP POLICY IF EXISTS who_writes_in_a_project_reports_its_changes ON changes;
CREATE POLICY who_writes_in_a_project_reports_its_changes ON changes FOR INSERT
    TO palimpsest_member, palimpsest_reviewer
    WITH CHECK (by_member_id = (SELECT current_member())
            AND by_agent_id IS NOT DISTINCT FROM (SELECT current_agent())
            AND project_id IN (SELECT unnest(writable_projects()))
            AND observed_at <= statement_timestamp() + interval '5 minutes'
            AND (memory_id IS NULL
                 OR EXISTS (SELECT FROM memories m WHERE m.tenant_id = changes.tenant_id AND m.id = memory_id)));

-- what tells whether a memory still holds: read as the memory. Marks, corroborations, retirements and
-- dispute periods are written by functions and triggers alone (trust.sql).
DO $$
DECLARE relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['marks', 'verifications', 'corroborations', 'activations', 'retirements',
                                    'acceptances'] LOOP
        EXECUTE format('GRANT SELECT ON %I TO palimpsest_member, palimpsest_judge, palimpsest_reviewer', relation);
        EXECUTE format('DROP POLICY IF EXISTS who_reads_the_memory_reads_what_tells_of_it ON %I', relation);
        EXECUTE format('CREATE POLICY who_reads_the_memory_reads_what_tells_of_it ON %I FOR SELECT '
                       'TO palimpsest_member, palimpsest_judge, palimpsest_reviewer '
                       'USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = %1$I.tenant_id '
                       'AND m.id = %1$I.memory_id))', relation);
    END LOOP;
END
$$;
GRANT SELECT ON dispute_periods TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
DROP POLICY IF EXISTS who_knows_of_the_conflict_knows_when_it_was_open ON dispute_periods;
CREATE POLICY who_knows_of_the_conflict_knows_when_it_was_open ON dispute_periods FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (EXISTS (SELECT FROM conflicts c WHERE c.tenant_id = dispute_periods.tenant_id AND c.id = conflict_id));

GRANT INSERT ON verifications TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS who_writes_around_a_memory_verifies_it ON verifications;
CREATE POLICY who_writes_around_a_memory_verifies_it ON verifications FOR INSERT
    TO palimpsest_member, palimpsest_reviewer
    WITH CHECK (by_member_id = (SELECT current_member())
            AND by_agent_id IS NOT DISTINCT FROM (SELECT current_agent())
            AND observed_at <= statement_timestamp() + interval '5 minutes'
            AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = verifications.tenant_id
                        AND m.id = verifications.memory_id AND writes_around(m.owner_id, m.project_id)));

GRANT INSERT, UPDATE (recalls, last_recalled_at) ON activations TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS who_reads_a_memory_counts_that_it_was_recalled ON activations;
CREATE POLICY who_reads_a_memory_counts_that_it_was_recalled ON activations FOR INSERT
    TO palimpsest_member, palimpsest_reviewer
    WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = activations.tenant_id
                                                 AND m.id = activations.memory_id));
DROP POLICY IF EXISTS who_reads_a_memory_counts_on ON activations;
CREATE POLICY who_reads_a_memory_counts_on ON activations FOR UPDATE TO palimpsest_member, palimpsest_reviewer
    USING (EXISTS (SELECT FROM memories m WHERE m.tenant_id = activations.tenant_id
                                            AND m.id = activations.memory_id))
    WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = activations.tenant_id
                                                 AND m.id = activations.memory_id));

-- components that were read out of a text: accepted or dismissed, as they are, by who writes around the
-- memory; what was dismissed only the owner may still state, as anything else
GRANT UPDATE (suggested, dismissed_at) ON components TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS who_writes_around_a_memory_takes_up_what_was_suggested ON components;
CREATE POLICY who_writes_around_a_memory_takes_up_what_was_suggested ON components FOR UPDATE
    TO palimpsest_member, palimpsest_reviewer
    USING (suggested
           AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = components.tenant_id
                       AND m.id = components.memory_id AND writes_around(m.owner_id, m.project_id)
                       AND (components.dismissed_at IS NULL OR m.owner_id = (SELECT current_member()))))
    WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = components.tenant_id
                        AND m.id = components.memory_id AND writes_around(m.owner_id, m.project_id)));

-- where pushes come from: administered
GRANT SELECT, INSERT, UPDATE (name, branch, secret_version, active) ON push_sources
    TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS administrators_see_where_pushes_come_from ON push_sources;
CREATE POLICY administrators_see_where_pushes_come_from ON push_sources FOR SELECT
    TO palimpsest_member, palimpsest_reviewer USING ((SELECT administers()));
DROP POLICY IF EXISTS administrators_let_pushes_in ON push_sources;
CREATE POLICY administrators_let_pushes_in ON push_sources FOR INSERT
    TO palimpsest_member, palimpsest_reviewer WITH CHECK ((SELECT administers()));
DROP POLICY IF EXISTS administrators_change_where_pushes_come_from ON push_sources;
CREATE POLICY administrators_change_where_pushes_come_from ON push_sources FOR UPDATE
    TO palimpsest_member, palimpsest_reviewer USING ((SELECT administers())) WITH CHECK ((SELECT administers()));

-- imports and exports: their member's own, never an agent's
GRANT SELECT, INSERT, UPDATE (state, files, stored, total, done, counts, problem, finished_at) ON transfers
    TO palimpsest_member, palimpsest_reviewer;
DROP POLICY IF EXISTS members_keep_their_own_transfers ON transfers;
CREATE POLICY members_keep_their_own_transfers ON transfers FOR ALL TO palimpsest_member, palimpsest_reviewer
    USING (member_id = (SELECT current_member()) AND (SELECT current_agent()) IS NULL
           AND ((SELECT confined_to_project()) IS NULL OR project_id = (SELECT confined_to_project())))
    WITH CHECK (member_id = (SELECT current_member()) AND (SELECT current_agent()) IS NULL
                AND ((SELECT confined_to_project()) IS NULL OR project_id = (SELECT confined_to_project())));

-- What tells whether a memory still holds, written where it cannot be forgotten: in triggers, and in
-- functions that mark whole trees of dependents in one statement a step. They run with the rights of
-- their owner, because the world moves for memories, too, that the one who reports it may not read; what
-- comes back is read again under the policies.

-- A retirement is a time: what was live then is told by it, whatever became of the memory since.
CREATE OR REPLACE FUNCTION retirements_are_kept() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF OLD.invalidated_at IS NOT NULL THEN
        UPDATE retirements r SET ended_at = greatest(r.began_at, statement_timestamp())
        WHERE r.tenant_id = NEW.tenant_id AND r.memory_id = NEW.id AND r.ended_at IS NULL;
    END IF;
    IF NEW.invalidated_at IS NOT NULL THEN
        INSERT INTO retirements (id, tenant_id, memory_id, door, successor_id, supersede_reason, began_at)
        VALUES (uuidv7_or_v4(), NEW.tenant_id, NEW.id, NEW.invalidated_reason, NEW.superseded_by_id,
                NEW.supersede_reason,
                CASE WHEN OLD.invalidated_at IS NULL THEN NEW.invalidated_at ELSE statement_timestamp() END);
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION dispute_periods_are_kept() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NEW.state = 'pending' THEN
        INSERT INTO dispute_periods (id, tenant_id, conflict_id, kind, began_at)
        VALUES (uuidv7_or_v4(), NEW.tenant_id, NEW.id, NEW.kind, statement_timestamp());
    ELSE
        UPDATE dispute_periods p SET ended_at = greatest(p.began_at, statement_timestamp())
        WHERE p.tenant_id = NEW.tenant_id AND p.conflict_id = NEW.id AND p.ended_at IS NULL;
    END IF;
    RETURN NULL;
END
$$;
-- Accepting a proposal may be undone, and then it counted as accepted for a time.
CREATE OR REPLACE FUNCTION acceptances_are_kept() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE acceptances a SET ended_at = greatest(a.began_at, statement_timestamp())
    WHERE a.tenant_id = NEW.tenant_id AND a.memory_id = NEW.id AND a.ended_at IS NULL;
    IF NEW.accepted_at IS NOT NULL THEN
        INSERT INTO acceptances (id, tenant_id, memory_id, began_at)
        VALUES (uuidv7_or_v4(), NEW.tenant_id, NEW.id, NEW.accepted_at);
    END IF;
    RETURN NULL;
END
$$;
-- Ids made by the database: in the order of time where it can.
CREATE OR REPLACE FUNCTION uuidv7_or_v4() RETURNS uuid LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF current_setting('server_version_num')::integer >= 180000 THEN
        RETURN uuidv7();
    END IF;
    RETURN gen_random_uuid();
END
$$;
DROP TRIGGER IF EXISTS retirements_begin_and_end ON memories;
CREATE TRIGGER retirements_begin_and_end AFTER UPDATE OF invalidated_at, invalidated_reason ON memories
    FOR EACH ROW WHEN (OLD.invalidated_reason IS DISTINCT FROM NEW.invalidated_reason)
    EXECUTE FUNCTION retirements_are_kept();
DROP TRIGGER IF EXISTS acceptances_begin_and_end ON memories;
CREATE TRIGGER acceptances_begin_and_end AFTER UPDATE OF accepted_at ON memories
    FOR EACH ROW WHEN (OLD.accepted_at IS DISTINCT FROM NEW.accepted_at)
    EXECUTE FUNCTION acceptances_are_kept();
DROP TRIGGER IF EXISTS disputes_begin ON conflicts;
CREATE TRIGGER disputes_begin AFTER INSERT ON conflicts
    FOR EACH ROW WHEN (NEW.state = 'pending') EXECUTE FUNCTION dispute_periods_are_kept();
DROP TRIGGER IF EXISTS disputes_begin_and_end ON conflicts;
CREATE TRIGGER disputes_begin_and_end AFTER UPDATE OF state ON conflicts
    FOR EACH ROW WHEN ((OLD.state = 'pending') <> (NEW.state = 'pending'))
    EXECUTE FUNCTION dispute_periods_are_kept();

-- Is what somebody says of a memory anybody's word but its author's own? An agent stays who it is, whoever its
-- sponsor is now. The same stands in `memory/independence.py`.
CREATE OR REPLACE FUNCTION is_independent(by_member uuid, by_agent uuid, of_owner uuid, of_agent uuid)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT by_member <> of_owner AND (by_agent IS NULL OR by_agent IS DISTINCT FROM of_agent)
$$;

-- Whether a verification looked at a component: at what the memory stated by then, of the subjects that it
-- names (all, if it names none), and of several values of one at the one that was seen. That there are several
-- is stated without a value, and is seen with any of them.
CREATE OR REPLACE FUNCTION looked_at(v verifications, c components) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT c.created_at <= v.observed_at
       AND (v.subjects = '{}'
            OR c.subject = ANY (v.subjects) AND (v.stated_value IS NULL OR c.value IS NULL OR v.stated_value = c.value))
$$;

-- What is stated with a memory is as old as the memory.
CREATE OR REPLACE FUNCTION components_are_as_old_as_their_write() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    NEW.created_at := least(NEW.created_at, (
        SELECT m.created_at FROM memories m
        WHERE m.tenant_id = NEW.tenant_id AND m.id = NEW.memory_id AND m.created_at >= transaction_timestamp()));
    RETURN NEW;
END
$$;
DROP TRIGGER IF EXISTS components_are_as_old_as_their_write ON components;
CREATE TRIGGER components_are_as_old_as_their_write BEFORE INSERT ON components
    FOR EACH ROW EXECUTE FUNCTION components_are_as_old_as_their_write();

-- What was read out of a text is stated from when somebody accepts it.
CREATE OR REPLACE FUNCTION components_are_stated_from_then_on() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    NEW.accepted_at := statement_timestamp();
    RETURN NEW;
END
$$;
DROP TRIGGER IF EXISTS components_are_stated_from_then_on ON components;
CREATE TRIGGER components_are_stated_from_then_on BEFORE UPDATE OF suggested ON components
    FOR EACH ROW WHEN (OLD.suggested AND NOT NEW.suggested)
    EXECUTE FUNCTION components_are_stated_from_then_on();

-- When a memory, or a component of it, was last vouched for: by writing it, by accepting it, or by a
-- verification that weighs. Without a component: by what vouches for the whole, or else when the oldest of
-- its components was. Of a capture its time counts, too: what changed before cannot have overtaken it.
CREATE OR REPLACE FUNCTION last_vouched_for(of_memory uuid, of_component uuid) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT greatest(
        m.created_at, m.accepted_at,
        CASE WHEN of_component IS NULL THEN
            (SELECT max(v.observed_at) FROM verifications v
             WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id AND v.outcome = 'confirmed' AND v.weighs
               AND v.subjects = '{}')
        END,
        (SELECT min(greatest(c.created_at,
                             (SELECT max(v.observed_at) FROM verifications v
                              WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id
                                AND v.outcome = 'confirmed' AND v.weighs AND looked_at(v, c))))
         FROM components c
         WHERE c.tenant_id = m.tenant_id AND c.memory_id = m.id AND NOT c.suggested AND c.dismissed_at IS NULL
           AND (of_component IS NULL OR c.id = of_component)))
    FROM memories m WHERE m.tenant_id = current_tenant() AND m.id = of_memory
$$;
-- Has anybody vouched for it since then? Asked of many at once, so what is seldom there is asked first.
CREATE OR REPLACE FUNCTION vouched_since(of_memory uuid, of_component uuid, seen_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN (EXISTS (SELECT FROM verifications v
                    WHERE v.tenant_id = current_tenant() AND v.memory_id = of_memory AND v.observed_at >= seen_at)
            OR EXISTS (SELECT FROM components c
                       WHERE c.tenant_id = current_tenant() AND c.memory_id = of_memory AND c.created_at >= seen_at))
       AND last_vouched_for(of_memory, of_component) >= seen_at;
END
$$;

-- Has somebody made something of what was only captured? All of it must be verified: by others, or with
-- evidence by its own side, and never by its author.
CREATE OR REPLACE FUNCTION is_lifted(of_memory uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    WITH counted AS (
        SELECT v AS look, v.subjects FROM verifications v
        JOIN memories m ON m.tenant_id = v.tenant_id AND m.id = v.memory_id
        WHERE v.tenant_id = current_tenant() AND v.memory_id = of_memory AND v.outcome = 'confirmed' AND v.weighs
          -- What was seen before it was captured says nothing of it.
          AND v.observed_at >= m.created_at
          AND (is_independent(v.by_member_id, v.by_agent_id, m.owner_id, m.author_agent_id)
               OR v.by_agent_id IS DISTINCT FROM m.author_agent_id
                  AND v.method <> 'self' AND v.observed_value IS NOT NULL)
    ), stated AS (
        SELECT c AS part FROM components c
        WHERE c.tenant_id = current_tenant() AND c.memory_id = of_memory AND NOT c.suggested AND c.dismissed_at IS NULL
    )
    SELECT (EXISTS (SELECT FROM stated) OR EXISTS (SELECT FROM counted WHERE subjects = '{}'))
       AND NOT EXISTS (SELECT FROM stated s
                       WHERE NOT EXISTS (SELECT FROM counted n WHERE looked_at(n.look, s.part)))
$$;
-- What somebody should have looked at by now: by its own date, or its project's interval for its kind; in a
-- project with what belongs to no other, or everywhere. All of it at once, and as `last_vouched_for` says it:
-- asked one by one, of many old memories, it took longer than anybody waits. What was vouched for before
-- somebody should have looked cannot matter, so most of it is never read.
CREATE OR REPLACE FUNCTION overdue_memories(moment timestamptz, in_project uuid) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 1000 SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan SET jit = off AS $$
DECLARE
    ids uuid[];
    dates timestamptz[];
    intervals interval[];
    attested timestamptz[];
BEGIN
    -- In arrays, so that the planner knows how many there are before it goes on.
    SELECT array_agg(m.id), array_agg(m.review_after), array_agg(p.every),
           array_agg(greatest(m.created_at, m.accepted_at))
    INTO ids, dates, intervals, attested
    FROM memories m
    LEFT JOIN (SELECT one.id AS project_id, said.kind, make_interval(days => said.days::integer) AS every
               FROM projects one, jsonb_each_text(one.review_intervals) said (kind, days)
               WHERE one.tenant_id = (SELECT current_tenant())) p
      ON p.project_id = m.project_id AND p.kind = m.kind
    WHERE m.tenant_id = (SELECT current_tenant()) AND m.invalidated_at IS NULL
      AND (in_project IS NULL OR m.project_id = in_project OR m.project_id IS NULL OR m.visibility = 'tenant')
      AND (m.review_after <= moment OR m.created_at <= moment - p.every);
    RETURN QUERY
    WITH due AS NOT MATERIALIZED (
        SELECT * FROM unnest(ids, dates, intervals, attested) due (id, review_after, every, attested_at)
    ), looked AS MATERIALIZED (
        SELECT v.memory_id, v.subjects, v.stated_value, v.observed_at
        FROM due JOIN verifications v ON v.memory_id = due.id
        WHERE v.tenant_id = (SELECT current_tenant()) AND v.outcome = 'confirmed' AND v.weighs
          AND v.observed_at >= least(due.review_after, moment - due.every)
    ), whole AS (
        SELECT memory_id, max(observed_at) AS at FROM looked WHERE subjects = '{}' GROUP BY memory_id
    ), stated AS MATERIALIZED (
        SELECT c.id, c.memory_id, c.subject, c.value, c.created_at
        FROM components c
        WHERE c.tenant_id = (SELECT current_tenant()) AND NOT c.suggested AND c.dismissed_at IS NULL
          AND c.memory_id IN (SELECT memory_id FROM looked)
    ), seen AS (
        SELECT c.id, max(l.observed_at) AS at
        FROM (SELECT *, unnest(subjects) AS subject FROM looked) l
        JOIN stated c ON c.memory_id = l.memory_id AND c.subject = l.subject
        WHERE c.created_at <= l.observed_at
          AND (l.stated_value IS NULL OR c.value IS NULL OR l.stated_value = c.value)
        GROUP BY c.id
    ), parts AS (
        -- Of several, the one that was seen longest ago; what nobody has seen, when it was stated.
        SELECT c.memory_id, min(greatest(c.created_at, seen.at)) AS at
        FROM stated c LEFT JOIN seen ON seen.id = c.id
        GROUP BY c.memory_id
    )
    SELECT due.id
    FROM due
    LEFT JOIN whole ON whole.memory_id = due.id
    LEFT JOIN parts ON parts.memory_id = due.id
    CROSS JOIN LATERAL (SELECT greatest(due.attested_at, whole.at, parts.at) AS vouched_at) last
    WHERE due.review_after <= moment AND last.vouched_at < due.review_after
       OR last.vouched_at + due.every <= moment;
END
$$;

-- What a memory depends on: what it says so of, and what it was derived from.
CREATE OR REPLACE VIEW dependents WITH (security_invoker = true, security_barrier = true) AS
    SELECT d.tenant_id, d.memory_id, d.on_memory_id FROM dependencies d WHERE d.on_memory_id IS NOT NULL
    UNION ALL
    SELECT l.tenant_id, l.src_id, l.dst_id FROM links l
    WHERE l.type IN ('derived_from', 'depends_on') AND l.removed_at IS NULL;

-- These memories and what they have replaced, for one reason or for any, each with the one of those that stands in
-- its place now. In arrays, so that the planner knows how few there are.
CREATE OR REPLACE FUNCTION with_what_they_replaced(those uuid[], reason text, OUT ids uuid[], OUT heads uuid[])
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    replaced uuid[] := those;
    by_head uuid[] := those;
BEGIN
    ids := those;
    heads := those;
    LOOP
        SELECT array_agg(m.id), array_agg(r.head) INTO replaced, by_head
        FROM memories m JOIN unnest(replaced, by_head) r (id, head) ON r.id = m.superseded_by_id
        WHERE m.tenant_id = current_tenant() AND m.superseded_by_id = ANY (replaced)
          AND (reason IS NULL OR m.supersede_reason = reason) AND m.id <> ALL (ids);
        EXIT WHEN replaced IS NULL;
        ids := ids || replaced;
        heads := heads || by_head;
    END LOOP;
END
$$;

-- Whoever depends on what was replaced depends on what stands in its place: on each of these memories
-- rests what depends on it, or on anything that it has replaced. And what went because it said the same leaves
-- what it depended on to what says it now, also where whoever decided that may not read it.
CREATE OR REPLACE FUNCTION what_rests_on(those uuid[]) RETURNS TABLE (memory_id uuid, on_memory_id uuid)
LANGUAGE plpgsql STABLE ROWS 20 SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ids uuid[];
    heads uuid[];
BEGIN
    SELECT w.ids, w.heads INTO ids, heads FROM with_what_they_replaced(those, NULL) w;
    RETURN QUERY
    WITH RECURSIVE resting AS (
        SELECT d.memory_id, s.head
        FROM dependents d JOIN unnest(ids, heads) s (id, head) ON s.id = d.on_memory_id
        WHERE d.tenant_id = current_tenant() AND d.on_memory_id = ANY (ids)
        UNION
        -- One by one, because they are few, and never sought among all that there are.
        SELECT twin.superseded_by_id, r.head
        FROM resting r
        CROSS JOIN LATERAL (SELECT m.superseded_by_id FROM memories m
                            WHERE m.tenant_id = current_tenant() AND m.id = r.memory_id
                              AND m.supersede_reason = 'duplicate' LIMIT 1) twin
    )
    SELECT r.memory_id, r.head FROM resting r WHERE r.memory_id <> r.head;
END
$$;
-- The same from the other end: what each of these memories depends on, and what stands in its place.
CREATE OR REPLACE FUNCTION what_they_rest_on(those uuid[]) RETURNS TABLE (memory_id uuid, on_memory_id uuid)
LANGUAGE plpgsql STABLE ROWS 20 SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ids uuid[];
    heads uuid[];
BEGIN
    SELECT w.ids, w.heads INTO ids, heads FROM with_what_they_replaced(those, 'duplicate') w;
    RETURN QUERY
    WITH RECURSIVE rests AS (
        SELECT s.head AS memory_id, d.on_memory_id
        FROM dependents d JOIN unnest(ids, heads) s (id, head) ON s.id = d.memory_id
        WHERE d.tenant_id = current_tenant() AND d.memory_id = ANY (ids)
        UNION
        SELECT r.memory_id, m.superseded_by_id
        FROM rests r JOIN memories m ON m.tenant_id = current_tenant() AND m.id = r.on_memory_id
        WHERE m.superseded_by_id IS NOT NULL
    )
    SELECT r.memory_id, r.on_memory_id FROM rests r WHERE r.memory_id <> r.on_memory_id;
END
$$;
-- A memory, and what says the same in its place since it went for that.
CREATE OR REPLACE FUNCTION what_says_the_same(one uuid) RETURNS uuid[]
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    WITH RECURSIVE same AS (
        SELECT one AS id
        UNION
        SELECT m.superseded_by_id FROM same s JOIN memories m ON m.tenant_id = current_tenant() AND m.id = s.id
        WHERE m.supersede_reason = 'duplicate'
    ) SELECT array_agg(id) FROM same WHERE id IS NOT NULL
$$;

-- From what is marked to what depends on it, step by step, through whatever is in use and was not vouched
-- for since. What the same event has marked already for what it depends on is not marked again, so circles
-- end.
CREATE OR REPLACE FUNCTION spread_marks(
    hit uuid[], why text, by_change uuid, by_memory uuid, seen_at timestamptz, spared uuid[]
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    WHILE cardinality(hit) > 0 LOOP
        WITH reached AS (
            SELECT d.memory_id, min(d.on_memory_id::text)::uuid AS by_way_of
            FROM what_rests_on(hit) d
            WHERE d.memory_id <> ALL (spared) AND d.memory_id IS DISTINCT FROM by_memory
            GROUP BY d.memory_id
        ), new AS (
            INSERT INTO marks (id, tenant_id, memory_id, cause, change_id, cause_memory_id, path, direct, observed_at)
            SELECT uuidv7_or_v4(), m.tenant_id, m.id, why, by_change, by_memory,
                   coalesce((SELECT k.path FROM marks k
                             WHERE k.tenant_id = m.tenant_id AND k.memory_id = r.by_way_of
                               AND k.cause = why AND k.cleared_at IS NULL
                               AND k.change_id IS NOT DISTINCT FROM by_change
                               AND k.cause_memory_id IS NOT DISTINCT FROM by_memory
                             ORDER BY cardinality(k.path), k.id LIMIT 1), '{}') || r.by_way_of,
                   false, seen_at
            FROM reached r JOIN memories m ON m.tenant_id = current_tenant() AND m.id = r.memory_id
            WHERE m.invalidated_at IS NULL AND (m.valid_until IS NULL OR m.valid_until > now())
              AND m.created_at < seen_at AND (m.accepted_at IS NULL OR m.accepted_at < seen_at)
              AND NOT vouched_since(m.id, NULL, seen_at)
              AND NOT EXISTS (SELECT FROM marks k
                              WHERE k.tenant_id = m.tenant_id AND k.memory_id = m.id AND k.component_id IS NULL
                                AND k.cause = why AND k.cleared_at IS NULL
                                AND k.change_id IS NOT DISTINCT FROM by_change
                                AND k.cause_memory_id IS NOT DISTINCT FROM by_memory)
            ORDER BY m.id
            ON CONFLICT DO NOTHING
            RETURNING memory_id
        ) SELECT coalesce(array_agg(memory_id), '{}') INTO hit FROM new;
    END LOOP;
END
$$;

-- Whoever marks and whoever clears in a tenant waits for the other, so that neither overlooks what the
-- other is about to say.
CREATE OR REPLACE FUNCTION wait_for_other_marks() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('marks of ' || current_tenant()::text, 0))
$$;

CREATE OR REPLACE FUNCTION sees_project(member uuid, project uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM project_permissions p
                   JOIN auth_permission a ON a.id = p.permission_id
                   JOIN members m ON m.tenant_id = p.tenant_id AND m.user_id = p.user_id
                   WHERE p.tenant_id = current_tenant() AND p.content_object_id = project AND m.id = member
                     AND m.active AND a.codename = 'see_project')
$$;

-- Whether a change at one subject is a change at another: there, or below if it reaches that far.
CREATE OR REPLACE FUNCTION reaches_subject(seen changes, of_subject text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT of_subject = seen.subject
        OR (seen.whole_tree OR position('.' IN seen.subject) > 0) AND starts_with(of_subject, seen.subject || '.')
$$;
-- Was a subject on which a memory relies found unchanged since? Somebody looked at what had said something of
-- it before, and nothing of that, there or below, was not vouched for since; nor does anybody say since that it
-- is something else. What not all may read who read the memory has no part in it, nor has what the change does not
-- concern.
CREATE OR REPLACE FUNCTION subject_holds(relying memories, of_subject text, seen changes) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    WITH said AS MATERIALIZED (
        SELECT c AS part, c.id, c.memory_id, c.subject, lower(btrim(c.value)) AS value, c.multi,
               c.created_at < seen.observed_at AS was_said,
               m.provenance_rank > 0 OR m.accepted_at IS NOT NULL AS counts
        FROM components c JOIN memories m ON m.tenant_id = c.tenant_id AND m.id = c.memory_id
        WHERE c.tenant_id = seen.tenant_id AND NOT c.suggested AND c.dismissed_at IS NULL
          AND (c.subject COLLATE "C" = of_subject
               OR c.subject COLLATE "C" >= of_subject || '.' AND c.subject COLLATE "C" < of_subject || '/')
          AND m.invalidated_at IS NULL AND (m.valid_until IS NULL OR m.valid_until > now())
          AND (m.project_id = seen.project_id
               OR m.project_id IS NULL AND (m.visibility = 'tenant' OR sees_project(m.owner_id, seen.project_id)))
          AND CASE m.visibility
              WHEN 'tenant' THEN true
              WHEN 'project' THEN relying.visibility = 'project' AND relying.project_id = m.project_id
                                  OR relying.visibility = 'private' AND sees_project(relying.owner_id, m.project_id)
              ELSE relying.visibility = 'private' AND relying.owner_id = m.owner_id END
    )
    SELECT EXISTS (SELECT FROM said s JOIN verifications v ON v.tenant_id = seen.tenant_id AND v.memory_id = s.memory_id
                   WHERE s.was_said AND s.subject = of_subject AND v.outcome = 'confirmed' AND v.weighs
                     AND v.observed_at >= seen.observed_at AND looked_at(v, s.part))
       AND NOT EXISTS (SELECT FROM said s WHERE s.was_said AND last_vouched_for(s.memory_id, s.id) < seen.observed_at)
       AND NOT EXISTS (SELECT FROM said s JOIN said n ON n.subject = s.subject
                       WHERE s.was_said AND NOT n.was_said AND n.counts AND NOT (s.multi OR n.multi)
                         AND n.value <> s.value)
$$;
-- Do all the subjects hold on which a memory relies, and that a change concerns?
CREATE OR REPLACE FUNCTION relies_on_what_holds(of_memory uuid, of_change uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT NOT EXISTS (SELECT FROM dependencies d
                       WHERE d.tenant_id = m.tenant_id AND d.memory_id = m.id AND d.on_subject IS NOT NULL
                         AND reaches_subject(s, d.on_subject) AND NOT subject_holds(m, d.on_subject, s))
    FROM memories m JOIN changes s ON s.tenant_id = m.tenant_id AND s.id = of_change
    WHERE m.tenant_id = current_tenant() AND m.id = of_memory
$$;

-- A change marks what says something of its subject or of what lies below: the components that do, or the
-- memory as a whole where only its subjects do; what depends on such a subject; and what depends on those.
-- Not what lies beside or above, and nothing that was vouched for after the change was seen, nor what relies on
-- a subject that was found unchanged since. A single label is a root: it reaches only itself, unless the whole
-- tree is meant. The write that told of it is spared. It reaches what belongs to its project, and of what belongs
-- to none that which is the tenant's, or personal to somebody who may see the project.
CREATE OR REPLACE FUNCTION mark_by(seen changes, only_these uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    deeper CONSTANT boolean := seen.whole_tree OR position('.' IN seen.subject) > 0;
    beneath CONSTANT text := CASE WHEN deeper THEN seen.subject || '.' ELSE seen.subject END;
    above CONSTANT text := CASE WHEN deeper THEN seen.subject || '/' ELSE seen.subject END;
    looked_since text[];
    hit uuid[];
BEGIN
    -- It is mostly told at once, and then nobody has looked since.
    SELECT coalesce(array_agg(DISTINCT c.subject), '{}') INTO looked_since
    FROM components c
    WHERE c.tenant_id = seen.tenant_id
      AND c.subject IN (SELECT d.on_subject FROM dependencies d
                        WHERE d.tenant_id = seen.tenant_id
                          AND (d.on_subject COLLATE "C" = seen.subject
                               OR d.on_subject COLLATE "C" >= beneath AND d.on_subject COLLATE "C" < above))
      AND EXISTS (SELECT FROM verifications v
                  WHERE v.tenant_id = c.tenant_id AND v.memory_id = c.memory_id
                    AND v.observed_at >= seen.observed_at);
    WITH said AS MATERIALIZED (
        SELECT c.memory_id, c.id AS component_id, c.subject, true AS direct FROM components c
        WHERE c.tenant_id = seen.tenant_id AND NOT c.suggested AND c.dismissed_at IS NULL
          AND (c.subject COLLATE "C" = seen.subject
               OR c.subject COLLATE "C" >= beneath AND c.subject COLLATE "C" < above)
          AND (only_these IS NULL OR c.memory_id = ANY (only_these))
    ), named AS (
        SELECT m.id, NULL::uuid, NULL::text, true FROM memories m
        WHERE m.tenant_id = seen.tenant_id AND m.subject_tree @> ARRAY[seen.subject]
          AND (deeper OR seen.subject = ANY (m.subjects)) AND (only_these IS NULL OR m.id = ANY (only_these))
          AND NOT EXISTS (SELECT FROM said s WHERE s.memory_id = m.id)
    ), relying AS (
        SELECT d.memory_id, NULL::uuid, NULL::text, false
        FROM dependencies d JOIN memories m ON m.tenant_id = d.tenant_id AND m.id = d.memory_id
        WHERE d.tenant_id = seen.tenant_id
          AND (d.on_subject COLLATE "C" = seen.subject
               OR d.on_subject COLLATE "C" >= beneath AND d.on_subject COLLATE "C" < above)
          AND (only_these IS NULL OR d.memory_id = ANY (only_these))
          AND NOT (d.on_subject = ANY (looked_since) AND subject_holds(m, d.on_subject, seen))
    ), concerned AS (
        SELECT DISTINCT ON (memory_id, component_id) * FROM (
            SELECT * FROM said UNION ALL SELECT * FROM named UNION ALL SELECT * FROM relying
        ) either ORDER BY memory_id, component_id, direct DESC
    ), new AS (
        INSERT INTO marks (id, tenant_id, memory_id, component_id, cause, change_id, direct, path, observed_at)
        SELECT uuidv7_or_v4(), m.tenant_id, m.id, c.component_id, 'change', seen.id, c.direct, '{}', seen.observed_at
        FROM concerned c JOIN memories m ON m.tenant_id = seen.tenant_id AND m.id = c.memory_id
        WHERE (m.project_id = seen.project_id
               OR m.project_id IS NULL AND (m.visibility = 'tenant' OR sees_project(m.owner_id, seen.project_id)))
          AND m.id IS DISTINCT FROM seen.memory_id
          AND m.invalidated_at IS NULL AND (m.valid_until IS NULL OR m.valid_until > now())
          AND m.created_at < seen.observed_at AND (m.accepted_at IS NULL OR m.accepted_at < seen.observed_at)
          AND NOT vouched_since(m.id, c.component_id, seen.observed_at)
        ON CONFLICT DO NOTHING
        RETURNING memory_id
    ) SELECT coalesce(array_agg(DISTINCT memory_id), '{}') INTO hit FROM new;
    PERFORM spread_marks(hit, 'change', seen.id, NULL, seen.observed_at, array_remove(ARRAY[seen.memory_id], NULL));
END
$$;
CREATE OR REPLACE FUNCTION mark_what_changed(of_change uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE seen changes;
BEGIN
    SELECT * INTO seen FROM changes c
    WHERE c.tenant_id = current_tenant() AND c.id = of_change AND c.by_member_id = current_member();
    IF FOUND AND seen.kind = 'change' THEN
        PERFORM wait_for_other_marks();
        PERFORM mark_by(seen, NULL);
    END IF;
END
$$;

-- Since when is a memory in a dispute, or suspected, that everybody knows of who reads it? What some of them
-- may not read must show nowhere, not even by what it does to others.
CREATE OR REPLACE FUNCTION openly_disputed_since(of_memory uuid) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT max(p.began_at)
    FROM conflicts c
    JOIN dispute_periods p ON p.tenant_id = c.tenant_id AND p.conflict_id = c.id AND p.ended_at IS NULL
    JOIN memories m ON m.tenant_id = c.tenant_id AND m.id = of_memory
    LEFT JOIN memories o ON o.tenant_id = c.tenant_id
         AND o.id = CASE of_memory WHEN c.memory_a_id THEN c.memory_b_id ELSE c.memory_a_id END
    WHERE c.tenant_id = current_tenant() AND of_memory IN (c.memory_a_id, c.memory_b_id)
      AND c.state = 'pending' AND c.kind IN ('contradiction', 'stale', 'challenged', 'stale_suspect')
      AND (c.memory_b_id IS NULL OR o.visibility = 'tenant'
           OR o.visibility = m.visibility AND o.project_id IS NOT DISTINCT FROM m.project_id
              AND (o.visibility = 'project' OR o.owner_id = m.owner_id))
$$;
-- What is said to have happened to a memory is looked up: nobody marks, or closes marks, by saying so.
CREATE OR REPLACE FUNCTION is_so(of_memory uuid, what text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT coalesce((SELECT CASE what
        WHEN 'superseded' THEN m.invalidated_reason = 'superseded'
        WHEN 'rejected' THEN m.invalidated_reason = 'rejected'
        WHEN 'retired' THEN m.invalidated_reason = 'retired'
        WHEN 'expired' THEN m.valid_until <= now()
        WHEN 'conflicted' THEN openly_disputed_since(of_memory) IS NOT NULL
    END FROM memories m WHERE m.tenant_id = current_tenant() AND m.id = of_memory), false)
$$;

-- What happened to a memory marks what depends on it and was not vouched for since.
CREATE OR REPLACE FUNCTION tell_dependents_of(memories_hit uuid[], why text, spared uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    one memories;
BEGIN
    FOR one IN SELECT m.* FROM memories m
               WHERE m.tenant_id = current_tenant() AND m.id = ANY (memories_hit)
                 AND EXISTS (SELECT FROM what_rests_on(ARRAY[m.id])) LOOP
        IF is_so(one.id, why) THEN
            PERFORM spread_marks(ARRAY[one.id], why, NULL, one.id,
                                 CASE why WHEN 'expired' THEN one.valid_until
                                          WHEN 'conflicted' THEN openly_disputed_since(one.id)
                                          ELSE one.invalidated_at END,
                                 -- Nor does what takes its place rest on it.
                                 array_remove(spared || one.ends_with_id, NULL));
        END IF;
    END LOOP;
END
$$;
CREATE OR REPLACE FUNCTION mark_dependents_of(memories_hit uuid[], why text, spared uuid[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT tell_dependents_of(memories_hit, why, spared) WHERE current_member() IS NOT NULL
$$;

-- What was wrong with a memory is over (it was restored, or a dispute upheld it): so are its marks.
CREATE OR REPLACE FUNCTION close_marks_caused_by(memories_back uuid[], whys text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    UPDATE marks k SET cleared_at = statement_timestamp()
    WHERE k.tenant_id = current_tenant() AND current_member() IS NOT NULL
      AND k.cause_memory_id = ANY (memories_back) AND k.cause = ANY (whys) AND k.cleared_at IS NULL
      AND NOT is_so(k.cause_memory_id, k.cause)
$$;

-- Whom an event spares: who told of the change, what took a memory's place, and what disputes it.
CREATE OR REPLACE FUNCTION spared_by(why text, by_change uuid, by_memory uuid) RETURNS uuid[]
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT ARRAY(
        SELECT c.memory_id FROM changes c
        WHERE c.tenant_id = current_tenant() AND c.id = by_change AND c.memory_id IS NOT NULL
        UNION ALL
        SELECT m.superseded_by_id FROM memories m
        WHERE why = 'superseded' AND m.tenant_id = current_tenant() AND m.id = by_memory
          AND m.superseded_by_id IS NOT NULL
        UNION ALL
        SELECT side FROM conflicts c, unnest(ARRAY[c.memory_a_id, c.memory_b_id]) side
        WHERE why = 'conflicted' AND c.tenant_id = current_tenant() AND c.state = 'pending'
          AND by_memory IN (c.memory_a_id, c.memory_b_id) AND side IS NOT NULL)
$$;
-- What calls into question what a memory rests on calls it into question, too, if it is older.
CREATE OR REPLACE FUNCTION mark_by_what_it_rests_on(one uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE event record;
BEGIN
    FOR event IN SELECT k.cause, k.change_id, k.cause_memory_id, k.observed_at, array_agg(k.memory_id) AS marked
                 FROM what_they_rest_on(ARRAY[one]) r
                 JOIN marks k ON k.tenant_id = current_tenant() AND k.memory_id = r.on_memory_id
                      AND k.cleared_at IS NULL
                 GROUP BY k.cause, k.change_id, k.cause_memory_id, k.observed_at LOOP
        PERFORM spread_marks(event.marked, event.cause, event.change_id, event.cause_memory_id, event.observed_at,
                             spared_by(event.cause, event.change_id, event.cause_memory_id));
    END LOOP;
    FOR event IN SELECT DISTINCT r.on_memory_id AS id, why
                 FROM what_they_rest_on(ARRAY[one]) r,
                      unnest(ARRAY['superseded', 'rejected', 'retired', 'expired', 'conflicted']) why LOOP
        PERFORM tell_dependents_of(ARRAY[event.id], event.why, spared_by(event.why, NULL, event.id));
    END LOOP;
END
$$;
-- What became of these subjects while the memory did not say that it is about them, or was out of use. Without
-- subjects: of all.
CREATE OR REPLACE FUNCTION mark_by_what_changed(of_memory memories, subjects text[], since timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE missed changes;
BEGIN
    FOR missed IN SELECT c.* FROM changes c
                  WHERE c.tenant_id = of_memory.tenant_id AND c.kind = 'change' AND c.created_at >= since
                    AND (of_memory.project_id IS NULL OR c.project_id = of_memory.project_id)
                    AND (subjects IS NULL
                         OR EXISTS (SELECT FROM unnest(subjects) one
                                    WHERE one = c.subject OR starts_with(one, c.subject || '.')))
                  ORDER BY c.created_at, c.id LOOP
        PERFORM mark_by(missed, ARRAY[of_memory.id]);
    END LOOP;
END
$$;
-- Of what a memory says something, and on what it relies.
CREATE OR REPLACE FUNCTION speaks_of(of_memory memories) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT ARRAY(
        SELECT unnest(of_memory.subjects)
        UNION
        SELECT c.subject FROM components c
        WHERE c.tenant_id = of_memory.tenant_id AND c.memory_id = of_memory.id AND NOT c.suggested
          AND c.dismissed_at IS NULL
        UNION
        SELECT d.on_subject FROM dependencies d
        WHERE d.tenant_id = of_memory.tenant_id AND d.memory_id = of_memory.id AND d.on_subject IS NOT NULL)
$$;
-- Since when a memory was out of use that is, or has just come back: it may have ended first and been retired
-- then, and was in use at no time between.
CREATE OR REPLACE FUNCTION out_of_use_since(of_memory uuid) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    since timestamptz;
    before timestamptz := (SELECT max(r.began_at) FROM retirements r
                           WHERE r.tenant_id = current_tenant() AND r.memory_id = of_memory);
BEGIN
    WHILE before IS NOT NULL LOOP
        since := before;
        before := (SELECT min(r.began_at) FROM retirements r
                   WHERE r.tenant_id = current_tenant() AND r.memory_id = of_memory AND r.began_at < since
                     AND r.ended_at >= since);
    END LOOP;
    RETURN since;
END
$$;
-- What was out of use while the world moved is marked when it comes back, as it would have been.
CREATE OR REPLACE FUNCTION mark_what_it_missed(back memories) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM wait_for_other_marks();
    PERFORM mark_by_what_changed(back, speaks_of(back), out_of_use_since(back.id));
    PERFORM mark_by_what_it_rests_on(back.id);
    PERFORM mark_what_waits_for(back);
END
$$;

-- Of the marks that an event left, those close that came to these memories, or by way of them to others, and do
-- so no more: they were vouched for, do not depend on what was marked any more, or rely on a subject that was
-- found unchanged. Those that came by another way, too, stay: the marks count that are still reached from what
-- the event hit itself.
DROP FUNCTION IF EXISTS close_what_came_by(uuid, text, uuid, uuid, uuid);
CREATE OR REPLACE FUNCTION close_what_came_by(
    those uuid[], why text, by_change uuid, by_memory uuid, by_verification uuid
) RETURNS uuid[]
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE closed uuid[];
BEGIN
    WITH RECURSIVE left_open AS MATERIALIZED (
        SELECT k.id, k.memory_id, k.path, k.direct, k.cause_memory_id FROM marks k
        WHERE k.tenant_id = current_tenant() AND k.cleared_at IS NULL AND k.cause = why
          AND CASE WHEN by_change IS NULL THEN k.cause_memory_id = by_memory ELSE k.change_id = by_change END
    ), edges AS MATERIALIZED (
        SELECT * FROM what_they_rest_on(ARRAY(SELECT DISTINCT memory_id FROM left_open))
    ), behind AS (
        SELECT unnest(those) AS memory_id
        UNION
        SELECT e.memory_id FROM behind b JOIN edges e ON e.on_memory_id = b.memory_id
    ), still AS MATERIALIZED (
        SELECT o.id, o.memory_id,
               coalesce(CASE WHEN o.path <> '{}' THEN false
                             WHEN o.direct OR by_change IS NULL OR o.memory_id NOT IN (SELECT b.memory_id FROM behind b)
                                 THEN true
                             ELSE NOT relies_on_what_holds(o.memory_id, by_change) END
                        OR (o.memory_id, o.cause_memory_id) IN (SELECT e.memory_id, e.on_memory_id FROM edges e),
                        false) AS was_hit
        FROM left_open o
    ), grounded AS (
        SELECT s.memory_id FROM still s WHERE s.was_hit
        UNION
        SELECT e.memory_id FROM grounded g JOIN edges e ON e.on_memory_id = g.memory_id
    ), done AS (
        UPDATE marks k SET cleared_at = statement_timestamp(), cleared_by_id = by_verification
        FROM still s
        WHERE k.tenant_id = current_tenant() AND k.id = s.id AND NOT s.was_hit
          AND s.memory_id IN (SELECT b.memory_id FROM behind b)
          AND NOT EXISTS (SELECT FROM edges e JOIN grounded g ON g.memory_id = e.on_memory_id
                          WHERE e.memory_id = s.memory_id)
        RETURNING k.id
    ) SELECT coalesce(array_agg(id), '{}') INTO closed FROM done;
    RETURN closed;
END
$$;
-- The marks that came to these memories from what they do not rest on any more.
CREATE OR REPLACE FUNCTION close_what_lost_its_ground(those uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE event record;
BEGIN
    FOR event IN SELECT DISTINCT k.memory_id, k.cause, k.change_id, k.cause_memory_id FROM marks k
                 WHERE k.tenant_id = current_tenant() AND k.memory_id = ANY (those) AND k.cleared_at IS NULL
                   AND k.path <> '{}' LOOP
        PERFORM close_what_came_by(ARRAY[event.memory_id], event.cause, event.change_id, event.cause_memory_id, NULL);
    END LOOP;
END
$$;

-- What a memory is said to be about, or to rest on, after the world has moved, is marked as it would have been.
CREATE OR REPLACE FUNCTION what_is_said_late_is_marked() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    said CONSTANT jsonb := to_jsonb(NEW);
    of_memory memories;
    about text[];
BEGIN
    SELECT * INTO of_memory FROM memories m
    WHERE m.tenant_id = NEW.tenant_id
      AND m.id = (CASE TG_TABLE_NAME WHEN 'memories' THEN said ->> 'id' WHEN 'links' THEN said ->> 'src_id'
                                     ELSE said ->> 'memory_id' END)::uuid;
    -- What belongs to the write itself is as new as it.
    IF NOT FOUND OR of_memory.created_at >= transaction_timestamp() THEN
        RETURN NULL;
    END IF;
    PERFORM wait_for_other_marks();
    about := CASE TG_TABLE_NAME WHEN 'memories' THEN of_memory.subjects
                                WHEN 'components' THEN ARRAY[said ->> 'subject']
                                ELSE array_remove(ARRAY[said ->> 'on_subject'], NULL) END;
    IF about <> '{}' THEN
        PERFORM mark_by_what_changed(of_memory, about, of_memory.created_at);
    ELSIF TG_TABLE_NAME IN ('links', 'dependencies') THEN
        PERFORM mark_by_what_it_rests_on(of_memory.id);
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS what_is_said_late_is_marked ON memories;
CREATE TRIGGER what_is_said_late_is_marked AFTER UPDATE OF subjects ON memories
    FOR EACH ROW WHEN (NOT NEW.subjects <@ OLD.subjects) EXECUTE FUNCTION what_is_said_late_is_marked();
DROP TRIGGER IF EXISTS what_is_said_late_is_marked ON components;
CREATE TRIGGER what_is_said_late_is_marked AFTER UPDATE OF suggested ON components
    FOR EACH ROW WHEN (OLD.suggested AND NOT NEW.suggested) EXECUTE FUNCTION what_is_said_late_is_marked();
DROP TRIGGER IF EXISTS what_is_said_late_is_marked ON dependencies;
CREATE TRIGGER what_is_said_late_is_marked AFTER INSERT ON dependencies
    FOR EACH ROW EXECUTE FUNCTION what_is_said_late_is_marked();
DROP TRIGGER IF EXISTS what_is_said_late_is_marked ON links;
CREATE TRIGGER what_is_said_late_is_marked AFTER INSERT OR UPDATE OF removed_at ON links
    FOR EACH ROW WHEN (NEW.type IN ('derived_from', 'depends_on') AND NEW.removed_at IS NULL)
    EXECUTE FUNCTION what_is_said_late_is_marked();
-- What was personal speaks of the projects that its owner sees, and once it is the whole tenant's, of all: what
-- changed in the others is told of it now.
CREATE OR REPLACE FUNCTION what_is_shown_to_all_is_marked() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM wait_for_other_marks();
    PERFORM mark_by_what_changed(NEW, speaks_of(NEW), NEW.created_at);
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS what_is_shown_to_all_is_marked ON memories;
CREATE TRIGGER what_is_shown_to_all_is_marked AFTER UPDATE OF visibility ON memories
    FOR EACH ROW WHEN (NEW.project_id IS NULL AND NEW.visibility = 'tenant' AND OLD.visibility <> 'tenant')
    EXECUTE FUNCTION what_is_shown_to_all_is_marked();
-- An edge that is taken away takes the marks with it that came by it alone.
CREATE OR REPLACE FUNCTION marks_go_with_their_edge() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM wait_for_other_marks();
    PERFORM close_what_lost_its_ground(what_says_the_same(NEW.src_id));
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS marks_go_with_their_edge ON links;
CREATE TRIGGER marks_go_with_their_edge AFTER UPDATE OF removed_at ON links
    FOR EACH ROW WHEN (NEW.type IN ('derived_from', 'depends_on') AND OLD.removed_at IS NULL
                       AND NEW.removed_at IS NOT NULL)
    EXECUTE FUNCTION marks_go_with_their_edge();

-- What is personal to somebody speaks of the projects that they see: who is let into one is told of what changed
-- there before, as if they had been there.
CREATE OR REPLACE FUNCTION tell_who_was_let_in(newcomer uuid, into_projects uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    personal CONSTANT uuid[] := ARRAY(
        SELECT m.id FROM memories m
        WHERE m.tenant_id = current_tenant() AND m.owner_id = newcomer AND m.project_id IS NULL
          AND m.visibility <> 'tenant' AND m.invalidated_at IS NULL);
    above text[];
    missed changes;
BEGIN
    -- Of what they speak, and of what that lies below: a change at any other subject concerns none of it.
    SELECT array_agg(DISTINCT array_to_string(labels[1:depth], '.')) INTO above
    FROM (SELECT c.subject FROM components c WHERE c.tenant_id = current_tenant() AND c.memory_id = ANY (personal)
          UNION SELECT unnest(m.subjects) FROM memories m WHERE m.tenant_id = current_tenant() AND m.id = ANY (personal)
          UNION SELECT d.on_subject FROM dependencies d
                WHERE d.tenant_id = current_tenant() AND d.memory_id = ANY (personal)) said,
         string_to_array(said.subject, '.') AS labels, generate_series(1, cardinality(labels)) AS depth;
    IF above IS NULL THEN
        RETURN;
    END IF;
    PERFORM wait_for_other_marks();
    FOR missed IN SELECT c.* FROM changes c
                  WHERE c.tenant_id = current_tenant() AND c.project_id = ANY (into_projects)
                    AND c.kind = 'change' AND c.subject = ANY (above)
                  ORDER BY c.created_at, c.id LOOP
        PERFORM mark_by(missed, personal);
    END LOOP;
END
$$;
CREATE OR REPLACE FUNCTION who_is_let_in_is_told() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM tell_who_was_let_in(m.id, ARRAY[NEW.content_object_id])
    FROM members m, auth_permission a
    WHERE m.tenant_id = NEW.tenant_id AND m.tenant_id = current_tenant() AND m.user_id = NEW.user_id AND m.active
      AND a.id = NEW.permission_id AND a.codename = 'see_project';
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS who_is_let_in_is_told ON project_permissions;
CREATE TRIGGER who_is_let_in_is_told AFTER INSERT ON project_permissions
    FOR EACH ROW EXECUTE FUNCTION who_is_let_in_is_told();
CREATE OR REPLACE FUNCTION who_comes_back_is_told() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NEW.tenant_id = current_tenant() THEN
        PERFORM tell_who_was_let_in(NEW.id, ARRAY(
            SELECT p.content_object_id FROM project_permissions p
            WHERE p.tenant_id = NEW.tenant_id AND p.user_id = NEW.user_id));
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS who_comes_back_is_told ON members;
CREATE TRIGGER who_comes_back_is_told AFTER UPDATE OF active ON members
    FOR EACH ROW WHEN (NEW.active AND NOT OLD.active) EXECUTE FUNCTION who_comes_back_is_told();

-- What relies on a subject waits for all that says something of it to be looked at: by these changes, as far as
-- they came to it by that alone, it is in doubt, or was since then.
CREATE OR REPLACE FUNCTION what_waits_for(of_memory uuid, since timestamptz)
RETURNS TABLE (change_id uuid, relying uuid[])
LANGUAGE plpgsql STABLE ROWS 1 SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    -- In an array, so that the planner knows how few there are.
    said CONSTANT text[] := ARRAY(
        SELECT DISTINCT array_to_string((string_to_array(c.subject, '.'))[1:labels], '.')
        FROM components c, generate_series(1, cardinality(string_to_array(c.subject, '.'))) labels
        WHERE c.tenant_id = current_tenant() AND c.memory_id = of_memory AND NOT c.suggested
          AND c.dismissed_at IS NULL);
BEGIN
    IF said = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT k.change_id, array_agg(DISTINCT k.memory_id)
    FROM dependencies d
    JOIN marks k ON k.tenant_id = d.tenant_id AND k.memory_id = d.memory_id AND k.change_id IS NOT NULL
         AND NOT k.direct AND k.path = '{}' AND (since IS NULL AND k.cleared_at IS NULL OR k.cleared_at >= since)
    WHERE d.tenant_id = current_tenant() AND d.on_subject = ANY (said)
    GROUP BY k.change_id;
END
$$;
-- It waits for this memory no longer: somebody has looked at it, or it is out of use.
CREATE OR REPLACE FUNCTION close_what_waits_for(of_memory uuid, by_verification uuid) RETURNS uuid[]
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    closed uuid[] := '{}';
    event record;
BEGIN
    FOR event IN SELECT * FROM what_waits_for(of_memory, NULL) LOOP
        PERFORM wait_for_other_marks();
        closed := closed || close_what_came_by(event.relying, 'change', event.change_id, NULL, by_verification);
    END LOOP;
    RETURN closed;
END
$$;
-- It waits for it again, because it is back, and nobody has looked.
CREATE OR REPLACE FUNCTION mark_what_waits_for(back memories) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    gone_at CONSTANT timestamptz := out_of_use_since(back.id);
    event record;
BEGIN
    FOR event IN SELECT c AS seen, w.relying FROM what_waits_for(back.id, gone_at) w
                 JOIN changes c ON c.tenant_id = back.tenant_id AND c.id = w.change_id
                 ORDER BY c.created_at, c.id LOOP
        PERFORM wait_for_other_marks();
        PERFORM mark_by(event.seen, event.relying);
    END LOOP;
END
$$;

-- Whichever door a memory takes, and by which it comes back, what depends on it is told.
CREATE OR REPLACE FUNCTION dependents_are_told_of_their_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF OLD.supersede_reason = 'duplicate' THEN
        -- What it depends on, it does so itself again, and not what stood in its place.
        PERFORM close_what_lost_its_ground(what_says_the_same(OLD.superseded_by_id));
    END IF;
    IF NEW.invalidated_at IS NULL THEN
        PERFORM close_marks_caused_by(ARRAY[NEW.id], ARRAY['superseded', 'rejected', 'retired', 'conflicted', 'expired']);
        -- Whoever depends on it does so on itself again, and not on what stood in its place.
        PERFORM close_what_lost_its_ground(ARRAY(SELECT r.memory_id FROM what_rests_on(ARRAY[NEW.id]) r));
        PERFORM mark_what_it_missed(NEW);
        RETURN NULL;
    END IF;
    IF NEW.valid_until <= statement_timestamp() AND NOT NEW.end_is_told THEN
        PERFORM tell_of_ends(ARRAY[NEW.id]);
    END IF;
    IF OLD.invalidated_at IS NOT NULL THEN
        -- By another door than it went at first: nothing stands in its place any more, or something does again.
        PERFORM close_marks_caused_by(ARRAY[NEW.id], ARRAY['superseded', 'rejected']);
        PERFORM close_what_lost_its_ground(ARRAY(SELECT r.memory_id FROM what_rests_on(ARRAY[NEW.id]) r));
    END IF;
    IF NEW.invalidated_reason IN ('superseded', 'rejected', 'retired') THEN
        PERFORM tell_dependents_of(ARRAY[NEW.id], NEW.invalidated_reason,
                                   array_remove(ARRAY[NEW.superseded_by_id], NULL));
    END IF;
    IF NEW.supersede_reason = 'duplicate' THEN
        PERFORM mark_by_what_it_rests_on(NEW.superseded_by_id);
    END IF;
    PERFORM close_what_waits_for(NEW.id, NULL);
    IF NEW.invalidated_reason = 'superseded' AND NEW.ends_with_id IS NOT NULL THEN
        -- It ended because it was to be replaced, and from now on that is what is told of it.
        UPDATE marks k SET cleared_at = statement_timestamp()
        WHERE k.tenant_id = NEW.tenant_id AND k.cause_memory_id = NEW.id AND k.cause = 'expired'
          AND k.cleared_at IS NULL;
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS what_depends_is_told ON memories;
CREATE TRIGGER what_depends_is_told AFTER UPDATE OF invalidated_at, invalidated_reason ON memories
    FOR EACH ROW WHEN (OLD.invalidated_reason IS DISTINCT FROM NEW.invalidated_reason)
    EXECUTE FUNCTION dependents_are_told_of_their_memory();

-- A dispute in which somebody says that it is not so, or a suspicion, marks what depends on either side; when
-- it ends, what it leaves in use is as good as before.
CREATE OR REPLACE FUNCTION dependents_are_told_of_the_dispute() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE sides CONSTANT uuid[] := array_remove(ARRAY[NEW.memory_a_id, NEW.memory_b_id], NULL);
BEGIN
    IF NEW.state = 'pending' THEN
        PERFORM tell_dependents_of(sides, 'conflicted', sides);
    ELSE
        PERFORM close_marks_caused_by(
            ARRAY(SELECT m.id FROM memories m
                  WHERE m.tenant_id = NEW.tenant_id AND m.id = ANY (sides) AND m.invalidated_at IS NULL),
            ARRAY['conflicted']);
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS what_depends_is_told ON conflicts;
CREATE TRIGGER what_depends_is_told AFTER INSERT ON conflicts
    FOR EACH ROW WHEN (NEW.state = 'pending') EXECUTE FUNCTION dependents_are_told_of_the_dispute();
DROP TRIGGER IF EXISTS what_depends_is_told_again ON conflicts;
CREATE TRIGGER what_depends_is_told_again AFTER UPDATE OF state ON conflicts
    FOR EACH ROW WHEN ((OLD.state = 'pending') <> (NEW.state = 'pending'))
    EXECUTE FUNCTION dependents_are_told_of_the_dispute();

-- What a memory, or a component of it, was vouched for since it was marked clears the mark; and then those
-- of its dependents that came by it alone.
CREATE OR REPLACE FUNCTION clear_what_was_vouched_for(of_memory uuid, by_verification uuid) RETURNS uuid[]
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    cleared uuid[];
    event record;
BEGIN
    PERFORM wait_for_other_marks();
    WITH done AS (
        UPDATE marks k SET cleared_at = statement_timestamp(), cleared_by_id = by_verification
        WHERE k.tenant_id = current_tenant() AND k.memory_id = of_memory AND k.cleared_at IS NULL
          AND k.observed_at <= last_vouched_for(of_memory, k.component_id)
        RETURNING k.id
    ) SELECT coalesce(array_agg(id), '{}') INTO cleared FROM done;
    FOR event IN SELECT DISTINCT k.cause, k.change_id, k.cause_memory_id FROM marks k
                 WHERE k.tenant_id = current_tenant() AND k.id = ANY (cleared) LOOP
        cleared := cleared || close_what_came_by(ARRAY[of_memory], event.cause, event.change_id,
                                                 event.cause_memory_id, by_verification);
    END LOOP;
    -- What relies on a subject of which it says something relies on it, too.
    RETURN cleared || close_what_waits_for(of_memory, by_verification);
END
$$;
-- Accepting a proposal vouches for all of it.
CREATE OR REPLACE FUNCTION accepting_vouches() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM clear_what_was_vouched_for(NEW.id, NULL);
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS accepting_vouches ON memories;
CREATE TRIGGER accepting_vouches AFTER UPDATE OF accepted_at ON memories
    FOR EACH ROW WHEN (OLD.accepted_at IS NULL AND NEW.accepted_at IS NOT NULL)
    EXECUTE FUNCTION accepting_vouches();
-- Taken back, it has vouched for nothing: what it cleared is marked anew, as far as that still holds and nobody
-- has looked since. The old marks stay closed: at the time they were.
CREATE OR REPLACE FUNCTION accepting_vouches_no_more() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM wait_for_other_marks();
    INSERT INTO marks (id, tenant_id, memory_id, component_id, cause, change_id, cause_memory_id, direct, path,
                       observed_at)
    SELECT uuidv7_or_v4(), k.tenant_id, k.memory_id, k.component_id, k.cause, k.change_id, k.cause_memory_id,
           k.direct, k.path, k.observed_at
    FROM marks k
    WHERE k.tenant_id = NEW.tenant_id AND k.cleared_at = OLD.accepted_at AND k.cleared_by_id IS NULL
      AND (k.cause = 'change' OR is_so(k.cause_memory_id, k.cause))
      AND NOT vouched_since(k.memory_id, k.component_id, k.observed_at)
    ORDER BY k.id
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS accepting_vouches_no_more ON memories;
CREATE TRIGGER accepting_vouches_no_more AFTER UPDATE OF accepted_at ON memories
    FOR EACH ROW WHEN (OLD.accepted_at IS NOT NULL AND NEW.accepted_at IS NULL)
    EXECUTE FUNCTION accepting_vouches_no_more();
CREATE OR REPLACE FUNCTION clear_marks_by(of_verification uuid) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    looked verifications;
    cleared uuid[];
BEGIN
    SELECT * INTO looked FROM verifications v
    WHERE v.tenant_id = current_tenant() AND v.id = of_verification AND v.by_member_id = current_member();
    IF NOT FOUND OR looked.outcome <> 'confirmed' OR NOT looked.weighs THEN
        RETURN;
    END IF;
    cleared := clear_what_was_vouched_for(looked.memory_id, looked.id);
    -- Of what is out of the caller's sight not even how many they were.
    RETURN QUERY SELECT k.id FROM marks k JOIN memories m ON m.tenant_id = k.tenant_id AND m.id = k.memory_id
                 WHERE k.tenant_id = looked.tenant_id AND k.id = ANY (cleared)
                   AND in_sight(m.visibility, m.owner_id, m.project_id, current_member(), visible_projects(),
                                confined_to_project(), personal_in_reach());
END
$$;

-- What stands in the place of a memory that the caller has just confirmed, though it was superseded: locked, so
-- that it stays as it is until a question about it is open, also where the caller does not write. Nothing, if it
-- is out of use, or out of their sight.
CREATE OR REPLACE FUNCTION hold_what_replaced(of_verification uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    head uuid;
    passed uuid[] := '{}';
BEGIN
    SELECT m.superseded_by_id INTO head
    FROM verifications v JOIN memories m ON m.tenant_id = v.tenant_id AND m.id = v.memory_id
    WHERE v.tenant_id = current_tenant() AND v.id = of_verification AND v.by_member_id = current_member()
      AND v.outcome = 'confirmed';
    WHILE head IS NOT NULL AND head <> ALL (passed) LOOP
        passed := passed || head;
        SELECT m.superseded_by_id INTO head FROM memories m
        WHERE m.tenant_id = current_tenant() AND m.id = head FOR NO KEY UPDATE;
    END LOOP;
    RETURN (SELECT m.id FROM memories m
            WHERE m.tenant_id = current_tenant() AND m.id = passed[cardinality(passed)] AND m.invalidated_at IS NULL
              AND in_sight(m.visibility, m.owner_id, m.project_id, current_member(), visible_projects(),
                           confined_to_project(), personal_in_reach()));
END
$$;

-- Somebody else wrote the same where all who read the one read the other: of each member it counts once.
-- Who wrote it says so, with what they wrote; or who is corroborated, of the very same text or by what a
-- judge found; of what they read.
DROP FUNCTION IF EXISTS corroborate(uuid, uuid);
CREATE OR REPLACE FUNCTION corroborate(what uuid, by_what uuid, in_batch uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    INSERT INTO corroborations (id, tenant_id, memory_id, by_member_id, by_memory_id, batch_id)
    SELECT uuidv7_or_v4(), m.tenant_id, m.id, b.owner_id, b.id, in_batch
    FROM memories m JOIN memories b ON b.tenant_id = m.tenant_id AND b.id = by_what
    WHERE m.tenant_id = current_tenant() AND m.id = what AND m.invalidated_at IS NULL
      AND in_sight(m.visibility, m.owner_id, m.project_id, current_member(), visible_projects(),
                   confined_to_project(), personal_in_reach())
      AND (b.owner_id = current_member()
           OR m.owner_id = current_member()
              AND (b.text_key = m.text_key OR current_setting('role') = 'palimpsest_judge'))
      AND is_independent(b.owner_id, b.author_agent_id, m.owner_id, m.author_agent_id) AND b.invalidated_at IS NULL
      AND in_sight(b.visibility, b.owner_id, b.project_id, current_member(), visible_projects(),
                   confined_to_project(), personal_in_reach())
      AND b.provenance_rank >= 1
      AND (b.visibility = 'tenant' OR b.visibility = 'project' AND b.project_id = m.project_id
                                      AND m.visibility = 'project')
    ON CONFLICT DO NOTHING
$$;

-- What a sweep counted so is counted no more, once the sweep is undone by somebody who reads both.
CREATE OR REPLACE FUNCTION corroborate_no_more(what uuid, by_what uuid, of_batch uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DELETE FROM corroborations c
    WHERE c.tenant_id = current_tenant() AND c.memory_id = what AND c.by_memory_id = by_what
      AND c.batch_id = of_batch
      AND (SELECT count(*) = 2 FROM memories m
           WHERE m.tenant_id = current_tenant() AND m.id IN (what, by_what)
             AND in_sight(m.visibility, m.owner_id, m.project_id, current_member(), visible_projects(),
                          confined_to_project(), personal_in_reach()))
$$;
-- What is to be compared anew is compared in the sight of its owner, whoever brought it back or showed it; once
-- the owner has left, or sees it no more, in the sight of who did. Each memory with the name of its job, which is
-- there once. What comes of it is a sweep's, if that has caused it.
DROP FUNCTION IF EXISTS leave_to_its_owners_judge(uuid[], text[]);
CREATE OR REPLACE FUNCTION leave_to_its_owners_judge(ids uuid[], names text[], said jsonb) RETURNS SETOF uuid
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    INSERT INTO jobs (id, tenant_id, kind, subject_id, dedup_key, member_id, arguments, state, attempts,
                      run_after, last_error)
    SELECT uuidv7_or_v4(), m.tenant_id, 'judge_memory', m.id, w.name,
           CASE WHEN o.active AND (m.visibility <> 'project' OR sees_project(o.id, m.project_id)) THEN o.id
                ELSE current_member() END, said, 'queued', 0, now(), ''
    FROM unnest(ids, names) AS w (id, name)
    JOIN memories m ON m.tenant_id = current_tenant() AND m.id = w.id
    JOIN members o ON o.tenant_id = m.tenant_id AND o.id = m.owner_id
    WHERE in_sight(m.visibility, m.owner_id, m.project_id, current_member(), visible_projects(),
                   confined_to_project(), personal_in_reach())
    ORDER BY m.id
    ON CONFLICT (tenant_id, kind, dedup_key) WHERE state IN ('queued', 'running') DO NOTHING
    RETURNING id
$$;

-- Something holds no longer than until what takes its place begins, as the policy says: its end is stored, so
-- that it is over at that moment, whoever looks. An end that it has said itself stays.
CREATE OR REPLACE FUNCTION let_it_end(ending uuid, beginning uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE memories m SET valid_until = n.valid_from, ends_with_id = n.id, end_set_at = statement_timestamp(),
                          version = m.version + 1
    FROM memories n
    WHERE m.tenant_id = current_tenant() AND m.id = ending AND n.tenant_id = m.tenant_id AND n.id = beginning
      AND m.invalidated_at IS NULL AND n.invalidated_at IS NULL AND m.sequence < n.sequence
      AND n.valid_from > statement_timestamp() AND n.valid_from > coalesce(m.valid_from, m.created_at)
      AND (m.valid_until IS NULL OR m.ends_with_id IS NOT NULL AND m.valid_until >= n.valid_from)
      AND m.ends_with_id IS DISTINCT FROM n.id
      AND in_sight(m.visibility, m.owner_id, m.project_id, current_member(), visible_projects(),
                   confined_to_project(), personal_in_reach())
      AND in_sight(n.visibility, n.owner_id, n.project_id, current_member(), visible_projects(),
                   confined_to_project(), personal_in_reach());
    RETURN FOUND;
END
$$;
-- What was decided for a time to come is decided anew then, and until then nothing ends, if something happens
-- that would keep a machine from it now, or if what was to take its place goes before it has begun.
-- What had ended already was out of use for that time.
CREATE OR REPLACE FUNCTION lift_ends(those uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    lifted CONSTANT uuid[] := ARRAY(
        SELECT m.id FROM memories m
        WHERE m.tenant_id = current_tenant() AND m.ends_with_id IS NOT NULL AND m.invalidated_at IS NULL
          AND (m.id = ANY (those) OR m.ends_with_id = ANY (those))
        ORDER BY m.id FOR NO KEY UPDATE);
    ended uuid[];
    back memories;
BEGIN
    IF lifted = '{}' THEN
        RETURN;
    END IF;
    WITH gone AS (
        INSERT INTO retirements (id, tenant_id, memory_id, door, successor_id, supersede_reason, began_at, ended_at)
        SELECT uuidv7_or_v4(), m.tenant_id, m.id, 'superseded', m.ends_with_id, 'recency', m.valid_until,
               statement_timestamp()
        FROM memories m
        WHERE m.tenant_id = current_tenant() AND m.id = ANY (lifted) AND m.valid_until <= statement_timestamp()
        RETURNING memory_id
    ) SELECT coalesce(array_agg(memory_id), '{}') INTO ended FROM gone;
    UPDATE memories m SET valid_until = NULL, ends_with_id = NULL, end_set_at = NULL, end_is_told = false,
                          version = m.version + 1
    WHERE m.tenant_id = current_tenant() AND m.id = ANY (lifted);
    PERFORM close_marks_caused_by(lifted, ARRAY['expired']);
    FOR back IN SELECT m.* FROM memories m WHERE m.tenant_id = current_tenant() AND m.id = ANY (ended) ORDER BY m.id LOOP
        PERFORM mark_what_it_missed(back);
    END LOOP;
END
$$;
-- And if whoever decides about it undoes the sweep by which it was to end.
CREATE OR REPLACE FUNCTION take_back_end(of_memory uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT lift_ends(ARRAY[m.id]) FROM memories m
    WHERE m.tenant_id = current_tenant() AND m.id = of_memory AND current_agent() IS NULL
      AND settles_around(m.visibility, m.owner_id, m.project_id)
$$;
CREATE OR REPLACE FUNCTION ends_are_lifted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'conflicts' THEN
        PERFORM lift_ends(ARRAY[NEW.memory_a_id]);
    ELSE
        PERFORM lift_ends(ARRAY[NEW.id]);
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS ends_are_lifted ON memories;
CREATE TRIGGER ends_are_lifted AFTER UPDATE OF invalidated_at, visibility ON memories
    FOR EACH ROW WHEN (NEW.visibility <> OLD.visibility
                       OR OLD.invalidated_at IS NULL AND NEW.invalidated_at IS NOT NULL
                          AND (NEW.valid_from > NEW.invalidated_at OR NEW.invalidated_reason <> 'superseded'))
    EXECUTE FUNCTION ends_are_lifted();
DROP TRIGGER IF EXISTS ends_are_lifted ON conflicts;
CREATE TRIGGER ends_are_lifted AFTER INSERT ON conflicts
    FOR EACH ROW WHEN (NEW.memory_b_id IS NULL AND NEW.state = 'pending') EXECUTE FUNCTION ends_are_lifted();
-- What comes back does not end with what had taken its place.
CREATE OR REPLACE FUNCTION what_comes_back_goes_on() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF OLD.valid_until < OLD.invalidated_at THEN
        INSERT INTO retirements (id, tenant_id, memory_id, door, successor_id, supersede_reason, began_at, ended_at)
        VALUES (uuidv7_or_v4(), OLD.tenant_id, OLD.id, 'superseded', OLD.ends_with_id, 'recency', OLD.valid_until,
                OLD.invalidated_at);
    END IF;
    NEW.end_is_told := false;
    NEW.valid_until := NULL;
    NEW.ends_with_id := NULL;
    NEW.end_set_at := NULL;
    RETURN NEW;
END
$$;
DROP TRIGGER IF EXISTS what_comes_back_goes_on ON memories;
CREATE TRIGGER what_comes_back_goes_on BEFORE UPDATE OF invalidated_at ON memories
    FOR EACH ROW WHEN (OLD.invalidated_at IS NOT NULL AND NEW.invalidated_at IS NULL
                       AND OLD.ends_with_id IS NOT NULL)
    EXECUTE FUNCTION what_comes_back_goes_on();

-- What rests on something whose end has passed by a moment, and was not vouched for since, as long as it has not
-- been marked for that: with what has ended, when, and the way. An end comes without anybody doing anything, so
-- whoever asks is told of it at once. There are but a few of these, till a worker has marked them.
CREATE OR REPLACE FUNCTION resting_on_what_ended(moment timestamptz)
RETURNS TABLE (memory_id uuid, on_memory_id uuid, path uuid[], ended_at timestamptz)
LANGUAGE plpgsql STABLE ROWS 5 SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ended record;
    ways jsonb;
    further jsonb;
    hit uuid[];
BEGIN
    FOR ended IN SELECT m.id, m.valid_until AS at, m.ends_with_id AS spared FROM memories m
                 WHERE m.tenant_id = current_tenant() AND m.valid_until <= least(moment, statement_timestamp())
                   AND m.invalidated_at IS NULL AND NOT m.end_is_told LOOP
        ways := jsonb_build_object(ended.id::text, '[]'::jsonb);
        hit := ARRAY[ended.id];
        WHILE cardinality(hit) > 0 LOOP
            SELECT coalesce(jsonb_object_agg(r.memory_id::text, (ways -> r.by_way_of) || to_jsonb(r.by_way_of)), '{}'),
                   coalesce(array_agg(r.memory_id), '{}')
            INTO further, hit
            FROM (SELECT d.memory_id, min(d.on_memory_id::text) AS by_way_of FROM what_rests_on(hit) d
                  WHERE NOT ways ? d.memory_id::text AND d.memory_id IS DISTINCT FROM ended.spared
                  GROUP BY d.memory_id) r
            JOIN memories m ON m.tenant_id = current_tenant() AND m.id = r.memory_id
            WHERE m.invalidated_at IS NULL AND (m.valid_until IS NULL OR m.valid_until > statement_timestamp())
              AND m.created_at < ended.at AND (m.accepted_at IS NULL OR m.accepted_at < ended.at)
              AND NOT vouched_since(m.id, NULL, ended.at);
            ways := ways || further;
        END LOOP;
        RETURN QUERY
        SELECT m.id, ended.id, ARRAY(SELECT step.value::uuid FROM jsonb_array_elements_text(way.value) step),
               ended.at
        FROM jsonb_each(ways) way JOIN memories m ON m.tenant_id = current_tenant() AND m.id = way.key::uuid
        WHERE m.id <> ended.id
          AND in_sight(m.visibility, m.owner_id, m.project_id, current_member(), visible_projects(),
                       confined_to_project(), personal_in_reach())
          AND NOT EXISTS (SELECT FROM marks k
                          WHERE k.tenant_id = m.tenant_id AND k.memory_id = m.id AND k.cause = 'expired'
                            AND k.cause_memory_id = ended.id AND k.cleared_at IS NULL);
    END LOOP;
END
$$;
-- As of the end: so it was told from then on.
CREATE OR REPLACE FUNCTION tell_of_ends(ended uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM tell_dependents_of(ended, 'expired', '{}');
    UPDATE marks k SET created_at = k.observed_at
    WHERE k.tenant_id = current_tenant() AND k.cause = 'expired' AND k.cause_memory_id = ANY (ended)
      AND k.created_at >= transaction_timestamp();
END
$$;
-- Before anything happens that ends what was told of them without a mark (somebody looks, decides, retires, or draws
-- a dependency), it is stored: what was told once is told for that time ever after. The worker tells them again, and
-- finds it done.
CREATE OR REPLACE FUNCTION ends_are_told_before() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    ended CONSTANT uuid[] := ARRAY(
        SELECT m.id FROM memories m
        WHERE m.tenant_id = current_tenant() AND m.valid_until <= statement_timestamp() AND m.invalidated_at IS NULL
          AND NOT m.end_is_told);
BEGIN
    IF ended <> '{}' THEN
        PERFORM tell_of_ends(ended);
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS ends_are_told_before ON verifications;
CREATE TRIGGER ends_are_told_before BEFORE INSERT ON verifications
    FOR EACH STATEMENT EXECUTE FUNCTION ends_are_told_before();
DROP TRIGGER IF EXISTS ends_are_told_before ON dependencies;
CREATE TRIGGER ends_are_told_before BEFORE INSERT ON dependencies
    FOR EACH STATEMENT EXECUTE FUNCTION ends_are_told_before();
DROP TRIGGER IF EXISTS ends_are_told_before ON links;
CREATE TRIGGER ends_are_told_before BEFORE INSERT OR UPDATE OF removed_at ON links
    FOR EACH STATEMENT EXECUTE FUNCTION ends_are_told_before();
DROP TRIGGER IF EXISTS ends_are_told_before ON memories;
CREATE TRIGGER ends_are_told_before BEFORE UPDATE OF invalidated_at, accepted_at ON memories
    FOR EACH STATEMENT EXECUTE FUNCTION ends_are_told_before();
-- The ends that were declared and have passed, of all tenants: what depends on them, and was not vouched for
-- since, is marked once. For the worker, in the name of nobody; how many there were comes out.
CREATE OR REPLACE FUNCTION mark_what_expired(most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    ended record;
    one uuid;
    count_told integer := 0;
BEGIN
    FOR ended IN
        WITH told AS (
            UPDATE memories m SET end_is_told = true
            WHERE (m.tenant_id, m.id) IN (
                SELECT e.tenant_id, e.id FROM memories e JOIN tenants t ON t.id = e.tenant_id AND t.state = 'active'
                WHERE e.valid_until <= now() AND e.invalidated_at IS NULL AND NOT e.end_is_told
                ORDER BY e.valid_until LIMIT most FOR UPDATE OF e SKIP LOCKED)
            RETURNING m.tenant_id, m.id
        ) SELECT told.tenant_id, array_agg(told.id) AS memories FROM told GROUP BY told.tenant_id
    LOOP
        PERFORM set_config('app.tenant_id', ended.tenant_id::text, true);
        PERFORM tell_of_ends(ended.memories);
        FOREACH one IN ARRAY ended.memories LOOP
            PERFORM close_what_waits_for(one, NULL);
        END LOOP;
        count_told := count_told + cardinality(ended.memories);
    END LOOP;
    PERFORM set_config('app.tenant_id', '', true);
    RETURN count_told;
END
$$;

-- Outside the door: where a push came from, for the signature to be checked before anybody is believed.
CREATE OR REPLACE FUNCTION push_source(of_id uuid) RETURNS TABLE (
    tenant_id uuid, project_id uuid, member_id uuid, host text, branch text, secret_version integer
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT p.tenant_id, p.project_id, p.member_id, p.host, p.branch, p.secret_version
    FROM push_sources p JOIN tenants t ON t.id = p.tenant_id AND t.state = 'active'
    WHERE p.id = of_id AND p.active
$$;
CREATE OR REPLACE FUNCTION note_push(of_id uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    UPDATE push_sources p SET last_push_at = now()
    WHERE p.tenant_id = current_tenant() AND p.member_id = current_member() AND p.id = of_id
$$;

GRANT SELECT ON dependents TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
REVOKE ALL ON FUNCTION is_independent(uuid, uuid, uuid, uuid), looked_at(verifications, components),
    components_are_as_old_as_their_write(),
    retirements_are_kept(), acceptances_are_kept(), dispute_periods_are_kept(),
    components_are_stated_from_then_on(), last_vouched_for(uuid, uuid),
    is_lifted(uuid), overdue_memories(timestamptz, uuid),
    vouched_since(uuid, uuid, timestamptz), with_what_they_replaced(uuid[], text),
    what_rests_on(uuid[]), what_they_rest_on(uuid[]), what_says_the_same(uuid), what_waits_for(uuid, timestamptz), close_what_waits_for(uuid, uuid),
    mark_what_waits_for(memories),
    sees_project(uuid, uuid), spared_by(text, uuid, uuid), mark_by_what_it_rests_on(uuid),
    mark_by_what_changed(memories, text[], timestamptz), close_what_came_by(uuid[], text, uuid, uuid, uuid),
    reaches_subject(changes, text), subject_holds(memories, text, changes), relies_on_what_holds(uuid, uuid),
    close_what_lost_its_ground(uuid[]), what_is_said_late_is_marked(), marks_go_with_their_edge(),
    spread_marks(uuid[], text, uuid, uuid, timestamptz, uuid[]),
    wait_for_other_marks(), mark_by(changes, uuid[]), mark_what_changed(uuid), openly_disputed_since(uuid),
    is_so(uuid, text), tell_dependents_of(uuid[], text, uuid[]), mark_dependents_of(uuid[], text, uuid[]),
    close_marks_caused_by(uuid[], text[]), mark_what_it_missed(memories), dependents_are_told_of_their_memory(),
    speaks_of(memories), out_of_use_since(uuid), what_is_shown_to_all_is_marked(),
    dependents_are_told_of_the_dispute(), clear_what_was_vouched_for(uuid, uuid), accepting_vouches(),
    accepting_vouches_no_more(),
    clear_marks_by(uuid), hold_what_replaced(uuid), corroborate(uuid, uuid, uuid),
    corroborate_no_more(uuid, uuid, uuid), leave_to_its_owners_judge(uuid[], text[], jsonb), mark_what_expired(integer),
    push_source(uuid),
    tell_who_was_let_in(uuid, uuid[]), who_is_let_in_is_told(), who_comes_back_is_told(),
    resting_on_what_ended(timestamptz), tell_of_ends(uuid[]), ends_are_told_before(),
    let_it_end(uuid, uuid), lift_ends(uuid[]), take_back_end(uuid), ends_are_lifted(), what_comes_back_goes_on()
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION is_independent(uuid, uuid, uuid, uuid), looked_at(verifications, components),
    last_vouched_for(uuid, uuid), is_lifted(uuid),
    overdue_memories(timestamptz, uuid), resting_on_what_ended(timestamptz),
    mark_dependents_of(uuid[], text, uuid[]), close_marks_caused_by(uuid[], text[]),
    corroborate(uuid, uuid, uuid), leave_to_its_owners_judge(uuid[], text[], jsonb)
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION corroborate_no_more(uuid, uuid, uuid), take_back_end(uuid)
    TO palimpsest_member, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION let_it_end(uuid, uuid) TO palimpsest_judge;
GRANT EXECUTE ON FUNCTION mark_what_changed(uuid), clear_marks_by(uuid), hold_what_replaced(uuid)
    TO palimpsest_member, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION mark_what_expired(integer), push_source(uuid) TO palimpsest_runtime;
REVOKE ALL ON FUNCTION note_push(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION note_push(uuid) TO palimpsest_member;

-- Candidates for a recall, as ids and scores. The operators of text and vectors are not leakproof, so
-- under row-level security their indexes would stand idle. These functions hold the predicate of
-- sight themselves, read who is asking from the open door, give out ids only, and the caller reads the
-- rows again under the policies. They belong to a role that nobody logs in as. ROWS is about what is
-- wanted: with the planner's own guess of 1,000 the rows would be read by going through the tenant.
-- What is searched is in memory, so a page out of turn costs little more than the next one: with the
-- usual random_page_cost the planner would rather go through all tenants' rows.
--
-- `reach` narrows what is in sight:
--   everything     all of it
--   project        the project's, tenant-wide ones, and the caller's personal layer
--   own project    the member's own in the project or personal
--   own personal   the member's own personal ones

-- A setting of the vector library is only known once the library is loaded.
SELECT '[1]'::vector;

GRANT CREATE ON SCHEMA public TO palimpsest_search;

CREATE OR REPLACE FUNCTION in_reach(
    reach text, in_project uuid, member uuid, visibility text, owner_id uuid, project_id uuid
) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE reach
        WHEN 'everything' THEN true
        WHEN 'project' THEN project_id IS NULL OR project_id = in_project OR visibility = 'tenant'
        WHEN 'own project' THEN owner_id = member AND (project_id IS NULL OR project_id = in_project)
        ELSE owner_id = member AND project_id IS NULL
    END
$$;

-- Every vector in reach compared: right always, and fast up to some tens of thousands.
CREATE OR REPLACE FUNCTION nearest_exactly(
    query halfvec, in_space text, reach text, in_project uuid, lifecycles text[], with_expired boolean,
    kinds text[], wanted integer
) RETURNS TABLE (memory_id uuid, similarity double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 40
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan SET jit = off SET max_parallel_workers_per_gather = 0
SET random_page_cost = 1.1
AS $$
#variable_conflict use_column
DECLARE
    tenant uuid := current_tenant();
    member uuid := current_member();
    projects uuid[] := visible_projects();
    confined uuid := confined_to_project();
    personal boolean := personal_in_reach();
BEGIN
    -- The distance plus nothing: no index orders by that. Computed once a row, in the inner query.
    RETURN QUERY
    SELECT n.memory_id, 1 - n.distance
    FROM (SELECT e.memory_id, (e.vector <=> query) + 0 AS distance
          FROM embeddings e
          WHERE e.tenant_id = tenant AND e.space = in_space
            AND in_sight(e.visibility, e.owner_id, e.project_id, member, projects, confined, personal)
            AND in_reach(reach, in_project, member, e.visibility, e.owner_id, e.project_id)
            -- One is what is asked for nearly always: then no list is gone through for each row.
            AND CASE WHEN lifecycles = '{live}' THEN e.lifecycle = 'live' ELSE e.lifecycle = ANY (lifecycles) END
            AND (with_expired OR e.valid_until IS NULL OR e.valid_until > now())
            AND (kinds IS NULL OR e.kind = ANY (kinds))
          ORDER BY distance
          LIMIT wanted) n;
END
$$;

-- Along the graph of the space's index, for large stores: nearly always right.
CREATE OR REPLACE FUNCTION nearest_along_the_graph(
    query halfvec, in_space text, reach text, in_project uuid, lifecycles text[], with_expired boolean,
    kinds text[], wanted integer
) RETURNS TABLE (memory_id uuid, similarity double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 40
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan SET jit = off SET max_parallel_workers_per_gather = 0
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off
SET hnsw.iterative_scan = relaxed_order SET hnsw.ef_search = 100 SET hnsw.max_scan_tuples = 40000
AS $$
BEGIN
    -- The index is on vectors of the space's own dimension, so the dimension is said in the statement.
    RETURN QUERY EXECUTE format(
        'SELECT e.memory_id, 1 - (e.vector::halfvec(%s) <=> $1) FROM embeddings e '
        'WHERE e.tenant_id = $2 AND e.space = %L '
        'AND in_sight(e.visibility, e.owner_id, e.project_id, $3, $4, $5, $6) '
        'AND in_reach($7, $8, $3, e.visibility, e.owner_id, e.project_id) '
        'AND e.lifecycle = ANY ($9) AND ($10 OR e.valid_until IS NULL OR e.valid_until > now()) '
        'AND ($11 IS NULL OR e.kind = ANY ($11)) '
        'ORDER BY e.vector::halfvec(%1$s) <=> $1 LIMIT $12',
        vector_dims(query), in_space)
    USING query, current_tenant(), current_member(), visible_projects(), confined_to_project(),
          personal_in_reach(), reach, in_project, lifecycles, with_expired, kinds, wanted;
END
$$;

-- Counting takes a tenth of the time of comparing. Where all tenants together have few, no need.
CREATE OR REPLACE FUNCTION holds_more_than(bound integer, in_space text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF (SELECT c.reltuples BETWEEN 0 AND bound FROM pg_class c WHERE c.oid = 'public.embeddings'::regclass) THEN
        RETURN false;
    END IF;
    RETURN bound < (SELECT count(*) FROM (
        SELECT FROM embeddings e WHERE e.tenant_id = current_tenant() AND e.space = in_space
        LIMIT bound + 1) some_of_them);
END
$$;

CREATE OR REPLACE FUNCTION nearest_memories(
    query halfvec, in_space text, reach text, in_project uuid, lifecycles text[], with_expired boolean,
    kinds text[], wanted integer, exact_up_to integer
) RETURNS TABLE (memory_id uuid, similarity double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 40
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan SET jit = off SET max_parallel_workers_per_gather = 0
AS $$
DECLARE
    found integer;
BEGIN
    IF holds_more_than(exact_up_to, in_space) THEN
        RETURN QUERY SELECT * FROM nearest_along_the_graph(
            query, in_space, reach, in_project, lifecycles, with_expired, kinds, wanted);
        GET DIAGNOSTICS found = ROW_COUNT;
        -- A narrow sight can leave the graph before enough is found.
        IF found >= wanted THEN
            RETURN;
        END IF;
        RETURN QUERY SELECT * FROM nearest_exactly(
            query, in_space, reach, in_project, lifecycles, with_expired, kinds, wanted);
        RETURN;
    END IF;
    RETURN QUERY SELECT * FROM nearest_exactly(
        query, in_space, reach, in_project, lifecycles, with_expired, kinds, wanted);
END
$$;

-- What lies nearest to a text that is being written into a project, or into none: of all that it may be
-- compared with, and of the writer's own. Few are compared once for both.
CREATE OR REPLACE FUNCTION nearest_around(
    query halfvec, in_space text, in_project uuid, wanted integer, own_wanted integer, exact_up_to integer
) RETURNS TABLE (memory_id uuid, similarity double precision, own boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan SET jit = off SET max_parallel_workers_per_gather = 0
SET random_page_cost = 1.1
AS $$
#variable_conflict use_column
DECLARE
    tenant uuid := current_tenant();
    member uuid := current_member();
    projects uuid[] := visible_projects();
    confined uuid := confined_to_project();
    personal boolean := personal_in_reach();
    reach text := CASE WHEN in_project IS NULL THEN 'everything' ELSE 'project' END;
    own_reach text := CASE WHEN in_project IS NULL THEN 'own personal' ELSE 'own project' END;
BEGIN
    IF holds_more_than(exact_up_to, in_space) THEN
        RETURN QUERY
        SELECT n.memory_id, n.similarity, false
        FROM nearest_memories(query, in_space, reach, in_project, '{live}', false, NULL, wanted, exact_up_to) n
        UNION ALL
        SELECT n.memory_id, n.similarity, true
        FROM nearest_memories(query, in_space, own_reach, in_project, '{live}', false, NULL, own_wanted,
                              exact_up_to) n;
        RETURN;
    END IF;
    RETURN QUERY
    WITH compared AS MATERIALIZED (
        SELECT e.memory_id, 1 - (e.vector <=> query) AS similarity,
               in_reach(own_reach, in_project, member, e.visibility, e.owner_id, e.project_id) AS own
        FROM embeddings e
        WHERE e.tenant_id = tenant AND e.space = in_space
          AND in_sight(e.visibility, e.owner_id, e.project_id, member, projects, confined, personal)
          AND in_reach(reach, in_project, member, e.visibility, e.owner_id, e.project_id)
          AND e.lifecycle = 'live' AND (e.valid_until IS NULL OR e.valid_until > now())
    )
    (SELECT c.memory_id, c.similarity, false FROM compared c ORDER BY c.similarity DESC LIMIT wanted)
    UNION ALL
    (SELECT c.memory_id, c.similarity, true FROM compared c WHERE c.own ORDER BY c.similarity DESC
     LIMIT own_wanted);
END
$$;

-- The same for each of some memories, in one statement: planned once for each, it would take as long again.
-- A narrow sight can leave the graph before enough is found: for those few, all is compared.
CREATE OR REPLACE FUNCTION neighbours_along_the_graph(memories uuid[], in_space text, wanted integer)
RETURNS TABLE (memory_id uuid, neighbour_id uuid, similarity double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan SET jit = off SET max_parallel_workers_per_gather = 0
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off
SET hnsw.iterative_scan = relaxed_order SET hnsw.max_scan_tuples = 40000
AS $$
#variable_conflict use_column
DECLARE
    dimension integer := (SELECT vector_dims(e.vector) FROM embeddings e
                          WHERE e.tenant_id = current_tenant() AND e.space = in_space
                            AND e.memory_id = ANY (memories) LIMIT 1);
BEGIN
    IF dimension IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format(
        'WITH near AS MATERIALIZED ('
        'SELECT e.memory_id, e.vector, e.project_id, n.memory_id AS neighbour_id, n.similarity, '
        'count(n.memory_id) OVER (PARTITION BY e.memory_id) AS found '
        'FROM embeddings e LEFT JOIN LATERAL ('
        'SELECT f.memory_id, 1 - (f.vector::halfvec(%1$s) <=> e.vector::halfvec(%1$s)) AS similarity '
        'FROM embeddings f WHERE f.tenant_id = $2 AND f.space = %2$L '
        'AND in_sight(f.visibility, f.owner_id, f.project_id, $3, $4, $5, $6) '
        'AND in_reach(CASE WHEN e.project_id IS NULL THEN ''everything'' ELSE ''project'' END, '
        'e.project_id, $3, f.visibility, f.owner_id, f.project_id) '
        'AND f.lifecycle = ''live'' AND (f.valid_until IS NULL OR f.valid_until > now()) '
        'ORDER BY f.vector::halfvec(%1$s) <=> e.vector::halfvec(%1$s) LIMIT $7) n ON true '
        'WHERE e.tenant_id = $2 AND e.space = %2$L AND e.memory_id = ANY ($1)) '
        'SELECT memory_id, neighbour_id, similarity FROM near WHERE found >= $7 '
        'UNION ALL '
        'SELECT few.memory_id, n.memory_id, n.similarity '
        'FROM (SELECT DISTINCT ON (memory_id) * FROM near WHERE found < $7) few, '
        'LATERAL nearest_exactly(few.vector, %2$L, '
        'CASE WHEN few.project_id IS NULL THEN ''everything'' ELSE ''project'' END, few.project_id, '
        '''{live}'', false, NULL, $7) n',
        dimension, in_space)
    USING memories, current_tenant(), current_member(), visible_projects(), confined_to_project(),
          personal_in_reach(), wanted;
END
$$;

-- The nearest of each of some memories in sight, by the vectors that are there already; one row without a
-- neighbour where a memory has a vector and nothing lies near it.
CREATE OR REPLACE FUNCTION neighbours_of(
    memories uuid[], in_space text, floor double precision, wanted integer, exact_up_to integer
) RETURNS TABLE (memory_id uuid, neighbour_id uuid, similarity double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan SET jit = off SET max_parallel_workers_per_gather = 0
SET random_page_cost = 1.1
AS $$
#variable_conflict use_column
DECLARE
    tenant uuid := current_tenant();
    member uuid := current_member();
    projects uuid[] := visible_projects();
    confined uuid := confined_to_project();
    personal boolean := personal_in_reach();
    visible uuid[] := ARRAY(
        SELECT e.memory_id FROM embeddings e
        WHERE e.tenant_id = tenant AND e.space = in_space AND e.memory_id = ANY (memories)
          AND in_sight(e.visibility, e.owner_id, e.project_id, member, projects, confined, personal));
BEGIN
    -- One more than wanted, because each is its own nearest.
    IF holds_more_than(exact_up_to, in_space) THEN
        RETURN QUERY
        SELECT e.memory_id, n.neighbour_id, n.similarity
        FROM unnest(visible) e (memory_id)
        LEFT JOIN neighbours_along_the_graph(visible, in_space, wanted + 1) n
          ON n.memory_id = e.memory_id AND n.neighbour_id <> e.memory_id AND n.similarity >= floor;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT e.memory_id, n.memory_id, n.similarity
    FROM embeddings e
    LEFT JOIN LATERAL nearest_exactly(
        e.vector, in_space, CASE WHEN e.project_id IS NULL THEN 'everything' ELSE 'project' END,
        e.project_id, '{live}', false, NULL, wanted + 1) n
      ON n.memory_id <> e.memory_id AND n.similarity >= floor
    WHERE e.tenant_id = tenant AND e.space = in_space AND e.memory_id = ANY (visible);
END
$$;

-- By words. The text of the query is a tsquery written by the application, an OR of lexemes.
CREATE OR REPLACE FUNCTION worded_memories(
    query tsquery, reach text, in_project uuid, lifecycles text[], with_expired boolean, kinds text[],
    wanted integer
) RETURNS TABLE (memory_id uuid, likeness double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 40
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan SET jit = off SET max_parallel_workers_per_gather = 0
SET random_page_cost = 1.1
AS $$
#variable_conflict use_column
DECLARE
    tenant uuid := current_tenant();
    member uuid := current_member();
    projects uuid[] := visible_projects();
    confined uuid := confined_to_project();
    personal boolean := personal_in_reach();
BEGIN
    RETURN QUERY
    SELECT m.id, ts_rank(m.words, query, 1)::double precision AS likeness
    FROM memories m
    WHERE m.tenant_id = tenant AND m.words @@ query
      AND in_sight(m.visibility, m.owner_id, m.project_id, member, projects, confined, personal)
      AND in_reach(reach, in_project, member, m.visibility, m.owner_id, m.project_id)
      AND m.lifecycle = ANY (lifecycles)
      AND (with_expired OR m.valid_until IS NULL OR m.valid_until > now())
      AND (kinds IS NULL OR m.kind = ANY (kinds))
    ORDER BY likeness DESC, m.id
    LIMIT wanted;
END
$$;

ALTER FUNCTION nearest_exactly(halfvec, text, text, uuid, text[], boolean, text[], integer)
    OWNER TO palimpsest_search;
ALTER FUNCTION nearest_along_the_graph(halfvec, text, text, uuid, text[], boolean, text[], integer)
    OWNER TO palimpsest_search;
ALTER FUNCTION holds_more_than(integer, text) OWNER TO palimpsest_search;
ALTER FUNCTION nearest_memories(halfvec, text, text, uuid, text[], boolean, text[], integer, integer)
    OWNER TO palimpsest_search;
ALTER FUNCTION nearest_around(halfvec, text, uuid, integer, integer, integer) OWNER TO palimpsest_search;
ALTER FUNCTION neighbours_along_the_graph(uuid[], text, integer) OWNER TO palimpsest_search;
ALTER FUNCTION neighbours_of(uuid[], text, double precision, integer, integer)
    OWNER TO palimpsest_search;
ALTER FUNCTION worded_memories(tsquery, text, uuid, text[], boolean, text[], integer)
    OWNER TO palimpsest_search;
REVOKE CREATE ON SCHEMA public FROM palimpsest_search;

REVOKE ALL ON FUNCTION in_reach(text, uuid, uuid, text, uuid, uuid),
    nearest_exactly(halfvec, text, text, uuid, text[], boolean, text[], integer),
    nearest_along_the_graph(halfvec, text, text, uuid, text[], boolean, text[], integer),
    holds_more_than(integer, text),
    nearest_memories(halfvec, text, text, uuid, text[], boolean, text[], integer, integer),
    nearest_around(halfvec, text, uuid, integer, integer, integer),
    neighbours_along_the_graph(uuid[], text, integer),
    neighbours_of(uuid[], text, double precision, integer, integer),
    worded_memories(tsquery, text, uuid, text[], boolean, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION in_reach(text, uuid, uuid, text, uuid, uuid) TO palimpsest_search;
GRANT EXECUTE ON FUNCTION
    nearest_memories(halfvec, text, text, uuid, text[], boolean, text[], integer, integer),
    nearest_around(halfvec, text, uuid, integer, integer, integer),
    neighbours_of(uuid[], text, double precision, integer, integer),
    worded_memories(tsquery, text, uuid, text[], boolean, text[], integer)
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;

-- What a recall tells of what it found, under the policies of who asks. In functions, because each of these
-- statements takes longer to plan, with all policies in it, than to answer: here the plan is made once for a
-- connection. For few rows found by their keys, whatever the tables hold by then.
CREATE OR REPLACE FUNCTION project_named(by_id uuid, by_slug text) RETURNS uuid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN (SELECT p.id FROM projects p
            WHERE p.tenant_id = (SELECT current_tenant()) AND (p.id = by_id OR p.slug = by_slug));
END
$$;

CREATE OR REPLACE FUNCTION open_disputes_about(ids uuid[]) RETURNS SETOF conflicts
LANGUAGE plpgsql STABLE ROWS 5 SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT c.* FROM conflicts c
    WHERE c.tenant_id = (SELECT current_tenant()) AND c.state = 'pending'
      AND (c.memory_a_id = ANY (ids) OR c.memory_b_id = ANY (ids))
    ORDER BY c.created_at, c.id;
END
$$;

-- Which memories may answer a question, of those that its words have found and those that lie near it: with what
-- ranks them, whether a dispute about it is open, and whether it is wanted or only tells that there is more
-- further out. Joined by one key to few rows, so that it is walked from these to their memories, and never
-- through all that the tenant holds.
CREATE OR REPLACE FUNCTION candidates_for(
    query halfvec, in_space text, worded uuid[], likenesses double precision[], reach text, in_project uuid,
    lifecycles text[], any_end boolean, kinds text[], wanted integer, exact_up_to integer, about text[], above text[],
    vouched_for boolean, as_of timestamptz, with_superseded boolean, with_expired boolean
) RETURNS TABLE (
    id uuid, kind text, written double precision, provenance_rank smallint, importance double precision,
    superseded_by_id uuid, similarity double precision, likeness double precision, on_subject boolean,
    in_dispute boolean, is_wanted boolean
)
LANGUAGE plpgsql STABLE ROWS 80 SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT memory_id, max(similarity) AS similarity, max(likeness) AS likeness
        FROM (
            SELECT n.memory_id, n.similarity, NULL::double precision AS likeness
            FROM nearest_memories(query, in_space, reach, in_project, lifecycles, any_end, kinds, wanted,
                                  exact_up_to) n
            UNION ALL
            SELECT w.memory_id, NULL, w.likeness
            FROM unnest(worded, likenesses) w (memory_id, likeness)
        ) either
        GROUP BY memory_id
    ), disputed AS MATERIALIZED (
        SELECT c.memory_a_id, c.memory_b_id FROM conflicts c
        WHERE c.tenant_id = (SELECT current_tenant()) AND c.state = 'pending'
          AND (c.memory_a_id = ANY (ARRAY(SELECT memory_id FROM found))
               OR c.memory_b_id = ANY (ARRAY(SELECT memory_id FROM found)))
    )
    SELECT m.id, m.kind, extract(epoch FROM m.created_at)::double precision, m.provenance_rank, m.importance,
           m.superseded_by_id, f.similarity, f.likeness,
           about <> '{}' AND (
               m.subjects && above OR m.subject_tree && about
               OR EXISTS (SELECT FROM components c
                          WHERE c.tenant_id = m.tenant_id AND c.memory_id = m.id AND NOT c.suggested
                            AND c.dismissed_at IS NULL
                            AND (c.subject = ANY (above)
                                 OR EXISTS (SELECT FROM unnest(about) asked
                                            WHERE starts_with(c.subject, asked || '.'))))),
           EXISTS (SELECT FROM disputed d WHERE m.id IN (d.memory_a_id, d.memory_b_id)),
           m.invalidated_reason IS DISTINCT FROM 'rejected'
           -- What nobody has vouched for is left out; the standing of what is left says so in every case. For an
           -- earlier time: what came by then. Some of it had been taken back, and the standing says so.
           AND (NOT vouched_for OR m.provenance_rank > 0
                OR as_of IS NULL AND (m.accepted_at IS NOT NULL OR is_lifted(m.id))
                OR EXISTS (SELECT FROM acceptances a
                           WHERE a.tenant_id = m.tenant_id AND a.memory_id = m.id AND a.began_at <= as_of)
                OR EXISTS (SELECT FROM verifications v
                           WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id AND v.created_at <= as_of
                             AND v.outcome = 'confirmed' AND v.weighs))
           -- As it was then: written by then, not out of use, and its end not come. What had been replaced or
           -- had ended by then comes if it is asked for.
           AND (as_of IS NULL
                OR m.created_at <= as_of
                   AND (with_expired OR m.valid_until IS NULL OR m.valid_until > as_of)
                   AND NOT EXISTS (SELECT FROM retirements r
                                   WHERE r.tenant_id = m.tenant_id AND r.memory_id = m.id AND r.began_at <= as_of
                                     AND (r.ended_at IS NULL OR r.ended_at > as_of)
                                     AND NOT (with_superseded AND r.door = 'superseded')))
    FROM found f JOIN memories m ON m.id = f.memory_id
    WHERE m.tenant_id = (SELECT current_tenant());
END
$$;

CREATE OR REPLACE FUNCTION memories_told(ids uuid[], until timestamptz) RETURNS TABLE (
    id uuid, content text, kind text, project_id uuid, visibility text, owner_id uuid, author_agent_id uuid,
    author_level integer, provenance_rank smallint, created_at timestamptz, valid_from timestamptz,
    valid_until timestamptz, review_after timestamptz, accepted_at timestamptz, importance double precision,
    invalidated_at timestamptz, invalidated_reason text, superseded_by_id uuid, superseded_at timestamptz,
    lifecycle text, author_name text, successor_in_sight uuid, recalls bigint, last_recalled_at timestamptz,
    has_history boolean
)
LANGUAGE plpgsql STABLE ROWS 20 SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT m.id, m.content, m.kind, m.project_id, m.visibility, m.owner_id, m.author_agent_id, m.author_level,
           m.provenance_rank, m.created_at, m.valid_from, m.valid_until, m.review_after, m.accepted_at,
           m.importance, m.invalidated_at, m.invalidated_reason, m.superseded_by_id, m.superseded_at,
           m.lifecycle,
           CASE WHEN m.author_agent_id IS NULL THEN o.name ELSE a.name END,
           s.id, n.recalls, n.last_recalled_at,
           EXISTS (SELECT FROM memories e
                   WHERE e.tenant_id = m.tenant_id AND e.superseded_by_id = m.id AND e.superseded_at <= until)
    FROM memories m
    JOIN members o ON o.tenant_id = m.tenant_id AND o.id = m.owner_id
    LEFT JOIN agents a ON a.tenant_id = m.tenant_id AND a.id = m.author_agent_id
    LEFT JOIN memories s ON s.tenant_id = m.tenant_id AND s.id = m.superseded_by_id
    LEFT JOIN activations n ON n.tenant_id = m.tenant_id AND n.memory_id = m.id
    WHERE m.tenant_id = (SELECT current_tenant()) AND m.id = ANY (ids);
END
$$;

-- Everything that came later than `until` is left out of it.
DROP FUNCTION IF EXISTS evidence_about(uuid[], timestamptz);
CREATE FUNCTION evidence_about(ids uuid[], until timestamptz) RETURNS TABLE (
    memory_id uuid, checkable boolean, review_days integer, repeats json, stated json, looked json,
    is_marked boolean, accepted_at timestamptz, ended json
)
LANGUAGE plpgsql STABLE ROWS 20 SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT m.id, m.subjects <> '{}' OR EXISTS (
               SELECT FROM dependencies d WHERE d.tenant_id = m.tenant_id AND d.memory_id = m.id),
           (p.review_intervals ->> m.kind)::integer,
           (SELECT json_agg(json_build_array(s.by_member_id, b.author_agent_id, s.created_at))
            FROM corroborations s
            LEFT JOIN memories b ON b.tenant_id = s.tenant_id AND b.id = s.by_memory_id
            WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id AND s.created_at <= until),
           (SELECT json_agg(json_build_array(c.subject, c.value, c.created_at) ORDER BY c.created_at, c.id)
            FROM components c
            WHERE c.tenant_id = m.tenant_id AND c.memory_id = m.id AND NOT c.suggested
              AND c.dismissed_at IS NULL AND coalesce(c.accepted_at, c.created_at) <= until),
           (SELECT json_agg(json_build_array(v.id, v.by_member_id, v.by_agent_id, v.outcome, v.method,
                                             v.weighs, v.subjects, v.stated_value, v.observed_value,
                                             v.observed_at, v.created_at) ORDER BY v.created_at, v.id)
            FROM verifications v
            WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id AND v.created_at <= until),
           EXISTS (SELECT FROM marks k
                   WHERE k.tenant_id = m.tenant_id AND k.memory_id = m.id AND k.created_at <= until
                     AND (k.cleared_at IS NULL OR k.cleared_at > until)),
           CASE WHEN until = 'infinity' THEN m.accepted_at
                ELSE (SELECT max(a.began_at) FROM acceptances a
                      WHERE a.tenant_id = m.tenant_id AND a.memory_id = m.id AND a.began_at <= until
                        AND (a.ended_at IS NULL OR a.ended_at > until)) END,
           r.ended
    FROM memories m
    LEFT JOIN (SELECT e.memory_id, json_agg(json_build_array(e.on_memory_id, e.path, e.ended_at)) AS ended
               FROM resting_on_what_ended(until) e GROUP BY e.memory_id) r ON r.memory_id = m.id
    LEFT JOIN projects p ON p.tenant_id = m.tenant_id AND p.id = m.project_id
    WHERE m.tenant_id = (SELECT current_tenant()) AND m.id = ANY (ids);
END
$$;
REVOKE ALL ON FUNCTION candidates_for(halfvec, text, uuid[], double precision[], text, uuid, text[], boolean, text[], integer, integer, text[], text[],
        boolean, timestamptz, boolean, boolean),
    project_named(uuid, text), open_disputes_about(uuid[]), memories_told(uuid[], timestamptz),
    evidence_about(uuid[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION candidates_for(halfvec, text, uuid[], double precision[], text, uuid, text[], boolean, text[], integer, integer, text[], text[],
        boolean, timestamptz, boolean, boolean),
    project_named(uuid, text), open_disputes_about(uuid[]), memories_told(uuid[], timestamptz),
    evidence_about(uuid[], timestamptz) TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
