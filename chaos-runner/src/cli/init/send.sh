#!/bin/sh
# A client in its smallest right form: one key for each message, the same on every try.
# It needs curl. Replace it by yours. Usage: send.sh ID NUMBER TEXT
# Exit codes: 0 sent, 69 nothing was delivered, 75 nobody knows.
id=$1 to=$2 text=$3

escape() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
request=$(printf '{"to":"%s","body":"%s"}' "$(escape "$to")" "$(escape "$text")")

# How long the provider knows the key, in seconds: after that, a retry is a new message.
case $SMS_KEY_RETENTION in
    *[!0-9]*s | '' | *[!0-9smh]*) kept=86400 ;;
    *s) kept=${SMS_KEY_RETENTION%s} ;;
    *m) kept=$((${SMS_KEY_RETENTION%m} * 60)) ;;
    *) kept=86400 ;;
esac

began=$(date +%s)
ambiguous=no
for try in 1 2 3 4 5; do
    answer=$(curl --silent --include --location --retry 0 --max-time 1 \
        --write-out '\nstatus %{http_code}' \
        --header "Idempotency-Key: $id" --header 'Content-Type: application/json' \
        --data "$request" "$SMS_API_BASE/v1/messages")
    curl=$? # 0: a whole answer came
    status=$(printf '%s\n' "$answer" | sed -n 's/^status \([0-9]*\)$/\1/p')

    case $curl:$status in
        # Only a whole answer that names the message is a success.
        0:2??) case $answer in *'"id":'*'"}'*) exit 0 ;; *) ambiguous=yes ;; esac ;;
        # Not taken this time.
        0:408 | 0:425 | 0:429) ;;
        # Still being worked on, or it broke with the request in its hands.
        0:409 | 0:5??) ambiguous=yes ;;
        # A refusal: it will not change, and it speaks for this try only.
        0:4??) break ;;
        # No connection: nothing was sent.
        7:*) ;;
        # The request may have arrived; the answer did not.
        *) ambiguous=yes ;;
    esac
    [ "$try" = 5 ] && break

    # When to come back: as the provider says, in seconds or as a date, or a little later each time.
    wait=0.$try
    after=$(printf '%s\n' "$answer" | sed -n 's/^[Rr]etry-[Aa]fter: *\([^\r]*\).*/\1/p' | tail -n 1)
    now=$(date +%s)
    case $after in
        *,*GMT) at=$(date -d "$after" +%s 2>/dev/null) && [ "$at" -ge "$now" ] && wait=$((at - now + 1)) ;;
        '' | *[!0-9]*) ;;
        *) wait=$after ;;
    esac
    # A wait that outlives the message's use, or the key, is not worth it.
    [ "${wait%.*}" -gt 10 ] && break
    [ $((now - began + ${wait%.*} + 1)) -ge "$kept" ] && break
    sleep "$wait"
done
[ "$ambiguous" = yes ] && exit 75
exit 69
