"""A client in its smallest form, right or wrong by what it is given as a key."""

from __future__ import annotations

import http.client
import json
from typing import Callable
from urllib.parse import urlsplit


def send(
    url: str,
    to: str,
    body: str,
    key: Callable[[int], str | None],
    *,
    tries: int = 3,
    timeout: float = 0.3,
) -> int | None:
    """The status of the first 2xx; None where no try had one."""
    for number in range(1, tries + 1):
        headers = {"Content-Type": "application/json"}
        name = key(number)
        if name is not None:
            headers["Idempotency-Key"] = name
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout)
        try:
            message = json.dumps({"to": to, "body": body})
            connection.request("POST", "/v1/messages", message, headers)
            status = connection.getresponse().status
            if 200 <= status < 300:
                return status
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
    return None
