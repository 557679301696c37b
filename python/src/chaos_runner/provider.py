"""The provider: starting one, telling it what to do wrong, asking what it saw."""

from __future__ import annotations

import collections
import http.client
import json
import os
import subprocess
import threading
from datetime import timedelta
from typing import Any, Deque, Literal, Mapping, Sequence, Union
from urllib.parse import urlencode, urlsplit

from .account import account, what_is_wrong
from .programs import program
from .record import Attempt, Fault, Message

__all__ = ["DeliveryError", "ProviderProcess", "SmsProvider", "SmsProviderError"]

Span = Union[str, float, timedelta]
"""A length of time: ``"300ms"``, ``"24h"``, a number of seconds, or a ``timedelta``."""

Kind = Literal[
    "hang", "respond", "reset", "close", "truncate", "garble", "delay",
    "redirect", "in-flight", "crash", "rate-limit",
]  # fmt: skip
Stage = Literal["before-accept", "after-accept"]

_WITHOUT_STAGE = ("redirect", "in-flight", "rate-limit")
_START = 30.0
_STOP = 10.0


class SmsProviderError(RuntimeError):
    """The provider did not start, is gone, or refused what it was asked."""


class DeliveryError(AssertionError):
    """A message was not delivered exactly once."""


def _span(length: Span) -> str:
    if isinstance(length, str):
        return length
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    return f"{round(seconds * 1000)}ms"


def _seconds(length: Span) -> float | None:
    """How long that is; None where only the provider can read it."""
    if isinstance(length, str):
        return None
    return length.total_seconds() if isinstance(length, timedelta) else float(length)


class SmsProvider:
    """A running stub-provider, by the URL that its clients use."""

    def __init__(self, url: str) -> None:
        self.url: str = url.rstrip("/")
        """Where clients send to: ``POST {url}/v1/messages``."""

    def __repr__(self) -> str:
        return f"<SmsProvider {self.url}>"

    # What it shall do wrong.

    def fail_next(
        self,
        kind: Kind | None = None,
        *,
        stage: Stage | None = None,
        times: int = 1,
        key: str | None = None,
        to: str | None = None,
        status: int | None = None,
        retry_after: Span | None = None,
        lasts: Span | None = None,
        **settings: object,
    ) -> list[Fault]:
        """Makes the next attempt go wrong (the next ``times`` attempts); then all is well again.

        Without words the worst happens: the message is accepted and the answer never comes
        (``kind="hang"``, ``stage="after-accept"``). With a ``status`` the answer is that one, and
        nothing is accepted unless ``stage="after-accept"`` says so. ``key`` and ``to`` aim at
        the attempts of one key or to one number. Several calls are for one attempt each, in
        their order.

        ``lasts`` is how long a ``delay``, ``in-flight`` or ``crash`` takes. Every other setting
        is the provider's own, with underscores: ``fail_next("truncate", part="body", after=10)``.
        """
        if kind is None:
            kind = "hang" if status is None else "respond"
        if stage is None and kind not in _WITHOUT_STAGE:
            stage = "before-accept" if kind == "respond" else "after-accept"
        fault: dict[str, object] = {}
        for name, value in settings.items():
            fault[name.replace("_", "-")] = value
        for name, value in (
            ("stage", stage),
            ("status", status),
            ("retry-after", None if retry_after is None else _span(retry_after)),
            ("for", None if lasts is None else _span(lasts)),
        ):
            if value is not None:
                fault[name] = value
        rule: dict[str, object] = {"once": True, "provider": {kind: fault}}
        if key is not None:
            rule["key"] = key
        if to is not None:
            rule["to"] = to
        set_ = [self._ask("POST", "/admin/faults", rule) for _ in range(times)]
        return [Fault(id=shown["id"], written=shown) for shown in set_]

    def faults(self) -> list[Fault]:
        """The faults that are set and have not acted."""
        return [Fault(id=shown["id"], written=shown) for shown in self._ask("GET", "/admin/faults")]

    # What it saw.

    def messages(
        self, *, to: str | None = None, key: str | None = None, wait: Span | None = None
    ) -> list[Message]:
        """The messages that were accepted, in order: each is one buzz of one phone.

        With ``wait`` it returns as soon as there is one, or when that time is over. This blocks:
        a client on the caller's own event loop does nothing meanwhile.
        """
        query = {"to": to, "idempotency_key": key, "wait": None if wait is None else _span(wait)}
        asked = urlencode({name: value for name, value in query.items() if value is not None})
        patience = 0.0 if wait is None else _seconds(wait) or 60.0
        path = "/admin/messages" + (f"?{asked}" if asked else "")
        return [Message.of(shown) for shown in self._ask("GET", path, patience=patience)]

    def attempts(self, *, to: str | None = None, key: str | None = None) -> list[Attempt]:
        """Every request that was read whole, in order."""
        every = (Attempt.of(shown) for shown in self._ask("GET", "/admin/attempts"))
        return [
            attempt
            for attempt in every
            if (to is None or attempt.to == to) and (key is None or attempt.key == key)
        ]

    def account(self) -> str:
        """Every attempt and what became of it, as a text for people."""
        return account(self.attempts(), self.messages())

    def assert_delivered_once(
        self, *, key: str | None = None, to: str | None = None, wait: Span = 2.0
    ) -> Message:
        """Fails unless there is exactly one message under this key, or to this number.

        It waits for the first one. A second one that comes later is not seen: call it when the
        client is done. The failure shows every attempt and what became of it.
        """
        __tracebackhide__ = True
        if key is None and to is None:
            raise TypeError("assert_delivered_once needs key=… or to=…")
        found = self.messages(to=to, key=key, wait=wait)
        if len(found) == 1:
            return found[0]
        raise DeliveryError(
            what_is_wrong(found, self.attempts(), self.messages(), key=key, to=to, url=self.url)
        )

    # Time, and a fresh start.

    def advance(self, by: Span) -> None:
        """Moves the provider's clock forward: keys and messages expire, receipts fall due.

        It goes on from there; ``reset`` does not turn it back.
        """
        self._ask("POST", "/admin/clock", {"advance": _span(by)})

    def reset(self) -> None:
        """Forgets messages, attempts, keys and faults."""
        self._ask("POST", "/admin/reset", {})

    def _ask(
        self, method: str, path: str, body: Mapping[str, object] | None = None, patience: float = 0.0
    ) -> Any:
        # Not urllib: it obeys the environment's proxies, for loopback too.
        there = urlsplit(self.url)
        connection = http.client.HTTPConnection(there.netloc, timeout=30.0 + patience)
        try:
            connection.request(
                method,
                path,
                None if body is None else json.dumps(body),
                {"Content-Type": "application/json"},
            )
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise SmsProviderError(f"the provider at {self.url} does not answer: {error}") from error
        finally:
            connection.close()
        if answer.status >= 400:
            try:
                text = json.loads(text)["message"]
            except (ValueError, KeyError, TypeError):
                pass
            raise SmsProviderError(f"{method} {path.partition('?')[0]}: {answer.status}: {text}")
        return json.loads(text)


