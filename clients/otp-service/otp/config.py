"""The environment, read once. Durations are seconds inside, friendly words outside."""

import os
import re
from dataclasses import dataclass

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(text: str) -> float:
    """Seconds of "300ms", "2s", "1m 30s", "24h"."""
    matches = [re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", part) for part in text.split()]
    if not matches or not all(matches):
        raise SystemExit(f"otp: {text!r} is no duration; write 300ms, 2s, 24h")
    return sum(float(m[1]) * _UNITS[m[2]] for m in matches if m)


def _env(name: str, default: str) -> float:
    return duration(os.environ.get(name, default))


@dataclass(frozen=True)
class Config:
    """What the service is told."""

    directory: str
    port: int
    api_base: str
    webhook_secret: bytes
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
    # Publish everything twice, as a publisher that crashes at the wrong moment does.
    publish_twice: bool

    @staticmethod
    def from_env() -> "Config":
        config = Config(
            directory=os.environ["OTP_DIRECTORY"],
            port=int(os.environ["PORT"]),
            api_base=os.environ["SMS_API_BASE"].rstrip("/"),
            webhook_secret=os.environ.get("SMS_WEBHOOK_SECRET", "").encode(),
            connect_timeout=_env("SMS_CONNECT_TIMEOUT", "3s"),
            read_timeout=_env("SMS_READ_TIMEOUT", "10s"),
            lease=_env("SMS_LEASE", "30s"),
            poll=_env("OTP_POLL", "500ms"),
            backoff_base=_env("SMS_BACKOFF_BASE", "500ms"),
            backoff_cap=_env("SMS_BACKOFF_CAP", "60s"),
            retry_after_max=_env("SMS_RETRY_AFTER_MAX", "15m"),
            key_retention=_env("SMS_KEY_RETENTION", "24h"),
            expiry_margin=_env("SMS_EXPIRY_MARGIN", "100ms"),
            max_attempts=int(os.environ.get("SMS_MAX_ATTEMPTS", "5")),
            publish_twice=os.environ.get("OTP_PUBLISH_TWICE") == "1",
        )
        if config.lease < 2 * config.read_timeout:
            raise SystemExit("otp: SMS_LEASE must be twice SMS_READ_TIMEOUT or more")
        return config
