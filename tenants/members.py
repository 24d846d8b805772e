"""Members: the seats of people in a tenant."""

from uuid import UUID

from django.contrib.auth.tokens import default_token_generator
from django.db import connection, models
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id
from tenants.levels import clearance
from tenants.models import Member, User
from tenants.once import Answer, writing_as
from tenants.paging import PAGE, page
from tenants.refusals import NotAllowed, NotFound, Refusal
from tenants.taken import must_be_free

UNUSABLE_PASSWORD = "!"  # noqa: S105  what enrol() writes: no password fits it


class LastAdministrator(Refusal):
    title = "The last administrator"

    def __init__(self) -> None:
        super().__init__("The tenant has no other active administrator; make somebody one first.")


def create_member(
    caller: Caller,
    *,
    username: str,
    name: str,
    role: str = Member.SeatRole.MEMBER,
    level: str | int | None = None,
    email: str = "",
) -> Answer:
    """
    Give somebody a seat in the tenant.

    Log-ins are for all tenants: who has one keeps it, and who has none gets one and an invitation,
    a path that is shown once and lets its holder choose the password.

    :raises Taken: if the person has a seat already
    """
    caller.must_administer()
    with writing_as(caller) as keep:
        number = clearance(level)
        user, is_new = _enrolled(username, email)
        member = Member(
            tenant_id=caller.tenant_id,
            user_id=user.id,
            username=username,
            name=name,
            role=role,
            level=number,
        )
        with must_be_free("member_has_a_seat_already", "username", "has a seat here already"):
            member.save(force_insert=True)
        record("create_member", "member", member.id, after=member_wire(member))
        invitation = invitation_path(user) if is_new else None
        return keep(member_wire(member)) | {"invitation": invitation}


def _enrolled(username: str, email: str) -> tuple[User, bool]:
    """Return the log-in as far as we may know it, and whether it was made just now."""
    with (
        must_be_free("users_username_key", "username", "somebody is taking it right now"),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT user_id, is_new FROM enrol(%s, %s)", [username, email])
        user_id, is_new = cursor.fetchone()
    return User(id=user_id, username=username, email=email, password=UNUSABLE_PASSWORD), is_new


def invitation_path(user: User) -> str:
    """Return the path at which a new log-in's password is chosen, while there is none."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return f"/admin/invitation/{uid}/{default_token_generator.make_token(user)}/"


def list_members(caller: Caller, *, cursor: str | None = None, limit: int = PAGE) -> Answer:
    """List the tenant's members, newest first."""
    with acting_as(caller):
        found = page(Member.objects.all(), of="members", cursor=cursor, limit=limit)
        return found.wire([member_wire(member) for member in found.rows])


def get_member(caller: Caller, *, member_id: UUID) -> Answer:
    """Tell about a member."""
    with acting_as(caller):
        member = Member.objects.filter(id=member_id).first()
        if member is None:
            raise NotFound
        return member_wire(member)


def update_member(
    caller: Caller,
    *,
    member_id: UUID,
    name: str | None = None,
    role: str | None = None,
    level: str | int | None = None,
    active: bool | None = None,
) -> Answer:
    """
    Change a member's name, role or level, or put the person out or in again.

    Who is put out is out at once, and so are their agents. No memory changes: what was written
    keeps the level that it was written at.

    :raises LastAdministrator: if nobody would be left to administer
    :raises NotAllowed: if the caller does not administer, or lost that while waiting
    """
    caller.must_administer()
    with writing_as(caller) as keep:
        member, administrators = _locked(caller, member_id)
        before = member_wire(member)
        member.name = member.name if name is None else name
        member.role = member.role if role is None else role
        member.level = member.level if level is None else clearance(level)
        member.active = member.active if active is None else active
        if administrators == {member.id} and not _administers(member):
            raise LastAdministrator
        after = member_wire(member)
        if after != before:
            # Who puts themselves out may add no event afterwards.
            record("update_member", "member", member.id, before=before, after=after)
            member.save(update_fields=["name", "role", "level", "active"])
        return keep(after)


def deactivate_member(caller: Caller, *, member_id: UUID) -> Answer:
    """
    Put a member out, and their agents with them, from this moment on.

    :raises LastAdministrator: if nobody would be left to administer
    """
    return update_member(caller, member_id=member_id, active=False)


def _administers(member: Member) -> bool:
    return member.active and member.role == Member.SeatRole.ADMIN


def _locked(caller: Caller, member_id: UUID) -> tuple[Member, set[UUID]]:
    """Return the member and who administers, all locked: two could put each other out otherwise."""
    administer = models.Q(role=Member.SeatRole.ADMIN, active=True)
    rows = Member.objects.select_for_update().filter(models.Q(id=member_id) | administer)
    found = {member.id: member for member in rows.order_by("id")}
    administrators = {member.id for member in found.values() if _administers(member)}
    if caller.member_id not in administrators:
        raise NotAllowed("You administer the tenant no more.")
    if member_id not in found:
        raise NotFound
    return found[member_id], administrators


def member_wire(member: Member) -> Answer:
    """Return what may be told of a member."""
    return {
        "id": wire_id(Prefix.MEMBER, member.id),
        "username": member.username,
        "name": member.name,
        "role": member.role,
        "level": member.level,
        "active": member.active,
        "created_at": moment(member.created_at),
    }
