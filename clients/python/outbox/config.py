"""The environment, read once. Durations are seconds inside, friendly words outside."""

import os
import re
from dataclasses import dataclass

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(text: str) -> float:
    """Seconds of "300ms", "2s", "1m 30s", "24h"."""
    parts = text.split()
    matches = [re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", part) for part in parts]
    if not parts or not all(matches):
        raise SystemExit(f"outbox: {text!r} is no duration; write 300ms, 2s, 24h")
    return sum(float(m[1]) * _UNITS[m[2]] for m in matches if m)


def _env(name: str, default: str) -> float:
    return duration(os.environ.get(name, default))


@dataclass(frozen=True)
class Config:
    """What a worker is told."""

    api_base: str
    connect_timeout: float
    read_timeout: float
    lease: float
    poll: float
    backoff_base: float
    backoff_cap: float
    retry_after_max: float
    key_retention: float
    expiry_margin: float
    max_attempts: int
    concurrency: int

    @staticmethod
    def from_env() -> "Config":
        config = Config(
            api_base=os.environ["SMS_API_BASE"].rstrip("/"),
            connect_timeout=_env("OUTBOX_CONNECT_TIMEOUT", "3s"),
            read_timeout=_env("OUTBOX_READ_TIMEOUT", "10s"),
            lease=_env("OUTBOX_LEASE", "30s"),
            poll=_env("OUTBOX_POLL", "500ms"),
            backoff_base=_env("OUTBOX_BACKOFF_BASE", "500ms"),
            backoff_cap=_env("OUTBOX_BACKOFF_CAP", "60s"),
            retry_after_max=_env("OUTBOX_RETRY_AFTER_MAX", "15m"),
            key_retention=_env("SMS_KEY_RETENTION", "24h"),
            expiry_margin=_env("OUTBOX_EXPIRY_MARGIN", "100ms"),
            max_attempts=int(os.environ.get("OUTBOX_MAX_ATTEMPTS", "5")),
            concurrency=int(os.environ.get("OUTBOX_CONCURRENCY", "16")),
        )
        if config.lease < 2 * config.read_timeout:
            raise SystemExit("outbox: OUTBOX_LEASE must be twice OUTBOX_READ_TIMEOUT or more")
        return config
