"""Changed files, taken as changes at the subjects that their project's patterns name."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.secret_content import find_secret
from memory.trust.changes import report_change, where_changes_go
from memory.trust.paths import subjects_of
from tenants.caller import Caller
from tenants.models import Project
from tenants.once import Answer, writing_as

NAMED_FILES = 3  # in a summary


def report_files(
    caller: Caller,
    *,
    files: Sequence[str],
    summary: str,
    project: str | None = None,
    observed_at: datetime | None = None,
    source: dict[str, Any] | None = None,
) -> Answer:
    """
    Say that files of the project's repository have changed: a change at each subject they tell of.

    Which subjects those are the project's path_subjects say; what no pattern names marks nothing,
    and is told in the answer. A file whose name looks like a secret counts as any other, and its
    name is neither kept nor told: the answer says at which places of the list such names stand.

    :param files: paths within the repository, separated by /
    :raises Invalid: if the project is not there for the caller, or the time lies ahead
    :raises NotAllowed: if the caller may see the project and not write in it
    """
    with writing_as(caller) as keep:
        patterns = Project.objects.get(id=where_changes_go(caller, project)).path_subjects
        touched = subjects_of(files, patterns)
        told = report_touched(
            caller,
            touched,
            summary=summary,
            project=project,
            observed_at=observed_at,
            source=source,
        )
        known = {one for those in touched.values() for one in those}
        secret = {one for one in set(files) if find_secret(one)}
        unmapped = [one for one in dict.fromkeys(files) if one not in known | secret]
        unnamed = [f"files[{at}]" for at, one in enumerate(files) if one in secret]
        return keep(told | {"unmapped": unmapped, "unnamed": unnamed})


def report_touched(
    caller: Caller,
    touched: Mapping[str, Sequence[str]],
    *,
    summary: str,
    project: str | None = None,
    observed_at: datetime | None = None,
    source: dict[str, Any] | None = None,
) -> Answer:
    """
    Say that something changed at each of the subjects. Belongs inside the door.

    :param touched: the files that tell of it, by subject; none, if nobody knows which
    """
    told = [
        report_change(
            caller,
            project=project,
            subject=subject,
            summary=_summed_up(summary, files),
            observed_at=observed_at,
            source=source,
            # A file tells of a part; whoever names but one label for it means all that lies below.
            whole_tree="." not in subject,
        )
        for subject, files in touched.items()
    ]
    return {
        "changes": [one["event"] for one in told],
        "marked": [mark for one in told for mark in one["marked"]],
    }


def _summed_up(summary: str, files: Sequence[str]) -> str:
    told = f"{summary} ({_named(files)})" if files else summary
    # A name beside the words may make a secret of the two.
    return summary if find_secret(told) and not find_secret(summary) else told


def _named(files: Sequence[str]) -> str:
    """Return some of the names, none that looks like a secret: nobody may have chosen it."""
    shown: list[str] = []
    for file in files:
        if len(shown) == NAMED_FILES:
            break
        if find_secret(", ".join([*shown, file])) is None:
            shown.append(file)
    more = len(files) - len(shown)
    if not shown:
        return f"{more} {'file' if more == 1 else 'files'}"
    return ", ".join(shown) + (f" and {more} more" if more else "")
