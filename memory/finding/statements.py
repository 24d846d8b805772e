"""
The statements of recall: which memories may answer, and what is told of those.

Written out, because the ORM takes longer to put them together than PostgreSQL to answer them.
"""

# Joined by one key to few rows, so that the planner walks from these to their memories, and never
# through all that the tenant holds.
CANDIDATES = """
WITH found AS MATERIALIZED (
    SELECT memory_id, max(similarity) AS similarity, max(likeness) AS likeness
    FROM (
        SELECT memory_id, similarity, NULL::double precision AS likeness
        FROM nearest_memories(%(vector)s::halfvec, %(space)s, %(reach)s, %(project)s,
                              %(lifecycles)s, %(any_end)s, %(kinds)s, %(wanted)s, %(exact_up_to)s)
        UNION ALL
        SELECT memory_id, NULL, likeness
        FROM worded_memories(%(words)s::tsquery, %(reach)s, %(project)s,
                             %(lifecycles)s, %(any_end)s, %(kinds)s, %(wanted)s)
    ) either
    GROUP BY memory_id
)
SELECT m.id, m.kind, extract(epoch FROM m.created_at)::float8, m.provenance_rank, m.importance,
       m.superseded_by_id, found.similarity, found.likeness, {on_subject} AS on_subject,
       m.invalidated_reason IS DISTINCT FROM 'rejected' {conditions} AS wanted
FROM found JOIN memories m ON m.id = found.memory_id
WHERE m.tenant_id = (SELECT current_tenant())
"""

# What nobody has vouched for is left out; the standing of what is left says so in every case.
VOUCHED_FOR = """
AND (m.provenance_rank > 0 OR m.accepted_at IS NOT NULL OR is_lifted(m.id))
"""
# For an earlier time: what came by then. Some of it had been taken back, and the standing says so.
VOUCHED_FOR_BY_THEN = """
AND (m.provenance_rank > 0
     OR EXISTS (SELECT FROM acceptances a
                WHERE a.tenant_id = m.tenant_id AND a.memory_id = m.id AND a.began_at <= %(as_of)s)
     OR EXISTS (SELECT FROM verifications v
                WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id AND v.created_at <= %(as_of)s
                  AND v.outcome = 'confirmed' AND v.weighs))
"""
# As it was then: written by then, not out of use, and its end not come. What had been replaced or
# had ended by then comes if it is asked for.
BY_THEN = """
AND m.created_at <= %(as_of)s
AND (%(expired)s OR m.valid_until IS NULL OR m.valid_until > %(as_of)s)
AND NOT EXISTS (SELECT FROM retirements r
                WHERE r.tenant_id = m.tenant_id AND r.memory_id = m.id AND r.began_at <= %(as_of)s
                  AND (r.ended_at IS NULL OR r.ended_at > %(as_of)s)
                  AND NOT (%(superseded)s AND r.door = 'superseded'))
"""
ON_SUBJECT = """
(m.subjects && %(above)s::text[] OR m.subject_tree && %(subjects)s::text[]
 OR EXISTS (SELECT FROM components c
            WHERE c.tenant_id = m.tenant_id AND c.memory_id = m.id AND NOT c.suggested
              AND c.dismissed_at IS NULL
              AND (c.subject = ANY (%(above)s::text[])
                   OR EXISTS (SELECT FROM unnest(%(subjects)s::text[]) asked
                              WHERE starts_with(c.subject, asked || '.')))))
"""

# A field that is missing there is fetched memory by memory, and the test of the query budget fails.
TOLD = "SELECT * FROM memories_told(%s, %s)"
