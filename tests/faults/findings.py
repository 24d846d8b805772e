"""What must be true of the database afterwards, as queries for what must not be there."""

# Each finds violations: of a write, a pair, a memory or a job.
MUST_FIND_NOTHING = {
    "a pair judged twice": """
        SELECT least(older_id, newer_id), greatest(older_id, newer_id) FROM judgements
        GROUP BY 1, 2 HAVING count(*) > 1""",
    "a pair in conflict twice": """
        SELECT low_id, high_id FROM conflicts WHERE memory_b_id IS NOT NULL
        GROUP BY 1, 2 HAVING count(*) > 1""",
    "a memory not remembered exactly once": """
        SELECT m.id FROM memories m LEFT JOIN events e
            ON e.memory_id = m.id AND e.command = 'remember'
        GROUP BY m.id HAVING count(e.id) <> 1""",
    "an event of a memory that is not there": """
        SELECT e.id FROM events e WHERE e.memory_id IS NOT NULL
            AND NOT EXISTS (SELECT FROM memories m WHERE m.id = e.memory_id)""",
    "a memory whose retirements are not told once each": """
        SELECT m.id FROM memories m LEFT JOIN events e
            ON e.memory_id = m.id AND e.command = 'supersede'
        GROUP BY m.id, m.superseded_by_id
        HAVING count(e.id) <> (m.superseded_by_id IS NOT NULL)::int""",
    "a memory changed more often than it was superseded": """
        SELECT id FROM memories WHERE version <> 1 + (superseded_by_id IS NOT NULL)::int""",
    "a memory without its one vector": """
        SELECT m.id FROM memories m LEFT JOIN embeddings v ON v.memory_id = m.id
        GROUP BY m.id HAVING count(v.id) <> 1""",
    "a retirement without its link": """
        SELECT m.id FROM memories m WHERE m.superseded_by_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM links l WHERE l.src_id = m.superseded_by_id AND l.dst_id = m.id
                                  AND l.type = 'supersedes')""",
    "a chain without one live head": """
        WITH RECURSIVE chain (start, at, steps) AS (
            SELECT id, id, 0 FROM memories
            UNION ALL
            SELECT c.start, m.superseded_by_id, c.steps + 1
            FROM chain c JOIN memories m ON m.id = c.at
            WHERE m.superseded_by_id IS NOT NULL AND c.steps < 10000
        )
        SELECT start FROM chain c JOIN memories m ON m.id = c.at
        GROUP BY start HAVING count(*) FILTER (WHERE m.invalidated_at IS NULL) <> 1""",
    "a judgement that acted without a trace": """
        SELECT j.id FROM judgements j WHERE j.deed = 'supersede' AND NOT EXISTS (
            SELECT FROM conflicts c WHERE c.low_id = least(j.older_id, j.newer_id)
                                      AND c.high_id = greatest(j.older_id, j.newer_id))""",
    "a key without its answer": "SELECT id FROM idempotency_keys WHERE answer IS NULL",
    "a job that is not done": """
        SELECT id, state, attempts, last_error FROM jobs WHERE state NOT IN ('done', 'obsolete')""",
}
