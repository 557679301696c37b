"""The consumers: each message of the queue is one attempt at most.

Who has had the message before, and how often it was published, does not matter: the request's row
says what is still to be done, and its claim who may do it.
"""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from . import policy, provider
from .config import Config
from .queue import Queue
from .store import Claim, Store

log = logging.getLogger("otp.consumer")

_AT_ONCE = 16


class Consumers:
    """Threads that work on what the queue has."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="consumer")
        self._local = threading.local()
        self._lock = threading.Lock()
        self._busy: set[str] = set()

    def free(self) -> int:
        with self._lock:
            return _AT_ONCE - len(self._busy)

    def consume(self, messages: list[tuple[int, str]], queue: Queue) -> None:
        """Takes on messages that the queue has handed out."""
        for seq, request in messages:
            with self._lock:
                twice = request in self._busy
                self._busy.add(request)
            if twice:
                # The same request once more, while we work on it.
                queue.postpone(seq, time.time() + self._config.poll)
            else:
                self._pool.submit(self._work, seq, request)

    def finish(self) -> None:
        """Brings to an end what has begun."""
        self._pool.shutdown(wait=True)

    def _work(self, seq: int, request: str) -> None:
        try:
            if not hasattr(self._local, "store"):
                self._local.store = Store(self._config.directory)
                self._local.queue = Queue(self._config.directory)
            come_again = self._attempt(self._local.store, request)
            if come_again is None:
                self._local.queue.acknowledge(seq)
            else:
                self._local.queue.postpone(seq, come_again)
        except Exception:
            # The message comes again when its time in hiding is over, and the claim's lease too.
            log.exception("request %s", request)
        finally:
            with self._lock:
                self._busy.discard(request)

    def _attempt(self, store: Store, request: str) -> float | None:
        """When the message is to come again; None: never."""
        config = self._config
        claimed_at = time.monotonic()
        claim = store.claim(request, config.lease)
        if not isinstance(claim, Claim):
            return claim
        now = time.time()
        rule = policy.forbids(claim, claim.attempts, now, config)
        slept = time.monotonic() - claimed_at
        if rule is None and slept + config.read_timeout > config.lease:
            # The process was asleep: the answer would come when the row is not ours any more.
            store.settle(
                claim, status="pending", maybe_accepted=claim.maybe_accepted, attempted=False
            )
            return now
        if rule is None:
            left = claim.expires_at - now if claim.expires_at is not None else float("inf")
            answer = provider.submit(config, claim.customer, claim.id, claim.payload, left)
            after = policy.after(claim, answer, time.time(), config)
            said = answer.status or answer.detail
        else:
            answer = None
            after = policy.give_up(claim, rule)
            said = rule
        store.settle(
            claim,
            status=after.status,
            maybe_accepted=after.maybe_accepted,
            due=after.due,
            reason=after.reason,
            provider_id=answer.message_id if answer else None,
            attempted=answer is not None,
        )
        log.info("request %s attempt %d: %s -> %s", request, claim.attempts, said, after.status)
        return after.due if after.status == "pending" else None
