"""
What a push says, in the formats of GitHub and of GitLab.

Pure. GitHub: webhook event `push`. GitLab: `Push Hook`, which tells of the twenty newest commits
alone and says how many there were.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.dateparse import parse_datetime

from tenants.refusals import Invalid

GITHUB, GITLAB = "github", "gitlab"
_BRANCH = "refs/heads/"
LONGEST_NAME = 1000
# GitHub tells of no more commits than this, nor of more files in one, and not that there are more.
MOST_COMMITS = 2048
MOST_FILES_OF_A_COMMIT = 3000
# More than these nobody compares with patterns, one by one, while the host waits.
MOST_FILES = 10_000
_SECOND = timedelta(seconds=1)
_LISTS = ("added", "modified", "removed")


@dataclass(frozen=True)
class Push:
    """
    What was pushed.

    :param files: paths that were added, changed or removed, each once
    :param too_long: how many more there are whose names are too long to be compared with a pattern
    :param is_whole: whether these are all; else nobody knows what else has changed
    :param commit: the commit at which the branch stands now
    :param at: by when it was pushed, where the host tells; nothing where it does not. When a commit
        was made says nothing of that: it may be days before
    """

    branch: str
    files: tuple[str, ...]
    too_long: int
    is_whole: bool
    commit: str
    at: datetime | None
    summary: str
    repository: str
    uri: str | None


def read_push(host: str, event: str, body: Any) -> Push | None:
    """
    Return what was pushed to a branch; nothing where it tells of something else.

    A deleted branch and a tag are something else, and so are all other events.

    :param event: the header X-GitHub-Event or X-Gitlab-Event
    :raises Invalid: if the body is no push of this host's
    """
    if event not in ("push", "Push Hook"):
        return None
    if not isinstance(body, Mapping):
        raise Invalid.field("body", "must be an object: a push")
    reference = _text(body, "ref")
    after = _text(body, "after")
    if not reference.startswith(_BRANCH) or not after.strip("0"):
        return None
    commits = _commits(body)
    files = dict.fromkeys(_files(commits))
    is_many = len(files) > MOST_FILES
    if is_many:
        files = {}
    short = tuple(one for one in files if len(one) <= LONGEST_NAME)
    repository = body.get("repository" if host == GITHUB else "project")
    about = repository if isinstance(repository, Mapping) else {}
    return Push(
        branch=without_prefix(reference),
        files=short,
        too_long=len(files) - len(short),
        is_whole=not is_many and _is_whole(body, commits, after, host),
        commit=after,
        at=_end_of_second(about.get("pushed_at")),
        summary=_summary(commits),
        repository=str(about.get("full_name") or about.get("path_with_namespace") or "")[:200],
        uri=_uri(body, about, after, host),
    )


def without_prefix(reference: str) -> str:
    """Return a branch as people call it, however it is named in full."""
    return reference.strip().removeprefix(_BRANCH)


def _is_whole(
    body: Mapping[str, Any], commits: list[Mapping[str, Any]], after: str, host: str
) -> bool:
    # What a forced push took away stands in no commit of its own. GitLab says of none that it was
    # forced, and one that only goes back has no commits.
    before = body.get("before")
    if body.get("forced") is True:
        return False
    if not commits and isinstance(before, str) and before.strip("0") and before != after:
        return False
    told = body.get("total_commits_count" if host == GITLAB else "size")
    if isinstance(told, int) and told > len(commits):
        return False
    if host == GITLAB:
        return True
    return len(commits) < MOST_COMMITS and not any(map(_is_cut_off, commits))


def _is_cut_off(commit: Mapping[str, Any]) -> bool:
    return sum(len(commit.get(name, ())) for name in _LISTS) >= MOST_FILES_OF_A_COMMIT


def _end_of_second(told: Any) -> datetime | None:
    """Return the end of the second that a host tells: what was written earlier in it is older."""
    at = _moment(told)
    try:
        return at if at is None or at.microsecond else at + _SECOND
    except OverflowError:
        return None


def _moment(told: Any) -> datetime | None:
    """Return a time that a host tells, in seconds or in words; nothing where it is none."""
    try:
        if isinstance(told, int) and not isinstance(told, bool):
            return datetime.fromtimestamp(told, UTC)
        read = parse_datetime(told) if isinstance(told, str) else None
        if read is None:
            return None
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
        raise Invalid.field(name, "must be a text, as the host sends it")
    return value


def _commits(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    commits = body.get("commits")
    if not isinstance(commits, list) or not all(isinstance(one, Mapping) for one in commits):
        raise Invalid.field("commits", "must be a list of commits, as the host sends it")
    return commits


def _files(commits: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for place, commit in enumerate(commits):
        for name in _LISTS:
            files = commit.get(name, [])
            if not isinstance(files, list) or not all(isinstance(one, str) for one in files):
                raise Invalid.field(f"commits[{place}].{name}", "must be a list of paths")
            yield from filter(None, files)


def _summary(commits: list[Mapping[str, Any]]) -> str:
    """Return the first line of the newest commit's message."""
    message = commits[-1].get("message") if commits else None
    return (
        message.strip().splitlines()[0][:300]
        if isinstance(message, str) and message.strip()
        else ""
    )


def _uri(body: Mapping[str, Any], about: Mapping[str, Any], after: str, host: str) -> str | None:
    compare = body.get("compare")
    if isinstance(compare, str) and compare.startswith("https://"):
        return compare[:LONGEST_NAME]
    home = about.get("web_url") if host == GITLAB else about.get("html_url")
    if isinstance(home, str) and home.startswith(("https://", "http://")):
        return f"{home}/{'-/' if host == GITLAB else ''}commit/{after}"[:LONGEST_NAME]
    return None
