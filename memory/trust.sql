-- What tells whether a memory still holds, written where it cannot be forgotten: in triggers, and in
-- functions that mark whole trees of dependents in one statement a step. They run with the rights of
-- their owner, because the world moves for memories, too, that the one who reports it may not read; what
-- comes back is read again under the policies.

-- A retirement is a time: what was live then is told by it, whatever became of the memory since.
CREATE OR REPLACE FUNCTION retirements_are_kept() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF OLD.invalidated_at IS NULL THEN
        INSERT INTO retirements (id, tenant_id, memory_id, door, successor_id, supersede_reason, began_at)
        VALUES (uuidv7_or_v4(), NEW.tenant_id, NEW.id, NEW.invalidated_reason, NEW.superseded_by_id,
                NEW.supersede_reason, NEW.invalidated_at);
    ELSE
        UPDATE retirements r SET ended_at = greatest(r.began_at, statement_timestamp())
        WHERE r.tenant_id = NEW.tenant_id AND r.memory_id = NEW.id AND r.ended_at IS NULL;
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
CREATE TRIGGER retirements_begin_and_end AFTER UPDATE OF invalidated_at ON memories
    FOR EACH ROW WHEN ((OLD.invalidated_at IS NULL) <> (NEW.invalidated_at IS NULL))
    EXECUTE FUNCTION retirements_are_kept();
DROP TRIGGER IF EXISTS disputes_begin ON conflicts;
CREATE TRIGGER disputes_begin AFTER INSERT ON conflicts
    FOR EACH ROW WHEN (NEW.state = 'pending') EXECUTE FUNCTION dispute_periods_are_kept();
DROP TRIGGER IF EXISTS disputes_begin_and_end ON conflicts;
CREATE TRIGGER disputes_begin_and_end AFTER UPDATE OF state ON conflicts
    FOR EACH ROW WHEN ((OLD.state = 'pending') <> (NEW.state = 'pending'))
    EXECUTE FUNCTION dispute_periods_are_kept();

-- When a memory, or what it says of a subject, was last vouched for: by writing it, by accepting it, or by a
-- verification that weighs. Without a subject: by what vouches for the whole, or else for all of its
-- components, one by one. Of a capture its time counts, too: what changed before cannot have overtaken it.
CREATE OR REPLACE FUNCTION last_vouched_for(of_memory uuid, of_subject text) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT greatest(
        m.created_at, m.accepted_at,
        (SELECT max(v.observed_at) FROM verifications v
         WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id AND v.outcome = 'confirmed' AND v.weighs
           AND (v.subjects = '{}' OR of_subject = ANY (v.subjects))),
        CASE WHEN of_subject IS NULL THEN
            (SELECT CASE WHEN bool_and(one.seen_at IS NOT NULL) THEN min(one.seen_at) END
             FROM (SELECT (SELECT max(v.observed_at) FROM verifications v
                           WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id AND v.outcome = 'confirmed'
                             AND v.weighs AND c.subject = ANY (v.subjects)) AS seen_at
                   FROM components c
                   WHERE c.tenant_id = m.tenant_id AND c.memory_id = m.id AND NOT c.suggested
                     AND c.dismissed_at IS NULL) one)
        END)
    FROM memories m WHERE m.tenant_id = current_tenant() AND m.id = of_memory
$$;
-- Has anybody vouched for it since then? Asked of many at once, so what is seldom there is asked first.
CREATE OR REPLACE FUNCTION vouched_since(of_memory uuid, of_subject text, seen_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM verifications v
                   WHERE v.tenant_id = current_tenant() AND v.memory_id = of_memory AND v.observed_at >= seen_at)
       AND last_vouched_for(of_memory, of_subject) >= seen_at;
END
$$;

