"""One message in a chat of its own."""

import os
import sys

from linq import LinqAPIV3

to, body = sys.argv[1:]
client = LinqAPIV3(
    api_key="made_up",
    base_url=os.environ["SMS_API_BASE"],
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
client.chats.create(
    from_="+12025550199", to=[to], message={"parts": [{"type": "text", "value": body}]}
)
