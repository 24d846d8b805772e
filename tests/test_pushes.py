"""A push to a repository is a change at the subjects of its files, if it is signed."""

import hashlib
import hmac
import json
import subprocess
import sys
import unicodedata
import uuid
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from memory.models import Change
from memory.pushes.payloads import read_push
from memory.trust.paths import subjects_of
from tenants.founding import OWNER
from tenants.ids import Prefix, wire_id
from tenants.models import Project, ProjectPermission
from tests.memories import done, kept, refused, seen
from tests.web_process import web_process

pytestmark = pytest.mark.rule("SB-09")

DATA = Path(__file__).parent / "data"
PATTERNS = [
    {"pattern": "deploy/**", "subject": "deployment.host"},
    {"pattern": "Makefile", "subject": "build.command"},
    {"pattern": "docs/**", "subject": "docs.style"},
]
COMMAND = Path(__file__).parent.parent / "clients" / "palimpsest_changes.py"


def payload(host: str, ago: timedelta = timedelta(seconds=-30)) -> dict[str, Any]:
    """Return what a host sends of a push that long ago; its clock may be ahead."""
    told: dict[str, Any] = json.loads((DATA / f"push_{host}.json").read_text("utf-8"))
    at = datetime.now(UTC) - ago
    if host == "github":
        told["repository"]["pushed_at"] = int(at.timestamp())
    for commit in told["commits"]:
        commit["timestamp"] = at.astimezone(timezone(timedelta(hours=2))).isoformat()
    return told


def with_patterns(office) -> None:
    Project.objects.using(OWNER).filter(id=office.apollo.id).update(path_subjects=PATTERNS)


def source_of(office, host: str, **more: Any) -> dict[str, Any]:
    with_patterns(office)
    body = {
        "name": "apollo's repository",
        "project": "apollo",
        "host": host,
        "member": wire_id(Prefix.MEMBER, office.senior.member.id),
        **more,
    }
    made: dict[str, Any] = done(office.admin.post("/push-sources", body))
    return made


def send(source: dict[str, Any], body: Any, *, secret: str | None = None, **headers: str) -> Any:
    text = json.dumps(body).encode()
    key = secret or source["secret"]
    if source["host"] == "github":
        signature = hmac.new(key.encode(), text, hashlib.sha256).hexdigest()
        shown = {
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-Hub-Signature-256": f"sha256={signature}",
        }
    else:
        shown = {
            "X-Gitlab-Event": "Push Hook",
            "X-Gitlab-Event-UUID": str(uuid.uuid4()),
            "X-Gitlab-Token": key,
        }
    return Client().post(
        source["path"], text, content_type="application/json", headers={**shown, **headers}
    )


def about(office, subject: str, value: str) -> str:
    return kept(
        office.senior,
        f"{uuid.uuid4()}: {value}",
        project="apollo",
        components=[{"subject": subject, "value": value}],
    )


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_a_push_marks_what_its_files_tell_of_and_nothing_else(office, host):
    source = source_of(office, host)
    hosted, built = about(office, "deployment.host", "Dublin"), about(office, "build.command", "x")
    documented = about(office, "docs.style", "terse")

    told = done(send(source, payload(host)))

    assert told == {
        "taken": True,
        "why": None,
        "changes": ["deployment.host", "build.command"],
        "marked": 2,
        "unmapped": 1,
    }
    states = [seen(office.senior, one)["trust_state"] for one in (hosted, built, documented)]
    assert states == ["dirty", "dirty", "verified"]
    reason = seen(office.senior, hosted)["dirty_reason"]
    assert "deploy/frankfurt.toml" in reason
    listed = done(office.admin.get(f"/push-sources/{source['id']}"))
    assert listed["last_push_at"] is not None
    assert "secret" not in listed


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_a_push_that_comes_again_is_taken_once(office, host):
    source = source_of(office, host)
    memory = about(office, "deployment.host", "Dublin")
    header = "X-GitHub-Delivery" if host == "github" else "X-Gitlab-Event-UUID"

    body = payload(host)
    first = done(send(source, body, **{header: "one and the same"}))
    again = done(send(source, body, **{header: "one and the same"}))

    assert again == first
    assert len(seen(office.senior, memory)["marks"]) == 1


