"""The provider, as HTTP: one request out, one answer or none back.

Owns the connections. It retries nothing (but for the defects that do) and judges no answer.
"""

import http.client
import json
import select
import threading
from urllib.parse import urlsplit

from defect import defect
from settings import CONNECT_TIMEOUT, READ_TIMEOUT

HOPS = 3


class Answer:
    """What came back. Without a status nobody knows what became of the request, unless it never
    left (`sent`)."""

    def __init__(self, sent=True, reused=False):
        self.sent = sent
        # Whether its connection had carried another request before.
        self.reused = reused
        # Whether the connection broke before any answer.
        self.broke = False
        self.status = None
        self.headers = {}
        self.content = None
        # Whether head and body came whole and make sense.
        self.whole = False


class Provider:
    def __init__(self, base):
        self.base = urlsplit(base)
        self.idle = []
        self.lock = threading.Lock()

    def post(self, path, body, headers):
        """Makes one request, following redirects within the same origin."""
        answer = self.exchange(path, body, headers)
        if answer.broke and (
            defect("resend-fresh-connection")
            or (defect("resend-reused-connection") and answer.reused)
        ):
            # Down here nobody knows of the headers that were put on above.
            answer = self.exchange(path, body, without_key(headers))
        for _ in range(HOPS):
            if answer.status not in (307, 308):
                break
            place = urlsplit(answer.headers.get("location", ""))
            if not place.path or place.netloc not in ("", self.base.netloc):
                break
            if defect("key-lost-on-redirect"):
                headers = without_key(headers)
            answer = self.exchange(place.path, body, headers)
        return answer

    def exchange(self, path, body, headers):
        connection = self.take()
        reused = connection is not None
        if not reused:
            connection = http.client.HTTPConnection(
                self.base.hostname, self.base.port, timeout=CONNECT_TIMEOUT
            )
            try:
                connection.connect()
            except OSError:
                return Answer(sent=False)
            connection.sock.settimeout(READ_TIMEOUT)
        answer = Answer(reused=reused)
        try:
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            headers_back = {name.lower(): value for name, value in response.getheaders()}
            if not {"content-length", "transfer-encoding"} & set(headers_back):
                # Half a head ends like a whole one, but for the fields that it lacks.
                raise http.client.HTTPException("half a head")
            answer.status, answer.headers = response.status, headers_back
            answer.content = json.loads(response.read())
            answer.whole = True
        except (ConnectionError, http.client.RemoteDisconnected):
            answer.broke = answer.status is None
        except (OSError, http.client.HTTPException, ValueError):
            pass
        if answer.whole and not response.will_close:
            with self.lock:
                self.idle.append(connection)
        else:
            connection.close()
        return answer

    def take(self):
        """An idle connection that the provider has not closed; `None`: there is none."""
        while True:
            with self.lock:
                if not self.idle:
                    return None
                connection = self.idle.pop()
            # Readable before anything was asked: that is its end.
            if not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()


def without_key(headers):
    return {name: value for name, value in headers.items() if name != "Idempotency-Key"}
