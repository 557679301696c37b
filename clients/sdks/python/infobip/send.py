"""One SMS. The SDK insists on https."""

import os
import sys

from infobip_api_client.api.sms_api import SmsApi
from infobip_api_client.api_client import ApiClient
from infobip_api_client.configuration import Configuration
from infobip_api_client.models import SmsDestination, SmsMessage, SmsMessageContent, SmsRequest
from infobip_api_client.models import SmsTextContent

to, body = sys.argv[1:]
configuration = Configuration(
    host=os.environ["SMS_API_BASE"],
    api_key="made_up",
    ssl_ca_cert=os.environ["SSL_CERT_FILE"],
)
message = SmsMessage(
    sender="12025550199",
    destinations=[SmsDestination(to=to.removeprefix("+"))],
    content=SmsMessageContent(SmsTextContent(text=body)),
)
with ApiClient(configuration) as client:
    SmsApi(client).send_sms_messages(
        sms_request=SmsRequest(messages=[message]),
        _request_timeout=float(os.environ["CALL_TIMEOUT"]),
    )
