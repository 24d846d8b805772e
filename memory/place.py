"""Where a memory is put and who may read it there: project or personal, and how far it is shown."""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from memory.models import Memory, Visibility
from tenants.caller import Caller
from tenants.ids import MalformedId, Prefix, read_id
from tenants.models import Project
from tenants.refusals import FieldError, Invalid, NotAllowed, Refusal

PERSONAL = "personal"
NO_SUCH_PROJECT = "there is no such project, or none that you may see"


class Archived(Refusal):
    """Nothing more is written in a project that was archived."""


@dataclass(frozen=True)
class Place:
    """A scope and a visibility: who will be able to read."""

    owner_id: UUID
    project_id: UUID | None
    visibility: str

    @classmethod
    def of(cls, memory: Memory) -> "Place":
        """Return where a memory stands."""
        return cls(memory.owner_id, memory.project_id, memory.visibility)

    def is_read_by_all_who_read(self, other: "Place") -> bool:
        """
        Return whether nobody loses sight when this takes the other's place.

        A member's own private memory may go on in any place of the same member's.
        """
        if self.visibility == Visibility.TENANT:
            return True
        if other.visibility == Visibility.PRIVATE:
            return self.owner_id == other.owner_id
        return (
            self.visibility == other.visibility == Visibility.PROJECT
            and self.project_id == other.project_id
        )


def writing_place(
    caller: Caller, *, project: str | None, scope: str | None, visibility: str | None
) -> Place:
    """
    Return where a write of the caller's goes.

    :raises Invalid: if the project is not there for the caller, or the words contradict each other
    :raises NotAllowed: if the caller may see and not write there
    :raises Archived: if the project takes no more
    """
    if scope == PERSONAL and project is not None:
        raise Invalid.field("scope", "name a project or the personal scope, not both")
    if scope == PERSONAL or (project is None and not caller.is_agent):
        if not caller.personal:
            raise _not_here("scope", "This token does not reach its member's personal layer.")
        if visibility == Visibility.PROJECT:
            raise Invalid.field("visibility", "a personal memory has no project to be shown to")
        return Place(caller.member_id, None, visibility or Visibility.PRIVATE)
    found = project_in_sight(caller, project)
    if found.archived_at is not None:
        raise Archived("The project is archived; nothing more is written in it.")
    if found.id not in writable_projects():
        raise _not_here("project", "You may see this project, but not write in it.")
    return Place(caller.member_id, found.id, visibility or Visibility.PROJECT)


def _not_here(field: str, why: str) -> NotAllowed:
    return NotAllowed(why, [FieldError(field, "forbidden", why)])


def project_in_sight(caller: Caller, project: str | None, *, field: str = "project") -> Project:
    """
    Return the project that is named by its id or slug; an agent's own when none is.

    :param field: in which it was named
    :raises Invalid: if there is none for the caller
    """
    if project is None and caller.project_id is not None:
        found = Project.objects.filter(id=caller.project_id).first()
    else:
        found = _named(project or "", field)
    if found is None:
        raise Invalid.field(field, NO_SUCH_PROJECT)
    return found


def project_id_in_sight(caller: Caller, project: str | None) -> UUID:
    """
    Return the id of the same project, where nothing else of it is wanted.

    :raises Invalid: if there is none for the caller
    """
    wanted: tuple[UUID | None, str] = (caller.project_id, "")
    if project is not None:
        wanted = (None, project)
        if project.startswith(f"{Prefix.PROJECT}_"):
            wanted = (_id_of(project), "")
    with connection.cursor() as cursor:
        cursor.execute("SELECT project_named(%s, %s)", wanted)
        (project_id,) = cursor.fetchone()
    if project_id is None:
        raise Invalid.field("project", NO_SUCH_PROJECT)
    found: UUID = project_id
    return found


def _named(project: str, field: str) -> Project | None:
    if project.startswith(f"{Prefix.PROJECT}_"):
        return Project.objects.filter(id=_id_of(project, field)).first()
    return Project.objects.filter(slug=project).first()


def _id_of(project: str, field: str = "project") -> UUID:
    try:
        return read_id(Prefix.PROJECT, project)
    except MalformedId as error:
        raise Invalid.field(field, f"{error}", "malformed_id") from None


def writable_projects() -> frozenset[UUID]:
    """Return the projects in which whoever's door is open may write."""
    return _projects("writable_projects")


def reviewable_projects() -> frozenset[UUID]:
    """Return the projects that whoever's door is open may review."""
    return _projects("reviewable_projects")


def _projects(function: str) -> frozenset[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}()")
        (projects,) = cursor.fetchone()
    return frozenset(projects)
