"""One message by a template, whose words are a variable."""

import os
import sys

from prelude_python_sdk import Prelude

to, body = sys.argv[1:]
client = Prelude(
    api_token="made_up",
    base_url=os.environ["SMS_API_BASE"],
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
client.notify.send(template_id="template_made_up", to=to, variables={"body": body})
