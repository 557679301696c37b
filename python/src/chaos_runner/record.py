"""What the provider has on record: messages, attempts and the faults that are set."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Mapping

__all__ = ["Attempt", "Fault", "Message"]


def _time(text: str) -> datetime:
    """RFC 3339 in UTC. Fractions may have more digits than Python 3.9 reads."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}.{fraction[:6]:<06}+00:00")


@dataclass(frozen=True)
class Message:
    """One accepted message, and so one buzz of one phone."""

    id: str
    to: str | None
    body: str | None
    key: str | None
    """The idempotency key under which it was accepted."""
    customer: str
    status: str
    """``accepted``, ``queued``, ``sent``, ``delivered``, ``undelivered`` or ``expired``."""
    attempt: int
    """The attempt by which it was accepted."""
    at: datetime = field(compare=False)
    """When it was accepted, by the provider's clock."""

    @classmethod
    def of(cls, shown: Mapping[str, Any]) -> Message:
        """Reads one as ``/admin/messages`` shows it."""
        return cls(
            id=shown["id"],
            to=shown["to"],
            body=shown["body"],
            key=shown["idempotency_key"],
            customer=shown["customer"],
            status=shown["status"],
            attempt=shown["attempt"],
            at=_time(shown["at"]),
        )


@dataclass(frozen=True)
class Attempt:
    """One request that was read whole, and what became of it."""

    id: int
    method: str
    target: str
    to: str | None
    key: str | None
    """The idempotency key that it bore."""
    customer: str | None
    reached: str
    """How far it came: ``arrived``, ``accepted``, ``replayed`` or ``answering``."""
    status: int | None
    """The status that was answered; None where no answer left."""
    message: str | None
    """The id of the message that it became; None for a replay."""
    end: str | None
    """``answered``, ``client-closed``, ``reset``, …; None while it is in flight."""
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: str = field(repr=False)
    at: datetime = field(compare=False)
    """When it arrived, by the provider's clock."""

    @classmethod
    def of(cls, shown: Mapping[str, Any]) -> Attempt:
        """Reads one as ``/admin/attempts`` shows it."""
        return cls(
            id=shown["attempt"],
            method=shown["method"],
            target=shown["target"],
            to=shown["to"],
            key=shown["idempotency_key"],
            customer=shown["customer"],
            reached=shown["reached"],
            status=shown["status"],
            message=shown["message"],
            end=shown["end"],
            headers=tuple((name, value) for name, value in shown["headers"]),
            body=shown["body"],
            at=_time(shown["at"]),
        )


@dataclass(frozen=True)
class Fault:
    """One fault that is set."""

    id: int
    written: Mapping[str, Any] = field(compare=False)
    """As the provider shows it."""
