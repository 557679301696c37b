"""The provider over HTTP: one call is one request, or one for each hop of a redirect."""

import asyncio
import json
import time
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

import httpx

_HOPS = 3


@dataclass(frozen=True)
class Answer:
    """What came back. `status` is None where nothing whole did."""

    status: int | None
    connected: bool = True
    message_id: str | None = None
    retry_after: float = 0.0
    detail: str = ""


class Provider:
    """Sends. httpx neither retries nor follows redirects unless told to, and is not told to."""

    def __init__(self, base: str, connect_timeout: float, read_timeout: float) -> None:
        self._base = httpx.URL(base)
        self._read_timeout = read_timeout
        timeout = httpx.Timeout(read_timeout, connect=connect_timeout)
        self._http = httpx.AsyncClient(timeout=timeout, trust_env=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def submit(self, customer: str, key: str, payload: bytes, at_most: float) -> Answer:
        headers = {
            "authorization": f"Bearer {customer}",
            "idempotency-key": key,
            "content-type": "application/json",
        }
        url = self._base.copy_with(path=self._base.path.rstrip("/") + "/v1/messages")
        try:
            # httpx's own timeouts are for each read; this one is for the whole attempt.
            async with asyncio.timeout(min(self._read_timeout, at_most)):
                for _ in range(_HOPS + 1):
                    response = await self._http.post(url, content=payload, headers=headers)
                    location = response.headers.get("location")
                    if response.status_code not in (307, 308) or location is None:
                        return _read(response)
                    target = url.join(location)
                    if (target.scheme, target.netloc) != (url.scheme, url.netloc):
                        return _read(response)  # not there: the text and the credential go along
                    url = target
                return _read(response)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            return Answer(None, connected=False, detail=type(error).__name__)
        except (httpx.HTTPError, TimeoutError) as error:
            return Answer(None, detail=type(error).__name__)


def _read(response: httpx.Response) -> Answer:
    message_id = None
    if response.is_success:
        try:
            found = json.loads(response.content)
            message_id = found.get("id") if isinstance(found, dict) else None
        except ValueError:
            pass
    return Answer(
        response.status_code,
        message_id=message_id if isinstance(message_id, str) and message_id else None,
        retry_after=retry_after(response.headers.get("retry-after", "")),
    )


def retry_after(value: str) -> float:
    """Seconds from now. Past, zero, negative and unreadable values ask for nothing."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        return 0.0
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, at.timestamp() - time.time())
