"""Where pushes may come from: for each repository a place with a secret of its own."""

from uuid import UUID

from django.db.models import F

from memory.models import PushSource
from memory.pushes.payloads import without_prefix
from memory.pushes.signatures import secret_of
from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, new_id, wire_id
from tenants.models import Member, Project
from tenants.once import Answer, writing_as
from tenants.paging import PAGE, page
from tenants.projects import ProjectArchived, named_project, permissions_of
from tenants.refusals import Invalid, NotFound


def create_push_source(
    caller: Caller,
    *,
    name: str,
    project: UUID | str,
    host: str,
    member: UUID | None = None,
    branch: str = "",
) -> Answer:
    """
    Make a place to which GitHub or GitLab sends the pushes of a repository.

    The answer names the path to send them to and the secret to sign them with, which is shown now
    and when it is rotated.

    :param member: in whose name changes are reported: one who writes in the project; the caller if
        nobody is named
    :param branch: the one branch that counts; every branch, if none is named
    """
    caller.must_administer()
    with writing_as(caller) as keep:
        where = named_project(project)
        if where.archived_at is not None:
            raise ProjectArchived
        source = PushSource(
            id=new_id(),
            tenant_id=caller.tenant_id,
            project_id=where.id,
            name=name,
            host=host,
            member_id=_reporter(member or caller.member_id, where).id,
            branch=without_prefix(branch),
        )
        source.save(force_insert=True)
        source.refresh_from_db(fields=["created_at"])
        record("create_push_source", "push_source", source.id, after=source_wire(source))
        return keep(_with_secret(source))


def _reporter(member_id: UUID, project: Project) -> Member:
    member = Member.objects.filter(id=member_id, active=True).first()
    if member is None:
        raise Invalid.field("member", "there is no such member, or none that is active")
    if "write_project" not in permissions_of(member.user_id, project):
        raise Invalid.field("member", "must be somebody who may write in the project")
    return member


def list_push_sources(caller: Caller, *, cursor: str | None = None, limit: int = PAGE) -> Answer:
    """List where pushes come from, newest first."""
    caller.must_administer()
    with acting_as(caller):
        found = page(PushSource.objects.all(), of="push sources", cursor=cursor, limit=limit)
        return found.wire([source_wire(one) for one in found.rows])


def get_push_source(caller: Caller, *, source_id: UUID) -> Answer:
    """Tell where pushes come from."""
    caller.must_administer()
    with acting_as(caller):
        return source_wire(_existing(source_id))


def update_push_source(
    caller: Caller,
    *,
    source_id: UUID,
    name: str | None = None,
    branch: str | None = None,
    active: bool | None = None,
) -> Answer:
    """Rename a push source, let another branch count, or put it out or in again."""
    caller.must_administer()
    with writing_as(caller) as keep:
        source = _existing(source_id)
        before = source_wire(source)
        source.name = source.name if name is None else name
        source.branch = source.branch if branch is None else without_prefix(branch)
        source.active = source.active if active is None else active
        source.save(update_fields=["name", "branch", "active"])
        after = source_wire(source)
        if after != before:
            record("update_push_source", "push_source", source.id, before=before, after=after)
        return keep(after)


def deactivate_push_source(caller: Caller, *, source_id: UUID) -> Answer:
    """Take nothing more from a push source; what it reported stays."""
    return update_push_source(caller, source_id=source_id, active=False)


def rotate_push_source(caller: Caller, *, source_id: UUID) -> Answer:
    """Give a push source another secret; the one before is worthless from now on."""
    caller.must_administer()
    with writing_as(caller) as keep:
        source = _existing(source_id)
        PushSource.objects.filter(id=source.id).update(secret_version=F("secret_version") + 1)
        source.refresh_from_db(fields=["secret_version"])
        record("rotate_push_source", "push_source", source.id)
        return keep(_with_secret(source))


def _existing(source_id: UUID) -> PushSource:
    found = PushSource.objects.filter(id=source_id).first()
    if found is None:
        raise NotFound
    return found


def source_wire(source: PushSource) -> Answer:
    """Return what may be told of a push source: never its secret."""
    named = wire_id(Prefix.PUSH_SOURCE, source.id)
    return {
        "id": named,
        "name": source.name,
        "project": wire_id(Prefix.PROJECT, source.project_id),
        "host": source.host,
        "member": wire_id(Prefix.MEMBER, source.member_id),
        "branch": source.branch,
        "active": source.active,
        "path": f"/api/v1/push-sources/{named}/pushes",
        "created_at": moment(source.created_at),
        "last_push_at": moment(source.last_push_at),
    }


def _with_secret(source: PushSource) -> Answer:
    return source_wire(source) | {"secret": secret_of(source.id, source.secret_version)}
