"""
Two tenants of the same shape, in every table of which stand rows of both.

    senior      sees, writes and reviews apollo; has an agent there, and one that reaches further
    contractor  writes in apollo
    viewer      sees apollo
    outsider    writes in hermes
    reviewer    sees and reviews apollo and hermes, writes in neither
    admin       administers, sees no project
    gone        wrote in apollo, and has left
"""

import secrets
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

from tenants.ids import new_id
from tests.promises.disagreeing import disagree
from tests.promises.raw import JUDGE, REVIEWER, Who
from tests.promises.trusting import trust

GRANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "senior": {"apollo": ("see", "write", "review")},
    "contractor": {"apollo": ("see", "write")},
    "viewer": {"apollo": ("see",)},
    "outsider": {"hermes": ("see", "write")},
    "reviewer": {"apollo": ("see", "review"), "hermes": ("see", "review")},
    "admin": {},
    "gone": {"apollo": ("see", "write")},
}
OWNERS = ("senior", "contractor", "outsider", "admin", "gone")
PLACES = [
    (visibility, project)
    for visibility in ("private", "project", "tenant")
    for project in (None, "apollo", "hermes")
    if (visibility, project) != ("project", None)
]
# By the senior's agent: for its sponsor, and for somebody who was its sponsor before.
WRITTEN_BY_AGENT = {("senior", "tenant", "apollo"), ("gone", "project", "apollo")}
SPACE = "promises"
WORD = "wallflower"

_MEMORY = """
INSERT INTO memories (id, tenant_id, owner_id, author_agent_id, author_level, provenance_rank,
    project_id, visibility, kind, content, text_key, words, subjects, tags, importance, version)
VALUES (%s, %s, %s, %s, 10, 2, %s, %s, 'fact', %s, %s, to_tsvector('simple', %s), '{}', '{}', 0.5,
    1)
"""
_EMBEDDING = """
INSERT INTO embeddings (id, tenant_id, memory_id, space, vector, owner_id, visibility, kind,
    lifecycle)
VALUES (%s, %s, %s, %s, '[1,0,0]', %s, '', '', '')
"""
_EVENT = """
INSERT INTO events (id, tenant_id, command, object_type, object_id, memory_id, member_id,
    agent_id, request_id,
                    reason)
VALUES (%s, %s, 'seeded', 'memory', %s, %s, %s, %s, '', %s)
"""
_TOKEN = """
INSERT INTO tokens (id, tenant_id, name, kind, member_id, agent_id, personal, scopes, digest,
    last_four)
VALUES (%s, %s, %s, %s, %s, %s, true, '{memory:read}', %s, 'seed')
"""
_KEY = """
INSERT INTO idempotency_keys (id, tenant_id, principal_id, endpoint, key, fingerprint, answer)
VALUES (%s, %s, %s, 'remember', 'same key', ''::bytea, '{}')
"""
TRANSFER = """
INSERT INTO transfers (id, tenant_id, member_id, project_id, direction, format, state, files,
    stored, total, done, counts, problem)
VALUES (%s, %s, %s, %s, 'export', 'jsonl', 'done', '[]', '{}', 0, 0, '{}', %s)
"""
_JOB = """
INSERT INTO jobs (id, tenant_id, kind, dedup_key, member_id, arguments, state, attempts,
    run_after, last_error)
VALUES (%s, %s, 'sleep', %s, %s, '{}', 'queued', 0, 'infinity', '')
"""


