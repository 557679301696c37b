"""One SMS by SNS."""

import os
import sys

import boto3
from botocore.config import Config

to, body = sys.argv[1:]
timeout = float(os.environ["CALL_TIMEOUT"])
sns = boto3.client(
    "sns",
    region_name="us-east-1",
    endpoint_url=os.environ["SMS_API_BASE"] + "/sns",
    aws_access_key_id="made_up",
    aws_secret_access_key="made_up",
    config=Config(connect_timeout=timeout, read_timeout=timeout),
)
sns.publish(PhoneNumber=to, Message=body)