@pytest.mark.parametrize(
    ("host", "header"),
    [
        ("github", "X-GitHub-Delivery"),
        ("gitlab", "X-Gitlab-Event-UUID"),
        ("gitlab", "Idempotency-Key"),
    ],
)
def test_two_pushes_are_two_whatever_the_host_calls_them(office, host, header):
    """GitLab gives one X-Gitlab-Event-UUID to all that one push brought about."""
    source = source_of(office, host)
    about(office, "deployment.host", "Dublin")
    body = payload(host)
    assert done(send(source, body, **{header: "one and the same"}))["marked"] == 1
    other = payload(host) | {"after": "b" * 40}
    assert done(send(source, other, **{header: "one and the same"}))["marked"] == 1
    # Back and forth: the same once more, under another name.
    assert done(send(source, body, **{header: "another"}))["marked"] == 1
    assert Change.objects.using(OWNER).filter(project=office.apollo).count() == 6


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_what_is_not_signed_is_refused_and_marks_nothing(office, host):
    source = source_of(office, host)
    memory = about(office, "deployment.host", "Dublin")

    refused(send(source, payload(host), secret="f" * 64), 401, "unauthenticated")
    unknown = source | {
        "path": source["path"].replace(source["id"], wire_id(Prefix.PUSH_SOURCE, uuid.uuid4()))
    }
    refused(send(unknown, payload(host)), 401, "unauthenticated")
    header = "X-Hub-Signature-256" if host == "github" else "X-Gitlab-Token"
    refused(send(source, payload(host), **{header: ""}), 401, "unauthenticated")
    other = source_of(office, host)
    refused(send(source, payload(host), secret=other["secret"]), 401, "unauthenticated")
    assert seen(office.senior, memory)["trust_state"] == "verified"


def test_a_rotated_secret_is_worthless_at_once(office):
    source = source_of(office, "github")
    rotated = done(office.admin.post(f"/push-sources/{source['id']}/rotate"))

    assert rotated["secret"] != source["secret"]
    refused(send(source, payload("github")), 401, "unauthenticated")
    assert done(send(rotated, payload("github")))["taken"]


def test_a_source_that_was_put_out_takes_nothing(office):
    source = source_of(office, "github")
    done(office.admin.delete(f"/push-sources/{source['id']}"))
    refused(send(source, payload("github")), 401, "unauthenticated")


def test_only_pushes_to_the_named_branch_count(office):
    source = source_of(office, "github", branch="release")
    memory = about(office, "deployment.host", "Dublin")

    told = done(send(source, payload("github")))

    assert (told["taken"], "release" in told["why"]) == (False, True)
    assert seen(office.senior, memory)["trust_state"] == "verified"
    assert done(send(source, payload("github") | {"ref": "refs/heads/release"}))["taken"]


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("ping", {"zen": "Keep it simple."}),
        ("push", {"ref": "refs/tags/v1"}),
        ("push", {"after": "0" * 40, "deleted": True}),
    ],
)
def test_what_is_no_push_to_a_branch_is_left_alone(office, event, change):
    source = source_of(office, "github")
    told = done(send(source, payload("github") | change, **{"X-GitHub-Event": event}))
    assert (told["taken"], told["marked"]) == (False, 0)


def test_a_push_of_which_not_all_is_told_marks_every_subject_of_the_patterns(office):
    source = source_of(office, "gitlab")
    documented = about(office, "docs.style", "terse")

    hosted = about(office, "deployment.host", "Dublin")
    whole = done(send(source, payload("gitlab")))
    told = done(send(source, payload("gitlab") | {"total_commits_count": 60}))

    assert set(told["changes"]) == {"deployment.host", "build.command", "docs.style"}
    assert told["why"] is not None
    # Of the files that are told is told what they tell of.
    assert told["unmapped"] == whole["unmapped"]
    newest = seen(office.senior, hosted)["marks"][0]["reason"]
    assert "deploy/" in newest
    assert seen(office.senior, documented)["trust_state"] == "dirty"


@pytest.mark.rule("SB-03")
@pytest.mark.parametrize("message", ["Build with the new command", "Key AKIA" + "Q4T7" * 4])
def test_a_push_that_is_told_late_marks_what_was_written_before_it_alone(office, message):
    source = source_of(office, "github")
    memory = about(office, "deployment.host", "Dublin")
    late, now = payload("github", timedelta(days=2000)), payload("github")
    late["commits"][-1]["message"] = now["commits"][-1]["message"] = message

    told = done(send(source, late))

    assert (told["changes"], told["marked"]) == (["deployment.host", "build.command"], 0)
    assert seen(office.senior, memory)["trust_state"] == "verified"
    assert done(send(source, now))["marked"] == 1
    assert seen(office.senior, memory)["trust_state"] == "dirty"


