"""One SMS. Neither the server's address nor a time limit can be set: the constant is told another."""

import os
import sys

import messagebird
import messagebird.client

messagebird.client.ENDPOINT = os.environ["SMS_API_BASE"]
to, body = sys.argv[1:]
messagebird.Client("made_up").message_create("+12025550199", to, body)
