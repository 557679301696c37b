"""One message to a number. A third argument is a key of the caller's."""

import os
import sys

from courier import Courier

to, body = sys.argv[1:3]
key = {"idempotency_key": sys.argv[3]} if sys.argv[3:] else {}
client = Courier(
    api_key="made_up",
    base_url=os.environ["SMS_API_BASE"],
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
client.send.message(
    message={"to": {"phone_number": to}, "content": {"title": "A message", "body": body}}, **key
)
