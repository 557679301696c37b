"""One run of a workflow for one recipient."""

import os
import sys

from knockapi import Knock

to, body = sys.argv[1:]
knock = Knock(
    api_key="sk_test_made_up",
    base_url=os.environ["SMS_API_BASE"],
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
knock.workflows.trigger("sms", recipients=[{"id": "one", "phone_number": to}], data={"body": body})
