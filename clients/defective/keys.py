"""The idempotency key: chosen once, when a message is stored, and sent with every request."""

import uuid

from defect import defect


def at_the_door(row_id, intent, recipient, callers):
    """The key to store with a new message: the caller's, where the caller insists on one."""
    if defect("caller-key-overwritten"):
        return row_id
    if callers:
        return callers
    if defect("key-reused"):
        return f"sms-{recipient}"
    if defect("key-mangled:own-key"):
        return f"otp-{intent[:18]}"
    if defect("crash-mints-key"):
        return None
    if defect("sent-then-rolled-back"):
        # Sent before it is stored: of two that do that at once, both must name the same.
        return intent
    return row_id


def on_the_wire(row, now):
    """The key that a request for `row` bears."""
    if row["key"] is None:
        # Stored only when the try is over.
        row["key"] = new()
    key = row["key"]
    if defect("no-key"):
        return None
    if defect("key-per-attempt"):
        return new()
    if defect("key-dropped") and row["attempts"] > 1:
        return None
    if defect("retried-accepted-500") and row["last_status"] in (500, 502, 504):
        return None
    if defect("volatile-key"):
        return f"{key}-{int(now - row['first_try'])}"
    if defect("key-mangled"):
        return key[:64].lower()
    return key


def new():
    return str(uuid.uuid4())