@dataclass
class Side:
    """One of the two tenants, and the ids of what stands in it."""

    canary: str
    id: UUID = field(default_factory=new_id)
    projects: dict[str, UUID] = field(default_factory=dict)
    users: dict[str, UUID] = field(default_factory=dict)
    members: dict[str, UUID] = field(default_factory=dict)
    agents: dict[str, UUID] = field(default_factory=dict)
    memories: dict[tuple[str, str, str | None], UUID] = field(default_factory=dict)
    rows: dict[str, UUID] = field(default_factory=dict)

    def who(self, name: str, **more: Any) -> Who:
        """Return the door of somebody by name; agents are confined to their project."""
        if name in self.agents:
            return Who(
                self.id,
                self.members["senior"],
                self.agents[name],
                self.projects["apollo"],
                personal=name == "companion",
            )
        return Who(self.id, self.members[name], **more)

    def confined(self, name: str, project: str, *, personal: bool = False) -> Who:
        """Return the door of a member's token that is for one project."""
        return Who(self.id, self.members[name], project=self.projects[project], personal=personal)

    def judge(self, name: str) -> Who:
        return self.who(name, role=JUDGE)

    def reviewing(self, name: str) -> Who:
        return self.who(name, role=REVIEWER)


@dataclass
class World:
    a: Side
    b: Side


def build(owner: psycopg.Connection[Any]) -> World:
    """Return the two tenants, put into the database by the owner of the tables."""
    world = World(*(Side(f"CANARY-{name}-{secrets.token_hex(8)}") for name in "AB"))
    with owner.transaction():
        for side in (world.a, world.b):
            _found(owner, side)
            _remember(owner, side)
            _tie(owner, side)
            _hold(owner, side)
    return world


def _found(owner: psycopg.Connection[Any], side: Side) -> None:
    slug = side.canary.lower()
    owner.execute(
        "INSERT INTO tenants (id, slug, name, state, levels) VALUES (%s, %s, %s, 'active', '{}')",
        [side.id, slug, side.canary],
    )
    for project in ("apollo", "hermes"):
        side.projects[project] = new_id()
        owner.execute(
            "INSERT INTO projects (id, tenant_id, slug, name, review_intervals, path_subjects)"
            " VALUES (%s, %s, %s, %s, '{}', '[]')",
            [side.projects[project], side.id, project, f"{project} {side.canary}"],
        )
    for name, grants in GRANTS.items():
        side.users[name], side.members[name] = new_id(), new_id()
        owner.execute(
            "INSERT INTO users (id, username, email, password, first_name, last_name,"
            " is_staff, is_active,"
            " is_superuser, date_joined) VALUES (%s, %s, '', '!', '', '', false, true, false,"
            " now())",
            [side.users[name], f"{name}-{slug}"],
        )
        owner.execute(
            "INSERT INTO members (id, tenant_id, user_id, username, name, role, level, active)"
            " VALUES (%s, %s, %s, %s, %s, %s, 10, %s)",
            [side.members[name], side.id, side.users[name], name, f"{name} {side.canary}",
             "admin" if name == "admin" else "member", name != "gone"],
        )  # fmt: skip
        for project, words in grants.items():
            owner.execute(
                "INSERT INTO project_permissions (tenant_id, user_id, content_object_id,"
                " permission_id)"
                " SELECT %s, %s, %s, id FROM auth_permission WHERE codename = ANY (%s)",
                [
                    side.id,
                    side.users[name],
                    side.projects[project],
                    [f"{word}_project" for word in words],
                ],
            )
    for agent in ("agent", "companion", "retired"):
        side.agents[agent] = new_id()
        owner.execute(
            "INSERT INTO agents (id, tenant_id, project_id, sponsor_id, name, level, active)"
            " VALUES (%s, %s, %s, %s, %s, 10, %s)",
            [side.agents[agent], side.id, side.projects["apollo"], side.members["senior"],
             f"{agent} {side.canary}", agent != "retired"],
        )  # fmt: skip


def _remember(owner: psycopg.Connection[Any], side: Side) -> None:
    for name in OWNERS:
        for visibility, project in PLACES:
            memory = side.memories[name, visibility, project] = new_id()
            where = side.projects[project] if project else None
            by = "agent" if (name, visibility, project) in WRITTEN_BY_AGENT else ""
            owner.execute(
                _MEMORY,
                [
                    memory,
                    side.id,
                    side.members[name],
                    side.agents.get(by),
                    where,
                    visibility,
                    side.canary,
                    b"another" if name == "admin" else b"",
                    WORD,
                ],
            )
            owner.execute(_EMBEDDING, [new_id(), side.id, memory, SPACE, side.members[name]])


