-- Who may do what to what the machine judged. Run whole, by the owner; safe to run again.
--
-- judgements     added by the judge's role, and concluded by it once; read by who may read both sides
-- attributions   added by the judge's role, once for a report; read by who may read the report
-- pairs_in_hand  by its two functions alone
-- spent_in_vain  by the functions that count tokens alone
-- certificates   read by members; given by the owner's commands alone
-- sweeps         started and read by the member whose sight they are done in, with a token for one project
--                there alone, and by no agent; moved on by the judge

DO $$
DECLARE relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['judgements', 'attributions', 'certificates', 'sweeps', 'pairs_in_hand',
                                    'spent_in_vain'] LOOP
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

-- A verdict that waits for the others on its memory is acted upon later, together with them; one that came
-- late, if ever both sides are live again.
GRANT UPDATE (older_version, newer_version, relation, confidence, reasoning, shared_subject, missing_specifics,
              deed, tries, tokens_in, tokens_out, latency_ms, batch_id, judged_at) ON judgements TO palimpsest_judge;
DROP POLICY IF EXISTS the_judge_concludes_what_it_kept ON judgements;
CREATE POLICY the_judge_concludes_what_it_kept ON judgements FOR UPDATE TO palimpsest_judge
    USING (deed IN ('waiting', 'late')
       AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = judgements.tenant_id AND m.id = older_id)
       AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = judgements.tenant_id AND m.id = newer_id))
    WITH CHECK (EXISTS (SELECT FROM memories m WHERE m.tenant_id = judgements.tenant_id AND m.id = older_id)
            AND EXISTS (SELECT FROM memories m WHERE m.tenant_id = judgements.tenant_id AND m.id = newer_id));

GRANT SELECT ON attributions TO palimpsest_member, palimpsest_reviewer;
GRANT SELECT, INSERT ON attributions TO palimpsest_judge;
DROP POLICY IF EXISTS who_reads_a_report_reads_what_the_judge_said_of_it ON attributions;
CREATE POLICY who_reads_a_report_reads_what_the_judge_said_of_it ON attributions FOR SELECT
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer
    USING (EXISTS (SELECT FROM signals s WHERE s.tenant_id = attributions.tenant_id AND s.id = report_id));
DROP POLICY IF EXISTS the_judge_says_of_reports_what_its_member_may_read ON attributions;
CREATE POLICY the_judge_says_of_reports_what_its_member_may_read ON attributions FOR INSERT TO palimpsest_judge
    WITH CHECK (EXISTS (SELECT FROM signals s WHERE s.tenant_id = attributions.tenant_id AND s.id = report_id
                                                AND s.kind = 'misled'));

