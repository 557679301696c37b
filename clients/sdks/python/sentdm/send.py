"""One SMS in words of one's own. A third argument is a key of the caller's."""

import os
import sys

from sent_dm import Sent

to, body = sys.argv[1:3]
key = {"idempotency_key": sys.argv[3]} if sys.argv[3:] else {}
client = Sent(
    api_key="made_up",
    base_url=os.environ["SMS_API_BASE"],
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
client.messages.send(channel=["sms"], to=[to], text=body, **key)
