"""
Tokens: what they look like, and how they are given, rotated and revoked.

A token is `plm_`, thirty random characters of base 62 (178 bits) and six that check them (their
CRC-32, in base 62), so that a scanner or a server can tell a mistyped one without asking anybody.
Only its SHA-256 is kept: there is nothing to guess in 178 random bits, so a slow hash buys nothing.
"""

import hashlib
import re
import secrets
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from tenants.audit import record
from tenants.caller import Caller, Scope
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.models import Agent, Token
from tenants.once import Answer, writing_as
from tenants.paging import PAGE, page
from tenants.projects import named_project
from tenants.refusals import Invalid, NotAllowed, NotFound, Refusal

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = re.compile(r"plm_[0-9A-Za-z]{36}")
LONGEST_GRACE = timedelta(days=7)


class TokenOver(Refusal):
    title = "The token is over"

    def __init__(self) -> None:
        super().__init__("The token was rotated or revoked, or has expired; make a new one.")


@dataclass(frozen=True)
class NewToken:
    """A token in the clear, for the one moment in which it is shown."""

    text: str

    @property
    def digest(self) -> bytes:
        return digest_of(self.text)

    @property
    def last_four(self) -> str:
        return self.text[-4:]


def make_token() -> NewToken:
    """Return a token that nobody has had before."""
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(30))
    return NewToken(f"plm_{secret}{_check_characters(secret)}")


def _check_characters(secret: str) -> str:
    number = zlib.crc32(secret.encode("ascii"))
    characters = ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        characters = _ALPHABET[digit] + characters
    return characters


def is_well_formed(text: str) -> bool:
    """Return whether the text has the form of a token and its check characters are right."""
    return bool(_SHAPE.fullmatch(text)) and _check_characters(text[4:34]) == text[34:]


def digest_of(text: str) -> bytes:
    """Return what is kept of a token."""
    return hashlib.sha256(text.encode("ascii")).digest()


def create_token(
    caller: Caller,
    *,
    name: str,
    kind: str,
    scopes: Sequence[str],
    agent: UUID | None = None,
    project: UUID | str | None = None,
    personal: bool = False,
    expires_at: datetime | None = None,
) -> Answer:
    """
    Make a token for oneself or for an agent, and show it once.

    It never reaches further than the caller: no scope that the caller lacks, and a member's
    personal layer only for that member's own agents.

    :raises NotAllowed: if the caller does not administer, or the token would reach further
    """
    caller.must_administer()
    _must_fit(kind, scopes, agent, project, expires_at)
    with writing_as(caller) as keep:
        token = Token(
            tenant_id=caller.tenant_id,
            name=name,
            kind=kind,
            member_id=None if agent else caller.member_id,
            agent=_named_agent(agent),
            project=None if project is None else named_project(project),
            personal=personal or (agent is None and caller.personal),
            # In one order and each once, however they were said.
            scopes=[scope.value for scope in Scope if scope in scopes],
            expires_at=expires_at,
        )
        _must_reach_no_further(caller, token)
        made = _store(token)
        record("create_token", "token", token.id, after=token_wire(token))
        return keep(token_wire(token)) | {"token": made.text}


def _must_fit(
    kind: str,
    scopes: Sequence[str],
    agent: UUID | None,
    project: UUID | str | None,
    expires_at: datetime | None,
) -> None:
    """
    Refuse what contradicts itself.

    :raises Invalid: naming the field
    """
    if expires_at is not None and expires_at <= timezone.now():
        raise Invalid.field("expires_at", "lies in the past; leave it out for a token without end")
    if (kind == Token.Kind.HUMAN) != (agent is None):
        raise Invalid.field("agent", "belongs to an agent's or a watcher's token, and only there")
    if agent is not None and project is not None:
        raise Invalid.field("project", "an agent works in its own project; leave it out")
    if kind != Token.Kind.HUMAN and (Scope.REVIEW in scopes or Scope.ADMIN in scopes):
        raise Invalid.field("scopes", "no agent reviews or administers")
    if project is not None and Scope.ADMIN in scopes:
        raise Invalid.field("scopes", "a token for one project does not administer the tenant")


