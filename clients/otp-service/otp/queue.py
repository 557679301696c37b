"""The broker between publisher and consumers: at least once, in no order, like most of them.

A file of its own on purpose: no transaction spans it and the service's tables.
"""

import sqlite3
import time
from pathlib import Path

_SCHEMA = """
create table if not exists message (
    seq        integer primary key,
    request_id text not null,      -- not unique: what is published twice is delivered twice
    visible_at real not null
) strict;
"""


class Queue:
    """The queue, over one connection."""

    def __init__(self, directory: str) -> None:
        path = Path(directory) / "queue.db"
        self._db = sqlite3.connect(path, timeout=10, isolation_level=None)
        self._db.execute("pragma journal_mode = wal")

    def migrate(self) -> None:
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    def publish(self, request: str) -> None:
        self._db.execute(
            "insert into message (request_id, visible_at) values (?, ?)", [request, time.time()]
        )

    def take(self, limit: int, hidden_for: float) -> list[tuple[int, str]]:
        """Messages that are due. They come again after that time unless they are acknowledged."""
        now = time.time()
        taken = self._db.execute(
            """update message set visible_at = ? where seq in (
                   select seq from message where visible_at <= ? order by visible_at limit ?)
               returning seq, request_id""",
            [now + hidden_for, now, limit],
        )
        return taken.fetchall()

    def postpone(self, seq: int, until: float) -> None:
        self._db.execute("update message set visible_at = ? where seq = ?", [until, seq])

    def acknowledge(self, seq: int) -> None:
        self._db.execute("delete from message where seq = ?", [seq])