@pytest.mark.rule("SB-03", "VE-03")
@pytest.mark.parametrize("ago", [timedelta(hours=3), timedelta(days=2000)])
def test_commits_may_be_older_than_their_push(office, ago):
    """Committed on Monday, looked at on Tuesday, merged on Wednesday."""
    source = source_of(office, "gitlab")
    memory = about(office, "deployment.host", "Dublin")
    looked = {
        "outcome": "confirmed",
        "method": "command",
        "observed_value": "Dublin",
        "components": ["deployment.host"],
    }
    done(office.senior.post(f"/memories/{memory}/verify", looked))

    assert done(send(source, payload("gitlab", ago)))["marked"] == 1
    assert seen(office.senior, memory)["trust_state"] == "dirty"
    body = payload("github", ago)
    body["repository"]["pushed_at"] = None
    assert done(send(source_of(office, "github"), body))["taken"]


@pytest.mark.rule("SB-03")
@pytest.mark.parametrize("form", ["seconds", "words"])
def test_githubs_second_counts_from_its_end_and_never_from_later_than_now(office, form):
    source = source_of(office, "github")
    memory = about(office, "deployment.host", "Dublin")
    written = datetime.fromisoformat(seen(office.senior, memory)["created_at"])
    whole = written.replace(microsecond=0)
    body = payload("github")
    told: dict[str, Any] = {
        "seconds": lambda at: int(at.timestamp()),
        "words": lambda at: at.isoformat().replace("+00:00", "Z"),
    }
    body["repository"]["pushed_at"] = told[form](whole - timedelta(seconds=1))
    assert done(send(source, body))["marked"] == 0
    body["repository"]["pushed_at"] = told[form](whole)
    assert done(send(source, body))["marked"] == 1
    (event,) = (
        one["observed_at"]
        for one in Change.objects.using(OWNER)
        .filter(project=office.apollo, subject="deployment.host")
        .order_by("-observed_at", "-id")
        .values("observed_at")[:1]
    )
    assert event <= datetime.now(UTC)


@pytest.mark.rule("SB-03")
@pytest.mark.parametrize("told", [None, "soon", True, -(10**18), "2020-13-45T00:00:00Z", []])
def test_a_push_whose_time_is_not_told_counts_from_when_it_came(office, told):
    source = source_of(office, "github")
    about(office, "deployment.host", "Dublin")
    body = payload("github")
    body["repository"]["pushed_at"] = told
    for commit in body["commits"]:
        commit["timestamp"] = told
    assert done(send(source, body))["marked"] == 1


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_a_push_back_tells_of_no_file_and_so_of_every_subject(office, host):
    source = source_of(office, host)
    documented = about(office, "docs.style", "terse")
    back = payload(host) | {"commits": [], "total_commits_count": 0}

    told = done(send(source, back))

    assert set(told["changes"]) == {"deployment.host", "build.command", "docs.style"}
    assert told["why"] is not None
    assert seen(office.senior, documented)["trust_state"] == "dirty"
    # A new branch at a commit that is known already moves nothing.
    new = done(send(source, back | {"before": "0" * 40}))
    assert (new["taken"], new["why"], new["changes"]) == (True, None, [])
    stays = done(send(source, back | {"before": back["after"]}))
    assert (stays["why"], stays["changes"]) == (None, [])


def test_as_many_commits_as_github_tells_of_are_not_all():
    commit = {"added": ["README.md"]}
    for count, is_whole in ((2047, True), (2048, False)):
        push = read_push("github", "push", payload("github") | {"commits": [commit] * count})
        assert push is not None
        assert push.is_whole is is_whole


