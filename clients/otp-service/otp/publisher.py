"""From the outbox to the queue.

It publishes, then writes down that it has: a crash in between publishes once more. The other order
would lose messages.
"""

from .config import Config
from .queue import Queue
from .store import Store


def publish(store: Store, queue: Queue, config: Config) -> None:
    """Publishes what is not known to be published."""
    for seq, request in store.unpublished():
        queue.publish(request)
        if config.publish_twice:
            queue.publish(request)
        store.mark_published(seq)
