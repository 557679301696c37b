"""One SMS by a service plan."""

import os
import sys

from sinch import SinchClient

to, body = sys.argv[1:]
client = SinchClient(service_plan_id="made_up", sms_api_token="made_up", sms_region="us")
client.configuration.sms_domain_with_service_plan_id = os.environ["SMS_API_BASE"]
client.configuration.connection_timeout = float(os.environ["CALL_TIMEOUT"])
client.sms.batches.send_sms(to=[to], from_="+12025550199", body=body)
