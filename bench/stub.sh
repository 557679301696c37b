#!/usr/bin/env bash
# The provider against a bare hyper server: requests per second with unique keys and everything
# recorded, interleaved runs, medians and the median of the ratios of neighbouring runs. Beside it
# the processor time of one request, which other work on the machine disturbs less.
#
#   bash bench/stub.sh [RUNS] [SECONDS]        RATIO=0.6 is the least that passes
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${1:-5}
seconds=${2:-4}
least=${RATIO:-0.6}

cargo build --quiet --release -p stub-provider --bin stub-provider --example bare
target=${CARGO_TARGET_DIR:-target}/release

source bench/load.sh

measure() { # name run command…
    local name=$1 run=$2 port out
    shift 2
    port=$(free_port)
    "$@" "127.0.0.1:$port" 2>/dev/null &
    local pid=$!
    pids+=("$pid")
    wait_for "$port"
    out=$(load "$port" "$run")
    read -r rate requests errors <<<"$out"
    if [ "$name" = stub ]; then
        known=$(recorded "$port")
        if [ "$known" -lt "$requests" ]; then
            echo "only $known of $requests requests are on record" >&2
            exit 1
        fi
    fi
    # User and system time in hundredths of a second; the program's name holds no space.
    ticks=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    if [ "$errors" -ne 0 ]; then
        echo "$errors of $requests requests failed" >&2
        exit 1
    fi
    cost=$(awk -v t="$ticks" -v n="$requests" 'BEGIN { printf "%.2f", t * 1e4 / n }')
    echo "  $name $rate requests/s, $cost us of processor time each ($requests)" >&2
    echo "$rate $cost"
}

rows=()
for run in $(seq "$runs"); do
    rows+=("$(measure bare "$run" "$target/examples/bare") $(measure stub "$run" "$target/stub-provider" --listen)")
done
column() { printf '%s\n' "${rows[@]}" | awk "{ print $1 }" | median; }
awk -v b="$(column '$1')" -v s="$(column '$3')" -v r="$(column '$3 / $1')" \
    -v bc="$(column '$2')" -v sc="$(column '$4')" -v least="$least" 'BEGIN {
    printf "bare hyper %d requests/s (%.1f us of processor time each)\n", b, bc
    printf "stub-provider %d requests/s (%.1f us), ratio %.2f (at least %.2f)\n", s, sc, r, least
    exit !(r >= least)
}'
