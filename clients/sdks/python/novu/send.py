"""One event for one subscriber. A third argument is a key of the caller's."""

import os
import sys

from novu_py import Novu

to, body = sys.argv[1:3]
key = {"idempotency_key": sys.argv[3]} if sys.argv[3:] else {}
client = Novu(
    secret_key="made_up",
    server_url=os.environ["SMS_API_BASE"],
    timeout_ms=int(1000 * float(os.environ["CALL_TIMEOUT"])),
)
client.trigger(
    trigger_event_request_dto={
        "workflow_id": "sms",
        "to": {"subscriber_id": "one", "phone": to},
        "payload": {"body": body},
    },
    **key,
)
