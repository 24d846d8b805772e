"""Projects, and who may see, write and review in them."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from http import HTTPStatus
from uuid import UUID

from django.utils import timezone
from guardian.shortcuts import assign_perm, remove_perm

from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id
from tenants.models import Member, Project, ProjectPermission, User
from tenants.once import Answer, writing_as
from tenants.paging import PAGE, page
from tenants.refusals import Invalid, NotFound, Refusal
from tenants.taken import must_be_free

PERMISSIONS = ("see_project", "write_project", "review_project")
# As they are called outside.
CODENAMES = {codename.removesuffix("_project"): codename for codename in PERMISSIONS}


class ProjectArchived(Refusal):
    status = HTTPStatus.CONFLICT
    title = "The project is archived"

    def __init__(self) -> None:
        super().__init__("The project is archived: nothing new is taken into it.")


def create_project(caller: Caller, *, slug: str, name: str) -> Answer:
    """
    Make a project. Nobody sees it until they are let in (set_project_permissions).

    :raises Taken: if the tenant has a project with this slug
    """
    caller.must_administer()
    with writing_as(caller) as keep:
        project = Project(tenant_id=caller.tenant_id, slug=slug, name=name)
        with _free_slug():
            project.save(force_insert=True)
        record("create_project", "project", project.id, after=project_wire(project))
        return keep(project_wire(project))


def list_projects(caller: Caller, *, cursor: str | None = None, limit: int = PAGE) -> Answer:
    """List the projects that the caller administers or sees, newest first."""
    with acting_as(caller):
        found = page(Project.objects.all(), of="projects", cursor=cursor, limit=limit)
        return found.wire([project_wire(project) for project in found.rows])


def get_project(caller: Caller, *, project_id: UUID) -> Answer:
    """Tell about a project."""
    with acting_as(caller):
        return project_wire(_existing(project_id))


def update_project(
    caller: Caller,
    *,
    project_id: UUID,
    name: str | None = None,
    slug: str | None = None,
    archived: bool | None = None,
    review_intervals: dict[str, int] | None = None,
    path_subjects: list[dict[str, str]] | None = None,
) -> Answer:
    """
    Rename a project, archive it or open it again, or say when and by what it is to be verified.

    :param review_intervals: after how many days memories of a kind are due again
    :param path_subjects: which subjects have changed when files did
    :raises Taken: if the tenant has another project with this slug
    """
    caller.must_administer()
    with writing_as(caller) as keep:
        project = _existing(project_id, locked=True)
        before = project_wire(project)
        project.name = project.name if name is None else name
        project.slug = project.slug if slug is None else slug
        if archived is not None and archived != (project.archived_at is not None):
            project.archived_at = timezone.now() if archived else None
        if review_intervals is not None:
            project.review_intervals = review_intervals
        if path_subjects is not None:
            project.path_subjects = path_subjects
        with _free_slug():
            project.save(
                update_fields=["name", "slug", "archived_at", "review_intervals", "path_subjects"]
            )
        after = project_wire(project)
        if after != before:
            record("update_project", "project", project.id, before=before, after=after)
        return keep(after)


def archive_project(caller: Caller, *, project_id: UUID) -> Answer:
    """Close a project to anything new. What it holds stays, and stays readable."""
    return update_project(caller, project_id=project_id, archived=True)


def set_project_permissions(
    caller: Caller, *, project_id: UUID, member: UUID, permissions: Sequence[str]
) -> Answer:
    """
    Say what a member may do in a project (see, write, review), in place of what they might before.

    Who may write or review may see. An empty list shuts the member out, and their agents with them.
    """
    caller.must_administer()
    with writing_as(caller) as keep:
        project = _existing(project_id, locked=True)
        found = Member.objects.filter(id=member).first()
        if found is None:
            raise Invalid.field("member", "there is no such member, or none that you may see")
        before = permissions_of(found.user_id, project)
        wanted = {CODENAMES[word] for word in permissions}
        if wanted:
            wanted.add("see_project")
        _replace(found, project, set(before), wanted)
        after = permissions_of(found.user_id, project)
        if after != before:
            record(
                "set_project_permissions",
                "project",
                project.id,
                before=_seat_wire(found, before),
                after=_seat_wire(found, after),
            )
        return keep(_seat_wire(found, after))


def _replace(member: Member, project: Project, held: set[str], wanted: set[str]) -> None:
    # Guardian wants a user and asks it for its id alone; the log-in itself is out of sight here.
    user = User(id=member.user_id)
    for codename in sorted(held - wanted):
        remove_perm(codename, user, project)
    for codename in sorted(wanted - held):
        assign_perm(codename, user, project)


def list_project_members(
    caller: Caller, *, project_id: UUID, cursor: str | None = None, limit: int = PAGE
) -> Answer:
    """List who may do what in a project."""
    caller.must_administer()
    with acting_as(caller):
        project = _existing(project_id)
        granted: dict[UUID, list[str]] = {}
        for user_id, codename in _grants(project):
            granted.setdefault(user_id, []).append(codename)
        found = page(
            Member.objects.filter(user_id__in=list(granted)),
            of=f"members of {project.id}",
            cursor=cursor,
            limit=limit,
        )
        return found.wire([_seat_wire(member, granted[member.user_id]) for member in found.rows])


def _grants(project: Project) -> Iterable[tuple[UUID, str]]:
    rows = ProjectPermission.objects.filter(content_object=project)
    return rows.values_list("user_id", "permission__codename")


def permissions_of(user_id: UUID, project: Project) -> list[str]:
    """Return what guardian's rows let somebody do in a project, by codename."""
    held = {codename for user, codename in _grants(project) if user == user_id}
    return [codename for codename in PERMISSIONS if codename in held]


def named_project(named: UUID | str, field: str = "project") -> Project:
    """
    Return the project with this id or slug. Belongs inside a door.

    :raises Invalid: naming the field, if there is none in sight
    """
    by = {"id": named} if isinstance(named, UUID) else {"slug": named}
    project = Project.objects.filter(**by).first()
    if project is None:
        raise Invalid.field(field, "there is no such project, or none that you may see")
    return project


def _existing(project_id: UUID, *, locked: bool = False) -> Project:
    found = Project.objects.select_for_update() if locked else Project.objects.all()
    project = found.filter(id=project_id).first()
    if project is None:
        raise NotFound
    return project


def _free_slug() -> AbstractContextManager[None]:
    return must_be_free("project_slug_is_taken", "slug", "another project of the tenant has it")


def project_wire(project: Project) -> Answer:
    """Return what may be told of a project."""
    return {
        "id": wire_id(Prefix.PROJECT, project.id),
        "slug": project.slug,
        "name": project.name,
        "archived": project.archived_at is not None,
        "archived_at": moment(project.archived_at),
        "review_intervals": project.review_intervals,
        "path_subjects": project.path_subjects,
        "created_at": moment(project.created_at),
    }


def words(codenames: Iterable[str]) -> list[str]:
    """Return permissions as they are called outside, in their usual order."""
    held = set(codenames)
    return [word for word, codename in CODENAMES.items() if codename in held]


def _seat_wire(member: Member, codenames: Iterable[str]) -> Answer:
    return {
        "member": wire_id(Prefix.MEMBER, member.id),
        "name": member.name,
        "permissions": words(codenames),
    }
