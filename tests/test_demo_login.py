"""The demo's log-ins: what demo.json tells is enough to take both steps."""

import json
import subprocess
import sys
import time

import pytest
from django.contrib.auth import get_user_model

from deploy.demo.seed import seed
from deploy.demo.welcome import welcome
from deploy.up import BASE
from tenants.founding import OWNER
from tenants.one_time_codes import code_at
from tenants.second_factor import take_as_operator
from tests.admin_login import SECOND_STEP, authenticator_of, show_password

pytestmark = pytest.mark.rule("T206")


@pytest.fixture
def demo(tmp_path):
    return seed(tmp_path, "http://127.0.0.1:8000", "http://127.0.0.1:8001/mcp")


def user_of(login):
    return get_user_model().objects.using(OWNER).get(username=login["username"])


@pytest.mark.parametrize("name", ["admin", "reviewer"])
def test_a_log_in_of_the_demo_gets_in(demo, name):
    login = demo["logins"][name]
    authenticator_of(user_of(login).pk)
    client = show_password(login["username"], login["password"])
    code = code_at(login["totp_secret"], time.time())
    assert client.post(SECOND_STEP, {"code": code})["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200


def test_the_next_start_keeps_the_secret_and_sets_a_lost_one_up_anew(demo, tmp_path):
    kept = json.loads((tmp_path / "demo.json").read_text())["logins"]["admin"]
    again = seed(tmp_path, "http://127.0.0.1:8000", "http://127.0.0.1:8001/mcp")
    assert again["logins"]["admin"] == kept
    take_as_operator(user_of(kept), using=OWNER)
    anew = seed(tmp_path, "http://127.0.0.1:8000", "http://127.0.0.1:8001/mcp")["logins"]["admin"]
    assert anew["password"] == kept["password"]
    assert anew["totp_secret"] not in (None, kept["totp_secret"])


def test_a_code_is_printed_at_the_start_and_by_a_command(demo, tmp_path, monkeypatch):
    secret = demo["logins"]["admin"]["totp_secret"]
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    told = welcome(tmp_path / "demo.json", "http://127.0.0.1:8000")
    assert f"code now {code_at(secret, 1_800_000_000.0)}" in told
    assert secret in told
    monkeypatch.undo()
    around = {code_at(secret, time.time() + step) for step in (-30, 0, 30, 60)}
    command = [sys.executable, "-m", "deploy.demo.code"]
    environment = {"DATA_DIR": str(tmp_path), "PATH": ""}
    said = subprocess.run(
        [*command, "admin"], env=environment, cwd=BASE, capture_output=True, text=True, check=False
    )
    assert said.stdout.strip() in around, said.stderr
    lost = subprocess.run(
        [*command, "nobody"], env=environment, cwd=BASE, capture_output=True, text=True, check=False
    )
    assert lost.returncode == 2
    assert "admin, reviewer" in lost.stderr
