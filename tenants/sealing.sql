-- The chain of events: what shows that somebody with the owner's rights changed the record.
--
-- Each event of a tenant is sealed once, in a place of its own: its hash is made over what it says
-- and over the hash before it. Sealing follows the write by seconds, in the worker, so that writers
-- of a tenant do not wait for each other. The role that writes events can neither seal nor unseal.
-- What the hash is made over is described in docs/operations.md and computed a second time, in
-- Python, by verify_audit. Safe to run again.

CREATE TABLE IF NOT EXISTS unsealed_events (
    tenant_id uuid NOT NULL,
    sequence bigint NOT NULL,
    event_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
);
-- What is said (reason, before, after) goes in as a hash with a salt, kept here: whoever erases a
-- text erases the salt too, and the chain holds.
CREATE TABLE IF NOT EXISTS event_chain (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    place bigint NOT NULL CHECK (place > 0),
    event_id uuid NOT NULL,
    salt uuid,
    said bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (tenant_id, place)
);
CREATE UNIQUE INDEX IF NOT EXISTS event_is_sealed_once ON event_chain (tenant_id, event_id);
CREATE TABLE IF NOT EXISTS event_heads (
    tenant_id uuid PRIMARY KEY REFERENCES tenants (id),
    place bigint NOT NULL,
    hash bytea NOT NULL
);

DO $$
DECLARE relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['unsealed_events', 'event_chain', 'event_heads'] LOOP
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

-- Every event waits for its seal from the transaction on in which it was written.
CREATE OR REPLACE FUNCTION events_wait_for_their_seal() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO unsealed_events (tenant_id, sequence, event_id)
    SELECT e.tenant_id, e.sequence, e.id FROM added e;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS events_wait_for_their_seal ON events;
CREATE TRIGGER events_wait_for_their_seal AFTER INSERT ON events
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION events_wait_for_their_seal();

-- No grant lets a role of the product come this far; this is for the owner's own mistakes.
CREATE OR REPLACE FUNCTION what_was_done_stays() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RAISE insufficient_privilege USING MESSAGE = format('%s is only ever added to', TG_TABLE_NAME);
END
$$;
DROP TRIGGER IF EXISTS what_was_done_stays ON events;
CREATE TRIGGER what_was_done_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION what_was_done_stays();
DROP TRIGGER IF EXISTS what_was_sealed_stays ON event_chain;
CREATE TRIGGER what_was_sealed_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON event_chain
    FOR EACH STATEMENT EXECUTE FUNCTION what_was_done_stays();

-- None of these three sets a search path: it would be set anew for each field. They name no table,
-- and whoever calls them has set it.

-- One field of what is hashed: its length in bytes and itself, or a hyphen where there is none.
-- So no two lists of fields are written alike, and nothing is not the empty text.
CREATE OR REPLACE FUNCTION sealed_field(of text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN of IS NULL THEN '-' ELSE octet_length(convert_to(of, 'UTF8')) || ':' || of END || ','
$$;

CREATE OR REPLACE FUNCTION hash_of_what_is_said(salt uuid, reason text, before jsonb, after jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(convert_to(public.sealed_field(salt::text) || public.sealed_field(reason)
                  || public.sealed_field(before::text) || public.sealed_field(after::text), 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION hash_of_event(event events, place bigint, said bytea, before bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(convert_to(string_agg(public.sealed_field(part), '' ORDER BY number), 'UTF8'))
    FROM unnest(ARRAY[
        'palimpsest event 1', event.tenant_id::text, place::text, event.id::text, event.sequence::text,
        trunc(extract(epoch FROM event.at) * 1000000)::bigint::text, event.command, event.object_type,
        event.object_id::text, event.memory_id::text, event.member_id::text, event.agent_id::text,
        event.token_id::text, event.request_id, encode(said, 'hex'), encode(before, 'hex')
    ]) WITH ORDINALITY AS parts (part, number)
$$;

-- Seal what waits, at most so many events, and return how many that were. Of two that seal at once
-- one takes a tenant, and the other passes it by.
CREATE OR REPLACE FUNCTION seal_events(most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    head event_heads%ROWTYPE;
    event events%ROWTYPE;
    whose uuid;
    fresh_salt uuid;
    content_hash bytea;
    from_place bigint;
    last_sequence bigint;
    sealed integer := 0;
BEGIN
    FOR whose IN
        WITH RECURSIVE waiting AS (
            (SELECT u.tenant_id FROM unsealed_events u ORDER BY u.tenant_id LIMIT 1)
            UNION ALL
            SELECT (SELECT u.tenant_id FROM unsealed_events u WHERE u.tenant_id > w.tenant_id
                    ORDER BY u.tenant_id LIMIT 1)
            FROM waiting w WHERE w.tenant_id IS NOT NULL
        )
        SELECT w.tenant_id FROM waiting w WHERE w.tenant_id IS NOT NULL
    LOOP
        INSERT INTO event_heads (tenant_id, place, hash) VALUES (whose, 0, '\x') ON CONFLICT DO NOTHING;
        SELECT h.* INTO head FROM event_heads h WHERE h.tenant_id = whose FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        from_place := head.place;
        FOR event IN
            SELECT e.* FROM unsealed_events u
            JOIN events e ON e.tenant_id = u.tenant_id AND e.id = u.event_id
            WHERE u.tenant_id = whose ORDER BY u.sequence LIMIT most - sealed
        LOOP
            fresh_salt := gen_random_uuid();
            content_hash := hash_of_what_is_said(fresh_salt, event.reason, event.before, event.after);
            head.place := head.place + 1;
            head.hash := hash_of_event(event, head.place, content_hash, head.hash);
            INSERT INTO event_chain (tenant_id, place, event_id, salt, said, hash)
            VALUES (whose, head.place, event.id, fresh_salt, content_hash, head.hash);
            sealed := sealed + 1;
            last_sequence := event.sequence;
        END LOOP;
        -- Not all up to there: an earlier one may have been committed meanwhile.
        DELETE FROM unsealed_events u
        WHERE u.tenant_id = whose AND u.sequence <= last_sequence
          AND EXISTS (SELECT FROM event_chain c
                      WHERE c.tenant_id = whose AND c.event_id = u.event_id AND c.place > from_place);
        UPDATE event_heads h SET place = head.place, hash = head.hash WHERE h.tenant_id = whose;
        EXIT WHEN sealed >= most;
    END LOOP;
    RETURN sealed;
END
$$;

-- How far each tenant is sealed, to be written down where the owner of the tables cannot reach.
CREATE OR REPLACE FUNCTION audit_heads() RETURNS TABLE (tenant_id uuid, place bigint, hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT h.tenant_id, h.place, encode(h.hash, 'hex') FROM event_heads h WHERE h.place > 0 ORDER BY 1
$$;

REVOKE ALL ON FUNCTION events_wait_for_their_seal(), what_was_done_stays(), sealed_field(text),
    hash_of_what_is_said(uuid, text, jsonb, jsonb), hash_of_event(events, bigint, bytea, bytea),
    seal_events(integer), audit_heads() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION seal_events(integer), audit_heads() TO palimpsest_runtime;
