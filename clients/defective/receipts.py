"""Receipts: what the provider says afterwards of how the phone fared.

A receipt is stored before it is acknowledged, once for each event, and a message's state only
moves forward. Whether the provider has a message is said by its answer, not by a receipt.
"""

import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import outbox
from defect import defect

RANK = {"queued": 1, "sent": 2, "delivered": 3, "undelivered": 3}


def serve(port):
    """Takes receipts. Of several workers the first has the port; the others stand by."""
    while True:
        try:
            server = Server(("127.0.0.1", port), Handler)
        except OSError:
            time.sleep(0.25)
            continue
        server.serve_forever()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200 if self.path == "/health" else 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not is_signed(self.headers.get("X-Signature", ""), body):
            self.answer(401)
            return
        try:
            receive(json.loads(body))
        except outbox.sqlite3.OperationalError:
            self.answer(503)
            return
        self.answer(200)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def is_signed(header, body):
    """Checks `t=…,v1=hex(hmac-sha256(secret, t + "." + body))`."""
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    secret = os.environ.get("SMS_WEBHOOK_SECRET", "whsec_test")
    signed = hmac.new(secret.encode(), parts.get("t", "").encode() + b"." + body, "sha256")
    return hmac.compare_digest(signed.hexdigest(), parts.get("v1", ""))


def receive(receipt):
    """Stores a receipt and applies it, in one transaction."""
    database = outbox.database()
    database.execute("begin immediate")
    try:
        new = database.execute(
            "insert into receipt values (?, ?, ?) on conflict do nothing",
            (receipt["event_id"], receipt["message_id"], receipt["status"]),
        ).rowcount
        # The answer that names the message may still be on its way: then the key tells.
        row = database.execute(
            """select id, delivery from outbox
               where message_id = ? or (message_id is null and key = ? and recipient = ?)""",
            (receipt["message_id"], receipt["idempotency_key"], receipt["to"]),
        ).fetchone()
        rank = RANK.get(receipt["status"], 0)
        if row and new and rank > row["delivery"]:
            database.execute("update outbox set delivery = ? where id = ?", (rank, row["id"]))
        elif row and defect("receipt-mishandled"):
            # It makes no sense to somebody who thinks that each comes once and in order.
            database.execute(
                "update outbox set status = 'pending', due = 0 where id = ? and status = 'sent'",
                (row["id"],),
            )
        database.execute("commit")
    except BaseException:
        database.execute("rollback")
        raise
