"""The outbox: one row for each message, in SQLite.

Owns the rows and how they change hands. It makes no request, but for the defect that does.
"""

import json
import os
import sqlite3
import threading
import time
import uuid

import keys
from defect import defect
from settings import LEASE

SCHEMA = """
create table if not exists outbox (
    id          text primary key,
    intent      text not null {unique},
    customer    text not null,
    recipient   text not null,
    body        text not null,
    request     text not null,       -- the bytes of every request for it
    key         text,                -- the idempotency key of every request for it
    expires_at  real,
    status      text not null default 'pending',
    attempts    integer not null default 0,
    due         real not null default 0,
    first_try   real,
    last_status integer,             -- what the provider answered last
    reached     text not null default 'no',  -- did a request get there: no, refused, perhaps
    provider    integer not null default 1,
    lease_until real,
    fence       integer not null default 0,  -- grows with every claim
    message_id  text,
    delivery    integer not null default 0   -- how far the receipts are
);
create index if not exists due on outbox (status, due);
create table if not exists receipt (event_id text primary key, message_id text, status text);
"""

CONFLICT = 65
UNAVAILABLE = 75

_local = threading.local()


def database():
    """This thread's connection."""
    if not hasattr(_local, "connection"):
        # A caller waits for a locked database; one with an open transaction does not.
        patience = 0.1 if defect("sent-then-rolled-back") else 5
        _local.connection = sqlite3.connect(
            os.environ["OUTBOX"], timeout=patience, isolation_level=None
        )
        _local.connection.row_factory = sqlite3.Row
        # A test outbox need not survive a power cut.
        _local.connection.execute("pragma synchronous = off")
    return _local.connection


def setup():
    unique = "" if defect("front-door-duplicates") else "unique"
    database().execute("pragma journal_mode = wal")
    database().executescript(SCHEMA.format(unique=unique))
    if defect("swallowed"):
        # Also of two that are stored at once, one is swallowed.
        database().execute("create unique index if not exists once on outbox (recipient)")


def enqueue(intent, recipient, body, customer, callers_key, expires_at):
    """Stores a message, once for each intent. Returns the exit code."""
    known = database().execute(
        "select recipient, body from outbox where intent = ?", (intent,)
    ).fetchone()
    if known and not defect("front-door-duplicates"):
        return repeated(known, recipient, body)
    row_id = str(uuid.uuid4())
    row = {
        "id": row_id,
        "intent": intent,
        "customer": customer or "default",
        "recipient": recipient,
        "body": body,
        "request": json.dumps({"to": recipient, "body": body}),
        "key": keys.at_the_door(row_id, intent, recipient, callers_key),
        "expires_at": expires_at,
    }
    if defect("sent-then-rolled-back"):
        import worker

        # The transaction ends with the insert. Where that fails, the request stays made.
        row = worker.first_try_at_the_door(row)
    columns = ", ".join(row)
    places = ", ".join("?" * len(row))
    try:
        # One statement: of two that store one intent at once, one comes second.
        inserted = database().execute(
            f"insert into outbox ({columns}) values ({places}) on conflict do nothing",
            tuple(row.values()),
        ).rowcount
    except sqlite3.OperationalError:
        return UNAVAILABLE
    if inserted or defect("swallowed"):
        return 0
    known = database().execute(
        "select recipient, body from outbox where intent = ?", (intent,)
    ).fetchone()
    return repeated(known, recipient, body)


def repeated(known, recipient, body):
    """The answer to a caller who hands over an intent that is already there."""
    if tuple(known) == (recipient, body) or defect("front-door-conflict-hidden"):
        return 0
    return CONFLICT


def claim(most):
    """Takes up to `most` rows that are due, each for as long as a lease."""
    if defect("no-claim-lock"):
        return read_then_mark()
    now = time.time()
    rows = database().execute(
        """update outbox set status = 'in_progress', lease_until = ?, fence = fence + 1
           where id in (select id from outbox where status = 'pending' and due <= ?
                        order by due limit ?)
           returning *""",
        (now + LEASE, now, most),
    ).fetchall()
    return [dict(row) for row in rows]


def read_then_mark():
    due = "select * from outbox where status = 'pending' and due <= ? order by due"
    rows = [dict(row) for row in database().execute(due, (time.time(),)).fetchall()]
    if rows:
        # Whatever a worker does here, others have read the same rows.
        time.sleep(1)
    for row in rows:
        row["fence"] += 1
        row["lease_until"] = time.time() + LEASE
        database().execute(
            "update outbox set status = 'in_progress', lease_until = ?, fence = ? where id = ?",
            (row["lease_until"], row["fence"], row["id"]),
        )
    return rows


def next_due():
    """When the next row is due; `None`: none waits."""
    waiting = "select min(due) from outbox where status = 'pending'"
    return database().execute(waiting).fetchone()[0]


def begin(row):
    """Counts a try before its first byte leaves. Returns whether the claim still holds."""
    row["attempts"] += 1
    row["first_try"] = row["first_try"] or time.time()
    begun = database().execute(
        """update outbox set attempts = ?, first_try = ?
           where id = ? and fence = ? and lease_until > ?""",
        (row["attempts"], row["first_try"], row["id"], row["fence"], time.time()),
    )
    return begun.rowcount == 1


def settle(row, status, due=0):
    """Writes down what became of a claimed row, unless it has changed hands."""
    database().execute(
        """update outbox set status = ?, due = ?, key = ?, reached = ?, provider = ?,
                             last_status = ?, message_id = coalesce(?, message_id)
           where id = ? and fence = ?""",
        (status, due, row["key"], row["reached"], row["provider"], row["last_status"],
         row["message_id"], row["id"], row["fence"]),
    )


def sweep(busy):
    """Takes back what dead processes have left behind; `busy` is this process's own work."""
    if defect("stuck"):
        return
    now = time.time()
    old = "select id, fence from outbox where status = 'in_progress' and lease_until < ?"
    found = database().execute(old, (now,)).fetchall()
    for row in found:
        if row["id"] in busy and not defect("sweeper-too-eager"):
            continue
        # Nobody knows how far its try was.
        database().execute(
            """update outbox set status = ?, due = 0, reached = 'perhaps', fence = fence + 1
               where id = ? and fence = ?""",
            ("sent" if defect("lost") else "pending", row["id"], row["fence"]),
        )
