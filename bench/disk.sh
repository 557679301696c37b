#!/usr/bin/env bash
# The provider with --data-dir, and with --fsync too, against the same one in memory alone:
# requests per second with unique keys, interleaved runs, the medians of the ratios.
#
#   bash bench/disk.sh [RUNS] [SECONDS]        TMPDIR is where the data goes
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${1:-5}
seconds=${2:-4}

cargo build --quiet --release -p stub-provider --bin stub-provider
source bench/load.sh

measure() { # name run options…
    local name=$1 run=$2 port
    shift 2
    port=$(free_port)
    "${CARGO_TARGET_DIR:-target}/release/stub-provider" --listen "127.0.0.1:$port" "$@" 2>/dev/null &
    local pid=$!
    pids+=("$pid")
    wait_for "$port"
    read -r rate requests errors <<<"$(load "$port" "$run")"
    if [ "$errors" -ne 0 ] || [ "$(recorded "$port")" -lt "$requests" ]; then
        echo "$name: $errors of $requests requests failed, or not all are on record" >&2
        exit 1
    fi
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    echo "  $name $rate requests/s ($requests)" >&2
    echo "$rate"
}

rows=()
for run in $(seq "$runs"); do
    dir=$(mktemp -d)
    rows+=("$(measure memory "$run") $(measure disk "$run" --data-dir "$dir/a") $(measure fsync "$run" --data-dir "$dir/b" --fsync)")
    rm -rf "$dir"
done
column() { printf '%s\n' "${rows[@]}" | awk "{ print $1 }" | median; }
awk -v m="$(column '$1')" -v d="$(column '$2')" -v f="$(column '$3')" \
    -v dr="$(column '$2 / $1')" -v fr="$(column '$3 / $1')" 'BEGIN {
    printf "memory %d requests/s; --data-dir %d, ratio %.2f; --fsync %d, ratio %.2f\n", m, d, dr, f, fr
}'
