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
            AND e.lifecycle = ANY (lifecycles)
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
BEGIN
    -- One more than wanted, because each is its own nearest.
    RETURN QUERY
    SELECT e.memory_id, n.memory_id, n.similarity
    FROM embeddings e
    LEFT JOIN LATERAL nearest_memories(
        e.vector, in_space, CASE WHEN e.project_id IS NULL THEN 'everything' ELSE 'project' END,
        e.project_id, '{live}', false, NULL, wanted + 1, exact_up_to) n
      ON n.memory_id <> e.memory_id AND n.similarity >= floor
    WHERE e.tenant_id = tenant AND e.space = in_space AND e.memory_id = ANY (memories)
      AND in_sight(e.visibility, e.owner_id, e.project_id, member, projects, confined, personal);
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
REVOKE ALL ON FUNCTION open_disputes_about(uuid[]), memories_told(uuid[], timestamptz),
    evidence_about(uuid[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION open_disputes_about(uuid[]), memories_told(uuid[], timestamptz),
    evidence_about(uuid[], timestamptz) TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