-- Of each pair one job at a time asks a judge: the one that takes it in hand first, as long as that job is
-- leased. Out come those pairs that are this job's now. Left to a newer memory's own job is what that has yet
-- to look at; `newers` names that memory, where its job will come to the pair.
CREATE OR REPLACE FUNCTION take_pairs_in_hand(
    of_job uuid, lows uuid[], highs uuid[], newers uuid[], of_judge text, of_prompt text
) RETURNS TABLE (low_id uuid, high_id uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    -- Should the server crash, these pairs are nobody's, as the lease is: nothing is lost.
    SELECT set_config('synchronous_commit', 'off', true);
    INSERT INTO pairs_in_hand AS p (id, tenant_id, low_id, high_id, judge, prompt_version, job_id, lease)
    SELECT gen_random_uuid(), j.tenant_id, w.low, w.high, of_judge, of_prompt, j.id, j.lease
    FROM jobs j CROSS JOIN unnest(lows, highs, newers) AS w (low, high, newer)
    WHERE j.tenant_id = current_tenant() AND j.member_id = current_member() AND j.id = of_job
      AND j.state = 'running'
      AND NOT EXISTS (SELECT FROM jobs h WHERE h.tenant_id = j.tenant_id AND h.kind = j.kind
                      AND h.subject_id = w.newer AND h.state = 'queued')
    ORDER BY w.low, w.high
    ON CONFLICT (tenant_id, low_id, high_id, judge, prompt_version) DO UPDATE
    SET job_id = excluded.job_id, lease = excluded.lease
    WHERE p.job_id = excluded.job_id
       OR NOT EXISTS (SELECT FROM jobs h WHERE h.id = p.job_id AND h.lease = p.lease AND h.state = 'running'
                                           AND h.lease_until > clock_timestamp())
    RETURNING p.low_id, p.high_id
$$;
-- And what this job had, and what is left of others that are over, is free again.
CREATE OR REPLACE FUNCTION let_pairs_go(of_job uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DELETE FROM pairs_in_hand WHERE id IN (
        SELECT p.id FROM pairs_in_hand p
        WHERE p.tenant_id = current_tenant() AND current_member() IS NOT NULL
          AND (p.job_id = of_job
               OR NOT EXISTS (SELECT FROM jobs h WHERE h.id = p.job_id AND h.lease = p.lease
                              AND h.state = 'running' AND h.lease_until > clock_timestamp()))
        FOR UPDATE SKIP LOCKED)
$$;

-- A dispute that there is only because no verdict was to be had, and that nobody has put off or given to somebody.
CREATE OR REPLACE FUNCTION waits_for_a_verdict(dispute conflicts) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT dispute.kind = 'unjudged' AND dispute.state = 'pending' AND dispute.memory_b_id IS NOT NULL
       AND dispute.assigned_to_id IS NULL AND dispute.deferred_until IS NULL
$$;
REVOKE ALL ON FUNCTION waits_for_a_verdict(conflicts) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION waits_for_a_verdict(conflicts) TO palimpsest_judge;

-- What each of its jobs asks of a memory and some others, under the judge's policies. In functions that keep
-- their plans, as what a recall tells: planning took ten times as long as answering.
CREATE OR REPLACE FUNCTION judgements_between(of_memory uuid, others uuid[], of_judge text, of_prompt text)
RETURNS SETOF judgements
LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT j.* FROM judgements j
    WHERE (j.older_id = of_memory AND j.newer_id = ANY (others)
           OR j.newer_id = of_memory AND j.older_id = ANY (others))
      AND j.judge = of_judge AND j.prompt_version = of_prompt;
END
$$;
-- With whom it was decided, by whomever, or waits for a person, or was judged and acted upon. What waits for
-- want of a verdict, and nobody has taken up, closes nothing: another judge may have one.
CREATE OR REPLACE FUNCTION closed_with(of_memory uuid, others uuid[], of_judge text, of_prompt text)
RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT CASE WHEN p.low_id = of_memory THEN p.high_id ELSE p.low_id END FROM settled_pairs p
    WHERE (p.low_id = of_memory AND p.high_id = ANY (others)
           OR p.high_id = of_memory AND p.low_id = ANY (others))
      AND p.reopened_at IS NULL
    UNION ALL
    SELECT CASE WHEN c.memory_a_id = of_memory THEN c.memory_b_id ELSE c.memory_a_id END FROM conflicts c
    WHERE (c.memory_a_id = of_memory AND c.memory_b_id = ANY (others)
           OR c.memory_b_id = of_memory AND c.memory_a_id = ANY (others))
      AND (c.state IN ('pending', 'dismissed') OR c.resolved_by_member_id IS NOT NULL)
      AND NOT waits_for_a_verdict(c)
    UNION ALL
    SELECT CASE WHEN j.older_id = of_memory THEN j.newer_id ELSE j.older_id END
    FROM judgements_between(of_memory, others, of_judge, of_prompt) j
    WHERE j.deed NOT IN ('waiting', 'late');
END
$$;
REVOKE ALL ON FUNCTION judgements_between(uuid, uuid[], text, text), closed_with(uuid, uuid[], text, text)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION judgements_between(uuid, uuid[], text, text), closed_with(uuid, uuid[], text, text)
    TO palimpsest_judge;

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
    WITH CHECK (member_id = (SELECT current_member()) AND (SELECT current_agent()) IS NULL
                AND ((SELECT confined_to_project()) IS NULL OR project_id = (SELECT confined_to_project())));
DROP POLICY IF EXISTS the_judge_moves_its_members_sweeps_on ON sweeps;
CREATE POLICY the_judge_moves_its_members_sweeps_on ON sweeps FOR UPDATE TO palimpsest_judge
    USING (member_id = (SELECT current_member())) WITH CHECK (member_id = (SELECT current_member()));

-- For the health page: what was judged of late in the whole tenant, as numbers alone.
CREATE OR REPLACE FUNCTION judged_lately(since timestamptz)
RETURNS TABLE (relation text, deed text, judge text, pairs bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT j.relation, j.deed, j.judge, count(*) FROM judgements j
    WHERE j.tenant_id = current_tenant() AND j.judged_at > since AND j.relation <> 'unanswered'
      AND current_member() IS NOT NULL
    GROUP BY 1, 2, 3
$$;
-- And of tokens used today, for the budget.
CREATE OR REPLACE FUNCTION judge_tokens_since(
    since timestamptz, of_judge text, OUT tokens_in bigint, OUT tokens_out bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT coalesce(sum(j.tokens_in), 0)::bigint, coalesce(sum(j.tokens_out), 0)::bigint
    FROM (SELECT j.tokens_in, j.tokens_out FROM judgements j
          WHERE j.tenant_id = current_tenant() AND j.judged_at > since AND j.judge = of_judge
          UNION ALL
          SELECT a.tokens_in, a.tokens_out FROM attributions a
          WHERE a.tenant_id = current_tenant() AND a.judged_at > since AND a.judge = of_judge
          UNION ALL
          SELECT v.tokens_in, v.tokens_out FROM spent_in_vain v
          WHERE v.tenant_id = current_tenant() AND v.spent_at > since AND v.judge = of_judge) j
    WHERE current_member() IS NOT NULL
$$;
-- They count also where the judge went down before it had answered.
CREATE OR REPLACE FUNCTION spend_in_vain(of_judge text, told integer, said integer) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    INSERT INTO spent_in_vain (id, tenant_id, judge, tokens_in, tokens_out)
    SELECT gen_random_uuid(), current_tenant(), of_judge, told, said
    WHERE current_member() IS NOT NULL
$$;
-- What tells whether the machine is alive and well in a tenant: numbers and times, nothing else.
CREATE OR REPLACE FUNCTION hygiene_facts_of(tenant uuid, since timestamptz, today timestamptz, of_judge text)
RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT to_jsonb(w) || to_jsonb(j) || to_jsonb(e) || to_jsonb(t) || to_jsonb(c) || to_jsonb(r) || to_jsonb(l)
    FROM
        (SELECT count(*) AS written FROM memories m
         WHERE m.tenant_id = tenant AND m.created_at > since) w,
        -- A judge's job is left where there are candidates; a minute is time enough to begin.
        (SELECT count(*) FILTER (WHERE j.kind = 'judge_memory' AND j.created_at > since
                                       AND j.created_at < now() - interval '1 minute') AS left_to_judge,
                min(j.created_at) FILTER (WHERE j.kind = 'judge_memory' AND j.created_at > since
                                                AND j.created_at < now() - interval '1 minute') AS first_left,
                count(*) FILTER (WHERE j.state IN ('queued', 'running')) AS waiting,
                min(j.created_at) FILTER (WHERE j.state IN ('queued', 'running')
                                                AND j.kind IN ('judge_memory', 'embed_memory'))
                    AS oldest_waiting,
                -- Being tried again, it is put off all the same, until it is done.
                count(*) FILTER (WHERE j.state IN ('queued', 'running') AND j.last_error <> '') AS deferred,
                min(j.created_at) FILTER (WHERE j.state IN ('queued', 'running') AND j.last_error <> '')
                    AS first_deferred,
                min(j.created_at) FILTER (WHERE j.state IN ('queued', 'running') AND j.last_error LIKE
                                                'the judge is misconfigured%') AS misconfigured,
                -- However long ago: what they were to do is not done.
                count(*) FILTER (WHERE j.state = 'failed') AS failed,
                min(j.finished_at) FILTER (WHERE j.state = 'failed') AS first_failed
         -- What has no vector yet is not even looked at: whoever embeds it leaves it to the judge.
         FROM jobs j WHERE j.tenant_id = tenant
                       AND j.kind IN ('judge_memory', 'embed_memory', 'attribute_misled', 'sweep')
                       AND (j.created_at > since OR j.state IN ('queued', 'running', 'failed'))) j,
        (SELECT count(*) AS examined, count(*) FILTER (WHERE d.relation = 'unusable') AS unusable
         FROM judgements d
         WHERE d.tenant_id = tenant AND d.judged_at > since AND d.relation <> 'unanswered') e,
        (SELECT coalesce(sum(d.tokens_in), 0) AS tokens_in, coalesce(sum(d.tokens_out), 0) AS tokens_out,
                max(d.judged_at) AS last_spent
         FROM (SELECT d.tokens_in, d.tokens_out, d.judged_at FROM judgements d
               WHERE d.tenant_id = tenant AND d.judged_at > today AND d.judge = of_judge
               UNION ALL
               SELECT a.tokens_in, a.tokens_out, a.judged_at FROM attributions a
               WHERE a.tenant_id = tenant AND a.judged_at > today AND a.judge = of_judge
               UNION ALL
               SELECT v.tokens_in, v.tokens_out, v.spent_at FROM spent_in_vain v
               WHERE v.tenant_id = tenant AND v.spent_at > today AND v.judge = of_judge) d) t,
        (SELECT count(*) FILTER (WHERE c.state = 'resolved' AND c.resolved_by_member_id IS NULL
                                       AND c.resolved_at > since) AS automatic,
                count(*) FILTER (WHERE c.created_at > since AND (c.state <> 'resolved'
                                       OR c.resolved_by_member_id IS NOT NULL)) AS disputes,
                count(*) FILTER (WHERE c.state = 'pending') AS pending,
                count(*) FILTER (WHERE c.state = 'pending' AND c.kind = 'unjudged') AS unjudged,
                min(c.created_at) FILTER (WHERE c.state = 'pending' AND c.kind = 'unjudged') AS first_unjudged
         FROM conflicts c WHERE c.tenant_id = tenant) c,
        -- As retired_by_policy counts them for the brake.
        (SELECT count(*) AS retired, max(lost.at) AS last_retired FROM (
            SELECT m.id, max(c.resolved_at) AS at FROM conflicts c
            JOIN memories m ON m.tenant_id = c.tenant_id
                 AND m.id = CASE c.winner_id WHEN c.memory_a_id THEN c.memory_b_id ELSE c.memory_a_id END
            WHERE c.tenant_id = tenant AND c.resolved_at > now() - interval '1 hour'
              AND c.resolved_by_member_id IS NULL AND c.state = 'resolved' AND c.row <> 'said again'
              AND (m.provenance_rank > 0 OR m.accepted_at IS NOT NULL)
            GROUP BY m.id
            UNION ALL
            SELECT m.id, m.end_set_at FROM memories m
            WHERE m.tenant_id = tenant AND m.ends_with_id IS NOT NULL AND m.invalidated_at IS NULL
              AND m.end_set_at > now() - interval '1 hour'
              AND (m.provenance_rank > 0 OR m.accepted_at IS NOT NULL)) lost) r,
        (SELECT count(*) AS live FROM memories m WHERE m.tenant_id = tenant AND m.invalidated_at IS NULL) l
$$;
CREATE OR REPLACE FUNCTION hygiene_facts(since timestamptz, today timestamptz, of_judge text) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT hygiene_facts_of(current_tenant(), since, today, of_judge) WHERE current_member() IS NOT NULL
$$;
-- For the metrics, which are read by nobody's caller: every tenant's, and no word of whose they are.
CREATE OR REPLACE FUNCTION hygiene_facts_of_all(since timestamptz, today timestamptz, of_judge text)
RETURNS SETOF jsonb LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT hygiene_facts_of(t.id, since, today, of_judge) FROM tenants t
    WHERE t.state = 'active'
      AND (EXISTS (SELECT FROM jobs j WHERE j.tenant_id = t.id AND j.created_at > since)
           OR EXISTS (SELECT FROM memories m WHERE m.tenant_id = t.id AND m.created_at > since))
$$;
-- The memories of which a sweep of the member's had so many pairs judged: they may have more neighbours.
CREATE OR REPLACE FUNCTION with_many_pairs_in(of_sweep uuid, many integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT side
    FROM sweeps s JOIN judgements j ON j.tenant_id = s.tenant_id AND j.batch_id = s.id
    CROSS JOIN LATERAL (VALUES (j.older_id), (j.newer_id)) AS of_pair (side)
    WHERE s.tenant_id = current_tenant() AND s.member_id = current_member() AND s.id = of_sweep
    GROUP BY side HAVING count(*) >= many
$$;
-- Whose turn it is to be swept: members with memories that none of their sweeps with this judge has reached, or
-- whose last one has left pairs to the next, or with jobs that have failed, or who keep something private in a
-- project in which others have written, or shown, or brought something back since; and whose last sweep, or first
-- memory, is longer ago.
DROP FUNCTION IF EXISTS sweeps_due(interval, integer);
CREATE OR REPLACE FUNCTION sweeps_due(every interval, most integer, of_judge text, of_prompt text)
RETURNS TABLE (tenant_id uuid, member_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT m.tenant_id, m.id
    FROM members m JOIN tenants t ON t.id = m.tenant_id AND t.state = 'active'
    CROSS JOIN LATERAL (SELECT max(s.started_at) AS last,
                               coalesce(max(s.reached) FILTER (WHERE s.judge = of_judge
                                                               AND s.prompt_version = of_prompt), 0) AS reached,
                               (array_agg(s.pairs >= 3 ORDER BY s.started_at DESC, s.id DESC))[1] AS has_left_some
                        FROM sweeps s WHERE s.tenant_id = m.tenant_id AND s.member_id = m.id
                                        AND s.project_id IS NULL) s
    WHERE m.active AND (s.last IS NULL OR s.last < now() - every)
      AND (EXISTS (SELECT FROM memories x WHERE x.tenant_id = m.tenant_id AND x.owner_id = m.id
                     AND x.invalidated_at IS NULL AND x.sequence > s.reached
                     AND (s.last IS NOT NULL OR x.created_at < now() - every))
           OR s.has_left_some
           OR EXISTS (SELECT FROM jobs j WHERE j.tenant_id = m.tenant_id AND j.member_id = m.id
                        AND (j.state = 'failed' OR j.state = 'obsolete' AND j.last_error = 'judging is off')
                        AND j.finished_at < now() - every
                        AND j.kind IN ('judge_memory', 'embed_memory', 'attribute_misled', 'sweep'))
           OR EXISTS (SELECT FROM memories p
                      WHERE p.tenant_id = m.tenant_id AND p.owner_id = m.id AND p.visibility = 'private'
                        AND p.project_id IS NOT NULL AND p.invalidated_at IS NULL
                        AND (s.last IS NOT NULL OR p.created_at < now() - every)
                        AND (EXISTS (SELECT FROM memories x
                                     WHERE x.tenant_id = p.tenant_id AND x.project_id = p.project_id
                                       AND x.sequence > s.reached AND x.owner_id <> m.id
                                       AND x.visibility <> 'private' AND x.invalidated_at IS NULL)
                             OR EXISTS (SELECT FROM jobs j
                                        JOIN memories x ON x.tenant_id = j.tenant_id AND x.id = j.subject_id
                                        WHERE j.tenant_id = m.tenant_id AND j.kind = 'judge_memory'
                                          AND j.dedup_key ~ ':(shown|restored|accepted|undone|given back|begun):'
                                          AND j.created_at > s.last AND j.member_id <> m.id
                                          AND x.project_id = p.project_id AND x.visibility <> 'private'
                                          AND x.invalidated_at IS NULL))))
    LIMIT most
$$;
-- What others have shown, brought back or accepted since then, and the member sees. Their own jobs cannot know of
-- what the member keeps private in the same project, so the member's have to compare it.
CREATE OR REPLACE FUNCTION came_into_sight(since timestamptz) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT DISTINCT m.id
    FROM jobs j JOIN memories m ON m.tenant_id = j.tenant_id AND m.id = j.subject_id
    WHERE j.tenant_id = current_tenant() AND j.kind = 'judge_memory'
      AND j.dedup_key ~ ':(shown|restored|accepted|undone|given back|begun):'
      AND j.created_at > since AND j.member_id <> current_member() AND m.invalidated_at IS NULL
      AND in_sight(m.visibility, m.owner_id, m.project_id, current_member(), visible_projects(),
                   confined_to_project(), personal_in_reach())
      AND EXISTS (SELECT FROM memories p
                  WHERE p.tenant_id = m.tenant_id AND p.owner_id = current_member() AND p.visibility = 'private'
                    AND p.project_id = m.project_id AND p.invalidated_at IS NULL)
$$;
-- With each of its sweeps, what has failed of a member's is tried again, and what was left while judging was off,
-- its attempts counted from nought; one whose work another job of its name does by now is over, and so is a sweep, which the next one goes on with.
CREATE OR REPLACE FUNCTION try_failed_jobs_again() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    job record;
    tried integer := 0;
BEGIN
    FOR job IN
        SELECT j.id, j.kind FROM jobs j
        WHERE j.tenant_id = current_tenant() AND j.member_id = current_member()
          AND (j.state = 'failed' OR j.state = 'obsolete' AND j.last_error = 'judging is off')
          AND j.kind IN ('judge_memory', 'embed_memory', 'attribute_misled', 'sweep')
        ORDER BY j.created_at DESC, j.id DESC FOR UPDATE SKIP LOCKED
    LOOP
        BEGIN
            IF job.kind = 'sweep' THEN
                RAISE unique_violation;
            END IF;
            UPDATE jobs SET state = 'queued', attempts = 0, run_after = now(), last_error = '', finished_at = NULL
            WHERE id = job.id;
            tried := tried + 1;
        EXCEPTION WHEN unique_violation THEN
            UPDATE jobs SET state = 'obsolete', last_error = 'another job does it' WHERE id = job.id;
        END;
    END LOOP;
    RETURN tried;
END
$$;
-- The member's memories of which a pair waits for want of a verdict, to be judged again: those that this judge
-- has not been asked about, or, `once_more`, also those to which it has said nothing of use.
CREATE OR REPLACE FUNCTION to_be_judged_again(of_judge text, of_prompt text, once_more boolean)
RETURNS SETOF uuid
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH pairs AS (
        SELECT o.id AS older_id, n.id AS newer_id
        FROM conflicts c
        JOIN memories n ON n.tenant_id = c.tenant_id AND n.id IN (c.memory_a_id, c.memory_b_id)
        JOIN memories o ON o.tenant_id = c.tenant_id AND o.id IN (c.memory_a_id, c.memory_b_id)
             AND o.sequence < n.sequence
        WHERE c.tenant_id = current_tenant() AND c.state = 'pending' AND waits_for_a_verdict(c)
          AND n.owner_id = current_member()
    ), forgotten AS (
        UPDATE judgements j SET relation = 'unanswered', deed = 'waiting', tries = 0
        FROM pairs p
        WHERE once_more AND j.tenant_id = current_tenant() AND j.older_id = p.older_id AND j.newer_id = p.newer_id
          AND j.judge = of_judge AND j.prompt_version = of_prompt AND j.relation = 'unusable'
    )
    SELECT DISTINCT p.newer_id FROM pairs p
    WHERE once_more OR NOT EXISTS (
        SELECT FROM judgements j
        WHERE j.tenant_id = current_tenant() AND j.older_id = p.older_id AND j.newer_id = p.newer_id
          AND j.judge = of_judge AND j.prompt_version = of_prompt)
$$;
-- Which pairs of these memories are decided, wait for a person, or were judged, under the policies of who asks.
-- In a function, because with all policies in it the statement takes longer to plan than to answer: here the
-- plan is made once for a connection.
CREATE OR REPLACE FUNCTION pairs_known_among(ids uuid[], of_judge text, of_prompt text, undone text[])
RETURNS TABLE (low_id uuid, high_id uuid)
LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT s.low_id, s.high_id FROM settled_pairs s
    WHERE s.low_id = ANY (ids) AND s.high_id = ANY (ids) AND s.reopened_at IS NULL
    UNION ALL
    SELECT c.low_id, c.high_id FROM conflicts c
    WHERE c.low_id = ANY (ids) AND c.high_id = ANY (ids) AND c.memory_b_id IS NOT NULL
      AND (c.state IN ('pending', 'dismissed') OR c.resolved_by_member_id IS NOT NULL)
      AND NOT waits_for_a_verdict(c)
    UNION ALL
    SELECT least(j.older_id, j.newer_id), greatest(j.older_id, j.newer_id) FROM judgements j
    WHERE j.older_id = ANY (ids) AND j.newer_id = ANY (ids)
      AND j.judge = of_judge AND j.prompt_version = of_prompt AND j.deed <> ALL (undone);
END
$$;
REVOKE ALL ON FUNCTION pairs_known_among(uuid[], text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pairs_known_among(uuid[], text, text, text[]) TO palimpsest_judge;

REVOKE ALL ON FUNCTION take_pairs_in_hand(uuid, uuid[], uuid[], uuid[], text, text), let_pairs_go(uuid),
    judged_lately(timestamptz), judge_tokens_since(timestamptz, text), spend_in_vain(text, integer, integer),
    hygiene_facts_of(uuid, timestamptz, timestamptz, text), hygiene_facts(timestamptz, timestamptz, text),
    hygiene_facts_of_all(timestamptz, timestamptz, text), sweeps_due(interval, integer, text, text),
    with_many_pairs_in(uuid, integer), try_failed_jobs_again(), to_be_judged_again(text, text, boolean), came_into_sight(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION with_many_pairs_in(uuid, integer), try_failed_jobs_again(), to_be_judged_again(text, text, boolean),
    came_into_sight(timestamptz)
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION judged_lately(timestamptz), hygiene_facts(timestamptz, timestamptz, text)
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION judge_tokens_since(timestamptz, text), let_pairs_go(uuid),
    spend_in_vain(text, integer, integer),
    take_pairs_in_hand(uuid, uuid[], uuid[], uuid[], text, text) TO palimpsest_judge;
GRANT EXECUTE ON FUNCTION hygiene_facts_of_all(timestamptz, timestamptz, text), sweeps_due(interval, integer, text, text)
    TO palimpsest_runtime;
