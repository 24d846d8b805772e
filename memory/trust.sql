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
        UPDATE retirements r SET ended_at = now()
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
        VALUES (uuidv7_or_v4(), NEW.tenant_id, NEW.id, NEW.kind, now());
    ELSE
        UPDATE dispute_periods p SET ended_at = now()
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

-- When a memory, or what it says of a subject, was last vouched for: by writing it deliberately, by
-- accepting it, or by a verification that weighs. Without a subject: by what vouches for the whole.
CREATE OR REPLACE FUNCTION last_vouched_for(of_memory uuid, of_subject text) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT greatest(CASE WHEN m.provenance_rank >= 1 THEN m.created_at END, m.accepted_at,
                    (SELECT max(v.observed_at) FROM verifications v
                     WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id AND v.outcome = 'confirmed' AND v.weighs
                       AND (v.subjects = '{}' OR of_subject = ANY (v.subjects))))
    FROM memories m WHERE m.tenant_id = current_tenant() AND m.id = of_memory
$$;

-- What a memory depends on: what it says so of, and what it was derived from.
CREATE OR REPLACE VIEW dependents WITH (security_invoker = true) AS
    SELECT d.tenant_id, d.memory_id, d.on_memory_id FROM dependencies d WHERE d.on_memory_id IS NOT NULL
    UNION
    SELECT l.tenant_id, l.src_id, l.dst_id FROM links l
    WHERE l.type IN ('derived_from', 'depends_on') AND l.removed_at IS NULL;

