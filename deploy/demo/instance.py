"""The instance that the demo is told on: the one that runs, or one of its own."""

import json
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from deploy.up import BASE, running

# What would lead an instance that is thrown away to a database that is not.
_OF_ANOTHER = ("DATABASE_URL", "OWNER_DATABASE_URL", "QUEUE_DATABASE_URL", "BROKER_URL")


@dataclass(frozen=True)
class Instance:
    """What stands in its demo.json and demo_push.json, and whether it goes on after the demo."""

    demo: dict[str, Any]
    push: dict[str, Any]
    goes_on: bool

    @classmethod
    def of(cls, data_dir: Path, *, goes_on: bool) -> "Instance":
        """Return what stands in a DATA_DIR."""
        demo, push = (
            json.loads((data_dir / name).read_text(encoding="utf-8"))
            for name in ("demo.json", "demo_push.json")
        )
        return cls(demo, push, goes_on)


@contextmanager
def instance(given: Mapping[str, str], say: Callable[[str], None]) -> Iterator[Instance]:
    """
    Give an instance that answers while this is open.

    The one in DATA_DIR if it runs; else one is started, and stopped at the end.

    :raises CannotStart: if it does not come up
    """
    path = Path(given.get("DATA_DIR") or BASE / "var") / "demo.json"
    demo = _running_one(path)
    if demo is not None:
        say(f"Using the instance that runs at {demo['base_url']} ({path}).")
        yield Instance.of(path.parent, goes_on=True)
        return
    with _data_dir(given) as data_dir:
        port = given.get("PORT") or str(_free_port())
        say(f"No instance runs; starting one on port {port}, with its data in {data_dir}.")
        with running(_environment(given, data_dir, port)):
            yield Instance.of(data_dir, goes_on=False)
        say("The demo's own instance is stopped.")


@contextmanager
def judged_by(
    judge: str, base_url: str, given: Mapping[str, str]
) -> Iterator[tuple[Instance, dict[str, str]]]:
    """
    Give an instance of its own that asks this judge, and the environment of its commands.

    It has nothing in common with any other, and is thrown away at the end.

    :param base_url: where the judge's model answers
    :raises CannotStart: if it does not come up
    """
    apart = {
        name: value
        for name, value in given.items()
        if name not in (*_OF_ANOTHER, "DATA_DIR", "MCP_PORT")
    }
    asking = {"JUDGE": judge, "JUDGE_BASE_URL": base_url, "JUDGE_API_KEY": ""}
    with _data_dir(apart) as data_dir:
        environment = _environment(apart | asking, data_dir, str(_free_port()))
        with running(environment):
            yield Instance.of(data_dir, goes_on=False), environment


def _running_one(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    demo: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    headers = {"Authorization": f"Bearer {demo['tokens']['senior']['token']}"}
    try:
        with httpx.Client(base_url=demo["base_url"], timeout=5, trust_env=False) as client:
            if client.get("/readyz").status_code != 200:
                return None
            # Another instance may listen there by now: ours knows the token.
            who = client.get("/api/v1/whoami", headers=headers)
    except httpx.HTTPError:
        return None
    return demo if who.status_code == 200 else None


@contextmanager
def _data_dir(given: Mapping[str, str]) -> Iterator[Path]:
    if given.get("DATA_DIR"):
        yield Path(given["DATA_DIR"])
        return
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-demo-"))
    # PostgreSQL does not run as root: its own account must be able to pass through.
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(given: Mapping[str, str], data_dir: Path, port: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in given.items()
        if given.get("DATA_DIR") or name not in _OF_ANOTHER
    }
    return {**kept, "DATA_DIR": str(data_dir), "PORT": port}


def _free_port() -> int:
    """Return a port that is free, as is the one after it, where MCP is served."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port
