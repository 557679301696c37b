"""The worker: claims rows, makes their tries, writes down what came of them.

One process works on several messages at once; several processes share one outbox.
"""

import json
import os
import signal
import sqlite3
import sys
import threading
import time

import keys
import outbox
import retry
from defect import defect
from provider import Provider
from settings import CONCURRENCY, POLL


def take_receipts():
    """On `PORT`, where there is one."""
    if "PORT" in os.environ:
        # Meanwhile messages go out.
        import receipts

        receipts.serve(int(os.environ["PORT"]))


class Worker:
    def __init__(self):
        second = os.environ.get("SMS_API_BASE_2")
        self.providers = {1: Provider(os.environ["SMS_API_BASE"])}
        if second:
            self.providers[2] = Provider(second)
        self.busy = set()
        self.news = threading.Event()
        self.stopping = False
        self.credential = None

    def run(self):
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        threading.Thread(target=take_receipts, daemon=True).start()
        while not self.stopping:
            try:
                outbox.sweep(self.busy)
                for row in outbox.claim(CONCURRENCY - len(self.busy)):
                    self.busy.add(row["id"])
                    # No daemon: what is claimed is finished before the process ends.
                    threading.Thread(target=self.work, args=(row,)).start()
                self.rest()
            except sqlite3.OperationalError as error:
                print("the outbox cannot be used:", error, file=sys.stderr)

    def stop(self):
        self.stopping = True
        self.news.set()

    def rest(self):
        """Until a row is due, a thread is free, or it is time to look again."""
        due = outbox.next_due()
        wait = POLL if due is None else min(POLL, max(0.001, due - time.time()))
        self.news.wait(wait)
        self.news.clear()

    def work(self, row):
        try:
            self.attempt(row)
        except sqlite3.OperationalError as error:
            # The lease runs out, and somebody takes it up again.
            print("the outbox cannot be used:", error, file=sys.stderr)
        finally:
            self.busy.discard(row["id"])
            self.news.set()

    def attempt(self, row):
        """One try of a claimed row."""
        if retry.too_late(row, time.time()):
            outbox.settle(row, retry.given_up(row))
            return
        if not outbox.begin(row):
            return
        answer = self.send(row)
        status, due = retry.after(row, answer, 2 in self.providers)
        outbox.settle(row, status, due)

    def send(self, row):
        """One request, as the row says."""
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.credential_of(row)}",
        }
        key = keys.on_the_wire(row, time.time())
        if key is not None:
            headers["Idempotency-Key"] = key
        provider = self.providers[row["provider"]]
        body = body_of(row).encode()
        answer = provider.post("/v1/messages", body, headers)
        if defect("layered-retries"):
            # The layer below has retries of its own, which the row does not count.
            for _ in range(2):
                passing = answer.status in (429, 500, 502, 503, 504)
                if not passing or "retry-after" in answer.headers:
                    break
                answer = provider.post("/v1/messages", body, headers)
        return answer

    def credential_of(self, row):
        if defect("key-shared-by-customers"):
            # Made once, for the first message, as clients of an API often are.
            self.credential = self.credential or row["customer"]
            return self.credential
        return row["customer"]


def body_of(row):
    """The stored bytes, so that every try is the same request."""
    if defect("payload-changed"):
        return json.dumps({"to": row["recipient"], "body": row["body"], "try": row["attempts"]})
    if defect("payload-reserialised") and row["attempts"] > 1:
        return json.dumps({"body": row["body"], "to": row["recipient"]})
    return row["request"]


def first_try_at_the_door(row):
    """Sends before anything is stored: see `sent-then-rolled-back`."""
    fresh = {
        "attempts": 1, "first_try": time.time(), "last_status": None, "reached": "no",
        "provider": 1, "message_id": None,
    }
    row = row | fresh
    if retry.too_late(row, time.time()):
        return row | {"status": "dead"}
    worker = Worker()
    answer = worker.send(row)
    status, due = retry.after(row, answer, 2 in worker.providers)
    return row | {"status": status, "due": due}
