"""`manage.py sweep`: start a sweep in a member's sight, and follow it to its end."""

import time
from threading import Thread
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections

import hygiene.jobs  # noqa: F401  so that what is claimed here can be done here
from hygiene.sweep import get_sweep, start_sweep
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, read_id
from tenants.jobs import claim, run_job
from tenants.models import Job
from tenants.once import Answer
from tenants.refusals import Refusal
from tenants.terminal import member_of

LOOKED_EVERY = 0.5  # seconds
OVER = ("done", "failed", "obsolete")


class Command(BaseCommand):
    help = "Compare what a member sees with its neighbours, as far as that was never done."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--tenant", required=True, help="its short name")
        parser.add_argument("--member", required=True, help="the member's username")
        parser.add_argument("--project", help="only this project, by its short name")
        parser.add_argument("--limit", type=int, help="at most so many memories")

    def handle(self, *_args: Any, **options: Any) -> None:
        """
        Start the sweep, do it here unless a worker does, and show how far it is.

        :raises CommandError: if there is no such member, or the sweep cannot be started or fails
        """
        caller = member_of(options["tenant"], options["member"])
        try:
            told = start_sweep(caller, project=options["project"], limit=options["limit"])
        except Refusal as refused:
            raise CommandError(refused.detail) from None
        at_work = Thread(target=_work, args=(caller, told), daemon=True)
        at_work.start()
        sweep_id = read_id(Prefix.BATCH, told["id"])
        while True:
            told = get_sweep(caller, sweep_id=sweep_id)
            self._show(told)
            if told["state"] in OVER:
                break
            time.sleep(LOOKED_EVERY)
        at_work.join()
        self.stdout.write("")
        if told["state"] != "done":
            raise CommandError(f"The sweep ended as {told['state']}; the worker's log says why.")

    def _show(self, told: Answer) -> None:
        self.stdout.write(
            f"\r{told['memories']} of {told['of_memories']} memories, "
            f"{told['pairs']} pairs compared, {told['skipped']} known, "
            f"{told['actions']} retired, {told['disputes']} disputes",
            ending="",
        )
        self.stdout.flush()


def _work(caller: Caller, told: Answer) -> None:
    """Do the job, unless a worker has it already."""
    try:
        with acting_as(caller):
            job_id = Job.objects.values_list("id", flat=True).get(
                subject_id=read_id(Prefix.BATCH, told["id"]), state__in=("queued", "running")
            )
        job = claim(job_id)
        if job is not None:
            run_job(job)
    finally:
        connections.close_all()