@pytest.mark.parametrize("more", [-1, 0])
def test_as_many_files_of_a_commit_as_github_tells_of_are_not_all(office, more):
    """It tells of 3,000 in all, added, changed and removed, and not that there are others."""
    source, hosted = source_of(office, "github"), about(office, "deployment.host", "Dublin")
    body = payload("github")
    names = [f"src/{number}.py" for number in range(3000 + more)]
    of_many = {"added": names[:1000], "modified": names[1000:2000], "removed": names[2000:]}
    body["commits"] = [{**body["commits"][0], **of_many}]

    answer = done(send(source, body))

    is_all = more < 0
    assert (answer["why"] is None) == is_all
    assert answer["changes"] == ([] if is_all else [one["subject"] for one in PATTERNS])
    assert seen(office.senior, hosted)["trust_state"] == ("verified" if is_all else "dirty")
    gitlab = payload("gitlab") | {"total_commits_count": 1}
    gitlab["commits"] = [{**gitlab["commits"][0], **of_many}]
    push = read_push("gitlab", "Push Hook", gitlab)
    assert push is not None
    assert push.is_whole


@pytest.mark.parametrize("named", ["main", "refs/heads/main", " refs/heads/main "])
def test_a_branch_is_the_same_however_it_is_named(office, named):
    source = source_of(office, "github", branch=named)
    hosted = about(office, "deployment.host", "Dublin")
    path = f"/push-sources/{source['id']}"

    assert source["branch"] == "main"
    assert done(send(source, payload("github")))["taken"]
    assert seen(office.senior, hosted)["trust_state"] == "dirty"
    assert done(office.admin.patch(path, {"branch": f"{named.strip()}-2"}))["branch"] == "main-2"
    assert not done(send(source, payload("github")))["taken"]


def test_a_file_that_several_patterns_of_a_subject_name_is_told_once():
    files = ["src/b.py", "src/a.py", "docs/a.py", "src/b.py"]
    patterns = [
        {"pattern": "src/**", "subject": "app"},
        {"pattern": "docs/**", "subject": "docs"},
        {"pattern": "*.py", "subject": "app"},
        {"pattern": "src/*.py", "subject": "app"},
    ]

    told = subjects_of(files, patterns)

    assert told == {"app": ["src/b.py", "src/a.py", "docs/a.py"], "docs": ["docs/a.py"]}


def test_a_file_whose_name_is_too_long_is_counted(office):
    source = source_of(office, "github")
    body = payload("github")
    body["commits"][0]["added"] += ["src/" + "x" * 1000, "y" * 1001, "deploy/" + "z" * 900]
    told = done(send(source, body))
    assert (told["changes"], told["unmapped"]) == (["deployment.host", "build.command"], 3)


def files(count: int) -> list[str]:
    return [f"deploy/some/quite/long/name/of/a/directory/{at:06}.json" for at in range(count)]


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_a_push_larger_than_any_other_body_is_taken(office, host):
    source = source_of(office, host)
    hosted, documented = about(office, "deployment.host", "x"), about(office, "docs.style", "y")
    body = payload(host)
    body["commits"][0]["message"] = "x" * 1_200_000
    many, last = files(9000), body["commits"][-1]
    body["commits"] += [{**last, "modified": many[at : at + 2000]} for at in range(0, 9000, 2000)]
    # GitHub signs the body: who can read it is shown once it is read, and nothing else before.
    refused(send(source, body, secret="f" * 64), 401, "unauthenticated")

    assert (done(send(source, body))["why"], seen(office.senior, hosted)["trust_state"]) == (
        None,
        "dirty",
    )
    assert seen(office.senior, documented)["trust_state"] == "verified"
    # Of more files than anybody looks at each may be among them.
    body["commits"][-1]["modified"] += files(12_000)
    assert "every subject" in done(send(source, body))["why"]
    assert seen(office.senior, documented)["trust_state"] == "dirty"


def test_how_large_a_push_may_be_is_said(office):
    source = source_of(office, "gitlab")
    headers = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": source["secret"]}
    large = b" " * (25 * 1024 * 1024 + 1)

    def sent(path: str, **more: str) -> Any:
        return Client().post(
            path, large, content_type="application/json", headers={**headers, **more}
        )

    answer = sent(source["path"])
    refused(answer, 413, "too_large")
    assert "25 MiB" in answer.json()["detail"]
    assert "Nothing was marked" in answer.json()["detail"]
    # Of nobody else so much is read.
    refused(sent(source["path"], **{"X-Gitlab-Token": "x"}), 401, "unauthenticated")
    unknown = source["path"].replace(source["id"], wire_id(Prefix.PUSH_SOURCE, uuid.uuid4()))
    refused(sent(unknown), 401, "unauthenticated")


