#!/bin/sh
# A client in its smallest right form: one key for each message, the same on every try.
# Replace it by yours. Usage: send.sh ID NUMBER TEXT
# Exit codes: 0 sent, 69 nothing was delivered, 75 nobody knows.
id=$1 to=$2 text=$3

escape() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
request=$(printf '{"to":"%s","body":"%s"}' "$(escape "$to")" "$(escape "$text")")

ambiguous=no
for try in 1 2 3 4 5; do
    answer=$(curl --silent --include --location --retry 0 --max-time 1 \
        --write-out '\nstatus %{http_code}' \
        --header "Idempotency-Key: $id" --header 'Content-Type: application/json' \
        --data "$request" "$SMS_API_BASE/v1/messages")
    curl=$? # 0: a whole answer came
    status=$(printf '%s\n' "$answer" | sed -n 's/^status \([0-9]*\)$/\1/p')
    wait=$(printf '%s\n' "$answer" | sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,6\}\).*/\1/p' | tail -n 1)

    case $curl:$status in
        # Only a whole answer that names the message is a success.
        0:2??) case $answer in *'"id"'*) exit 0 ;; *) ambiguous=yes ;; esac ;;
        # Not taken this time.
        0:408 | 0:425 | 0:429 | 0:503) ;;
        # Still being worked on, or broken with the request in its hands.
        0:409 | 0:5??) ambiguous=yes ;;
        # A refusal: it will not change, and it speaks for this try only.
        0:4??) break ;;
        # No connection: nothing was sent.
        7:*) ;;
        # The request may have arrived; the answer did not.
        *) ambiguous=yes ;;
    esac
    [ "$try" = 5 ] && break
    # The provider says when to come back; a wait that outlives the message is not worth it.
    [ "${wait:-0}" -gt 10 ] && break
    sleep "${wait:-0.$try}"
done
[ "$ambiguous" = yes ] && exit 75
exit 69
