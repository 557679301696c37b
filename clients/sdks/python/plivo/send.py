"""One SMS. The SDK has no setting for the server's address: the constant is told another."""

import os
import sys

import plivo
import plivo.rest.client

plivo.rest.client.PLIVO_API_BASE_URI = os.environ["SMS_API_BASE"] + "/v1/Account"
to, body = sys.argv[1:]
client = plivo.RestClient(
    "MA" + "X" * 18, "made_up", timeout=float(os.environ["CALL_TIMEOUT"])
)
client.messages.create(src="+12025550199", dst=to, text=body)