def test_a_secret_in_a_commits_message_does_not_lose_the_change(office):
    source = source_of(office, "github")
    memory = about(office, "deployment.host", "Dublin")
    body = payload("github")
    body["commits"][-1]["message"] = "Key AKIA" + "Q4T7" * 4

    assert done(send(source, body))["taken"]
    told = seen(office.senior, memory)
    assert told["trust_state"] == "dirty"
    assert "AKIA" not in json.dumps(told)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"commits": "many"}, "commits"),
        ({"commits": [{"added": "README.md"}]}, "commits[0].added"),
        ({"ref": 5}, "ref"),
        ({"after": None}, "after"),
    ],
)
def test_a_signed_body_that_is_no_push_is_refused_by_field(office, change, field):
    source = source_of(office, "github")
    refused(send(source, payload("github") | change), 400, "validation_failed", field)


def test_whoever_has_lost_the_project_reports_nothing_any_more(office):
    source = source_of(office, "github")
    ProjectPermission.objects.using(OWNER).filter(
        user_id=office.senior.member.user_id, content_object=office.apollo
    ).delete()
    refused(send(source, payload("github")), 403, "forbidden")


def test_only_administrators_let_pushes_in_and_only_for_a_writer(office):
    body = {"name": "x", "project": "apollo", "host": "github"}
    refused(office.senior.post("/push-sources", body), 403, "insufficient_scope")
    refused(office.admin.post("/push-sources", body), 400, "validation_failed", "member")
    viewer = body | {"member": wire_id(Prefix.MEMBER, office.viewer.member.id)}
    refused(office.admin.post("/push-sources", viewer), 400, "validation_failed", "member")
    unknown = body | {"host": "svn"}
    refused(office.admin.post("/push-sources", unknown), 400, "validation_failed", "host")


@pytest.mark.rule("VI-01", "VI-04")
def test_a_push_source_is_another_tenants_own(office, other_office):
    source = source_of(office, "github")
    path = f"/push-sources/{source['id']}"
    refused(other_office.admin.get(path), 404, "not_found")
    refused(other_office.admin.post(f"{path}/rotate"), 404, "not_found")
    assert done(other_office.admin.get("/push-sources"))["count"] == 0


def test_files_are_reported_by_hand_and_what_no_pattern_names_is_told(office):
    with_patterns(office)
    memory = about(office, "deployment.host", "Dublin")
    body = {
        "files": ["deploy/a.toml", "deploy/b.toml", "src/x.py"],
        "summary": "Moved",
        "project": "apollo",
    }

    answer = office.agent.post("/changes/files", body)

    assert answer.status_code == 201
    told = answer.json()
    assert [one["subject"] for one in told["changes"]] == ["deployment.host"]
    assert [one["memory_id"] for one in told["marked"]] == [memory]
    assert told["unmapped"] == ["src/x.py"]
    refused(office.viewer.post("/changes/files", body), 403, "insufficient_scope")
    refused(
        office.agent.post("/changes/files", body | {"files": []}), 400, "validation_failed", "files"
    )


TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.mark.rule("WR-11")
@pytest.mark.parametrize("place", [0, 1, 4])
def test_a_file_named_like_a_secret_counts_and_its_name_is_nowhere(office, place):
    with_patterns(office)
    hosted, built = about(office, "deployment.host", "x"), about(office, "build.command", "y")
    named = ["Makefile", "docs/a", "docs/b", "docs/c"]
    named.insert(place, f"deploy/{TOKEN}")
    named += ["deploy/z", f"src/{TOKEN}"]
    body = {"files": named, "summary": "Moved", "project": "apollo"}

    answer = office.agent.post("/changes/files", body)

    assert answer.status_code == 201, answer.content
    told = answer.json()
    assert {one["memory_id"] for one in told["marked"]} == {hosted, built}
    assert (told["unmapped"], told["unnamed"]) == ([], [f"files[{place}]", "files[6]"])
    assert "Moved (deploy/z and 1 more)" in seen(office.senior, hosted)["dirty_reason"]
    assert TOKEN not in answer.content.decode()
    assert TOKEN not in json.dumps([seen(office.senior, one) for one in (hosted, built)])
    # What somebody says of it is theirs to mend.
    body["summary"] = f"Moved {TOKEN}"
    refused(office.agent.post("/changes/files", body), 422, "secret_content_rejected", "summary")


def test_a_file_whose_name_is_too_long_is_named_so_that_the_rest_can_be_sent(office):
    with_patterns(office)
    body = {"files": ["deploy/a", "x" * 1001, "y" * 1001], "summary": "x", "project": "apollo"}
    answer = office.agent.post("/changes/files", body)
    assert answer.status_code == 400
    assert {one["field"] for one in answer.json()["errors"]} == {"files[1]", "files[2]"}


