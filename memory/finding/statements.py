"""The two statements of a recall: which memories may answer, and what is told of those that do."""

# Joined by one key to few rows, so that the planner walks from these to their memories, and never
# through all that the tenant holds.
CANDIDATES = """
WITH found AS MATERIALIZED (
    SELECT memory_id, max(similarity) AS similarity, max(likeness) AS likeness
    FROM (
        SELECT memory_id, similarity, NULL::double precision AS likeness
        FROM nearest_memories(%(vector)s::halfvec, %(space)s, %(reach)s, %(project)s,
                              %(lifecycles)s, %(expired)s, %(kinds)s, %(wanted)s, %(exact_up_to)s)
        UNION ALL
        SELECT memory_id, NULL, likeness
        FROM worded_memories(%(words)s::tsquery, %(reach)s, %(project)s,
                             %(lifecycles)s, %(expired)s, %(kinds)s, %(wanted)s)
    ) either
    GROUP BY memory_id
)
SELECT m.id, m.kind, extract(epoch FROM m.created_at)::float8, m.provenance_rank, m.importance,
       m.superseded_by_id, found.similarity, found.likeness,
       m.invalidated_reason IS DISTINCT FROM 'rejected'
           AND (m.provenance_rank > 0 OR m.accepted_at IS NOT NULL OR NOT %(verified_only)s)
           AS wanted
FROM found JOIN memories m ON m.id = found.memory_id
WHERE m.tenant_id = (SELECT current_tenant())
"""

# Written out, because the ORM takes longer to put this together than PostgreSQL to answer it. A
# field that is missing here is fetched memory by memory, and the test of the query budget fails.
TOLD = """
SELECT m.id, m.content, m.kind, m.project_id, m.visibility, m.owner_id, m.author_agent_id,
       m.author_level, m.provenance_rank, m.created_at, m.valid_until, m.review_after,
       m.accepted_at, m.importance, m.invalidated_at, m.invalidated_reason, m.superseded_by_id,
       m.superseded_at, m.lifecycle,
       CASE WHEN m.author_agent_id IS NULL THEN o.name ELSE a.name END AS author_name,
       EXISTS (SELECT FROM memories e
               WHERE e.tenant_id = m.tenant_id AND e.superseded_by_id = m.id) AS has_history
FROM memories m
JOIN members o ON o.tenant_id = m.tenant_id AND o.id = m.owner_id
LEFT JOIN agents a ON a.tenant_id = m.tenant_id AND a.id = m.author_agent_id
WHERE m.tenant_id = (SELECT current_tenant()) AND m.id = ANY(%s)
"""
