"""The loop: claims what is due, and sends several at once so that one that hangs holds up none."""

import asyncio
import logging
import signal
import time
from uuid import UUID

import psycopg

from . import policy
from .config import Config
from .provider import Provider
from .store import Claimed, Outbox

log = logging.getLogger("outbox")


async def run(url: str, config: Config) -> None:
    """Works until told to stop; what has begun by then is brought to its end."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    outbox = Outbox(url)
    log.info("ready")
    provider = Provider(config.api_base, config.connect_timeout, config.read_timeout)
    running: dict[UUID, asyncio.Task[None]] = {}
    while not stop.is_set():
        running = {row: task for row, task in running.items() if not task.done()}
        claimed_at = time.monotonic()
        free = config.concurrency - len(running)
        try:
            rows = await outbox.claim(free, config.lease, list(running)) if free else []
        except psycopg.OperationalError as error:
            log.warning("the database is away: %s", type(error).__name__)
            rows = []
        for row in rows:
            work = deliver(row, claimed_at, outbox, provider, config)
            running[row.id] = asyncio.create_task(work)
        try:
            await asyncio.wait_for(stop.wait(), config.poll)
        except TimeoutError:
            pass
    for ended in await asyncio.gather(*running.values(), return_exceptions=True):
        if isinstance(ended, BaseException):
            log.error("a delivery ended badly; its lease will run out: %r", ended)
    await provider.close()
    await outbox.close()


async def deliver(
    row: Claimed, claimed_at: float, outbox: Outbox, provider: Provider, config: Config
) -> None:
    """One claimed row: one attempt, already counted, and its settlement."""
    forbidden = policy.before(row, config)
    if forbidden is not None:
        decision = policy.give_up(forbidden, row.maybe_accepted)
        await outbox.settle(
            row,
            status=decision.status,
            maybe_accepted=decision.maybe_accepted,
            reason=decision.reason,
            attempted=False,
        )
        log.warning("%s %s: %s", row.intent, decision.status, decision.reason)
        return
    # The process may have slept since the claim: the answer must come while the row is ours.
    slept = time.monotonic() - claimed_at
    left = row.until_expiry - slept if row.until_expiry is not None else float("inf")
    if slept + config.read_timeout > config.lease or left <= config.expiry_margin:
        await outbox.settle(
            row, status="pending", maybe_accepted=row.maybe_accepted, attempted=False
        )
        return
    answer = await provider.submit(row.customer, row.key, row.payload, left)
    decision = policy.after(row, answer, config)
    await outbox.settle(
        row,
        status=decision.status,
        maybe_accepted=decision.maybe_accepted,
        wait=decision.wait,
        reason=decision.reason,
        provider_id=answer.message_id,
    )
    log.info(
        "%s attempt %d: %s -> %s",
        row.intent,
        row.attempts,
        answer.status or answer.detail,
        decision.status,
    )
