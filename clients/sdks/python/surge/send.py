"""One SMS from an account."""

import os
import sys

from surge import Surge

to, body = sys.argv[1:]
client = Surge(
    api_key="made_up",
    base_url=os.environ["SMS_API_BASE"],
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
client.messages.create("acct_made_up", to=to, body=body)
