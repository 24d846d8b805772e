#!/usr/bin/env python3
"""
palimpsest-changes: tell Palimpsest which files a range of commits changed.

The project's patterns say which subjects they are about; memories that speak of those are marked
and served as "verify before use" until somebody looks. Fit for CI and for git hooks. Needs git, and
nothing beside Python's standard library.

    export PALIMPSEST_URL=http://localhost:8000 PALIMPSEST_TOKEN=plm_...
    palimpsest-changes origin/main..HEAD

Without a range it reports the last commit. 0000000..HEAD, as a host calls a branch that is new,
reports all its commits that no other branch has.

Exits with 0 when the changes were taken, 1 when the server refused or could not be reached, 2 when
it was called wrongly. With --hook it reads what git gives a pre-push or post-receive hook on
standard input, and exits with 0 whatever happens: what goes wrong is said, and holds up no push.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

AT_A_TIME = 1000  # files in one request; the server takes no more
LARGEST = 700_000  # bytes of names in one request; it takes 1 MiB in all
NAMED = 3  # files that are left out
TIMEOUT = 30  # seconds
SHORTEST = 7  # digits of a commit
UNNAMED = "Files changed."
BRANCHES, REMOTES = "refs/heads/", "refs/remotes/"
TOO_SHALLOW = (
    "This checkout holds the newest commits alone. Fetch more of them (GitHub Actions: fetch-depth:"
    ' 0 at actions/checkout; GitLab CI: GIT_DEPTH: "0"; elsewhere: git fetch --unshallow), or name'
    " a range of commits that are here."
)
NOT_HERE = "Name a range of commits that are here, such as HEAD~1..HEAD."


class Span(NamedTuple):
    """
    Commits whose files are reported.

    :param name: how they are called where something is said of them
    :param end: the last of them
    :param listing: what git is to be asked for their files, and what it is to be told then
    """

    name: str
    end: str
    listing: tuple[str, ...]
    said: str = ""


class Wrong(Exception):
    """It was called wrongly."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: the token is meant for one server."""

    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect."""
        return


class Refused(Exception):
    """The server refused, or could not be reached."""

    def __init__(self, why: str, code: str = "", fields: Iterable[str] = ()) -> None:
        super().__init__(why)
        self.code, self.fields = code, frozenset(fields)


def main(arguments: list[str] | None = None) -> int:
    """Report what changed, and return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal of few characters must not stop what has nothing to do with it.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = _options(arguments)
    worst = 0
    try:
        spans = _of_a_hook(_lines(), options.branch) if options.hook else [_span(options.range)]
    except Wrong as error:
        spans, worst = [], _said(error, 2)
    # What comes after one that fails has changed all the same.
    worst = max([worst, *(_tried(options, one) for one in spans)])
    return 0 if options.hook else worst


def _tried(options: argparse.Namespace, span: Span) -> int:
    try:
        _report(options, span)
    except Wrong as error:
        return _said(error, 2)
    except Refused as error:
        return _said(error, 1)
    return 0


def _say(what: str) -> None:
    print(f"palimpsest-changes: {what}", file=sys.stderr)


def _said(error: Exception, status: int) -> int:
    _say(str(error))
    return status


def _lines() -> list[str]:
    return sys.stdin.buffer.read().decode("utf-8", "replace").splitlines()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="palimpsest-changes",
        description="Tell Palimpsest which files a range of commits changed.",
    )
    parser.add_argument("range", nargs="?", help="as git diff takes it; the last commit without it")
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


def _report(options: argparse.Namespace, span: Span) -> None:
    files = _changed_files(span)
    if not files:
        print(f"{span.name}: no file changed.")
        return
    if options.dry_run:
        print("\n".join(files))
        return
    commit, at, seconds, subject = _last_commit(span.end)
    told: dict[str, Any] = {
        "summary": (options.summary or subject or UNNAMED)[:500],
        "source": {"kind": "git", "hash": commit},
    }
    if options.project:
        told["project"] = options.project
    # A clock that is fast has made no change in time to come: then it counts from now.
    if options.as_of_commit and seconds <= time.time():
        told["observed_at"] = at
    subjects: set[str] = set()
    marked: set[str] = set()
    sent, refusals = 0, []
    for some in _batches(files):
        try:
            answer, taken = _taken(options, {**told, "files": some})
        except Refused as refused:
            if not refused.code:
                raise
            # What comes after has changed all the same.
            refusals.append(refused)
            continue
        sent += taken
        subjects.update(one["subject"] for one in answer["changes"])
        marked.update(one["memory_id"] for one in answer["marked"])
    if sent or not refusals:
        print(
            f"{span.name}: {_count(sent, 'file')}, {_count(len(subjects), 'subject')}"
            f"{' (' + ', '.join(sorted(subjects)) + ')' if subjects else ''},"
            f" {_count(len(marked), 'memory', 'memories')} to verify."
        )
    if refusals:
        raise refusals[0]


