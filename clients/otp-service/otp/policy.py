"""What an answer means, and what is done about it. Pure.

The one question is whether the phone may buzz because of an attempt. Only a whole 2xx that names
the message says yes, only a refusal says no; a lost answer says that nobody knows, and a later
refusal does not change that.
"""

import random
from dataclasses import dataclass

from .config import Config
from .provider import Answer
from .store import Claim

# It says that it has not begun.
_TURNED_AWAY = {408, 425, 429, 503}


@dataclass(frozen=True)
class Next:
    """Where a request goes from here."""

    status: str
    maybe_accepted: bool
    due: float = 0.0
    reason: str | None = None


def forbids(claim: Claim, attempt: int, at: float, config: Config) -> str | None:
    """The rule that forbids this attempt at that time, if one does."""
    if attempt > config.max_attempts:
        return "attempts"
    if claim.expires_at is not None and at + config.expiry_margin >= claim.expires_at:
        return "expired"
    if attempt > 1 and at + config.read_timeout > claim.first_at + config.key_retention:
        return "retention"  # a provider that has forgotten the key would send a second message
    return None


def give_up(claim: Claim, reason: str, maybe_accepted: bool = False) -> Next:
    """Set aside. `dead` only where no attempt can have been accepted."""
    maybe_accepted = maybe_accepted or claim.maybe_accepted
    return Next("unknown" if maybe_accepted else "dead", maybe_accepted, reason=reason)


def after(claim: Claim, answer: Answer, now: float, config: Config) -> Next:
    """What follows from an answer."""
    status = answer.status
    if answer.message_id is not None:
        return Next("sent", claim.maybe_accepted)
    if status is None:
        ambiguous = answer.connected
    elif status in _TURNED_AWAY:
        ambiguous = False
    elif status == 409 or not 300 <= status < 500:
        # In flight, a broken 2xx, a server error: it had the request in its hands.
        ambiguous = True
    else:
        return give_up(claim, f"refused with {status}")
    if claim.attempts >= config.max_attempts:
        return give_up(claim, "attempts", ambiguous)
    if answer.retry_after > config.retry_after_max:
        return give_up(claim, "retry-after", ambiguous)
    # Retry-After is a hard bound, and the jitter comes on top.
    due = now + answer.retry_after + pause(claim.attempts, config)
    rule = forbids(claim, claim.attempts + 1, due, config)
    if rule is not None:
        return give_up(claim, rule, ambiguous)
    return Next("pending", claim.maybe_accepted or ambiguous, due)


def pause(attempt: int, config: Config) -> float:
    """Equal jitter: half of the limit for certain, so that the attempts outlast a short outage,
    and half drawn, so that those who failed together do not come back together."""
    half = min(config.backoff_cap, config.backoff_base * 2 ** min(attempt - 1, 30)) / 2
    return half + random.uniform(0, half)
