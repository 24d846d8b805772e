"""
`python -m deploy.worker`: does the jobs, woken by the broker, and looking by itself every 5 s.

With the broker down the sweeper alone finds the work. With the database down everybody waits.
"""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from uuid import UUID

import django
import dramatiq
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, connections
from django.utils.module_loading import autodiscover_modules

from deploy.broker import ACTOR, QUEUE, broker, wake_workers
from deploy.guards import refuse_unsafe_login
from tenants.job_desk import beat, beat_no_more, sweep_jobs, workers_that_beat
from tenants.jobs import JobInHand, claim, give_back, run_job
from tenants.sealing import anchor_in_time, seal_events

logger = logging.getLogger("deploy.worker")

SWEPT_EVERY = 5.0  # seconds
ONE_SITTING = 60.0  # seconds after which a thread goes back to the broker for its next job
_DATABASE_DOWN = (OperationalError, InterfaceError)


class Workshop:
    """The jobs that this process has in hand, and the hands: as many as there are threads."""

    def __init__(self, hands: int) -> None:
        self.closing = threading.Event()
        self._free = threading.Semaphore(hands)
        self._in_hand: set[JobInHand] = set()

    def work(self, *, wait: float = SWEPT_EVERY) -> None:
        """
        Do what there is to do, whosever turn it is, with the next free hand.

        All of it, not only the job that a message tells of: many messages may have been lost.

        :param wait: for how many seconds to wait for a free hand; the busy ones go on anyway
        """
        if self._free.acquire(timeout=wait):
            try:
                self._sit()
            finally:
                self._free.release()

    def sweep(self) -> None:
        """Put back what dead workers left, and do what nobody was woken for."""
        sweep_jobs()
        while not self.closing.is_set() and self._free.acquire(blocking=False):
            job = None
            try:
                job = self._claimed()
            finally:
                if job is None:
                    self._free.release()
            if job is None:
                return
            threading.Thread(target=self._found, args=(job,), daemon=True).start()

    def close(self, grace: float) -> int:
        """
        Take no more jobs, let others do what is not finished in time, and return how many that are.

        :param grace: seconds
        """
        self.closing.set()
        until = time.monotonic() + grace
        while self._in_hand and time.monotonic() < until:
            time.sleep(0.05)
        unfinished = list(self._in_hand)
        for job in unfinished:
            logger.warning("job %s was not finished in time: given back", job.id)
            unless_database_is_down(partial(give_back, job))
        return len(unfinished)

    def _found(self, job: JobInHand) -> None:
        try:
            unless_database_is_down(partial(self._do, job))
            unless_database_is_down(self._sit)
        finally:
            self._free.release()

    def _sit(self) -> None:
        until = time.monotonic() + ONE_SITTING
        while time.monotonic() < until and not self.closing.is_set():
            job = self._claimed()
            if job is None:
                return
            self._do(job)

    def _claimed(self) -> JobInHand | None:
        job = claim()
        if job is not None:
            self._in_hand.add(job)
        return job

    def _do(self, job: JobInHand) -> None:
        try:
            run_job(job)
        finally:
            self._in_hand.discard(job)


def unless_database_is_down(act: Callable[[], None]) -> bool:
    """Do it, and return whether the database let us; the next sweep tries again."""
    try:
        act()
    except _DATABASE_DOWN:
        logger.warning("the database does not answer", exc_info=True)
        return False
    finally:
        connections.close_all()
    return True


def declare_actor(shop: Workshop) -> None:
    """Have messages lead to the workshop."""

    def work(tenant_id: object = None, job_id: object = None, **_later: object) -> None:
        try:
            UUID(str(tenant_id)), UUID(str(job_id))
        except ValueError:
            logger.warning("a message without the ids of a tenant and a job was refused")
            return
        unless_database_is_down(shop.work)

    dramatiq.actor(broker=broker(), actor_name=ACTOR, queue_name=QUEUE)(work)


def sweep(shop: Workshop) -> None:
    """
    Say that this worker is alive, look for work, and do what is to be done from time to time.

    Each by itself: what goes wrong with one of them keeps none of the others from being done.
    """
    # Not known before Django is booted.
    from hygiene.schedule import start_due_sweeps  # noqa: PLC0415
    from memory.trust.expiry import mark_what_expired  # noqa: PLC0415

    beat(_my_name())
    # Nothing else may hold up what dead workers left.
    for part in (shop.sweep, start_due_sweeps, mark_what_expired, seal_events, anchor_in_time):
        _by_itself(part)


def _by_itself(part: Callable[[], object]) -> None:
    try:
        part()
    except _DATABASE_DOWN:
        raise
    except Exception:  # whatever it is: it is in the log, and the next sweep tries again
        logger.exception("%s failed; the rest of the sweep goes on", part.__qualname__)


def _my_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def bury_the_dead() -> None:
    """Say that those workers of this host live no more whose process is gone."""
    host = socket.gethostname()
    beating = (name.rpartition(":") for name in workers_that_beat())
    beat_no_more([f"{host}:{pid}" for on, _, pid in beating if on == host and not _runs(pid)])


def _runs(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True


def run() -> int:
    """Work until told to stop, and return how many jobs were not finished by then."""
    stopping = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    while not unless_database_is_down(partial(refuse_unsafe_login, connection)):
        if stopping.wait(SWEPT_EVERY):
            return 0
    unless_database_is_down(bury_the_dead)
    try:
        return _work_until(stopping)
    finally:
        unless_database_is_down(partial(beat_no_more, [_my_name()]))


def _work_until(stopping: threading.Event) -> int:
    hands = settings.WORKER_THREADS
    shop = Workshop(hands)
    declare_actor(shop)
    wake_workers()
    threads = dramatiq.Worker(broker(), worker_threads=hands)
    threads.start()
    logger.info("started with %s threads", hands)
    while True:
        unless_database_is_down(partial(sweep, shop))
        if stopping.wait(SWEPT_EVERY):
            break
    unfinished = shop.close(settings.WORKER_GRACE_SECONDS)
    threads.stop(timeout=2000 if not unfinished else 100)
    return unfinished


def main() -> None:
    """Boot Django, find out who does which kind of job, and work."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deploy.settings")
    django.setup()
    # Kinds are declared in the apps' own modules of this name, or where those import them from.
    autodiscover_modules("jobs")
    if run():
        logging.shutdown()
        os._exit(0)  # a thread that is stuck in a job must not keep the process


if __name__ == "__main__":
    main()
