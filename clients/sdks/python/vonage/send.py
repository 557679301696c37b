"""One SMS by the SMS API. The SDK insists on https."""

import os
import sys

from vonage import Auth, HttpClientOptions, Vonage
from vonage_sms import SmsMessage

to, body = sys.argv[1:]
client = Vonage(
    Auth(api_key="made_up", api_secret="made_up"),
    HttpClientOptions(
        rest_host=os.environ["SMS_API_BASE"].removeprefix("https://"),
        timeout=float(os.environ["CALL_TIMEOUT"]),
    ),
)
client.sms.send(SmsMessage(to=to.removeprefix("+"), from_="12025550199", text=body))
