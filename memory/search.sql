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
