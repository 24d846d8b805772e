"""Who may read what, in a few lines of Python: what the policies and the search must agree with."""

from uuid import UUID

from tests.promises.raw import Who
from tests.promises.world import GRANTS, Side, World

SPONSOR = "senior"  # of every agent


def name_of(side: Side, who: Who) -> str | None:
    """Return who the member is, as long as they, and the agent that acts for them, are in."""
    if who.tenant != side.id:
        return None
    name = next((name for name, member in side.members.items() if member == who.member), None)
    if name == "gone" or who.agent == side.agents["retired"]:
        return None
    return name


def readable(world: World, who: Who) -> set[UUID]:
    """Return the memories that somebody may read."""
    return {
        memory
        for side in (world.a, world.b)
        for (owner, visibility, project), memory in side.memories.items()
        if _reads(side, who, owner, visibility, project)
    }


def _reads(side: Side, who: Who, owner: str, visibility: str, project: str | None) -> bool:
    name = name_of(side, who)
    if name is None:
        return False
    confined = next((slug for slug, id_ in side.projects.items() if id_ == who.project), None)
    in_confinement = confined is None or confined == project
    if visibility == "tenant":
        return True
    if visibility == "project":
        return in_confinement and project in GRANTS[name]
    if project is None:
        return owner == name and who.personal
    return owner == name and in_confinement


def callers(side: Side) -> dict[str, Who]:
    """Return every kind of caller, by what to call it."""
    found = {name: side.who(name) for name in (*side.members, *side.agents)}
    found |= {f"{name} as judge": side.judge(name) for name in ("senior", "viewer", "gone")}
    found |= {
        f"{name} as reviewer": side.reviewing(name) for name in ("senior", "reviewer", "admin")
    }
    for name in ("senior", "outsider", "reviewer", "admin", "gone"):
        for project in side.projects:
            found[f"{name} in {project}"] = side.confined(name, project)
            found[f"{name} in {project} and personal"] = side.confined(name, project, personal=True)
    found["senior without the personal layer"] = side.who("senior", personal=False)
    return found
