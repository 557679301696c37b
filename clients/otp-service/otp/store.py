"""The service's tables, on SQLite. Each method is one transaction: it happens whole or not at all.

A connection belongs to the thread that opened it; a store is one connection.
"""

import hashlib
import json
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_SCHEMA = """
create table if not exists request (
    -- Also the idempotency key at the provider: chosen here, before anything is sent.
    id             text primary key,
    customer       text not null,
    caller_key     text not null,
    -- Of what was asked for under the caller's key.
    fingerprint    text not null,
    -- The bytes that go to the provider: every attempt sends the same ones.
    payload        blob not null,
    expires_at     real,
    status         text not null default 'pending',   -- sending, sent, unknown, dead
    reason         text,
    attempts       integer not null default 0,
    first_at       real,
    due            real not null,
    maybe_accepted integer not null default 0,         -- never goes back to 0
    lease_until    real,
    fence          integer not null default 0,         -- which claim this is
    provider_id    text,
    delivery       integer not null default 0,         -- rank of the last receipt; only grows
    unique (customer, caller_key)
) strict;
create table if not exists outbox (
    seq        integer primary key,
    request_id text not null references request (id),
    published  integer not null default 0
) strict;
create table if not exists webhook_event (
    event_id text primary key,
    body     blob not null,
    applied  integer not null default 0
) strict;
"""

# A receipt proves that the provider has the message. Later states do not go back to earlier ones.
_RANK = {"queued": 1, "sent": 2, "undelivered": 3, "delivered": 3}


class Conflict(Exception):
    """The caller's key stands for something else."""


@dataclass(frozen=True)
class Claim:
    """A request under our lease; `attempts` counts the one that is about to be made."""

    id: str
    customer: str
    payload: bytes
    expires_at: float | None
    attempts: int
    first_at: float
    maybe_accepted: bool
    fence: int


class Store:
    """The tables."""

    def __init__(self, directory: str) -> None:
        path = Path(directory) / "otp.db"
        self._db = sqlite3.connect(path, timeout=10, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")

    def migrate(self) -> None:
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # Immediate: what is read here is still so when it is written.
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    # The front door.

    def accept(
        self, customer: str, caller_key: str, phone: str, text: str, expires_at: str
    ) -> tuple[str, bool]:
        """Takes a request on: the row and its outbox entry, or neither. Returns the id, and
        whether the caller's key was there already. The constraint decides, not a look before."""
        asked = json.dumps([phone, text, expires_at]).encode()
        fingerprint = hashlib.sha256(asked).hexdigest()
        payload = json.dumps({"to": phone, "body": text}, separators=(",", ":")).encode()
        expiry = datetime.fromisoformat(expires_at).timestamp() if expires_at else None
        with self._transaction():
            fresh = self._db.execute(
                """insert into request (id, customer, caller_key, fingerprint, payload, expires_at, due)
                   values (?, ?, ?, ?, ?, ?, ?)
                   on conflict (customer, caller_key) do nothing returning id""",
                [str(uuid.uuid4()), customer, caller_key, fingerprint, payload, expiry, time.time()],
            ).fetchone()
            if fresh:
                self._db.execute("insert into outbox (request_id) values (?)", [fresh["id"]])
                return fresh["id"], False
            there = self._db.execute(
                "select id, fingerprint from request where customer = ? and caller_key = ?",
                [customer, caller_key],
            ).fetchone()
            # An expiry that the caller works out anew each time would differ each time.
            if there["fingerprint"] != fingerprint:
                raise Conflict(caller_key)
            return there["id"], True

    # The publisher.

    def unpublished(self) -> list[tuple[int, str]]:
        found = self._db.execute("select seq, request_id from outbox where not published")
        return [(row["seq"], row["request_id"]) for row in found]

    def mark_published(self, seq: int) -> None:
        self._db.execute("update outbox set published = 1 where seq = ?", [seq])

    # The consumer.

    def claim(self, request: str, lease: float) -> Claim | float | None:
        """Takes a request whose time has come, or whose worker is dead. A number: not before
        then. None: there is nothing left to do."""
        now = time.time()
        with self._transaction():
            row = self._db.execute("select * from request where id = ?", [request]).fetchone()
            if row is None or row["status"] not in ("pending", "sending"):
                return None
            free_at: float = row["due"] if row["status"] == "pending" else row["lease_until"]
            if free_at > now:
                return free_at
            row = self._db.execute(
                """update request set status = 'sending', fence = fence + 1, lease_until = ?,
                       attempts = attempts + 1, first_at = coalesce(first_at, ?),
                       -- Its worker died with the request perhaps on its way.
                       maybe_accepted = maybe_accepted or status = 'sending'
                   where id = ? returning *""",
                [now + lease, now, request],
            ).fetchone()
        return Claim(
            row["id"],
            row["customer"],
            row["payload"],
            row["expires_at"],
            row["attempts"],
            row["first_at"],
            bool(row["maybe_accepted"]),
            row["fence"],
        )

    def settle(
        self,
        claim: Claim,
        *,
        status: str,
        maybe_accepted: bool,
        due: float = 0.0,
        reason: str | None = None,
        provider_id: str | None = None,
        attempted: bool = True,
    ) -> None:
        """Writes what became of a claim, unless a receipt or another worker was there first."""
        self._db.execute(
            """update request set status = ?, maybe_accepted = ?, due = ?, reason = ?,
                   provider_id = ?, attempts = attempts - ?, lease_until = null
               where id = ? and fence = ? and status = 'sending'""",
            [
                status,
                maybe_accepted,
                due,
                reason,
                provider_id,
                0 if attempted else 1,
                claim.id,
                claim.fence,
            ],
        )

    # The webhooks.

    def keep_event(self, event_id: str, body: bytes) -> None:
        """Stores an event, once. Only then may it be acknowledged."""
        self._db.execute(
            "insert into webhook_event (event_id, body) values (?, ?) on conflict do nothing",
            [event_id, body],
        )

    def apply_events(self) -> None:
        """Lets every event that is kept take effect, once."""
        kept_sql = "select event_id, body from webhook_event where not applied order by rowid"
        if not self._db.execute(kept_sql).fetchone():
            return
        with self._transaction():
            for row in self._db.execute(kept_sql).fetchall():
                event = json.loads(row["body"])
                rank = _RANK.get(event.get("status"), 0)
                if rank:
                    # Known by our key: the receipt may be here before the provider's answer.
                    self._db.execute(
                        """update request set status = 'sent', reason = null,
                               provider_id = ?, delivery = max(delivery, ?)
                           where id = ?""",
                        [event.get("message_id"), rank, event.get("idempotency_key")],
                    )
                self._db.execute(
                    "update webhook_event set applied = 1 where event_id = ?", [row["event_id"]]
                )