-- From what is marked to what depends on it, step by step. What the same event has marked already is
-- not marked again, so circles end.
CREATE OR REPLACE FUNCTION spread_marks(
    hit uuid[], why text, by_change uuid, by_memory uuid, seen_at timestamptz, spared uuid[]
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    WHILE cardinality(hit) > 0 LOOP
        WITH new AS (
            INSERT INTO marks (id, tenant_id, memory_id, cause, change_id, cause_memory_id, path, direct, observed_at)
            SELECT DISTINCT ON (d.memory_id)
                   uuidv7_or_v4(), d.tenant_id, d.memory_id, why, by_change, by_memory,
                   coalesce((SELECT k.path FROM marks k
                             WHERE k.tenant_id = d.tenant_id AND k.memory_id = d.on_memory_id
                               AND k.cause = why AND k.cleared_at IS NULL
                               AND k.change_id IS NOT DISTINCT FROM by_change
                               AND k.cause_memory_id IS NOT DISTINCT FROM by_memory LIMIT 1), '{}')
                       || d.on_memory_id,
                   false, seen_at
            FROM dependents d JOIN memories m ON m.tenant_id = d.tenant_id AND m.id = d.memory_id
            WHERE d.tenant_id = current_tenant() AND d.on_memory_id = ANY (hit)
              AND m.invalidated_at IS NULL AND d.memory_id <> ALL (spared)
              AND d.memory_id IS DISTINCT FROM by_memory
              AND (why <> 'change' OR coalesce(last_vouched_for(m.id, NULL) < seen_at, true))
              AND NOT EXISTS (SELECT FROM marks k
                              WHERE k.tenant_id = d.tenant_id AND k.memory_id = d.memory_id AND k.cause = why
                                AND k.cleared_at IS NULL AND k.change_id IS NOT DISTINCT FROM by_change
                                AND k.cause_memory_id IS NOT DISTINCT FROM by_memory)
            ORDER BY d.memory_id, d.on_memory_id
            ON CONFLICT DO NOTHING
            RETURNING memory_id
        ) SELECT coalesce(array_agg(memory_id), '{}') INTO hit FROM new;
    END LOOP;
END
$$;

-- A change marks what says something of its subject or of what lies below, what depends on such a
-- subject, and what depends on those. Not what lies beside or above, and nothing that was vouched for
-- after the change was seen. A single label is a root: it reaches only itself, unless the whole tree is
-- meant.
CREATE OR REPLACE FUNCTION mark_what_changed(of_change uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    seen changes;
    hit uuid[];
    deeper boolean;
    beneath text;
    above text;
BEGIN
    SELECT * INTO seen FROM changes c
    WHERE c.tenant_id = current_tenant() AND c.id = of_change AND c.by_member_id = current_member();
    IF NOT FOUND OR seen.kind <> 'change' THEN
        RETURN;
    END IF;
    deeper := seen.whole_tree OR position('.' IN seen.subject) > 0;
    beneath := CASE WHEN deeper THEN seen.subject || '.' ELSE seen.subject END;
    above := CASE WHEN deeper THEN seen.subject || '/' ELSE seen.subject END;
    WITH said AS (
        SELECT c.memory_id, c.id AS component_id, c.subject FROM components c
        WHERE c.tenant_id = seen.tenant_id AND NOT c.suggested AND c.dismissed_at IS NULL
          AND (c.subject COLLATE "C" = seen.subject
               OR c.subject COLLATE "C" >= beneath AND c.subject COLLATE "C" < above)
    ), new AS (
        INSERT INTO marks (id, tenant_id, memory_id, component_id, cause, change_id, direct, path, observed_at)
        SELECT uuidv7_or_v4(), m.tenant_id, m.id, s.component_id, 'change', seen.id, true, '{}', seen.observed_at
        FROM said s JOIN memories m ON m.tenant_id = seen.tenant_id AND m.id = s.memory_id
        WHERE m.project_id = seen.project_id AND m.invalidated_at IS NULL AND m.id IS DISTINCT FROM seen.memory_id
          AND coalesce(last_vouched_for(m.id, s.subject) < seen.observed_at, true)
        ON CONFLICT DO NOTHING
        RETURNING memory_id
    ) SELECT coalesce(array_agg(DISTINCT memory_id), '{}') INTO hit FROM new;
    WITH new AS (
        INSERT INTO marks (id, tenant_id, memory_id, cause, change_id, direct, path, observed_at)
        SELECT uuidv7_or_v4(), m.tenant_id, m.id, 'change', seen.id, true, '{}', seen.observed_at
        FROM memories m
        WHERE m.tenant_id = seen.tenant_id AND m.subject_tree @> ARRAY[seen.subject]
          AND (deeper OR seen.subject = ANY (m.subjects))
          AND m.project_id = seen.project_id AND m.invalidated_at IS NULL AND m.id IS DISTINCT FROM seen.memory_id
          AND m.id <> ALL (hit) AND coalesce(last_vouched_for(m.id, NULL) < seen.observed_at, true)
        ON CONFLICT DO NOTHING
        RETURNING memory_id
    ) SELECT hit || coalesce(array_agg(memory_id), '{}') INTO hit FROM new;
    WITH new AS (
        INSERT INTO marks (id, tenant_id, memory_id, cause, change_id, direct, path, observed_at)
        SELECT DISTINCT ON (m.id) uuidv7_or_v4(), m.tenant_id, m.id, 'change', seen.id, false, '{}'::uuid[],
               seen.observed_at
        FROM dependencies d JOIN memories m ON m.tenant_id = d.tenant_id AND m.id = d.memory_id
        WHERE d.tenant_id = seen.tenant_id
          AND (d.on_subject COLLATE "C" = seen.subject
               OR d.on_subject COLLATE "C" >= beneath AND d.on_subject COLLATE "C" < above)
          AND m.project_id = seen.project_id AND m.invalidated_at IS NULL AND m.id IS DISTINCT FROM seen.memory_id
          AND m.id <> ALL (hit) AND coalesce(last_vouched_for(m.id, NULL) < seen.observed_at, true)
        ORDER BY m.id
        ON CONFLICT DO NOTHING
        RETURNING memory_id
    ) SELECT hit || coalesce(array_agg(memory_id), '{}') INTO hit FROM new;
    PERFORM spread_marks(hit, 'change', seen.id, NULL, seen.observed_at, '{}');
END
$$;

-- What happened to a memory marks what depends on it.
CREATE OR REPLACE FUNCTION mark_dependents_of(memories_hit uuid[], why text, spared uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE one uuid;
BEGIN
    IF current_member() IS NULL OR why NOT IN ('superseded', 'conflicted', 'expired', 'rejected') THEN
        RETURN;
    END IF;
    FOREACH one IN ARRAY memories_hit LOOP
        IF EXISTS (SELECT FROM dependents d WHERE d.tenant_id = current_tenant() AND d.on_memory_id = one) THEN
            PERFORM spread_marks(ARRAY[one], why, NULL, one, now(), spared);
        END IF;
    END LOOP;
END
$$;

-- What was wrong with a memory is over (it was restored, or a dispute upheld it): so are its marks.
CREATE OR REPLACE FUNCTION close_marks_caused_by(memories_back uuid[], whys text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    UPDATE marks k SET cleared_at = now()
    WHERE k.tenant_id = current_tenant() AND current_member() IS NOT NULL
      AND k.cause_memory_id = ANY (memories_back) AND k.cause = ANY (whys) AND k.cleared_at IS NULL
$$;

-- A verification clears the marks of what it looked at, as far as it looked later than the world moved;
-- and those of dependents that came by it alone. Those that came by another way, too, stay.
CREATE OR REPLACE FUNCTION clear_marks_by(of_verification uuid) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    looked verifications;
    cleared uuid[];
    left_off integer := 1;
BEGIN
    SELECT * INTO looked FROM verifications v
    WHERE v.tenant_id = current_tenant() AND v.id = of_verification AND v.by_member_id = current_member();
    IF NOT FOUND OR looked.outcome <> 'confirmed' OR NOT looked.weighs THEN
        RETURN;
    END IF;
    WITH done AS (
        UPDATE marks k SET cleared_at = now(), cleared_by_id = looked.id
        WHERE k.tenant_id = looked.tenant_id AND k.memory_id = looked.memory_id AND k.cleared_at IS NULL
          AND k.observed_at <= looked.observed_at
          AND (looked.subjects = '{}'
               OR EXISTS (SELECT FROM components c WHERE c.tenant_id = k.tenant_id AND c.id = k.component_id
                                                     AND c.subject = ANY (looked.subjects)))
        RETURNING k.id
    ) SELECT coalesce(array_agg(id), '{}') INTO cleared FROM done;
    -- Of the rest those are groundless that are reached from nothing that the same event still marks, and
    -- by no subject of their own; each step may leave others without a ground.
    WHILE left_off > 0 LOOP
        WITH done AS (
            UPDATE marks k SET cleared_at = now(), cleared_by_id = looked.id
            WHERE k.tenant_id = looked.tenant_id AND k.cleared_at IS NULL AND NOT k.direct
              AND looked.memory_id = ANY (k.path) AND k.observed_at <= looked.observed_at
              AND k.cause_memory_id IS DISTINCT FROM looked.memory_id
              AND NOT EXISTS (SELECT FROM marks o JOIN dependents d
                                ON d.tenant_id = o.tenant_id AND d.on_memory_id = o.memory_id
                              WHERE d.tenant_id = k.tenant_id AND d.memory_id = k.memory_id AND o.cleared_at IS NULL
                                AND o.cause = k.cause AND o.change_id IS NOT DISTINCT FROM k.change_id
                                AND o.cause_memory_id IS NOT DISTINCT FROM k.cause_memory_id)
              AND NOT EXISTS (SELECT FROM dependents d
                              WHERE d.tenant_id = k.tenant_id AND d.memory_id = k.memory_id
                                AND d.on_memory_id = k.cause_memory_id)
            RETURNING k.id
        ) SELECT cleared || coalesce(array_agg(id), '{}'), count(*) INTO cleared, left_off FROM done;
    END LOOP;
    RETURN QUERY SELECT unnest(cleared);
END
$$;

-- Somebody else wrote the same where all who read the one read the other: of each member it counts once.
CREATE OR REPLACE FUNCTION corroborate(what uuid, by_what uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    INSERT INTO corroborations (id, tenant_id, memory_id, by_member_id, by_memory_id)
    SELECT uuidv7_or_v4(), m.tenant_id, m.id, b.owner_id, b.id
    FROM memories m JOIN memories b ON b.tenant_id = m.tenant_id AND b.id = by_what
    WHERE m.tenant_id = current_tenant() AND current_member() IS NOT NULL AND m.id = what
      AND b.owner_id <> m.owner_id AND b.provenance_rank >= 1
      AND (b.visibility = 'tenant' OR b.visibility = 'project' AND b.project_id = m.project_id
                                      AND m.visibility = 'project')
    ON CONFLICT DO NOTHING
$$;

-- The ends that were declared and have passed: what depends on them is marked once. For the worker, which
-- asks for every tenant in the name of nobody.
CREATE OR REPLACE FUNCTION members_of_what_expired(most integer) RETURNS TABLE (tenant_id uuid, member_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT DISTINCT m.tenant_id, m.owner_id
    FROM memories m
    JOIN tenants t ON t.id = m.tenant_id AND t.state = 'active'
    JOIN members o ON o.tenant_id = m.tenant_id AND o.id = m.owner_id AND o.active
    JOIN dependents d ON d.tenant_id = m.tenant_id AND d.on_memory_id = m.id
    JOIN memories x ON x.tenant_id = d.tenant_id AND x.id = d.memory_id AND x.invalidated_at IS NULL
    WHERE m.valid_until <= now() AND m.invalidated_at IS NULL
      AND NOT EXISTS (SELECT FROM marks k WHERE k.tenant_id = m.tenant_id AND k.memory_id = x.id
                                            AND k.cause_memory_id = m.id AND k.cause = 'expired')
    LIMIT most
$$;
CREATE OR REPLACE FUNCTION mark_dependents_of_expired() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM mark_dependents_of(
        ARRAY(SELECT m.id FROM memories m
              WHERE m.tenant_id = current_tenant() AND m.owner_id = current_member()
                AND m.valid_until <= now() AND m.invalidated_at IS NULL
                AND EXISTS (SELECT FROM dependents d WHERE d.tenant_id = m.tenant_id AND d.on_memory_id = m.id
                            AND NOT EXISTS (SELECT FROM marks k WHERE k.tenant_id = m.tenant_id
                                            AND k.memory_id = d.memory_id AND k.cause_memory_id = m.id
                                            AND k.cause = 'expired'))),
        'expired', '{}');
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

GRANT SELECT ON dependents TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
REVOKE ALL ON FUNCTION retirements_are_kept(), dispute_periods_are_kept(), last_vouched_for(uuid, text),
    spread_marks(uuid[], text, uuid, uuid, timestamptz, uuid[]), mark_what_changed(uuid),
    mark_dependents_of(uuid[], text, uuid[]), close_marks_caused_by(uuid[], text[]), clear_marks_by(uuid),
    corroborate(uuid, uuid), members_of_what_expired(integer), mark_dependents_of_expired(), push_source(uuid)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mark_dependents_of(uuid[], text, uuid[]), close_marks_caused_by(uuid[], text[]),
    corroborate(uuid, uuid), mark_dependents_of_expired()
    TO palimpsest_member, palimpsest_judge, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION mark_what_changed(uuid), clear_marks_by(uuid) TO palimpsest_member, palimpsest_reviewer;
GRANT EXECUTE ON FUNCTION members_of_what_expired(integer), push_source(uuid) TO palimpsest_runtime;
