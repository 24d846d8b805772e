"""Imports and exports from the terminal: in a member's name, carried out here, and shown."""

import time
from collections.abc import Callable
from threading import Thread

from django.core.management.base import CommandError
from django.db import connections

from memory.exchange.carrying_out import TRANSFER
from memory.exchange.transfer import get_transfer
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, read_id
from tenants.jobs import claim, open_job, run_job
from tenants.once import Answer

LOOKED_EVERY = 0.5  # seconds


def followed(caller: Caller, started: Answer, show: Callable[[str], object]) -> Answer:
    """
    Have a transfer done here, unless a worker does it, and show how far it is until it is over, or
    has to wait.

    :raises CommandError: if it fails
    """
    transfer_id = read_id(Prefix.TRANSFER, started["id"])
    at_work = Thread(target=_work, args=(caller, str(transfer_id)), daemon=True)
    at_work.start()
    while True:
        told = get_transfer(caller, transfer_id=transfer_id)
        show(f"\r{told['done']:,} of {told['total']:,} ")
        if told["state"] != "running" or told["problem"]:
            break
        time.sleep(LOOKED_EVERY)
    at_work.join()
    show(f"\n{told['problem']} The worker goes on then.\n" if told["state"] == "running" else "\n")
    if told["state"] == "failed":
        raise CommandError(
            f"It stopped at {told['done']} of {told['total']}: {told['problem']} Mend that and "
            "start it again: what is there already is not stored twice."
        )
    return told


def _work(caller: Caller, name: str) -> None:
    try:
        with acting_as(caller):
            job_id = open_job(TRANSFER, name)
        job = None if job_id is None else claim(job_id)
        if job is not None:
            run_job(job)
    finally:
        connections.close_all()
