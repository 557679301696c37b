"""Each message in one call, on one pool: what is retried is left to urllib3."""

import json
import os
import sys

import urllib3

pool = urllib3.PoolManager(
    retries=urllib3.Retry(3, allowed_methods=None),
    timeout=float(os.environ["CALL_TIMEOUT"]),
)
with open(sys.argv[1], "w") as results:
    for message in map(json.loads, sys.stdin):
        headers = {"Content-Type": "application/json"}
        if os.environ["KEY"] == "yes":
            headers["Idempotency-Key"] = message["intent"]
        body = json.dumps({"to": message["to"], "body": message["body"]})
        try:
            answer = pool.request(
                "POST", os.environ["SMS_API_BASE"] + "/v1/messages", body=body, headers=headers
            )
            outcome = "sent" if answer.status == 201 else "unknown"
        except urllib3.exceptions.HTTPError:
            outcome = "unknown"
        result = {"intent": message["intent"], "outcome": outcome, "attempts": 1}
        print(json.dumps(result), file=results, flush=True)