def _named_agent(agent: UUID | None) -> Agent | None:
    if agent is None:
        return None
    found = Agent.objects.filter(id=agent).first()
    if found is None:
        raise Invalid.field("agent", "there is no such agent, or none that you may see")
    return found


def _must_reach_no_further(caller: Caller, token: Token) -> None:
    """
    Refuse to hand out what the caller does not have. Who gets the token gets all that it opens.

    :raises NotAllowed: if the token would reach further than the caller
    """
    beyond = sorted(set(token.scopes) - {scope.value for scope in caller.scopes})
    if beyond:
        raise NotAllowed(f"Your token lacks {', '.join(beyond)}, so it cannot give that away.")
    agent = token.agent
    if agent is None and token.member_id != caller.member_id:
        raise NotAllowed("Only its holder may renew a person's token.")
    if agent is not None and token.personal and agent.sponsor_id != caller.member_id:
        raise NotAllowed("Only the sponsor may open the personal layer to an agent.")
    if token.personal and not caller.personal:
        raise NotAllowed("Your token does not open the personal layer, so no other may.")


def _store(token: Token) -> NewToken:
    made = make_token()
    token.digest = made.digest
    token.last_four = made.last_four
    token.save(force_insert=True)
    return made


def list_tokens(caller: Caller, *, cursor: str | None = None, limit: int = PAGE) -> Answer:
    """List the tokens that the caller may know of, newest first; never the tokens themselves."""
    with acting_as(caller):
        found = page(Token.objects.all(), of="tokens", cursor=cursor, limit=limit)
        return found.wire([token_wire(token) for token in found.rows])


def get_token(caller: Caller, *, token_id: UUID) -> Answer:
    """Tell about a token, but never the token itself."""
    with acting_as(caller):
        return token_wire(_existing(token_id))


def rotate_token(caller: Caller, *, token_id: UUID, grace_seconds: int = 0) -> Answer:
    """
    Replace a token by a new one like it; the old one works on for the time of grace.

    :raises NotAllowed: if the caller does not administer, or could not have made such a token
    :raises TokenOver: if there is nothing left to replace
    """
    caller.must_administer()
    with writing_as(caller) as keep:
        old = _existing(token_id, locked=True)
        _must_reach_no_further(caller, old)
        now = timezone.now()
        if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
            raise TokenOver
        new = Token(
            tenant_id=caller.tenant_id,
            name=old.name,
            kind=old.kind,
            member_id=old.member_id,
            agent_id=old.agent_id,
            project_id=old.project_id,
            personal=old.personal,
            scopes=old.scopes,
            expires_at=old.expires_at,
        )
        made = _store(new)
        old.revoked_at = now + timedelta(seconds=grace_seconds)
        old.rotated_to = new
        old.save(update_fields=["revoked_at", "rotated_to"])
        record("rotate_token", "token", old.id, after=token_wire(new))
        return keep(token_wire(new)) | {"token": made.text}


def revoke_token(caller: Caller, *, token_id: UUID) -> Answer:
    """Make a token worthless from this moment on."""
    caller.must_administer()
    with writing_as(caller) as keep:
        token = _existing(token_id, locked=True)
        now = timezone.now()
        if token.revoked_at is None or token.revoked_at > now:
            token.revoked_at = now
            token.save(update_fields=["revoked_at"])
            record("revoke_token", "token", token.id, after=token_wire(token))
        return keep(token_wire(token))


def _existing(token_id: UUID, *, locked: bool = False) -> Token:
    found = Token.objects.select_for_update() if locked else Token.objects.all()
    token = found.filter(id=token_id).first()
    if token is None:
        raise NotFound
    return token


def token_wire(token: Token) -> Answer:
    """Return what may be told of a token."""
    return {
        "id": wire_id(Prefix.TOKEN, token.id),
        "name": token.name,
        "kind": token.kind,
        "member": wire_id_or_none(Prefix.MEMBER, token.member_id),
        "agent": wire_id_or_none(Prefix.AGENT, token.agent_id),
        "project": wire_id_or_none(Prefix.PROJECT, token.project_id),
        "personal": token.personal,
        "scopes": list(token.scopes),
        "last_four": token.last_four,
        "expires_at": moment(token.expires_at),
        "revoked_at": moment(token.revoked_at),
        "created_at": moment(token.created_at),
    }