def _tie(owner: psycopg.Connection[Any], side: Side) -> None:
    """Tie a memory that apollo shares to another such, to a private one, and to one of hermes's."""
    shared = side.memories["senior", "project", "apollo"]
    ties = {
        "shared": side.memories["contractor", "project", "apollo"],
        "private": side.memories["senior", "private", "apollo"],
        "distant": side.memories["outsider", "project", "hermes"],
    }
    for name, other in ties.items():
        ids = {what: new_id() for what in ("link", "pair", "component", "dependency", "event")}
        side.rows |= {f"{what} {name}": row for what, row in ids.items()}
        owner.execute(
            "INSERT INTO links (id, tenant_id, src_id, dst_id, type) VALUES (%s, %s, %s, %s,"
            " 'relates_to')",
            [ids["link"], side.id, shared, other],
        )
        owner.execute(
            "INSERT INTO settled_pairs (id, tenant_id, low_id, high_id, why) VALUES (%s, %s,"
            " %s, %s, %s)",
            [ids["pair"], side.id, min(shared, other), max(shared, other), side.canary],
        )
        owner.execute(
            "INSERT INTO components (id, tenant_id, memory_id, subject, value, multi, suggested)"
            " VALUES (%s, %s, %s, %s, %s, %s, false)",
            [ids["component"], side.id, other, side.canary.lower(), side.canary, name == "private"],
        )
        owner.execute(
            _EVENT, [ids["event"], side.id, other, other, side.members["senior"], None, side.canary]
        )
    again = side.rows["pair reopened"] = new_id()
    pair = sorted((shared, side.memories["contractor", "tenant", "apollo"]))
    owner.execute(
        "INSERT INTO settled_pairs (id, tenant_id, low_id, high_id, why, reopened_at)"
        " VALUES (%s, %s, %s, %s, %s, now())",
        [again, side.id, *pair, side.canary],
    )
    disagree(owner, side, ties)
    # Not before, or their disputes would have marked it.
    for name, other in ties.items():
        owner.execute(
            "INSERT INTO dependencies (id, tenant_id, memory_id, on_memory_id) VALUES (%s, %s,"
            " %s, %s)",
            [side.rows[f"dependency {name}"], side.id, shared, other],
        )
    trust(owner, side, ties)


def _hold(owner: psycopg.Connection[Any], side: Side) -> None:
    side.rows["event administered"] = new_id()
    owner.execute(
        _EVENT,
        [
            side.rows["event administered"],
            side.id,
            side.id,
            None,
            side.members["admin"],
            None,
            side.canary,
        ],
    )
    for name, who, project in (
        ("everywhere", "senior", None),
        ("within", "senior", side.projects["apollo"]),
        ("another's", "contractor", None),
    ):
        side.rows[f"transfer {name}"] = new_id()
        owner.execute(
            TRANSFER,
            [side.rows[f"transfer {name}"], side.id, side.members[who], project, side.canary],
        )
    for name in ("senior", "contractor", "agent", "retired"):
        agent = side.agents.get(name)
        member = None if agent else side.members[name]
        for what in ("token", "key", "job"):
            side.rows[f"{what} {name}"] = new_id()
        owner.execute(
            _TOKEN,
            [side.rows[f"token {name}"], side.id, side.canary, "agent" if agent else "human",
            member,
             agent,
             secrets.token_bytes(32)],
        )  # fmt: skip
        owner.execute(_KEY, [side.rows[f"key {name}"], side.id, agent or member])
        if member:
            owner.execute(_JOB, [side.rows[f"job {name}"], side.id, f"job {name}", member])
