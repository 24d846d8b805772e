"""Taking in a push: who sent it is shown by its signature, and by nothing else."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memory.parts import SecretContent
from memory.pushes.payloads import GITHUB, Push, read_push
from memory.pushes.signatures import GITHUB_SIGNATURE, is_signed, secret_of
from memory.trust.changes import where_changes_go
from memory.trust.file_changes import report_touched
from memory.trust.paths import subjects_of
from tenants.caller import Caller, Once, Rank, Scope
from tenants.ids import Prefix, wire_id
from tenants.models import Project
from tenants.once import Answer, AnsweredBefore, writing_as
from tenants.parsing import read_json
from tenants.refusals import Invalid, NotAllowed, RateLimited, Unauthenticated

MINUTE = 60  # seconds
NOT_WHOLE = (
    "it does not tell of all commits, or of more files than are looked at: every subject that a"
    " file could tell of counts"
)


NOT_SIGNED = (
    "There is no such push source, or the signature is not its own. "
    "Send JSON, with the secret that was shown when it was made or rotated."
)


@dataclass(frozen=True)
class _Source:
    """A row of the database's push_source()."""

    tenant_id: UUID
    project_id: UUID
    member_id: UUID
    host: str
    branch: str
    secret_version: int


def take_push(
    source_id: UUID, headers: Mapping[str, str], body: bytes, *, request_id: str = ""
) -> Answer:
    """
    Take in what a host sent, and return what came of it. Outside the door.

    A delivery that comes again is answered as the first time.

    :raises Unauthenticated: if there is no such source, or the signature is not its own
    :raises RateLimited: after too many in a minute
    :raises MalformedJson, Invalid: if the body is no push
    :raises NotAllowed: if the member in whose name it is reported may not write there any more
    """
    source = _source(source_id)
    if source is None or not _is_signed(source_id, source, headers, body):
        raise Unauthenticated(NOT_SIGNED)
    _count(source_id)
    is_github = source.host == GITHUB
    event = headers.get("X-GitHub-Event" if is_github else "X-Gitlab-Event") or ""
    push = read_push(source.host, event, read_json(body))
    if push is None:
        return _left_alone(f"a {event or 'nameless'} event tells of no push to a branch")
    if source.branch and push.branch != source.branch:
        return _left_alone(f"only pushes to {source.branch} count here")
    fingerprint = hashlib.sha256(body).digest()
    caller = Caller(
        tenant_id=source.tenant_id,
        member_id=source.member_id,
        name=wire_id(Prefix.PUSH_SOURCE, source_id),
        level=0,
        rank=Rank.DELIBERATE,
        scopes=frozenset({Scope.READ, Scope.WRITE}),
        project_id=source.project_id,
        personal=False,
        request_id=request_id,
        once=Once(
            endpoint=f"push:{wire_id(Prefix.PUSH_SOURCE, source_id)}",
            key=_delivery(source.host, headers, fingerprint),
            fingerprint=fingerprint,
        ),
    )
    return _taken(caller, source_id, push)


def must_be_awaited(source_id: UUID, headers: Mapping[str, str]) -> None:
    """
    Refuse what cannot be a push of the source, before much of it is read. Outside the door.

    :raises Unauthenticated: if there is no such source, or a header shows already that the
        signature is not its own
    """
    source = _source(source_id)
    if source is None or (
        # GitLab shows the secret itself; GitHub signs the body, and that is not here yet.
        not headers.get(GITHUB_SIGNATURE)
        if source.host == GITHUB
        else not _is_signed(source_id, source, headers, b"")
    ):
        raise Unauthenticated(NOT_SIGNED)


def _is_signed(source_id: UUID, source: _Source, headers: Mapping[str, str], body: bytes) -> bool:
    return is_signed(source.host, headers, body, secret_of(source_id, source.secret_version))


def _delivery(host: str, headers: Mapping[str, str], fingerprint: bytes) -> str:
    """
    Return what one delivery is known by, however often it is sent.

    What the host calls it is not enough: GitLab gives the same X-Gitlab-Event-UUID to pushes that
    brought about one another. What is in it is not enough either: a branch may go back and forth
    between two commits.
    """
    names = ("X-GitHub-Delivery",) if host == GITHUB else ("Idempotency-Key", "X-Gitlab-Event-UUID")
    name = next((told for one in names if (told := headers.get(one))), "")
    return hashlib.sha256(name.encode("utf-8", "replace") + b"\0" + fingerprint).hexdigest()


def _source(source_id: UUID) -> _Source | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM push_source(%s)", [source_id])
        row = cursor.fetchone()
    return None if row is None else _Source(*row)


def _count(source_id: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count_request(%s, 1)", [f"push:{source_id}"])
        (requests,) = cursor.fetchone()
    if requests > settings.RATE_LIMIT:
        raise RateLimited(
            f"More than {settings.RATE_LIMIT} pushes a minute.", MINUTE - timezone.now().second
        )


def _left_alone(why: str) -> Answer:
    return {"taken": False, "why": why, "changes": [], "marked": 0, "unmapped": 0}


def _taken(caller: Caller, source_id: UUID, push: Push) -> Answer:
    try:
        with writing_as(caller) as keep:
            patterns = Project.objects.get(id=where_changes_go(caller, None)).path_subjects
            touched = subjects_of(push.files, patterns)
            if not push.is_whole:
                # Nobody knows what has not changed.
                touched = {one["subject"]: [] for one in patterns} | touched
            told = _reported(caller, push, touched)
            with connection.cursor() as cursor:
                cursor.execute("SELECT note_push(%s)", [source_id])
            known = {one for files in touched.values() for one in files}
            # Shown in the host's log: which memories there are is none of its business.
            return keep(
                {
                    "taken": True,
                    "why": None if push.is_whole else NOT_WHOLE,
                    "changes": [one["subject"] for one in told["changes"]],
                    "marked": len({one["memory_id"] for one in told["marked"]}),
                    "unmapped": len(set(push.files) - known) + push.too_long,
                }
            )
    except AnsweredBefore as before:
        return before.answer
    except (Invalid, NotAllowed):
        raise NotAllowed(
            "The member in whose name this push source reports may not write in its project any "
            "more."
        ) from None


def _reported(caller: Caller, push: Push, touched: Mapping[str, Sequence[str]]) -> Answer:
    source = {"kind": "push", "uri": push.uri, "hash": push.commit}
    # A host that could not reach us tells late; its clock may be ahead.
    at = None if push.at is None else min(push.at, timezone.now())
    place = f"[{push.repository or 'the repository'}, {push.branch}]"
    try:
        summary = f"{push.summary or 'A push'} {place}"
        return report_touched(caller, touched, summary=summary, observed_at=at, source=source)
    except SecretContent:
        # A commit's message is nobody's to mend any more; that something changed must not be lost.
        bare: dict[str, Sequence[str]] = dict.fromkeys(touched, ())
        unnamed = source | {"uri": None}
        return report_touched(caller, bare, summary="A push", observed_at=at, source=unnamed)