-- Has somebody made something of what was only captured? All of it must be verified, and never by its
-- author; by an agent of its owner's only with evidence.
CREATE OR REPLACE FUNCTION is_lifted(of_memory uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    WITH counted AS (
        SELECT v.subjects FROM verifications v
        JOIN memories m ON m.tenant_id = v.tenant_id AND m.id = v.memory_id
        WHERE v.tenant_id = current_tenant() AND v.memory_id = of_memory AND v.outcome = 'confirmed' AND v.weighs
          AND (v.by_member_id <> m.owner_id
               OR v.by_agent_id IS DISTINCT FROM m.author_agent_id
                  AND (v.by_agent_id IS NULL OR v.method <> 'self' AND v.observed_value IS NOT NULL))
    ), stated AS (
        SELECT c.subject FROM components c
        WHERE c.tenant_id = current_tenant() AND c.memory_id = of_memory AND NOT c.suggested AND c.dismissed_at IS NULL
    )
    SELECT EXISTS (SELECT FROM counted v WHERE v.subjects = '{}')
        OR EXISTS (SELECT FROM stated)
           AND NOT EXISTS (SELECT FROM stated s
                           WHERE NOT EXISTS (SELECT FROM counted v WHERE s.subject = ANY (v.subjects)))
$$;
-- Should somebody have looked at it by now? By its own date, or its project's interval for its kind.
CREATE OR REPLACE FUNCTION is_overdue(of_memory uuid, moment timestamptz) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT coalesce(m.review_after <= moment AND last_vouched_for(m.id, NULL) < m.review_after, false)
        OR coalesce(last_vouched_for(m.id, NULL) + make_interval(days => (p.review_intervals ->> m.kind)::integer)
                    <= moment, false)
    FROM memories m LEFT JOIN projects p ON p.tenant_id = m.tenant_id AND p.id = m.project_id
    WHERE m.tenant_id = current_tenant() AND m.id = of_memory
$$;

-- What a memory depends on: what it says so of, and what it was derived from.
CREATE OR REPLACE VIEW dependents WITH (security_invoker = true, security_barrier = true) AS
    SELECT d.tenant_id, d.memory_id, d.on_memory_id FROM dependencies d WHERE d.on_memory_id IS NOT NULL
    UNION ALL
    SELECT l.tenant_id, l.src_id, l.dst_id FROM links l
    WHERE l.type IN ('derived_from', 'depends_on') AND l.removed_at IS NULL;

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
            FROM dependents d
            WHERE d.tenant_id = current_tenant() AND d.on_memory_id = ANY (hit)
              AND d.memory_id <> ALL (spared) AND d.memory_id IS DISTINCT FROM by_memory
            GROUP BY d.memory_id
        ), new AS (
            INSERT INTO marks (id, tenant_id, memory_id, cause, change_id, cause_memory_id, path, direct, observed_at)
            SELECT uuidv7_or_v4(), m.tenant_id, m.id, why, by_change, by_memory,
                   coalesce((SELECT k.path FROM marks k
                             WHERE k.tenant_id = m.tenant_id AND k.memory_id = r.by_way_of
                               AND k.cause = why AND k.cleared_at IS NULL
                               AND k.change_id IS NOT DISTINCT FROM by_change
                               AND k.cause_memory_id IS NOT DISTINCT FROM by_memory
                             ORDER BY cardinality(k.path) LIMIT 1), '{}') || r.by_way_of,
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

-- A change marks what says something of its subject or of what lies below: the components that do, or the
-- memory as a whole where only its subjects do; what depends on such a subject; and what depends on those.
-- Not what lies beside or above, and nothing that was vouched for after the change was seen. A single label
-- is a root: it reaches only itself, unless the whole tree is meant. The write that told of it is spared.
CREATE OR REPLACE FUNCTION mark_by(seen changes, only_these uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    deeper CONSTANT boolean := seen.whole_tree OR position('.' IN seen.subject) > 0;
    beneath CONSTANT text := CASE WHEN deeper THEN seen.subject || '.' ELSE seen.subject END;
    above CONSTANT text := CASE WHEN deeper THEN seen.subject || '/' ELSE seen.subject END;
    hit uuid[];
BEGIN
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
        SELECT d.memory_id, NULL::uuid, NULL::text, false FROM dependencies d
        WHERE d.tenant_id = seen.tenant_id
          AND (d.on_subject COLLATE "C" = seen.subject
               OR d.on_subject COLLATE "C" >= beneath AND d.on_subject COLLATE "C" < above)
          AND (only_these IS NULL OR d.memory_id = ANY (only_these))
    ), concerned AS (
        SELECT DISTINCT ON (memory_id, component_id) * FROM (
            SELECT * FROM said UNION ALL SELECT * FROM named UNION ALL SELECT * FROM relying
        ) either ORDER BY memory_id, component_id, direct DESC
    ), new AS (
        INSERT INTO marks (id, tenant_id, memory_id, component_id, cause, change_id, direct, path, observed_at)
        SELECT uuidv7_or_v4(), m.tenant_id, m.id, c.component_id, 'change', seen.id, c.direct, '{}', seen.observed_at
        FROM concerned c JOIN memories m ON m.tenant_id = seen.tenant_id AND m.id = c.memory_id
        WHERE m.project_id = seen.project_id AND m.id IS DISTINCT FROM seen.memory_id
          AND m.invalidated_at IS NULL AND (m.valid_until IS NULL OR m.valid_until > now())
          AND m.created_at < seen.observed_at AND (m.accepted_at IS NULL OR m.accepted_at < seen.observed_at)
          AND NOT vouched_since(m.id, c.subject, seen.observed_at)
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

-- Is a memory in a dispute that everybody knows of who reads it? One with something that some of them may
-- not read must show nowhere, not even by what it does to others.
CREATE OR REPLACE FUNCTION disputed_openly(of_memory uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM conflicts c
        JOIN memories m ON m.tenant_id = c.tenant_id AND m.id = of_memory
        LEFT JOIN memories o ON o.tenant_id = c.tenant_id
             AND o.id = CASE of_memory WHEN c.memory_a_id THEN c.memory_b_id ELSE c.memory_a_id END
        WHERE c.tenant_id = current_tenant() AND of_memory IN (c.memory_a_id, c.memory_b_id)
          AND c.state = 'pending' AND c.kind IN ('contradiction', 'stale', 'challenged')
          AND (c.memory_b_id IS NULL OR o.visibility = 'tenant'
               OR o.visibility = m.visibility AND o.project_id IS NOT DISTINCT FROM m.project_id
                  AND (o.visibility = 'project' OR o.owner_id = m.owner_id)))
$$;
-- What is said to have happened to a memory is looked up: nobody marks, or closes marks, by saying so.
CREATE OR REPLACE FUNCTION is_so(of_memory uuid, what text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT coalesce((SELECT CASE what
        WHEN 'superseded' THEN m.invalidated_reason = 'superseded'
        WHEN 'rejected' THEN m.invalidated_reason = 'rejected'
        WHEN 'retired' THEN m.invalidated_reason = 'retired'
        WHEN 'expired' THEN m.valid_until <= now()
        WHEN 'conflicted' THEN disputed_openly(of_memory)
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
                 AND EXISTS (SELECT FROM dependents d WHERE d.tenant_id = m.tenant_id AND d.on_memory_id = m.id) LOOP
        IF is_so(one.id, why) THEN
            PERFORM spread_marks(ARRAY[one.id], why, NULL, one.id,
                                 CASE why WHEN 'expired' THEN one.valid_until
                                          WHEN 'conflicted' THEN statement_timestamp()
                                          ELSE one.invalidated_at END, spared);
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

-- What was out of use while the world moved is marked when it comes back, as it would have been.
CREATE OR REPLACE FUNCTION mark_what_it_missed(back memories) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    gone_at CONSTANT timestamptz := (SELECT max(r.began_at) FROM retirements r
                                     WHERE r.tenant_id = back.tenant_id AND r.memory_id = back.id);
    missed changes;
    event record;
BEGIN
    FOR missed IN SELECT c.* FROM changes c
                  WHERE c.tenant_id = back.tenant_id AND c.project_id = back.project_id AND c.kind = 'change'
                    AND c.created_at >= gone_at ORDER BY c.created_at LOOP
        PERFORM mark_by(missed, ARRAY[back.id]);
    END LOOP;
    FOR event IN SELECT k.cause, k.change_id, k.cause_memory_id, k.observed_at, array_agg(k.memory_id) AS marked
                 FROM dependents d
                 JOIN marks k ON k.tenant_id = d.tenant_id AND k.memory_id = d.on_memory_id AND k.cleared_at IS NULL
                 WHERE d.tenant_id = back.tenant_id AND d.memory_id = back.id AND k.created_at >= gone_at
                 GROUP BY k.cause, k.change_id, k.cause_memory_id, k.observed_at LOOP
        PERFORM spread_marks(event.marked, event.cause, event.change_id, event.cause_memory_id, event.observed_at, '{}');
    END LOOP;
    FOR event IN SELECT m.id, m.invalidated_reason, m.superseded_by_id
                 FROM dependents d JOIN memories m ON m.tenant_id = d.tenant_id AND m.id = d.on_memory_id
                 WHERE d.tenant_id = back.tenant_id AND d.memory_id = back.id AND m.invalidated_at >= gone_at
                   AND m.invalidated_reason IN ('superseded', 'rejected', 'retired') LOOP
        PERFORM tell_dependents_of(ARRAY[event.id], event.invalidated_reason,
                                   array_remove(ARRAY[event.superseded_by_id], NULL));
    END LOOP;
END
$$;

-- Whichever door a memory takes, and by which it comes back, what depends on it is told.
CREATE OR REPLACE FUNCTION dependents_are_told_of_their_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NEW.invalidated_at IS NULL THEN
        PERFORM close_marks_caused_by(ARRAY[NEW.id], ARRAY['superseded', 'rejected', 'retired', 'conflicted']);
        PERFORM mark_what_it_missed(NEW);
    ELSIF NEW.invalidated_reason IN ('superseded', 'rejected', 'retired') THEN
        PERFORM tell_dependents_of(ARRAY[NEW.id], NEW.invalidated_reason,
                                   array_remove(ARRAY[NEW.superseded_by_id], NULL));
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS what_depends_is_told ON memories;
CREATE TRIGGER what_depends_is_told AFTER UPDATE OF invalidated_at ON memories
    FOR EACH ROW WHEN ((OLD.invalidated_at IS NULL) <> (NEW.invalidated_at IS NULL))
    EXECUTE FUNCTION dependents_are_told_of_their_memory();

-- A dispute in which somebody says that it is not so marks what depends on either side; when it ends, what
-- it leaves in use is as good as before.
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
-- of its dependents that came by it alone. Those that came by another way, too, stay: of each event the
-- marks count that are still reached from what it hit itself.
CREATE OR REPLACE FUNCTION clear_what_was_vouched_for(of_memory uuid, by_verification uuid) RETURNS uuid[]
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    cleared uuid[];
    also uuid[];
    event record;
BEGIN
    PERFORM wait_for_other_marks();
    WITH done AS (
        UPDATE marks k SET cleared_at = statement_timestamp(), cleared_by_id = by_verification
        WHERE k.tenant_id = current_tenant() AND k.memory_id = of_memory AND k.cleared_at IS NULL
          AND k.observed_at <= last_vouched_for(
                of_memory, (SELECT c.subject FROM components c WHERE c.tenant_id = k.tenant_id AND c.id = k.component_id))
        RETURNING k.id
    ) SELECT coalesce(array_agg(id), '{}') INTO cleared FROM done;
    FOR event IN SELECT DISTINCT k.cause, k.change_id, k.cause_memory_id FROM marks k
                 WHERE k.tenant_id = current_tenant() AND k.id = ANY (cleared) LOOP
        WITH RECURSIVE still AS MATERIALIZED (
            SELECT k.id, k.memory_id,
                   k.path = '{}' OR EXISTS (SELECT FROM dependents d
                                            WHERE d.tenant_id = k.tenant_id AND d.memory_id = k.memory_id
                                              AND d.on_memory_id = k.cause_memory_id) AS was_hit
            FROM marks k
            WHERE k.tenant_id = current_tenant() AND k.cleared_at IS NULL AND k.cause = event.cause
              AND CASE WHEN event.change_id IS NULL THEN k.cause_memory_id = event.cause_memory_id
                       ELSE k.change_id = event.change_id END
        ), grounded AS (
            SELECT s.memory_id FROM still s WHERE s.was_hit
            UNION
            SELECT s.memory_id FROM grounded g
            JOIN dependents d ON d.tenant_id = current_tenant() AND d.on_memory_id = g.memory_id
            JOIN still s ON s.memory_id = d.memory_id
        ), behind AS (
            SELECT of_memory AS memory_id
            UNION
            SELECT s.memory_id FROM behind b
            JOIN dependents d ON d.tenant_id = current_tenant() AND d.on_memory_id = b.memory_id
            JOIN still s ON s.memory_id = d.memory_id
        ), done AS (
            UPDATE marks k SET cleared_at = statement_timestamp(), cleared_by_id = by_verification
            FROM still s
            WHERE k.tenant_id = current_tenant() AND k.id = s.id AND NOT s.was_hit
              AND s.memory_id IN (SELECT b.memory_id FROM behind b)
              AND NOT EXISTS (SELECT FROM dependents d JOIN grounded g ON g.memory_id = d.on_memory_id
                              WHERE d.tenant_id = current_tenant() AND d.memory_id = s.memory_id)
            RETURNING k.id
        ) SELECT coalesce(array_agg(id), '{}') INTO also FROM done;
        cleared := cleared || also;
    END LOOP;
    RETURN cleared;
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
-- Taken back, it has vouched for nothing: what it cleared is open again, as far as that still holds and nobody
-- has looked since.
CREATE OR REPLACE FUNCTION accepting_vouches_no_more() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM wait_for_other_marks();
    UPDATE marks k SET cleared_at = NULL
    WHERE k.tenant_id = NEW.tenant_id AND k.cleared_at = OLD.accepted_at AND k.cleared_by_id IS NULL
      AND (k.cause = 'change' OR is_so(k.cause_memory_id, k.cause))
      AND NOT vouched_since(k.memory_id, (SELECT c.subject FROM components c
                                          WHERE c.tenant_id = k.tenant_id AND c.id = k.component_id), k.observed_at)
      AND NOT EXISTS (SELECT FROM marks o
                      WHERE o.tenant_id = k.tenant_id AND o.memory_id = k.memory_id AND o.cleared_at IS NULL
                        AND o.cause = k.cause AND o.component_id IS NOT DISTINCT FROM k.component_id
                        AND o.change_id IS NOT DISTINCT FROM k.change_id
                        AND o.cause_memory_id IS NOT DISTINCT FROM k.cause_memory_id);
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

-- Somebody else wrote the same where all who read the one read the other: of each member it counts once.
-- Who wrote it says so, with what they wrote; or who is corroborated, of the very same text or by what a
-- judge found; of what they read. An agent that changed its sponsor is nobody else.
CREATE OR REPLACE FUNCTION corroborate(what uuid, by_what uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    INSERT INTO corroborations (id, tenant_id, memory_id, by_member_id, by_memory_id)
    SELECT uuidv7_or_v4(), m.tenant_id, m.id, b.owner_id, b.id
    FROM memories m JOIN memories b ON b.tenant_id = m.tenant_id AND b.id = by_what
    WHERE m.tenant_id = current_tenant() AND m.id = what AND m.invalidated_at IS NULL
      AND in_sight(m.visibility, m.owner_id, m.project_id, current_member(), visible_projects(),
                   confined_to_project(), personal_in_reach())
      AND (b.owner_id = current_member()
           OR m.owner_id = current_member()
              AND (b.text_key = m.text_key OR current_setting('role') = 'palimpsest_judge'))
      AND b.owner_id <> m.owner_id AND b.invalidated_at IS NULL
      AND in_sight(b.visibility, b.owner_id, b.project_id, current_member(), visible_projects(),
                   confined_to_project(), personal_in_reach())
      AND b.provenance_rank >= 1
      AND (b.author_agent_id IS NULL OR b.author_agent_id IS DISTINCT FROM m.author_agent_id)
      AND (b.visibility = 'tenant' OR b.visibility = 'project' AND b.project_id = m.project_id
                                      AND m.visibility = 'project')
    ON CONFLICT DO NOTHING
$$;

-- The ends that were declared and have passed, of all tenants: what depends on them, and was not vouched for
-- since, is marked once. For the worker, in the name of nobody; how many there were comes out.
CREATE OR REPLACE FUNCTION mark_what_expired(most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    ended record;
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
        PERFORM tell_dependents_of(ended.memories, 'expired', '{}');
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
REVOKE ALL ON FUNCTION retirements_are_kept(), dispute_periods_are_kept(), last_vouched_for(uuid, text),
    is_lifted(uuid), is_overdue(uuid, timestamptz),
    vouched_since(uuid, text, timestamptz), spread_marks(uuid[], text, uuid, uuid, timestamptz, uuid[]),
    wait_for_other_marks(), mark_by(changes, uuid[]), mark_what_changed(uuid), disputed_openly(uuid),
    is_so(uuid, text), tell_dependents_of(uuid[], text, uuid[]), mark_dependents_of(uuid[], text, uuid[]),
    close_marks_caused_by(uuid[], text[]), mark_what_it_missed(memories), dependents_are_told_of_their_memory(),
    dependents_are_told_of_the_dispute(), clear_what_was_vouched_for(uuid, uuid), accepting_vouches(),
    accepting_vouches_no_more(),
    clear_marks_by(uuid), corroborate(uuid, uuid), mark_what_expired(integer), push_source(uuid)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION last_vouched_for(uuid, text), is_lifted(uuid), is_overdue(uuid, timestamptz),
    mark_dependents_of(uuid[], text, uuid[]), close_marks_caused_by(uuid[], text[]),
    corroborate(uuid, uuid)
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION mark_what_changed(uuid), clear_marks_by(uuid) TO palimpsest_member, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION mark_what_expired(integer), push_source(uuid) TO palimpsest_runtime;
REVOKE ALL ON FUNCTION note_push(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION note_push(uuid) TO palimpsest_member;
