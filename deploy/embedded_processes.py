"""The processes of the embedded PostgreSQL: which are alive, and how they end with ours."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def servers_in(data: Path) -> list[int]:
    """Return the process ids of all PostgreSQL processes that work on these files (Linux)."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _serves(entry, data)]


def _serves(process: Path, data: Path) -> bool:
    try:
        program = (process / "exe").readlink().name.removesuffix(" (deleted)")
        return program == "postgres" and (process / "cwd").readlink() == data
    except OSError:
        return False  # gone, or another user's


def stop_servers(data: Path) -> None:
    """Stop backends whose server was killed: they hold the shared memory the next one needs."""
    for number in (signal.SIGQUIT, signal.SIGKILL):
        for pid in servers_in(data):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + 5
        while servers_in(data) and time.monotonic() < deadline:
            time.sleep(0.05)


def dies_with_us() -> Callable[[], None] | None:
    """Return what to do in the child so that the kernel stops it when this process is gone."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask_for_the_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return ask_for_the_signal
