"""What is said when a message was not delivered exactly once."""

from __future__ import annotations

from datetime import datetime
from typing import Sequence

from .record import Attempt, Message

__all__ = ["account", "what_is_wrong"]

# An attempt that ended without a whole answer: in words.
_ENDS = {
    None: "no answer yet",
    "truncated": "the answer was cut",
    "reset": "connection reset, no answer",
    "closed": "connection closed, no answer",
    "client-closed": "no answer; the client hung up",
    "client-reset": "no answer; the client hung up (RST)",
    "crashed": "no answer; the provider crashed",
    "shutdown": "no answer; the provider was stopped",
}


def account(attempts: Sequence[Attempt], messages: Sequence[Message]) -> str:
    """Every attempt, one a line: when, what for, under which key, and what became of it."""
    if not attempts:
        return "  (no request arrived)"
    accepted_by = {message.attempt for message in messages}
    start = attempts[0].at
    rows = [
        (
            f"#{number}",
            _since(start, attempt.at),
            f"{attempt.method} {attempt.target}",
            f"to {attempt.to}" if attempt.to else "",
            f"key {attempt.key!r}" if attempt.key is not None else "no key",
            _fate(attempt, attempt.id in accepted_by),
        )
        for number, attempt in enumerate(attempts, 1)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = []
    for number, since, request, to, key, fate in rows:
        head = f"  {number:<{widths[0]}}  {since:>{widths[1]}}  {request:<{widths[2]}}"
        if widths[3]:
            head += f"  {to:<{widths[3]}}"
        lines.append(f"{head}  {key:<{widths[4]}}  {fate}")
    return "\n".join(lines)


def _since(start: datetime, at: datetime) -> str:
    return f"+{round((at - start).total_seconds() * 1000)} ms"


def _fate(attempt: Attempt, accepted: bool) -> str:
    if attempt.end == "answered":
        answer = f"answered {attempt.status}"
    else:
        answer = _ENDS.get(attempt.end, str(attempt.end))
    if accepted:
        return f"accepted, phone buzzed; {answer}"
    # Refused, or a stored answer given again: either way nothing new was delivered.
    return f"no buzz; {answer}"


def what_is_wrong(
    found: Sequence[Message],
    attempts: Sequence[Attempt],
    messages: Sequence[Message],
    *,
    key: str | None,
    to: str | None,
    url: str,
) -> str:
    """Why `found` is not the one message that there should be, with every attempt as the proof."""
    aim = " ".join(
        word for word in (f"to {to}" if to else "", f"under key {key!r}" if key else "") if word
    )
    count = {0: "never", 2: "twice"}.get(len(found), f"{len(found)} times")
    lines = [f"delivered {count}, not once: {aim}", ""]
    lines += [account(attempts, messages), ""]
    lines += _advice(found, attempts, key=key, to=to, url=url)
    return "\n".join(lines)


def _advice(
    found: Sequence[Message],
    attempts: Sequence[Attempt],
    *,
    key: str | None,
    to: str | None,
    url: str,
) -> list[str]:
    if found:
        keys = [message.key for message in found]
        if None in keys:
            return [
                "A request without an idempotency key is a new message each time.",
                "Send one key per message, chosen before the first request, with every request for it.",
            ]
        if len(set(keys)) > 1:
            return [
                "Each of these keys is a message of its own to the provider.",
                "Send one key per message, chosen before the first request, with every request for it.",
            ]
        if len({message.customer for message in found}) > 1:
            return ["The key is the same, but it belongs to several customers: each has its own keys."]
        return ["The provider had forgotten the key when it came again: a retry came after its retention."]
    if not attempts:
        return [f"Does the client send to {url}?"]
    if key is not None and all(attempt.key != key for attempt in attempts):
        return [f"No request bore the key {key!r}."]
    if to is not None and all(attempt.to != to for attempt in attempts):
        return [f"No request was for {to}."]
    return ["The client gave up before the message was accepted, or has not tried again yet."]