@pytest.mark.rule("SB-01")
def test_a_pattern_of_one_label_means_all_that_lies_below(office):
    Project.objects.using(OWNER).filter(id=office.apollo.id).update(
        path_subjects=[
            {"pattern": "src/**", "subject": "frontend"},
            {"pattern": "deploy/**", "subject": "deployment.host"},
        ]
    )
    root, below = about(office, "frontend", "React"), about(office, "frontend.router.mode", "hash")
    beside, above = about(office, "frontends.mode", "x"), about(office, "deployment", "by hand")
    body = {"files": ["src/x.ts", "deploy/a"], "summary": "Rewritten", "project": "apollo"}

    told = office.agent.post("/changes/files", body).json()

    assert {one["memory_id"] for one in told["marked"]} == {root, below}
    assert [one["whole_tree"] for one in told["changes"]] == [True, False]
    states = [seen(office.senior, one)["trust_state"] for one in (beside, above)]
    assert states == ["verified", "verified"]


def test_patterns_are_those_of_gitignore():
    patterns = [
        {"pattern": "deploy/**", "subject": "a"},
        {"pattern": "*.toml", "subject": "b"},
        {"pattern": "/Makefile", "subject": "c"},
    ]
    files = ["deploy/x/y.toml", "Makefile", "sub/Makefile", "z"]
    assert subjects_of(files, patterns) == {
        "a": ["deploy/x/y.toml"],
        "b": ["deploy/x/y.toml"],
        "c": ["Makefile"],
    }


@pytest.mark.parametrize("of_file", ["NFC", "NFD"])
@pytest.mark.parametrize("of_pattern", ["NFC", "NFD"])
def test_a_name_compares_as_it_reads(of_file, of_pattern):
    file = unicodedata.normalize(of_file, "docs/größe/Übersicht.md")
    pattern = unicodedata.normalize(of_pattern, "docs/größe/**")
    assert subjects_of([file], [{"pattern": pattern, "subject": "a"}]) == {"a": [file]}
    assert subjects_of(["docs/grosse/x"], [{"pattern": pattern, "subject": "a"}]) == {}


def test_a_forced_push_is_not_the_whole_story():
    push = read_push("github", "push", payload("github") | {"forced": True})
    assert push is not None
    assert not push.is_whole


@pytest.fixture
def checkout(tmp_path):
    """A repository with two commits; the second touches deploy/ and takes a file of docs/ away."""

    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    git("init", "-q")
    for name in ("deploy/app.toml", "docs/style.md", "src/x.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one\n")
    git("add", ".")
    git("commit", "-qm", "First")
    (tmp_path / "deploy/app.toml").write_text("two\n")
    (tmp_path / "docs/style.md").unlink()
    git("commit", "-qam", "Move to Frankfurt")
    return tmp_path


class Command:
    """The command, run in a repository with the patterns of PATTERNS on the other side."""

    def __init__(self, checkout: Path, url: str, token: str) -> None:
        self.checkout, self.url, self.token = checkout, url, token

    def run(
        self,
        *arguments: str,
        said: str = "",
        where: str = ".",
        token: str | None = None,
        **environment: str,
    ) -> Any:
        return subprocess.run(
            [sys.executable, str(COMMAND), "--url", self.url, *arguments],
            cwd=self.checkout / where,
            env={
                "PATH": "/usr/bin:/bin:/usr/local/bin",
                "PALIMPSEST_TOKEN": self.token if token is None else token,
                **environment,
            },
            input=said,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments],
            cwd=self.checkout,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()


@pytest.fixture
def command(office, checkout, tmp_path_factory):
    """The command with a server that it reaches, in the name of apollo's agent."""
    with_patterns(office)
    with web_process(tmp_path_factory.mktemp("web")) as web:
        yield Command(checkout, web.url, office.agent.token)


