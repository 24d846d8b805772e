"""Who may do what in which project, as a small matrix of boxes to tick."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages

from tenants import api
from tenants.admin_base import ask, show_refusal
from tenants.ids import MalformedId, Prefix, read_id, wire_id
from tenants.models import Member, Project, ProjectPermission
from tenants.projects import CODENAMES, words
from tenants.refusals import Refusal

MOST_ROWS = 300


@dataclass(frozen=True)
class Box:
    """One permission, held or not."""

    word: str
    held: bool


@dataclass(frozen=True)
class Row:
    """What one member may do in one project."""

    key: str
    label: str
    detail: str
    boxes: list[Box]


def matrix_of_member(member: Member) -> list[Row]:
    """Return what a member may do in each open project. Belongs inside a door."""
    held = _held(ProjectPermission.objects.filter(user_id=member.user_id))
    projects = Project.objects.filter(archived_at=None).order_by("slug")[:MOST_ROWS]
    return [
        _row(
            member, project, project.name, project.slug, held.get((member.user_id, project.id), ())
        )
        for project in projects
    ]


def matrix_of_project(project: Project) -> list[Row]:
    """Return what each active member may do in a project. Belongs inside a door."""
    held = _held(ProjectPermission.objects.filter(content_object=project))
    members = Member.objects.filter(active=True).order_by("name", "id")[:MOST_ROWS]
    return [
        _row(
            member,
            project,
            member.name,
            member.username,
            held.get((member.user_id, project.id), ()),
        )
        for member in members
    ]


def _held(rows: Any) -> dict[tuple[UUID, UUID], list[str]]:
    held: dict[tuple[UUID, UUID], list[str]] = {}
    for user, project, codename in rows.values_list(
        "user_id", "content_object_id", "permission__codename"
    ):
        held.setdefault((user, project), []).append(codename)
    return held


def _row(
    member: Member, project: Project, label: str, detail: str, codenames: Iterable[str]
) -> Row:
    key = f"{wire_id(Prefix.MEMBER, member.id)}:{wire_id(Prefix.PROJECT, project.id)}"
    may = words(codenames)
    return Row(key, label, detail, [Box(word, word in may) for word in CODENAMES])


def apply_matrix(request: Any) -> None:
    """
    Set what was ticked, for the rows in which something changed, and say how it went.

    The page sends which rows it showed and what was ticked in them then, so that what others set
    meanwhile in other rows stays.
    """
    changed, refused = 0, 0
    for key in request.POST.getlist("row")[:MOST_ROWS]:
        wanted = [word for word in CODENAMES if word in request.POST.getlist(key)]
        shown = request.POST.get(f"was:{key}", "").split()
        if wanted == shown:
            continue
        try:
            _set(request.caller, key, wanted)
            changed += 1
        except Refusal as refusal:
            show_refusal(request, refusal)
            refused += 1
    if changed:
        messages.success(request, "Permissions saved.")
    elif not refused:
        messages.info(request, "Nothing was changed.")


def _set(caller: Any, key: str, wanted: list[str]) -> None:
    member, _, project = key.partition(":")
    try:
        project_id = read_id(Prefix.PROJECT, project)
    except MalformedId:
        return
    ask(
        api.SET_PROJECT_PERMISSIONS,
        caller,
        {"member": member, "permissions": wanted},
        project_id=project_id,
    )
