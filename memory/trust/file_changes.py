"""Changed files, taken as changes at the subjects that their project's patterns name."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

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
    and is told in the answer.

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
        unmapped = [one for one in dict.fromkeys(files) if one not in known]
        return keep(told | {"unmapped": unmapped})


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
            summary=f"{summary} ({_named(files)})" if files else summary,
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


def _named(files: Sequence[str]) -> str:
    first = ", ".join(files[:NAMED_FILES])
    more = len(files) - NAMED_FILES
    return f"{first} and {more} more" if more > 0 else first
