"""One message to a number."""

import os
import sys

from sendblue_api import SendblueAPI

to, body = sys.argv[1:]
client = SendblueAPI(
    api_key="made_up",
    api_secret="made_up",
    base_url=os.environ["SMS_API_BASE"],
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
client.messages.send(number=to, content=body, from_number="+12025550199")