def _batches(files: Iterable[str]) -> Iterator[list[str]]:
    """Return the files, as many at a time as the server takes."""
    some: list[str] = []
    size = 0
    for file in files:
        length = len(json.dumps(file)) + 2
        if some and (len(some) == AT_A_TIME or size + length > LARGEST):
            yield some
            some, size = [], 0
        some.append(file)
        size += length
    yield some


def _taken(options: argparse.Namespace, told: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return what the server answered, and how many of the files it took: all that it can."""
    if not told["files"]:
        return {"changes": [], "marked": []}, 0
    try:
        answer = _send(options.url, told)
    except Refused as refused:
        return _taken(options, _without_what_is_refused(options, told, refused))
    if unnamed := answer.get("unnamed"):
        _say(f"{_count(len(unnamed), 'file')} named like a secret: reported without the name.")
    return answer, len(told["files"])


def _without_what_is_refused(
    options: argparse.Namespace, told: dict[str, Any], refused: Refused
) -> dict[str, Any]:
    """
    Return what is left to be told: nobody renames a file or a commit for this.

    :raises Refused: if it was refused for something else
    """
    files = told["files"]
    refusable = {at for at in range(len(files)) if f"files[{at}]" in refused.fields}
    if refusable:
        names = ", ".join(repr(files[at][:80]) for at in sorted(refusable)[:NAMED])
        _say(f"{_count(len(refusable), 'file')} left out, such as {names}: {refused}"[:1000])
        return {**told, "files": [one for at, one in enumerate(files) if at not in refusable]}
    if "summary" in refused.fields and not options.summary and told["summary"] != UNNAMED:
        _say(f"{refused} It is sent without.")
        return {**told, "summary": UNNAMED}
    raise refused


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"


def _git(verb: str, *arguments: str, said: str = "") -> str:
    # All that changed, from the top of the repository, wherever in it this runs and whatever its
    # settings say.
    settings = (
        *("diff.relative=false", "log.showSignature=false", "log.showRoot=true"),
        *("i18n.logOutputEncoding=utf-8", "color.ui=false"),
    )
    try:
        done = subprocess.run(
            ["git", *(word for one in settings for word in ("-c", one)), verb, *arguments],
            input=said.encode(),
            capture_output=True,
            check=False,
            timeout=TIMEOUT,
        )
    except OSError as error:
        raise Wrong(f"git cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Wrong(f"git {verb} takes longer than {TIMEOUT} seconds") from None
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip()
        raise Wrong(f"git {verb}: {why.splitlines()[-1] if why else 'failed'}")
    return done.stdout.decode("utf-8", "replace")


def _is_there(commit: str) -> bool:
    try:
        return bool(_git("rev-parse", "--quiet", "--verify", f"{commit}^{{commit}}"))
    except Wrong:
        return False


def _is_shallow() -> bool:
    return _git("rev-parse", "--is-shallow-repository").strip() == "true"


def _changed_files(span: Span) -> list[str]:
    # Without renames both the old name and the new one are told.
    verb, *rest = span.listing
    options = ("--name-only", "--no-renames", "--ignore-submodules=none", "-z")
    try:
        listed = _git(verb, *options, *rest, "--", said=span.said)
    except Wrong as error:
        raise Wrong(f"{error}. {TOO_SHALLOW if _is_shallow() else NOT_HERE}") from None
    return list(dict.fromkeys(filter(None, listed.split("\0"))))


def _last_commit(end: str) -> tuple[str, str, int, str]:
    told = _git("log", "-1", "--format=%H%x00%cI%x00%ct%x00%s", end, "--")
    commit, at, seconds, subject = told.rstrip("\n").split("\0", 3)
    return commit, at, int(seconds), subject


def _span(wanted: str | None) -> Span:
    """Return the commits of a range; the last one, if none is named."""
    if wanted is None:
        return _of_the_last_commit()
    old, _, new = wanted.partition("..")
    if new and len(old) >= SHORTEST and set(old) == {"0"}:
        if _is_shallow():
            raise Wrong(f"{wanted} is a new branch. {TOO_SHALLOW}")
        new = new.lstrip(".")
        (at,) = _git("rev-parse", "--verify", f"{new}^{{commit}}").split()
        # Which of them is the new branch itself is not said.
        known = {tip for tip in _tips(BRANCHES, REMOTES).values() if tip != at}
        return _of_a_new_branch(new, at, known)
    return Span(wanted, _end(wanted), ("diff", wanted))


def _end(wanted: str) -> str:
    """Return the last commit of a range."""
    old, dots, new = wanted.replace("...", "..").partition("..")
    if not dots and "^!" not in old and "^-" not in old:
        # A commit by itself is compared with what is checked out, which comes after it.
        return "HEAD"
    return (new if dots else old) or "HEAD"


def _of_the_last_commit() -> Span:
    if _is_there("HEAD~1"):
        return _span("HEAD~1..HEAD")
    if not _is_there("HEAD"):
        raise Wrong("there is no commit here yet, or this is no repository")
    if _is_shallow():
        raise Wrong(f"the commit before HEAD is not here. {TOO_SHALLOW}")
    nothing = _git("hash-object", "-t", "tree", "--stdin").strip()
    return Span("the first commit", "HEAD", ("diff", f"{nothing}..HEAD"))


def _of_a_new_branch(name: str, new: str, known: Iterable[str]) -> Span:
    """Return the commits of a branch that are in nothing that is known."""
    # Of a merge what differs from all that it merges; the rest stands in commits of its own.
    said = "".join(f"{one}\n" for one in [new, *(f"^{tip}" for tip in known)])
    return Span(f"{name} (new)", new, ("log", "-c", "--format=", "--stdin"), said)


def _tips(*where: str) -> dict[str, str]:
    """Return the commits of references by their names."""
    listed = _git("for-each-ref", "--format=%(refname) %(objectname)", *where)
    return dict(line.rsplit(" ", 1) for line in listed.splitlines())


def _of_a_hook(lines: Iterable[str], only: Sequence[str]) -> list[Span]:
    """
    Return the commits that a hook was told of.

    post-receive is told "old new ref" on each line, pre-push "ref new ref old", where the second is
    the one over there. What is deleted tells of no file; a tag moves nothing.

    :param only: the branches that count; all, if none is named
    """
    moved: list[tuple[str, str, str]] = []
    is_here = True
    for line in lines:
        words = line.split()
        if len(words) == 3:
            old, new, name = words
        elif len(words) == 4:
            _, new, name, old = words
            is_here = False
        else:
            raise Wrong(f"no line of a git hook: {line.strip()[:80]!r}")
        moved.append((name, old, new))
    spans = []
    for name, old, new in moved:
        branch = name[len(BRANCHES) :]
        if not name.startswith(BRANCHES) or (only and branch not in only) or set(new) == {"0"}:
            continue
        if set(old) != {"0"}:
            spans.append(_span(f"{old}..{new}"))
        else:
            spans.append(_of_a_new_branch(branch, new, _known_before(moved, is_here=is_here)))
    return spans


def _known_before(moved: Sequence[tuple[str, str, str]], *, is_here: bool) -> set[str]:
    """Return the commits at which branches stood before a push, where it arrives."""
    if not is_here:
        return set(_tips(REMOTES).values())
    names = {name for name, _, _ in moved}
    others = {tip for name, tip in _tips(BRANCHES, REMOTES).items() if name not in names}
    return others | {old for _, old, _ in moved if set(old) != {"0"}}


def _send(url: str, told: dict[str, Any]) -> dict[str, Any]:
    token = os.environ.get("PALIMPSEST_TOKEN", "").strip()
    if not token:
        raise Wrong("PALIMPSEST_TOKEN is not set")
    if not (token.isascii() and token.isprintable()):
        raise Wrong("PALIMPSEST_TOKEN has characters in it that no token has")
    if not url.startswith(("http://", "https://")):
        raise Wrong(f"{url!r} is no address of a server: it must begin with http:// or https://")
    request = urllib.request.Request(  # noqa: S310  http and https alone
        url.rstrip("/") + "/api/v1/changes/files",
        data=json.dumps(told).encode("utf-8"),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        method="POST",
    )
    try:
        opener = urllib.request.build_opener(NoRedirects)
        with opener.open(request, timeout=TIMEOUT) as answer:
            read: Any = json.load(answer)
    except urllib.error.HTTPError as error:
        raise _refusal(error) from None
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise Refused(f"{url} cannot be reached: {getattr(error, 'reason', error)}") from None
    if not isinstance(read, dict) or not {"changes", "marked"} <= set(read):
        raise Refused(f"{url} is no Palimpsest: its answer is another one.")
    return read


def _refusal(error: urllib.error.HTTPError) -> Refused:
    if elsewhere := error.headers.get("Location"):
        return Refused(f"it is elsewhere, at {elsewhere}: set PALIMPSEST_URL to that server")
    try:
        problem = json.loads(error.read().decode("utf-8"))
    except (ValueError, OSError, http.client.HTTPException):
        problem = None
    if not isinstance(problem, dict):
        return Refused(f"HTTP {error.code}")
    code = str(problem.get("code"))
    errors = problem.get("errors")
    fields = [
        str(one.get("field"))
        for one in (errors if isinstance(errors, list) else [])
        if isinstance(one, dict)
    ]
    return Refused(f"{error.code} {code}: {problem.get('detail')}", code, fields)


if __name__ == "__main__":
    sys.exit(main())
