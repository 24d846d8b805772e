"""The command tells what changed from any repository and terminal, and its token to nobody."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tenants.founding import OWNER
from tenants.models import Project
from tests.memories import seen
from tests.test_pushes import PATTERNS, Command, about, checkout, command

__all__ = ["checkout", "command"]

pytestmark = pytest.mark.rule("SB-09")
NOWHERE = "http://127.0.0.1:9"


@contextmanager
def sending_on(to: str, told: list[str | None]) -> Iterator[str]:
    """Give the address of a server that sends everybody on, and notes the token it is told."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(self.headers.get("Authorization"))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(302)
            self.send_header("Location", to)
            self.end_headers()

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_token_goes_to_the_server_that_was_named_and_nowhere_else(checkout):
    here: list[str | None] = []
    there: list[str | None] = []
    with sending_on(NOWHERE, there) as other, sending_on(f"{other}/api/v1/x", here) as named:
        sent_on = Command(checkout, named, "plm_x").run()

        assert (sent_on.returncode, here, there) == (1, ["Bearer plm_x"], [])
        assert f"at {other}/api/v1/x" in sent_on.stderr


@pytest.mark.parametrize("token", ["plm_sec\nret", "plm_sec\rret", "plm_secrét", "plm_\x7fsecret"])
def test_a_token_that_is_none_is_not_shown(checkout, token):
    wrong = Command(checkout, NOWHERE, token).run()

    assert (wrong.returncode, "has characters" in wrong.stderr) == (2, True)
    assert "sec" not in wrong.stderr + wrong.stdout


def test_what_a_file_of_secrets_has_around_a_token_does_no_harm(office, command):
    told = command.run(token=f" {office.agent.token}\r\n")

    assert (told.returncode, told.stderr) == (0, "")


@pytest.mark.parametrize("ahead", [timedelta(seconds=30), timedelta(hours=2)])
def test_a_commit_by_itself_is_told_with_what_came_after_it(office, command, ahead):
    """
    It is compared with what is checked out, which is newer than what was written meanwhile.

    By a clock that is fast, it was made in time to come.
    """
    hosted = about(office, "deployment.host", "Dublin")
    (command.checkout / "deploy/app.toml").write_text("three\n")
    soon = (datetime.now(UTC) + ahead).isoformat()
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qam", "Later"],
        cwd=command.checkout,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_COMMITTER_DATE": soon},
        check=True,
    )

    told = command.run("HEAD~1", "--as-of-commit")

    assert (told.returncode, "1 memory to verify" in told.stdout) == (0, True), told
    assert "Later" in seen(office.senior, hosted)["dirty_reason"]


@pytest.mark.parametrize(
    "wanted", ["HEAD~1", "HEAD~1..", "HEAD~1..HEAD", "HEAD~1...HEAD", "HEAD^!"]
)
def test_whatever_git_diff_takes_ends_with_the_last_commit(checkout, wanted):
    command = Command(checkout, NOWHERE, "plm_x")

    shown = command.run("--dry-run", wanted)

    assert shown.stdout.split() == ["deploy/app.toml", "docs/style.md"]


def test_a_submodule_that_moves_is_told_whatever_is_to_be_ignored(checkout):
    command = Command(checkout, NOWHERE, "plm_x")
    head = command.git("rev-parse", "HEAD")
    (checkout / ".gitmodules").write_text(
        '[submodule "lib"]\n\tpath = vendor/lib\n\turl = ./lib\n\tignore = all\n'
    )
    command.git("add", ".gitmodules")
    for commit in (head, command.git("rev-parse", "HEAD~1")):
        command.git("update-index", "--add", "--cacheinfo", f"160000,{commit},vendor/lib")
        command.git("commit", "-qm", "Another version of it")

    for wanted in ((), (f"{head}..HEAD",), (f"{'0' * 40}..HEAD",)):
        assert "vendor/lib" in command.run("--dry-run", *wanted).stdout.split(), wanted


def test_names_that_a_terminal_cannot_show_stop_nothing(office, command):
    hosted = about(office, "deployment.größe", "M")
    with_more = [*PATTERNS, {"pattern": "*.größe", "subject": "deployment.größe"}]
    Project.objects.using(OWNER).filter(id=office.apollo.id).update(path_subjects=with_more)
    (command.checkout / "src/“x” y.größe").write_text("L")
    command.git("add", ".")
    command.git("commit", "-qm", "Größer")
    plain = {"PYTHONIOENCODING": "ascii"}

    shown = command.run("--dry-run", **plain)
    assert (shown.returncode, shown.stderr) == (0, "")
    told = command.run(**plain)
    assert (told.returncode, told.stderr) == (0, "")
    assert "1 memory to verify" in told.stdout
    assert "Größer" in seen(office.senior, hosted)["dirty_reason"]
