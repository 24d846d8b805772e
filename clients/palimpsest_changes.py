#!/usr/bin/env python3
"""
palimpsest-changes: tell Palimpsest which files a range of commits changed.

The project's patterns say which subjects they are about; memories that speak of those are marked
and served as "verify before use" until somebody looks. Fit for CI and for git hooks. Needs git, and
nothing beside Python's standard library.

    export PALIMPSEST_URL=http://localhost:8000 PALIMPSEST_TOKEN=plm_...
    palimpsest-changes origin/main..HEAD

Exits with 0 when the changes were taken, 1 when the server refused or could not be reached, 2 when
it was called wrongly. With --hook it reads what git gives a pre-push or post-receive hook on
standard input, and exits with 0 whatever happens: what goes wrong is said, and holds up no push.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from typing import Any

AT_A_TIME = 1000  # files in one request; the server takes no more
TIMEOUT = 30  # seconds
UNNAMED = "Files changed."
BRANCHES = "refs/heads/"


class Wrong(Exception):
    """It was called wrongly."""


class Refused(Exception):
    """The server refused, or could not be reached."""

    def __init__(self, why: str, code: str = "") -> None:
        super().__init__(why)
        self.code = code


def main(arguments: list[str] | None = None) -> int:
    """Report what changed, and return the exit status."""
    options = _options(arguments)
    worst = 0
    try:
        ranges = _ranges_of_a_hook(_lines(), options.branch) if options.hook else [options.range]
    except Wrong as error:
        ranges, worst = [], _said(error, 2)
    # What comes after one that fails has changed all the same.
    worst = max([worst, *(_tried(options, one) for one in ranges)])
    return 0 if options.hook else worst


def _tried(options: argparse.Namespace, wanted: str) -> int:
    try:
        _report(options, wanted)
    except Wrong as error:
        return _said(error, 2)
    except Refused as error:
        return _said(error, 1)
    return 0


def _said(error: Exception, status: int) -> int:
    print(f"palimpsest-changes: {error}", file=sys.stderr)
    return status


def _lines() -> list[str]:
    return sys.stdin.buffer.read().decode("utf-8", "replace").splitlines()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="palimpsest-changes",
        description="Tell Palimpsest which files a range of commits changed.",
    )
    parser.add_argument(
        "range", nargs="?", default="HEAD~1..HEAD", help="as git diff takes it (HEAD~1..HEAD)"
    )
    parser.add_argument("--project", help="id or slug; an agent's own project without it")
    parser.add_argument(
        "--summary", help="what changed, in a sentence; else the last commit's subject"
    )
    parser.add_argument(
        "--url",
        default=os.environ.get("PALIMPSEST_URL", "http://localhost:8000"),
        help="the server (PALIMPSEST_URL)",
    )
    parser.add_argument(
        "--as-of-commit",
        action="store_true",
        help="count the change from when the last commit was made, for reports that come late",
    )
    parser.add_argument("--hook", action="store_true", help="read refs from a git hook's input")
    parser.add_argument(
        "--branch",
        action="append",
        default=[],
        help="with --hook: report this branch alone; may be said several times",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only show the files that would be reported"
    )
    options = parser.parse_args(arguments)
    if options.branch and not options.hook:
        parser.error("--branch belongs to --hook; name a range instead")
    return options


def _report(options: argparse.Namespace, wanted: str) -> None:
    files = _changed_files(wanted)
    if not files:
        print(f"{wanted}: no file changed.")
        return
    if options.dry_run:
        print("\n".join(files))
        return
    commit, at, subject = _last_commit(wanted)
    marked: set[str] = set()
    subjects: set[str] = set()
    for start in range(0, len(files), AT_A_TIME):
        told: dict[str, Any] = {
            "files": files[start : start + AT_A_TIME],
            "summary": (options.summary or subject or UNNAMED)[:500],
            "source": {"kind": "git", "hash": commit},
        }
        if options.project:
            told["project"] = options.project
        if options.as_of_commit:
            told["observed_at"] = at
        answer = _taken(options, told)
        subjects.update(one["subject"] for one in answer["changes"])
        marked.update(one["memory_id"] for one in answer["marked"])
    print(
        f"{wanted}: {_count(len(files), 'file')}, {_count(len(subjects), 'subject')}"
        f"{' (' + ', '.join(sorted(subjects)) + ')' if subjects else ''},"
        f" {_count(len(marked), 'memory', 'memories')} to verify."
    )


def _taken(options: argparse.Namespace, told: dict[str, Any]) -> dict[str, Any]:
    try:
        return _send(options.url, told)
    except Refused as refused:
        if refused.code != "secret_content_rejected" or options.summary:
            raise
        # What a commit is called is nobody's to mend any more; what it changed must not be lost.
        print(f"palimpsest-changes: {refused} It is sent without.", file=sys.stderr)
        return _send(options.url, {**told, "summary": UNNAMED})


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"


def _git(setting: str, verb: str, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-c", setting, verb, *arguments],
            capture_output=True,
            check=False,
            timeout=TIMEOUT,
        )
    except OSError as error:
        raise Wrong(f"git cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Wrong(f"git {verb} takes longer than {TIMEOUT} seconds") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise Wrong(f"git {verb}: {said.splitlines()[-1] if said else 'failed'}")
    return done.stdout


def _changed_files(wanted: str) -> list[str]:
    # All that changed, from the top of the repository, wherever in it this runs and whatever its
    # settings say. Without renames both the old name and the new one are told.
    listed = _git("diff.relative=false", "diff", "--name-only", "--no-renames", "-z", wanted, "--")
    names = (name.decode("utf-8", "replace") for name in listed.split(b"\0"))
    return [name for name in names if name]


def _last_commit(wanted: str) -> tuple[str, str, str]:
    end = wanted.replace("...", "..").split("..")[-1] or "HEAD"
    told = _git(
        "log.showSignature=false", "log", "-1", "--format=%H%x00%cI%x00%s", end, "--"
    ).decode("utf-8", "replace")
    commit, at, subject = told.rstrip("\n").split("\0", 2)
    return commit, at, subject


def _ranges_of_a_hook(lines: Iterable[str], only: Sequence[str]) -> list[str]:
    """
    Return the ranges that a hook was told of.

    post-receive is told "old new ref" on each line, pre-push "ref new ref old", where the second is
    the one over there. What is deleted tells of no file, and a new branch has nothing that it could
    be compared with; a tag moves nothing.

    :param only: the branches that count; all, if none is named
    """
    ranges = []
    for line in lines:
        words = line.split()
        if len(words) == 3:
            old, new, name = words
        elif len(words) == 4:
            _, new, name, old = words
        else:
            raise Wrong(f"no line of a git hook: {line.strip()[:80]!r}")
        branch = name[len(BRANCHES) :]
        if not name.startswith(BRANCHES) or (only and branch not in only) or set(new) == {"0"}:
            continue
        if set(old) == {"0"}:
            print(f"{name} is new: name a range to report it.", file=sys.stderr)
        else:
            ranges.append(f"{old}..{new}")
    return ranges


def _send(url: str, told: dict[str, Any]) -> dict[str, Any]:
    token = os.environ.get("PALIMPSEST_TOKEN")
    if not token:
        raise Wrong("PALIMPSEST_TOKEN is not set")
    if not url.startswith(("http://", "https://")):
        raise Wrong(f"{url!r} is no address of a server: it must begin with http:// or https://")
    request = urllib.request.Request(  # noqa: S310  http and https alone
        url.rstrip("/") + "/api/v1/changes/files",
        data=json.dumps(told).encode("utf-8"),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            read: Any = json.load(answer)
    except urllib.error.HTTPError as error:
        raise _refusal(error) from None
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise Refused(f"{url} cannot be reached: {getattr(error, 'reason', error)}") from None
    if not isinstance(read, dict) or not {"changes", "marked"} <= set(read):
        raise Refused(f"{url} is no Palimpsest: its answer is another one.")
    return read


def _refusal(error: urllib.error.HTTPError) -> Refused:
    try:
        problem = json.loads(error.read().decode("utf-8"))
    except (ValueError, OSError, http.client.HTTPException):
        problem = None
    if not isinstance(problem, dict):
        return Refused(f"HTTP {error.code}")
    code = str(problem.get("code"))
    return Refused(f"{error.code} {code}: {problem.get('detail')}", code)


if __name__ == "__main__":
    sys.exit(main())