class ProviderProcess:
    """A stub-provider of its own on a free port of this machine.

    It keeps nothing on disk and ends with whoever started it, however that ended.
    """

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        command = [str(program("stub-provider")), "--listen", "127.0.0.1:0", "--json-logs"]
        command += ["--until-eof", *arguments]
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("STUB_")
        }
        environment["RUST_LOG"] = "info"
        self._log: Deque[str] = collections.deque(maxlen=200)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self._url: str | None = None
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, name="stub-provider log", daemon=True)
        self._reader.start()
        self._ready.wait(_START)
        if self._url is None:
            self.stop()
            raise SmsProviderError(f"stub-provider did not start: {' '.join(command)}\n{self.log()}")
        self.provider: SmsProvider = SmsProvider(self._url)
        """The provider that runs in it."""

    def __enter__(self) -> ProviderProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def log(self) -> str:
        """The last lines of its log."""
        return "".join(self._log)

    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends it, and waits until it has ended."""
        stdin = self._process.stdin
        if stdin is not None and not stdin.closed:
            stdin.close()
        try:
            self._process.wait(_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_STOP)

    def _read(self) -> None:
        """Reads the log, which says where it listens, until it ends."""
        stderr = self._process.stderr
        if stderr is None:
            return
        with stderr:
            for line in stderr:
                self._log.append(line)
                if self._url is None:
                    self._url = _url_in(line)
                    if self._url is not None:
                        self._ready.set()
        self._ready.set()


def _url_in(line: str) -> str | None:
    try:
        url = json.loads(line)["fields"]["url"]
    except (ValueError, KeyError, TypeError):
        return None
    return url if isinstance(url, str) else None
