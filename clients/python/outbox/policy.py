"""What an answer means, and what is done about it. Pure.

The one question is whether the phone may buzz because of an attempt. Only a whole 2xx that names
the message says yes, only a refusal says no; a lost answer says that nobody knows, and a later
refusal does not change that.
"""

import random
from dataclasses import dataclass

from .config import Config
from .provider import Answer
from .store import Claimed

# It says that it has not begun.
_TURNED_AWAY = {408, 425, 429, 503}
# An attempt under this key is in flight: neither final nor a refusal.
_IN_FLIGHT = 409


@dataclass(frozen=True)
class Next:
    """Where a row goes from here."""

    status: str
    maybe_accepted: bool
    wait: float = 0.0
    reason: str | None = None


def before(row: Claimed, config: Config) -> str | None:
    """The rule that forbids another attempt now, if one does."""
    if row.attempts > config.max_attempts:
        return "attempts"
    if row.until_expiry is not None and row.until_expiry <= config.expiry_margin:
        return "expired"
    if row.attempts > 1 and row.since_first + config.read_timeout > config.key_retention:
        return "retention"  # a provider that has forgotten the key would send a second message
    return None


def give_up(reason: str, maybe_accepted: bool) -> Next:
    """Set aside. `dead` only where no attempt can have been accepted."""
    return Next("unknown" if maybe_accepted else "dead", maybe_accepted, reason=reason)


def after(row: Claimed, answer: Answer, config: Config) -> Next:
    """What follows from an answer."""
    status = answer.status
    if answer.message_id is not None:
        return Next("sent", row.maybe_accepted)
    definitive = False
    if status is None:
        ambiguous = answer.connected
    elif status in _TURNED_AWAY:
        ambiguous = False
    else:
        # A broken 2xx, a 409, a server error: it had the request in its hands.
        ambiguous = status == _IN_FLIGHT or not 300 <= status < 500
        definitive = not ambiguous
    maybe_accepted = row.maybe_accepted or ambiguous
    if definitive:
        return give_up(f"refused with {status}", maybe_accepted)
    if row.attempts >= config.max_attempts:
        return give_up("attempts", maybe_accepted)
    if answer.retry_after > config.retry_after_max:
        return give_up("retry-after", maybe_accepted)
    # Retry-After is a hard bound, and the jitter comes on top.
    wait = answer.retry_after + pause(row.attempts, config)
    if row.until_expiry is not None and row.until_expiry < wait:
        return give_up("expired", maybe_accepted)
    if row.since_first + wait + config.read_timeout > config.key_retention:
        return give_up("retention", maybe_accepted)
    return Next("pending", maybe_accepted, wait)


def pause(attempt: int, config: Config) -> float:
    """Equal jitter: half of the limit for certain, so that the attempts outlast a short outage,
    and half drawn, so that those who failed together do not come back together."""
    half = min(config.backoff_cap, config.backoff_base * 2 ** min(attempt - 1, 30)) / 2
    return half + random.uniform(0, half)
