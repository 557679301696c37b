"""The HTTP server: our customers' requests, and the provider's webhooks.

The contract of `POST /api/otp/send`, by `Idempotency-Key` and customer:

    new          202, once the request and its outbox entry are committed
    same         the same 202, with `Idempotent-Replayed: true`
    conflict     409 `key_reused`: the key stands for something else
    in progress  409 `in_progress` with `Retry-After`: the first is still being taken on
"""

import hashlib
import hmac
import json
import logging
import sqlite3
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .config import Config
from .store import Conflict, Store

log = logging.getLogger("otp.front_door")

_LARGEST_BODY = 64 * 1024
# How old a signature may be.
_TOLERANCE = 300


class FrontDoor(ThreadingHTTPServer):
    """The server. Of several processes one has the port; the others wait for it."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, config: Config) -> None:
        super().__init__(("127.0.0.1", config.port), _Handler)
        self.config = config
        self.lock = threading.Lock()
        self.in_progress: set[tuple[str, str]] = set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FrontDoor

    def log_message(self, format: str, *args: object) -> None:
        pass  # paths and statuses say nothing that the consumer's log does not

    def do_GET(self) -> None:
        self._answer(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > _LARGEST_BODY:
            self.close_connection = True
            self._answer(413, {"code": "too_large"})
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return  # the caller has hung up in the middle: nothing was asked
        route = {"/api/otp/send": self._send, "/webhooks/sms": self._webhook}.get(self.path)
        try:
            if route is None:
                self._answer(404, {})
            else:
                route(body)
        except sqlite3.OperationalError as error:
            log.warning("the database cannot be used: %s", error)
            self._answer(503, {"code": "try_again"}, {"Retry-After": "1"})

    def _send(self, body: bytes) -> None:
        scheme, _, customer = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not customer:
            self._answer(401, {"code": "unauthorized"})
            return
        key = self.headers.get("idempotency-key", "")
        if not 1 <= len(key) <= 255:
            self._answer(400, {"code": "idempotency_key_required"})
            return
        try:
            asked = json.loads(body)
            phone, text = asked["phone"], asked["text"]
            expires_at = asked.get("expires_at") or ""
            if not all(isinstance(value, str) for value in (phone, text, expires_at)):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError):
            self._answer(400, {"code": "phone_and_text_required"})
            return
        with self.server.lock:
            busy = (customer, key) in self.server.in_progress
            self.server.in_progress.add((customer, key))
        if busy:
            self._answer(409, {"code": "in_progress"}, {"Retry-After": "1"})
            return
        store = Store(self.server.config.directory)
        try:
            request, again = store.accept(customer, key, phone, text, expires_at)
            replayed = {"Idempotent-Replayed": "true"} if again else {}
            self._answer(202, {"id": request, "status": "accepted"}, replayed)
        except Conflict:
            self._answer(409, {"code": "key_reused"})
        except ValueError:
            self._answer(400, {"code": "expires_at_is_no_time"})
        finally:
            store.close()
            with self.server.lock:
                self.server.in_progress.discard((customer, key))

    def _webhook(self, body: bytes) -> None:
        if not _is_signed(self.headers.get("x-signature", ""), body, self.server.config):
            self._answer(401, {"code": "bad_signature"})
            return
        try:
            event = json.loads(body)["event_id"]
        except (ValueError, KeyError, TypeError):
            self._answer(400, {"code": "no_event"})
            return
        store = Store(self.server.config.directory)
        try:
            # Kept first, acknowledged then: what is acknowledged does not come again.
            store.keep_event(str(event), body)
            self._answer(200, {})
            store.apply_events()
        finally:
            store.close()

    def _answer(
        self, status: int, body: dict[str, str], headers: dict[str, str] | None = None
    ) -> None:
        raw = json.dumps(body).encode()
        try:
            self.send_response(status)
            for name, value in {**(headers or {}), "Content-Type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            self.close_connection = True  # the caller has hung up; what was taken on stays


def _is_signed(header: str, body: bytes, config: Config) -> bool:
    """`t=<unix seconds>,v1=<hex HMAC-SHA256(secret, "<t>.<body>")>`."""
    parts = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    at, signature = parts.get("t", ""), parts.get("v1", "")
    if not at.isdigit() or abs(time.time() - int(at)) > _TOLERANCE or not config.webhook_secret:
        return False
    expected = hmac.new(config.webhook_secret, f"{at}.".encode() + body, hashlib.sha256)
    return hmac.compare_digest(expected.hexdigest(), signature)