def test_the_command_reports_a_range_of_commits(office, command):
    hosted = about(office, "deployment.host", "Dublin")
    documented = about(office, "docs.style", "terse")
    built = about(office, "build.command", "make")

    shown = command.run("--dry-run")
    assert shown.stdout.split() == ["deploy/app.toml", "docs/style.md"]
    assert seen(office.senior, hosted)["trust_state"] == "verified"
    late = command.run("--as-of-commit")
    assert "0 memories to verify" in late.stdout, late.stderr
    told = command.run("HEAD~1..HEAD")
    assert told.returncode == 0, told.stderr
    assert "2 memories to verify" in told.stdout
    states = [seen(office.senior, one)["trust_state"] for one in (hosted, documented, built)]
    assert states == ["dirty", "dirty", "verified"]
    assert "Move to Frankfurt" in seen(office.senior, hosted)["dirty_reason"]
    wrong = command.run("no-such-range")
    assert (wrong.returncode, "git diff" in wrong.stderr) == (2, True)
    denied = command.run(token=office.viewer.token)
    assert (denied.returncode, "insufficient_scope" in denied.stderr) == (1, True)


def test_the_command_tells_of_the_whole_repository_from_anywhere_in_it(office, command):
    hosted = about(office, "deployment.host", "Dublin")
    command.git("config", "diff.relative", "true")
    told = command.run("HEAD~1..HEAD", where="src")
    assert "2 files" in told.stdout, told.stdout + told.stderr
    assert seen(office.senior, hosted)["trust_state"] == "dirty"


def test_a_commit_that_is_called_like_a_secret_is_reported_without_its_name(office, command):
    hosted = about(office, "deployment.host", "Dublin")
    secret = "AKIA" + "Q4T7" * 4
    command.git("commit", "--amend", "-qm", f"Key {secret}")
    told = command.run()
    assert told.returncode == 0, told.stderr
    memory = seen(office.senior, hosted)
    assert memory["trust_state"] == "dirty"
    assert secret not in json.dumps(memory)
    # What somebody says by hand is theirs to mend.
    said = command.run("--summary", f"Key {secret}")
    assert (said.returncode, "secret_content_rejected" in said.stderr) == (1, True)


def test_a_hook_tells_of_branches_alone_and_goes_on_after_what_fails(office, command):
    hosted = about(office, "deployment.host", "Dublin")
    first, head = command.git("rev-parse", "HEAD~1", "HEAD").split()
    none, unknown = "0" * 40, "1" * 40

    for left_out in (
        f"{first} {head} refs/tags/v1\n",
        f"refs/heads/main {head} refs/heads/topic {first}\n",
        f"(delete) {none} refs/heads/main {head}\n",
        f"{none} {head} refs/heads/topic\n",
    ):
        quiet = command.run("--hook", "--branch", "main", said=left_out)
        assert (quiet.returncode, quiet.stdout) == (0, ""), left_out
    assert seen(office.senior, hosted)["trust_state"] == "verified"

    lines = f"{unknown} {head} refs/heads/topic\nHEAD {head} refs/heads/main {first}\n"
    told = command.run("--hook", said=lines)
    assert (told.returncode, "2 files" in told.stdout) == (0, True), told.stderr
    assert "git diff" in told.stderr
    assert seen(office.senior, hosted)["trust_state"] == "dirty"


def test_a_new_branch_is_what_no_other_has(checkout):
    """Told by a hook on either side, or by a host that says 0000000 for what was before."""
    command = Command(checkout, "http://127.0.0.1:9", "plm_x")
    first, head = command.git("rev-parse", "HEAD~1", "HEAD").split()
    main, none = command.git("branch", "--show-current"), "0" * 40

    def told(said: str = "", *arguments: str) -> set[str]:
        run = command.run("--dry-run", *(("--hook",) if said else ()), *arguments, said=said)
        assert (run.returncode, run.stderr) == (0, "")
        return set() if "no file changed" in run.stdout else set(run.stdout.split())

    everything = {"deploy/app.toml", "docs/style.md", "src/x.py"}
    # The first push of a repository.
    assert told(f"{none} {head} refs/heads/{main}\n") == everything
    assert told(f"refs/heads/{main} {head} refs/heads/{main} {none}\n") == everything
    assert told("", f"{none}..{head}") == everything
    # A branch off what is there.
    command.git("checkout", "-qb", "topic")
    (checkout / "src/y.py").write_text("new\n")
    command.git("add", ".")
    command.git("commit", "-qm", "Third")
    tip = command.git("rev-parse", "HEAD")
    assert told(f"{none} {tip} refs/heads/topic\n") == {"src/y.py"}
    assert told("", f"{none}..{tip}") == {"src/y.py"}
    # Over there main is older than here, and topic brings along what main has not brought.
    command.git("update-ref", f"refs/remotes/origin/{main}", first)
    pushed = f"refs/heads/topic {tip} refs/heads/topic {none}\n"
    assert told(pushed) == {"src/y.py", "deploy/app.toml", "docs/style.md"}
    # Two new ones at once do not hide one another, nor does a branch what moved along with it.
    both = f"{none} {tip} refs/heads/topic\n{none} {tip} refs/heads/{main}\n"
    command.git("update-ref", "-d", f"refs/remotes/origin/{main}")
    command.git("update-ref", f"refs/heads/{main}", tip)
    assert told(both) == everything | {"src/y.py"}
    moved = f"{none} {tip} refs/heads/topic\n{head} {tip} refs/heads/{main}\n"
    assert told(moved, "--branch", "topic") == {"src/y.py"}
    # A branch at a commit that another has brings nothing.
    assert told(f"{none} {tip} refs/heads/other\n") == set()


