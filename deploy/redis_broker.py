"""
Redis as the broker, where what others have put among the messages does not stop a worker.

Dramatiq starts its consumer anew over each message that it cannot read, loses with that what it
has fetched beside it, and takes no more once it has too many that it cannot acknowledge. So what
is no message of ours is left out as it is fetched.
"""

import logging
from collections.abc import Iterable

from dramatiq import DecodeError, Message
from dramatiq.brokers.redis import RedisBroker

logger = logging.getLogger(__name__)

ACKNOWLEDGED_BY = "redis_message_id"


class WaryRedisBroker(RedisBroker):
    """Dramatiq's broker, which hands its consumers messages alone."""

    def do_fetch(self, queue_name: str, most: int) -> list[bytes]:
        """Return what there is for a consumer, without what is no message."""
        fetched: Iterable[bytes] = self._dispatch("fetch")(queue_name, most)  # type: ignore[no-untyped-call]
        return [one for one in fetched if _is_message(one)]


def _is_message(data: bytes) -> bool:
    try:
        message: Message[None] = Message.decode(data)
    except DecodeError:
        logger.warning("something in Redis that is no message was refused")
        return False
    options: object = message.options  # as whoever wrote it pleased
    if not isinstance(options, dict) or not isinstance(options.get(ACKNOWLEDGED_BY), str):
        logger.warning("a message in Redis that nobody could acknowledge was refused")
        return False
    return True
