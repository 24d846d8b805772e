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
