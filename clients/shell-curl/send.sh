#!/usr/bin/env bash
# Sends one SMS: send.sh INTENT TO BODY [CUSTOMER] [KEY] [EXPIRES_AT]
#
# Needs bash 5, curl 7.83 and jq. Exit codes: 0 sent; 69 not sent, and not going to be; 75 nobody
# knows (it may have been accepted); 64 called wrongly. Run again for the same intent, it sends
# under the same key, which a provider that keeps its promise answers without a second message.
set -euo pipefail
export LC_ALL=C

[ $# -ge 3 ] || { echo "usage: send.sh INTENT TO BODY [CUSTOMER] [KEY] [EXPIRES_AT]" >&2; exit 64; }
to=$2 body=$3 customer=${4:-default} key=${5:-$1} expires_at=${6:-}
base=${SMS_API_BASE:?the provider\'s URL}

# Milliseconds. The waits are half certain and half drawn (equal jitter): five tries outlast a
# short outage, and those who failed together do not come back together.
connect_timeout=${SMS_CONNECT_TIMEOUT_MS:-3000}
read_timeout=${SMS_READ_TIMEOUT_MS:-10000}
backoff_base=${SMS_BACKOFF_BASE_MS:-500}
backoff_cap=${SMS_BACKOFF_CAP_MS:-60000}
max_attempts=${SMS_MAX_ATTEMPTS:-5}
longest_wait=${SMS_RETRY_AFTER_MAX_MS:-900000}

now() { echo "${EPOCHREALTIME/./}" | sed 's/...$//'; }
seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# Milliseconds of "300ms", "1s", "24h", "1m 30s"; nothing where it cannot be read.
duration() {
	local total=0 part
	for part in $1; do
		[[ $part =~ ^([0-9]+)(ms|s|m|h|d)$ ]] || return 1
		case ${BASH_REMATCH[2]} in
		ms) ((total += BASH_REMATCH[1])) || true ;;
		s) ((total += BASH_REMATCH[1] * 1000)) ;;
		m) ((total += BASH_REMATCH[1] * 60000)) ;;
		h) ((total += BASH_REMATCH[1] * 3600000)) ;;
		d) ((total += BASH_REMATCH[1] * 86400000)) ;;
		esac
	done
	echo "$total"
}

# How long the provider wants to be left alone: whole seconds or an HTTP-date. What is past,
# negative or cannot be read leaves the choice to us.
retry_after() {
	local value=$1 at
	if [[ $value =~ ^[0-9]+$ ]]; then
		[ ${#value} -le 9 ] || value=999999999
		echo $((10#$value * 1000))
	elif [[ $value =~ ^[A-Z][a-z]{2},\ [0-9]{2}\ [A-Z][a-z]{2}\ [0-9]{4}\ [0-9:]{8}\ GMT$ ]] &&
		at=$(date -d "$value" +%s 2>/dev/null); then
		((at = at * 1000 - $(now))) || true
		echo $((at > 0 ? at : 0))
	else
		echo 0
	fi
}

maybe_accepted=false
give_up() {
	echo "send.sh: $1 (attempt $attempt)" >&2
	if $maybe_accepted; then exit 75; else exit 69; fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The bytes are made once: a provider may compare them under the key.
jq -cjn --arg to "$to" --arg body "$body" '{$to, $body}' >"$work/request"

attempt=1
first=$(now)
deadline=999999999999999
[ -z "$expires_at" ] || deadline=$(date -d "$expires_at" +%s%3N)
# The last moment at which the provider is sure to know the key when the request arrives.
retention=$(duration "${SMS_KEY_RETENTION:-24h}") || { echo "send.sh: SMS_KEY_RETENTION?" >&2; exit 64; }
key_until=$((first + retention - read_timeout))

url=$base/v1/messages
hops=0
while :; do
	((deadline - $(now) > 50)) || give_up "expired"
	# One process, one request: on a kept-alive connection curl would resend by itself. -q: no
	# ~/.curlrc. No --retry and no --location: what curl did by itself could not be told apart.
	exit_code=0
	: >"$work/answer"
	said=$(curl -q --silent --show-error --noproxy '*' --globoff \
		--connect-timeout "$(seconds "$connect_timeout")" --max-time "$(seconds "$read_timeout")" \
		--header "Idempotency-Key: $key" --header "Authorization: Bearer $customer" \
		--header "Content-Type: application/json" --data-binary "@$work/request" \
		--output "$work/answer" --write-out '%{http_code}|%{time_connect}|%{redirect_url}|%header{retry-after}' \
		"$url") || exit_code=$?
	IFS='|' read -r status connected location header <<<"$said" || true
	wait_for=0
	if [ "$exit_code" != 0 ]; then
		# Without a connection nothing has left. After one, nobody knows.
		[ "$connected" = 0.000000 ] || maybe_accepted=true
	else
		wait_for=$(retry_after "$header")
		case $status in
		2??)
			# Half an answer is no success: the JSON must be whole and name the message.
			if jq -e '.id | strings | length > 0' "$work/answer" >/dev/null 2>&1; then exit 0; fi
			maybe_accepted=true
			;;
		307 | 308)
			# To the same origin only: the text, the number and the credential go along.
			[[ $location == "$base"/* && $hops -lt 3 ]] || give_up "redirected to nowhere"
			((hops += 1))
			url=$location
			continue
			;;
		408 | 425 | 429 | 503) ;;                # it says that it has not begun
		409 | 5??) maybe_accepted=true ;;        # in flight, or it broke with the request in hand
		*) give_up "refused with $status" ;;     # after a lost answer even this proves nothing
		esac
	fi
	((attempt < max_attempts)) || give_up "no attempts left"
	((wait_for <= longest_wait)) || give_up "asked to wait for $wait_for ms"

	ceiling=$backoff_cap
	((attempt > 20 || backoff_base << (attempt - 1) > backoff_cap)) || ceiling=$((backoff_base << (attempt - 1)))
	pause=$((ceiling / 2 + SRANDOM % (ceiling / 2 + 1)))
	((pause >= wait_for)) || pause=$((wait_for + pause))
	((deadline - $(now) > pause + 50)) || give_up "expires before the next attempt"
	((key_until > $(now) + pause)) || give_up "the key is forgotten before the next attempt"
	sleep "$(seconds "$pause")"
	((attempt += 1))
	url=$base/v1/messages
done
