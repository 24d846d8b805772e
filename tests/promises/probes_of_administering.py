"""What administrators do, and nobody else."""

from collections.abc import Iterator

from tenants.ids import new_id
from tests.promises.probe import Probe
from tests.promises.raw import REFUSED, Who
from tests.promises.world import Side


def administering(a: Side, b: Side) -> Iterator[Probe]:
    """Return what administrators do, and nobody else."""
    for name, who, rows, denied in (
        ("admin", a.who("admin"), 1, 1),
        ("viewer", a.who("viewer"), 0, REFUSED),
        ("admin", a.confined("admin", "apollo"), 0, REFUSED),
    ):
        yield Probe(f"{name} renames the tenant", who, "UPDATE tenants SET name = 'x'", (), rows)
        yield Probe(
            f"{name} makes a project", who,
            "INSERT INTO projects (id, tenant_id, slug, name, review_intervals, path_subjects)"
            " VALUES (%s, %s, 'new', 'New', '{}', '[]')",
            [new_id(), a.id], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} closes a project", who,
            "UPDATE projects SET archived_at = now() WHERE id = %s",
            [a.projects["apollo"]], rows,
        )  # fmt: skip
        yield Probe(
            f"{name} lets somebody in", who,
            "INSERT INTO project_permissions (tenant_id, user_id, content_object_id, permission_id)"
            " SELECT %s, %s, %s, id FROM auth_permission WHERE codename = 'write_project'",
            [a.id, a.users["viewer"], a.projects["hermes"]], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} shuts somebody out", who, "DELETE FROM project_permissions WHERE user_id = %s",
            [a.users["contractor"]], rows * 2,
        )  # fmt: skip
        yield Probe(
            f"{name} gives a seat", who,
            "INSERT INTO members (id, tenant_id, user_id, username, name, role, level, active)"
            " VALUES (%s, %s, %s, 'x', 'x', 'admin', 1, true)",
            [new_id(), a.id, b.users["viewer"]], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} makes an administrator", who,
            "UPDATE members SET role = 'admin' WHERE id = %s",
            [a.members["viewer"]], rows,
        )  # fmt: skip
        yield Probe(
            f"{name} makes an agent", who,
            "INSERT INTO agents (id, tenant_id, project_id, sponsor_id, name, level, active)"
            " VALUES (%s, %s, %s, %s, 'x', 1, true)",
            [new_id(), a.id, a.projects["apollo"], a.members["viewer"]], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} takes over an agent", who, "UPDATE agents SET sponsor_id = %s WHERE id = %s",
            [a.members[name], a.agents["agent"]], rows,
        )  # fmt: skip
        yield Probe(
            f"{name} makes a token", who,
            "INSERT INTO tokens (id, tenant_id, name, kind, member_id, personal, scopes,"
            " digest, last_four)"
            " VALUES (%s, %s, 'x', 'human', %s, true, '{admin}', 'x', 'xxxx')",
            [new_id(), a.id, a.members[name]], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} revokes a token", who, "UPDATE tokens SET revoked_at = now() WHERE id = %s",
            [a.rows["token senior"]], rows,
        )  # fmt: skip
        yield Probe(
            f"{name} discards a job", who, "UPDATE jobs SET state = 'obsolete' WHERE id = %s",
            [a.rows["job senior"]], rows,
        )  # fmt: skip
    yield Probe(
        "senior discards their own job",
        a.who("senior"),
        "UPDATE jobs SET state = 'obsolete'",
        (),
        0,
    )
    yield Probe(
        "admin moves a seat elsewhere",
        a.who("admin"),
        "UPDATE members SET tenant_id = %s",
        [b.id],
        REFUSED,
    )
    yield Probe(
        "senior extends their own token",
        a.who("senior"),
        "UPDATE tokens SET expires_at = NULL",
        (),
        0,
    )
    yield Probe(
        "admin in one project's agent's name", Who(a.id, a.members["admin"], a.agents["agent"]),
        "SELECT id FROM members", (), set(),
    )  # fmt: skip
