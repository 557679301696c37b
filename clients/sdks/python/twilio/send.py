"""One SMS. The SDK has no setting for the server's address: its HTTP client is told another."""

import os
import sys

from twilio.http.http_client import TwilioHttpClient
from twilio.rest import Client


class Elsewhere(TwilioHttpClient):
    """Sends to the server under test what is meant for the provider."""

    def request(self, method, url, *rest, **options):
        here = url.replace("https://api.twilio.com", os.environ["SMS_API_BASE"])
        return super().request(method, here, *rest, **options)


to, body = sys.argv[1:]
client = Client(
    "AC" + "0" * 32, "made_up", http_client=Elsewhere(timeout=float(os.environ["CALL_TIMEOUT"]))
)
client.messages.create(to=to, from_="+12025550199", body=body)
