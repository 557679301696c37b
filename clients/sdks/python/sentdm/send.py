"""One SMS in words of one's own."""

import os
import sys

from sent_dm import Sent

to, body = sys.argv[1:]
client = Sent(
    api_key="made_up",
    base_url=os.environ["SMS_API_BASE"],
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
client.messages.send(channel=["sms"], to=[to], text=body)
