"""
The broker that wakes workers, and how they are woken.

PostgreSQL by default, in a schema and with a login of its own; RabbitMQ or Redis by BROKER_URL.
None of them holds anything that matters: a message is the ids of a tenant and a job.
"""

import logging
import queue
import threading
from functools import cache
from uuid import UUID

import dramatiq
import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from dramatiq.middleware import CurrentMessage, Retries, TimeLimit
from dramatiq_postgres import PostgresBroker
from dramatiq_postgres.schema import init as make_queue_tables
from psycopg.conninfo import conninfo_to_dict

from tenants.jobs import set_waker

logger = logging.getLogger(__name__)

SCHEMA = "queue"
TIME_LIMIT = 300_000  # milliseconds; above any HTTP timeout of ours, and far above a lease
REJECTED_KEPT = "7 days"
MOST_WAITING = 1000
QUEUE = "jobs"
ACTOR = "work"

_GRANTS = """
REVOKE ALL ON SCHEMA queue FROM PUBLIC;
GRANT USAGE ON SCHEMA queue TO palimpsest_queue;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queue TO palimpsest_queue;
"""


def prepare_queue(owner_url: str) -> None:
    """Make the schema of the queue in PostgreSQL, and let its login use it; safe to run again."""
    with psycopg.connect(owner_url) as connection, connection.cursor() as cursor:
        make_queue_tables(cursor, schema=SCHEMA)
        cursor.execute(_GRANTS)


@cache
def broker() -> dramatiq.Broker:
    """
    Return this process's broker.

    Nothing is connected to yet, so it does not matter whether the broker is up.

    :raises ImproperlyConfigured: if BROKER_URL names a broker that we do not speak to
    """
    made = _made(settings.BROKER_URL)
    # Dramatiq's own list retries, ages and pipes; our rows do all that.
    for middleware in (TimeLimit(time_limit=TIME_LIMIT), Retries(max_retries=0), CurrentMessage()):
        made.add_middleware(middleware)
    return made


def _made(url: str) -> dramatiq.Broker:
    scheme = url.partition("://")[0]
    if not url:
        return _in_postgres()
    if scheme in ("amqp", "amqps"):
        from dramatiq.brokers.rabbitmq import RabbitmqBroker  # noqa: PLC0415  an optional extra

        return RabbitmqBroker(url=url, confirm_delivery=True, middleware=[])
    if scheme in ("redis", "rediss"):
        from deploy.redis_broker import WaryRedisBroker  # noqa: PLC0415  an optional extra

        # Every command maintains, and a worker silent for 15 s is dead.
        return WaryRedisBroker(  # type: ignore[no-untyped-call]
            url=url, maintenance_chance=1_000_000, heartbeat_timeout=15_000, middleware=[]
        )
    raise ImproperlyConfigured(
        f"BROKER_URL must start with amqp:// or redis://, or be unset; not {scheme}://"
    )


def _in_postgres() -> dramatiq.Broker:
    url = settings.QUEUE_DATABASE_URL
    if not url:
        raise ImproperlyConfigured("QUEUE_DATABASE_URL, the login palimpsest_queue, is not set")
    connect_with = {
        **conninfo_to_dict(url),
        "prepare_threshold": None,
        "connect_timeout": 5,
        "application_name": "palimpsest-queue",
    }
    made: dramatiq.Broker = PostgresBroker(
        url=connect_with,
        schema=SCHEMA,
        results=False,
        heartbeat_interval=5,
        heartbeat_ttl=15,
        maintenance_interval=5,
        purge_maxage=REJECTED_KEPT,
        middleware=[],
    )
    return made


class Messenger:
    """
    Sends the messages of this process from a thread of its own.

    So no request ever waits for a broker. What cannot be sent is dropped: sweepers find the job.
    """

    def __init__(self, to: dramatiq.Broker) -> None:
        self._broker = to
        self._waiting: queue.Queue[tuple[UUID, UUID]] = queue.Queue(MOST_WAITING)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self, tenant_id: UUID, job_id: UUID) -> None:
        """Have a worker told of the job, soon; never wait and never fail."""
        self._start()
        try:
            self._waiting.put_nowait((tenant_id, job_id))
        except queue.Full:
            logger.warning("the broker is too slow or down: sweepers will find job %s", job_id)

    def flush(self) -> None:
        """Wait until everything was sent, or could not be."""
        self._waiting.join()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._send, name="messenger", daemon=True)
                self._thread.start()

    def _send(self) -> None:
        while True:
            tenant_id, job_id = self._waiting.get()
            try:
                self._broker.enqueue(message_of(tenant_id, job_id))
            except Exception:  # whatever a broker's client raises
                logger.warning("the broker did not take job %s", job_id, exc_info=True)
            finally:
                self._waiting.task_done()


def message_of(tenant_id: UUID, job_id: UUID) -> "dramatiq.Message[None]":
    """Return the message that wakes a worker for the job."""
    return dramatiq.Message(
        queue_name=QUEUE,
        actor_name=ACTOR,
        args=(),
        kwargs={"tenant_id": str(tenant_id), "job_id": str(job_id)},
        options={},
    )


def wake_workers() -> None:
    """Have every job that this process leaves wake a worker."""
    set_waker(_wake)


def _wake(tenant_id: UUID, job_id: UUID) -> None:
    messenger().wake(tenant_id, job_id)


@cache
def messenger() -> Messenger:
    """Return the one messenger of this process."""
    return Messenger(broker())
