"""The SMS provider over HTTP: one call is one request, or one for each hop of a redirect."""

import http.client
import json
import socket
import threading
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

from .config import Config

_HOPS = 3


@dataclass(frozen=True)
class Answer:
    """What came back. `status` is None where nothing whole did."""

    status: int | None
    connected: bool = True
    message_id: str | None = None
    retry_after: float = 0.0
    detail: str = ""


def submit(config: Config, customer: str, key: str, payload: bytes, at_most: float) -> Answer:
    """One attempt, over a connection of its own."""
    url = config.api_base + "/v1/messages"
    ends = time.monotonic() + min(config.read_timeout, at_most)
    for hop in range(_HOPS + 1):
        answer, location = _post(config, url, customer, key, payload, ends)
        if location is None or hop == _HOPS:
            break
        target = urljoin(url, location)
        if urlsplit(target)[:2] != urlsplit(url)[:2]:
            break  # not there: the text, the number and the credential would go along
        url = target
    return answer


def _post(
    config: Config, url: str, customer: str, key: str, payload: bytes, ends: float
) -> tuple[Answer, str | None]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=config.connect_timeout)
    try:
        connection.connect()
    except OSError as error:
        return Answer(None, connected=False, detail=str(error)), None
    # A socket's timeout is for each read. The whole attempt ends when the line is cut.
    connection.sock.settimeout(config.read_timeout)
    cut = threading.Timer(max(0.0, ends - time.monotonic()), _cut, [connection.sock])
    cut.daemon = True
    cut.start()
    try:
        headers = {
            "Idempotency-Key": key,
            "Authorization": f"Bearer {customer}",
            "Content-Type": "application/json",
        }
        connection.request("POST", parts.path, payload, headers)
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        return Answer(None, detail=repr(error)), None
    finally:
        cut.cancel()
        connection.close()
    answer = Answer(
        response.status,
        message_id=_message_id(body) if 200 <= response.status < 300 else None,
        retry_after=retry_after(response.headers.get("retry-after", "")),
    )
    location = response.headers.get("location") if response.status in (307, 308) else None
    return answer, location


def _cut(line: socket.socket) -> None:
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it is over already


def _message_id(body: bytes) -> str | None:
    """Half an answer is no success: the JSON must be whole and name the message."""
    try:
        found = json.loads(body)
    except ValueError:
        return None
    name = found.get("id") if isinstance(found, dict) else None
    return name if isinstance(name, str) and name else None


def retry_after(value: str) -> float:
    """Seconds from now. Past, zero, negative and unreadable values ask for nothing."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, IndexError):
        return 0.0
