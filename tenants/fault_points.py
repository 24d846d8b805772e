"""The places at which tests have processes killed, to see that nothing is lost or done twice."""

import os
import signal
from contextlib import suppress
from pathlib import Path

IN_A_WRITE = ("before_write_commit", "before_wake", "after_write_commit")
IN_A_JOB = (
    "claimed",
    "before_judge",
    "after_verdicts",
    "before_effects",
    "after_act",
    "before_commit",
    "after_commit",
)
FAULT_POINTS = IN_A_WRITE + IN_A_JOB


def reach_fault_point(point: str) -> None:
    """
    Kill what the file of this name lists, or this very process if it lists nothing; once. Where the
    list begins with "at", only when one of those on it comes here.

    Only tests name a folder of such files, by FAULT_POINTS_IN in the environment.
    """
    folder = os.environ.get("FAULT_POINTS_IN")
    if not folder:
        return
    armed = Path(folder, point)
    try:
        victims = armed.read_text().split()
        if victims[:1] == ["at"]:
            victims.remove("at")
            if str(os.getpid()) not in victims:
                return
        armed.unlink()  # of several threads, only one gets here
    except FileNotFoundError:
        return
    for victim in victims or [str(os.getpid())]:
        with suppress(ProcessLookupError):
            os.kill(int(victim), signal.SIGKILL)
