"""One e-mail; the recipient stands where an address would. A third argument
is a key of the caller's.
"""

import os
import sys

import resend

to, body = sys.argv[1:3]
key = {"idempotency_key": sys.argv[3]} if sys.argv[3:] else {}
resend.api_key = "re_made_up"
resend.api_url = os.environ["SMS_API_BASE"]
resend.default_http_client = resend.RequestsClient(timeout=float(os.environ["CALL_TIMEOUT"]))
resend.Emails.send(
    {"from": "shop@example.com", "to": to, "subject": "A message", "text": body}, key
)
