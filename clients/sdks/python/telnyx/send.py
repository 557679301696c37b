"""One SMS. A third argument is a key of the caller's."""

import os
import sys

import telnyx

to, body = sys.argv[1:3]
key = {"idempotency_key": sys.argv[3]} if sys.argv[3:] else {}
client = telnyx.Telnyx(
    api_key="KEY_made_up",
    base_url=os.environ["SMS_API_BASE"] + "/v2",
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
client.messages.send(from_="+12025550199", to=to, text=body, **key)
