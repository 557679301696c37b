"""One customer with a number and some words: the global client, as the SDK's README shows it."""

import os
import sys

import stripe

stripe.api_key = "sk_test_made_up"
stripe.api_base = os.environ["SMS_API_BASE"]
stripe.default_http_client = stripe.RequestsClient(timeout=float(os.environ["CALL_TIMEOUT"]))
to, body = sys.argv[1:]
stripe.Customer.create(phone=to, description=body)
