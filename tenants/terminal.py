"""Who asks, where somebody at the server's own terminal asks in a member's name."""

from django.conf import settings
from django.core.management.base import CommandError

from tenants.caller import Caller, Rank, Scope
from tenants.founding import OWNER
from tenants.models import Member


def member_of(tenant: str, username: str) -> Caller:
    """
    Return a member as a caller.

    :param tenant: its short name
    :raises CommandError: if there is no such member, or nobody to ask for one
    """
    if OWNER not in settings.DATABASES:
        raise CommandError("Set OWNER_DATABASE_URL: nobody else knows all members.")
    member = (
        Member.objects.using(OWNER)
        .filter(tenant__slug=tenant, username=username, active=True)
        .first()
    )
    if member is None:
        raise CommandError(f"There is no member {username} in {tenant}.")
    return caller_of(member, scopes=frozenset(Scope), request_id="terminal")


def caller_of(member: Member, *, scopes: frozenset[Scope], request_id: str) -> Caller:
    """Return whoever asks in a member's name, without a token."""
    return Caller(
        tenant_id=member.tenant_id,
        member_id=member.id,
        name=member.name,
        level=member.level,
        rank=Rank.HUMAN,
        scopes=scopes,
        request_id=request_id,
    )
