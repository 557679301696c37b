#!/usr/bin/env bash
# A million messages, each under a key of its own: none is lost, and what one takes in memory.
#
#   bash bench/million.sh [MESSAGES] [OPTIONS OF THE PROVIDER…]
set -euo pipefail
cd "$(dirname "$0")/.."

messages=${1:-1000000}
shift || true
seconds=5

cargo build --quiet --release -p stub-provider --bin stub-provider
source bench/load.sh

resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

port=$(free_port)
"${CARGO_TARGET_DIR:-target}/release/stub-provider" --listen "127.0.0.1:$port" "$@" 2>/dev/null &
pid=$!
pids+=("$pid")
wait_for "$port"
before=$(resident "$pid")
answered=0
run=0
while [ "$answered" -lt "$messages" ]; do
    run=$((run + 1))
    read -r rate requests errors <<<"$(load "$port" "$run")"
    if [ "$errors" -ne 0 ]; then
        echo "$errors of $requests requests failed" >&2
        exit 1
    fi
    answered=$((answered + requests))
    echo "  $answered answered, $rate requests/s" >&2
done
after=$(resident "$pid")
known=$(recorded "$port")
# The last requests of each run may have been answered after it was over.
if [ "$known" -lt "$answered" ]; then
    echo "only $known of $answered messages are on record" >&2
    exit 1
fi
awk -v n="$known" -v a="$answered" -v kib=$((after - before)) 'BEGIN {
    printf "%d messages answered, %d on record, none lost; %.0f bytes of memory each\n", a, n, kib * 1024 / n
}'
