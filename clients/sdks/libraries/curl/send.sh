#!/usr/bin/env bash
# All messages in one process of curl, one transfer each, so that the connection is used again: what
# is sent again is left to curl.
set -euo pipefail

mapfile -t messages
for message in "${messages[@]}"; do
	jq -r --arg base "$SMS_API_BASE" --arg timeout "$CALL_TIMEOUT" --arg key "$KEY" '
		"next",
		"url = \"\($base)/v1/messages\"",
		"max-time = \($timeout)",
		"header = \"Content-Type: application/json\"",
		(select($key == "yes") | "header = \"Idempotency-Key: \(.intent)\""),
		"output = \"/dev/null\"",
		"write-out = \"\(.intent) %{http_code} %{exitcode}\\n\"",
		"data-binary = \({to, body} | tojson | tojson)"' <<<"$message"
done | curl -q --silent --noproxy '*' --config - |
	while read -r intent status code; do
		outcome=unknown
		[ "$status $code" != "201 0" ] || outcome=sent
		jq -cn --arg intent "$intent" --arg outcome "$outcome" '{$intent, $outcome, attempts: 1}' >>"$1"
	done
