"""What an answer means, and what comes next.

Owns the rules. Pure, but for the dice and the clock.
"""

import random
import time
from email.utils import parsedate_to_datetime
from enum import Enum, auto

import keys
from defect import defect
from settings import (
    BACKOFF_BASE, BACKOFF_CAP, EXPIRY_MARGIN, MAX_ATTEMPTS, READ_TIMEOUT, RETRY_AFTER_MAX, retention,
)

PERMANENT_CODES = {21211, 21212, 21214, 21408, 21606, 21610, 21612, 21614}


class Meaning(Enum):
    ACCEPTED = auto()
    # It will never be accepted.
    REFUSED = auto()
    # It was not accepted, and another try may do.
    NOT_NOW = auto()
    # 409: another request under the key is being worked on.
    IN_FLIGHT = auto()
    # No connection was made.
    UNREACHED = auto()
    # Nobody knows.
    UNKNOWN = auto()


def meaning(answer):
    status = answer.status
    if not answer.sent:
        return Meaning.UNREACHED
    if status is not None and 200 <= status < 300 and defect("broken-success-trusted"):
        return Meaning.ACCEPTED
    if not answer.whole:
        return Meaning.UNKNOWN
    content = answer.content if isinstance(answer.content, dict) else {}
    if 200 <= status < 300:
        return Meaning.ACCEPTED if "id" in content else Meaning.UNKNOWN
    if content.get("code") in PERMANENT_CODES:
        return Meaning.REFUSED
    if status in (408, 425, 429, 503):
        return Meaning.NOT_NOW
    if status == 409:
        return Meaning.IN_FLIGHT
    if 400 <= status < 500:
        return Meaning.REFUSED
    return Meaning.UNKNOWN


def too_late(row, at):
    """Whether a try at this time would be one too many."""
    if row["attempts"] >= MAX_ATTEMPTS:
        return True
    expired = row["expires_at"] and at > row["expires_at"] - EXPIRY_MARGIN
    if expired and not defect("sent-after-deadline"):
        return True
    # A request that arrives when the key is forgotten is a new message.
    forgotten = row["first_try"] and at + READ_TIMEOUT > row["first_try"] + retention()
    return bool(forgotten) and not defect("key-outlived")


def given_up(row):
    """How a row ends that is not tried again: set aside, with or without a doubt."""
    return "unknown" if row["reached"] == "perhaps" else "dead"


def after(row, answer, second_provider):
    """Notes in `row` what a try has told. Returns its status, and when it is due again."""
    what = meaning(answer)
    row["last_status"] = answer.status
    if what is Meaning.ACCEPTED:
        row["message_id"] = (answer.content or {}).get("id")
        return "sent", 0
    first_contact = row["reached"] == "no"
    if what in (Meaning.IN_FLIGHT, Meaning.UNKNOWN):
        row["reached"] = "perhaps"
    elif what in (Meaning.NOT_NOW, Meaning.REFUSED) and first_contact:
        row["reached"] = "refused"

    if what is Meaning.IN_FLIGHT and defect("in-flight-mishandled"):
        return "failed", 0
    if what is Meaning.UNKNOWN and answer.status is None and defect("ambiguous-as-failed"):
        return "failed", 0
    if what is Meaning.NOT_NOW and defect("retryable-given-up"):
        return "dead", 0
    if what is Meaning.REFUSED and not defect("permanent-retried"):
        # A refusal speaks for its own try only.
        return ("failed" if first_contact else given_up(row)), 0

    if wants_new_key(what, answer):
        row["key"] = keys.new()
    unreached = what is Meaning.UNREACHED and first_contact
    if unreached or (what is Meaning.UNKNOWN and defect("failover-duplicates")):
        if second_provider:
            row["provider"] = 2
    wait = until_next(row["attempts"], answer)
    due = time.time() + wait
    if wait > RETRY_AFTER_MAX or too_late(row, due):
        return given_up(row), 0
    return "pending", due


def wants_new_key(what, answer):
    """Never: what makes a client want one is listed here."""
    replayed_500 = answer.status == 500 and "idempotent-replayed" in answer.headers
    broken_success = answer.status is not None and 200 <= answer.status < 300
    return (
        (defect("new-key-on-stored-error") and replayed_500)
        or (defect("in-flight-mishandled:new-key") and what is Meaning.IN_FLIGHT)
        or (defect("ambiguous-as-failed:new-key") and answer.sent and answer.status is None)
        or (defect("bad-success-retried") and broken_success)
    )


def until_next(attempts, answer):
    """How long to wait after this many tries, in seconds."""
    limit = min(BACKOFF_CAP, BACKOFF_BASE * 2 ** (attempts - 1))
    wait = random.uniform(0, limit)
    if defect("no-jitter"):
        wait = limit
    if defect("no-backoff"):
        wait = BACKOFF_BASE / 2
    asked = asked_for(answer.headers.get("retry-after"))
    return wait if asked is None else asked + wait


def asked_for(value):
    """The seconds of a Retry-After; `None`: it asks for nothing that can be done."""
    if value is None or defect("retry-after-ignored"):
        return None
    value = value.strip()
    if value.isdecimal():
        return float(value)
    try:
        ahead = parsedate_to_datetime(value).timestamp() - time.time()
    except ValueError:
        return None
    if defect("retry-after-misread"):
        return 0.0
    return ahead if ahead > 0 else None
