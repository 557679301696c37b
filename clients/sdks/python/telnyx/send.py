"""One SMS."""

import os
import sys

import telnyx

to, body = sys.argv[1:]
client = telnyx.Telnyx(
    api_key="KEY_made_up",
    base_url=os.environ["SMS_API_BASE"] + "/v2",
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
client.messages.send(from_="+12025550199", to=to, text=body)
