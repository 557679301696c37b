"""The outbox table. Every step of a worker is one statement, so it happens whole or not at all.

Times are the database's: workers on several hosts need not agree on a clock.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import class_row
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_random_exponential


def database_url() -> str:
    return os.environ["DATABASE_URL"]


def migrate(url: str) -> None:
    """Makes the database where it is missing, and the table."""
    name = str(conninfo_to_dict(url)["dbname"])
    with psycopg.connect(url, dbname="postgres", autocommit=True) as db:
        if not db.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
            db.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    with psycopg.connect(url) as db:
        db.execute(Path(__file__).with_name("schema.sql").read_text())


class Conflict(Exception):
    """The intent, or the key, is there already and stands for something else."""


def enqueue(
    db: psycopg.Connection[Any],
    *,
    intent: str,
    to: str,
    body: str,
    customer: str = "default",
    key: str | None = None,
    expires_at: str | None = None,
) -> None:
    """Puts a message in, in the caller's transaction. The same one again changes nothing."""
    payload = json.dumps({"to": to, "body": body}, separators=(",", ":")).encode()
    try:
        inserted = db.execute(
            """insert into sms_outbox (customer, intent, key, payload, expires_at)
               values (%s, %s, coalesce(%s, gen_random_uuid()::text), %s, %s)
               on conflict (customer, intent) do nothing""",
            [customer, intent, key, payload, expires_at],
        ).rowcount
    except psycopg.errors.UniqueViolation as error:
        raise Conflict(f"the key of intent {intent} is another intent's") from error
    if inserted:
        return
    same = db.execute(
        """select payload = %s and (%s::text is null or key = %s)
           from sms_outbox where customer = %s and intent = %s""",
        [payload, key, key, customer, intent],
    ).fetchone()
    if same != (True,):
        raise Conflict(f"intent {intent} is there already with other content")


@dataclass(frozen=True)
class Claimed:
    """A row under our lease, with `attempts` counting the one that is about to be made."""

    id: UUID
    intent: str
    customer: str
    key: str
    payload: bytes
    attempts: int
    maybe_accepted: bool
    fence: int
    since_first: float
    until_expiry: float | None


_CLAIM = """
with due as (
    select id, status from sms_outbox
    where ((status = 'pending' and next_attempt_at <= clock_timestamp())
        or (status = 'in_progress' and lease_until <= clock_timestamp()))
      and id <> all(%(busy)s)
    order by next_attempt_at limit %(limit)s
    for update skip locked)
update sms_outbox o set
    status = 'in_progress',
    fence = fence + 1,
    lease_until = clock_timestamp() + make_interval(secs => %(lease)s),
    attempts = attempts + 1,
    first_attempt_at = coalesce(first_attempt_at, clock_timestamp()),
    -- Its worker died, or was cut off, with the request perhaps on its way.
    maybe_accepted = maybe_accepted or due.status = 'in_progress'
from due where o.id = due.id
returning o.id, intent, customer, key, payload, attempts, maybe_accepted, fence,
    extract(epoch from clock_timestamp() - first_attempt_at)::float as since_first,
    extract(epoch from expires_at - clock_timestamp())::float as until_expiry
"""

# The lease is over by then, and the row is anybody's.
_SETTLE_FOR = 30


class Outbox:
    """The table as a worker uses it, over one connection that is made again when it is lost."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._db: psycopg.AsyncConnection[Any] | None = None

    async def _connection(self) -> psycopg.AsyncConnection[Any]:
        if self._db is None or self._db.closed:
            self._db = await psycopg.AsyncConnection.connect(self._url, autocommit=True)
        return self._db

    async def close(self) -> None:
        if self._db is not None:
            await self._db.close()

    async def claim(self, limit: int, lease: float, busy: list[UUID]) -> list[Claimed]:
        """Takes what is due, and what a dead worker has left; not what we are working on."""
        db = await self._connection()
        async with db.cursor(row_factory=class_row(Claimed)) as cursor:
            await cursor.execute(_CLAIM, {"limit": limit, "lease": lease, "busy": busy})
            return await cursor.fetchall()

    async def _update(self, row: Claimed, assignments: str, values: dict[str, Any]) -> None:
        db = await self._connection()
        await db.execute(
            f"update sms_outbox set lease_until = null, {assignments}"
            " where id = %(id)s and fence = %(fence)s and status = 'in_progress'",
            {**values, "id": row.id, "fence": row.fence},
        )

    # What tenacity is for: an update that may be made twice. Never for the request itself,
    # whose attempts the table counts.
    @retry(
        retry=retry_if_exception_type(psycopg.OperationalError),
        wait=wait_random_exponential(multiplier=0.02, max=0.2),
        stop=stop_after_delay(_SETTLE_FOR),
        reraise=True,
    )
    async def settle(
        self,
        row: Claimed,
        *,
        status: str,
        maybe_accepted: bool,
        wait: float = 0.0,
        reason: str | None = None,
        provider_id: str | None = None,
        attempted: bool = True,
    ) -> None:
        """Writes what became of a claim, unless somebody else has the row by now."""
        await self._update(
            row,
            """status = %(status)s, maybe_accepted = %(maybe)s, reason = %(reason)s,
               provider_id = %(provider_id)s, attempts = attempts - %(unmade)s,
               next_attempt_at = clock_timestamp() + make_interval(secs => %(wait)s)""",
            {
                "status": status,
                "maybe": maybe_accepted,
                "reason": reason,
                "provider_id": provider_id,
                "unmade": 0 if attempted else 1,
                "wait": wait,
            },
        )
