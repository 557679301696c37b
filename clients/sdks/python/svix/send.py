"""One message to one application."""

import os
import sys

from svix.api import MessageIn, Svix, SvixOptions

to, body = sys.argv[1:]
svix = Svix(
    "testsk_made_up.us",
    SvixOptions(
        server_url=os.environ["SMS_API_BASE"], timeout=float(os.environ["CALL_TIMEOUT"])
    ),
)
svix.message.create("app_made_up", MessageIn(event_type="sms", payload={"to": to, "body": body}))