def test_the_first_commit_is_compared_with_nothing(tmp_path):
    command = Command(tmp_path, "http://127.0.0.1:9", "plm_x")
    command.git("init", "-q")
    empty = command.run("--dry-run")
    assert (empty.returncode, "no commit here yet" in empty.stderr) == (2, True)
    (tmp_path / "Makefile").write_text("all:\n")
    command.git("add", ".")
    command.git("commit", "-qm", "First")
    shown = command.run("--dry-run")
    assert (shown.returncode, shown.stdout.split(), shown.stderr) == (0, ["Makefile"], "")


@pytest.mark.parametrize(
    "wanted", [(), ("HEAD~1..HEAD",), (f"{'1' * 40}..HEAD",), (f"{'0' * 40}..HEAD",)]
)
def test_what_a_shallow_checkout_lacks_is_said_with_the_way_out(checkout, tmp_path, wanted):
    Command(checkout, "", "").git("clone", "-q", "--depth", "1", f"file://{checkout}", "shallow")
    command = Command(checkout / "shallow", "http://127.0.0.1:9", "plm_x")
    failed = command.run("--dry-run", *wanted)
    assert failed.returncode == 2
    for way_out in ("fetch-depth: 0", "GIT_DEPTH", "git fetch --unshallow"):
        assert way_out in failed.stderr
    command.git("fetch", "-q", "--unshallow")
    assert command.run("--dry-run").stdout.split() == ["deploy/app.toml", "docs/style.md"]
    gone = command.run("--dry-run", "1" * 40 + "..HEAD")
    assert (gone.returncode, "commits that are here" in gone.stderr) == (2, True)


def test_what_the_server_does_not_take_is_left_out_alone_and_said(office, command):
    """Names too long or like a secret, and more of them than go into one request."""
    hosted = about(office, "deployment.host", "Dublin")
    long = "/".join(["docs", *["x" * 250] * 4, "end.md"])
    made = [
        long,
        f"src/{TOKEN}",
        *(f"src/{'ü' * 100}/{'ü' * 110}{at}" for at in range(1500)),
        "deploy/z",
    ]
    for name in made:
        (command.checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (command.checkout / name).write_text("x")
    command.git("add", ".")
    command.git("commit", "-qm", "Many")

    told = command.run()

    assert told.returncode == 0, told.stderr
    assert "1 file left out" in told.stderr
    assert "'docs/xxx" in told.stderr
    assert "1 file named like a secret" in told.stderr
    assert TOKEN not in told.stderr + told.stdout
    assert f"{len(made) - 1} files" in told.stdout
    assert seen(office.senior, hosted)["trust_state"] == "dirty"


def test_a_hook_holds_up_no_push(checkout):
    command = Command(checkout, "http://127.0.0.1:9", "plm_x")
    first, head = command.git("rev-parse", "HEAD~1", "HEAD").split()
    line = f"HEAD {head} refs/heads/main {first}\n"
    for said, token, why in (
        (line, "plm_x", "cannot be reached"),
        (line, "", "PALIMPSEST_TOKEN"),
        ("nonsense\n", "plm_x", "no line of a git hook"),
    ):
        hooked = command.run("--hook", said=said, token=token)
        assert (hooked.returncode, why in hooked.stderr) == (0, True), hooked.stderr
    gone = command.run()
    assert (gone.returncode, "cannot be reached" in gone.stderr) == (1, True)
    assert command.run("--branch", "main").returncode == 2
