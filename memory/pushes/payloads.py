"""
What a push says, in the formats of GitHub and of GitLab.

Pure. GitHub: webhook event `push`. GitLab: `Push Hook`, which tells of the twenty newest commits
alone and says how many there were.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tenants.refusals import Invalid

GITHUB, GITLAB = "github", "gitlab"
_BRANCH = "refs/heads/"
LONGEST_NAME = 1000


@dataclass(frozen=True)
class Push:
    """
    What was pushed.

    :param files: paths that were added, changed or removed, each once
    :param is_whole: whether these are all; else the host told of the newest commits only
    :param commit: the commit at which the branch stands now
    """

    branch: str
    files: tuple[str, ...]
    is_whole: bool
    commit: str
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
    told = body.get("total_commits_count") if host == GITLAB else len(commits)
    repository = body.get("repository" if host == GITHUB else "project")
    about = repository if isinstance(repository, Mapping) else {}
    return Push(
        branch=reference.removeprefix(_BRANCH),
        files=tuple(dict.fromkeys(_files(commits))),
        is_whole=not (isinstance(told, int) and told > len(commits)) and not _is_forced(body),
        commit=after,
        summary=_summary(commits),
        repository=str(about.get("full_name") or about.get("path_with_namespace") or "")[:200],
        uri=_uri(body, about, after, host),
    )


def _is_forced(body: Mapping[str, Any]) -> bool:
    # What a forced push took away stands in no commit of its own.
    return body.get("forced") is True


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
        for name in ("added", "modified", "removed"):
            files = commit.get(name, [])
            if not isinstance(files, list) or not all(isinstance(one, str) for one in files):
                raise Invalid.field(f"commits[{place}].{name}", "must be a list of paths")
            yield from (one for one in files if 0 < len(one) <= LONGEST_NAME)


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
