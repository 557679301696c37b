"""What this client promises, in seconds. `client.toml` says the same under `[policy]`."""

import os

from defect import defect

READ_TIMEOUT = 0.3
CONNECT_TIMEOUT = 0.2
BACKOFF_BASE = 0.1
BACKOFF_CAP = 0.4
MAX_ATTEMPTS = 5
LEASE = 1.0
POLL = 0.02
CONCURRENCY = 16
# The longest Retry-After that is waited for.
RETRY_AFTER_MAX = 5.0
# No try begins later than this before a message expires.
EXPIRY_MARGIN = 0.1

if defect("lease-too-short", "sweeper-too-eager"):
    READ_TIMEOUT = 2.0
if defect("no-backoff:unbounded"):
    MAX_ATTEMPTS = 15


def retention():
    """For how long the provider remembers a key, in seconds; `SMS_KEY_RETENTION` says it."""
    text = os.environ.get("SMS_KEY_RETENTION", "24h").strip()
    for unit, seconds in (("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400)):
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdigit():
            return float(number) * seconds
    raise SystemExit(f"SMS_KEY_RETENTION is `{text}`; write it as 24h or 90s")
