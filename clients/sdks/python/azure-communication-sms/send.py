"""One SMS to one recipient. (A connection string would insist on https.)"""

import os
import sys

from azure.communication.sms import SmsClient
from azure.core.credentials import AzureKeyCredential

to, body = sys.argv[1:]
timeout = float(os.environ["CALL_TIMEOUT"])
client = SmsClient(
    os.environ["SMS_API_BASE"],
    AzureKeyCredential("bWFkZSB1cA=="),
    connection_timeout=timeout,
    read_timeout=timeout,
)
client.send(from_="+12025550199", to=to, message=body)
