#!/usr/bin/env bash
# Measures toxic-proxy without toxics against a real Toxiproxy: requests a
# second by wrk, through each to the same bare server, in turns, so that a
# noisy machine is noisy for both. The last line is the ratio of the medians.
#
#   TOXIPROXY=HOST:PORT   the API of a real Toxiproxy that runs already; without
#                         it, TOXIPROXY_SERVER=/path/to/server is started, or else
#                         one is installed into target/ through Go
#   ROUNDS=5 SECONDS_EACH=4 CONNECTIONS=32   how much and how long
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}
connections=${CONNECTIONS:-32}
version=v2.12.0
work=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
fail() { echo "bench/proxy.sh: $*" >&2; exit 1; }

command -v wrk >/dev/null || fail "wrk is not installed (Debian: apt-get install wrk)"
cargo build --quiet --release --manifest-path "$root/Cargo.toml" -p toxic-proxy --bin toxic-proxy --example bare
target=$(cargo metadata --quiet --format-version 1 --no-deps --manifest-path "$root/Cargo.toml" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')

if [ -z "${TOXIPROXY:-}" ]; then
    server=${TOXIPROXY_SERVER:-$target/toxiproxy/server}
    [ -x "$server" ] || {
        command -v go >/dev/null || fail "no Toxiproxy, and no Go to install it with; set TOXIPROXY"
        GOBIN=$target/toxiproxy go install "github.com/Shopify/toxiproxy/v2/cmd/server@$version"
    }
fi

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
until_answers() { # URL
    for _ in $(seq 100); do
        curl --silent --output /dev/null --max-time 1 "$1" && return
        sleep 0.05
    done
    fail "$1 does not answer"
}

bare=$(free_port)
"$target/release/examples/bare" "127.0.0.1:$bare" >/dev/null &
pids+=($!)
ours_api=127.0.0.1:$(free_port)
"$target/release/toxic-proxy" --listen "$ours_api" --log-level warn &
pids+=($!)
real_api=${TOXIPROXY:-}
if [ -z "$real_api" ]; then
    real_api=127.0.0.1:$(free_port)
    LOG_LEVEL=error "$server" -host 127.0.0.1 -port "${real_api##*:}" >/dev/null 2>&1 &
    pids+=($!)
fi
until_answers "http://127.0.0.1:$bare/"

behind() { # API: a proxy in front of the bare server
    until_answers "http://$1/version"
    curl --silent --fail "http://$1/proxies" \
        --data "{\"name\":\"bench\",\"listen\":\"127.0.0.1:0\",\"upstream\":\"127.0.0.1:$bare\"}" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["listen"])'
}
ours=$(behind "$ours_api")
real=$(behind "$real_api")

measure() { # NAME ADDRESS SECONDS
    wrk --threads 1 --connections "$connections" --duration "${3}s" "http://$2/" >"$work/wrk.log"
    if grep -q 'Non-2xx\|Socket errors' "$work/wrk.log"; then
        cat "$work/wrk.log" >&2
        fail "errors through $1"
    fi
    awk '/^Requests\/sec:/ { print $2 }' "$work/wrk.log"
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# The first second warms everything up and does not count.
for address in "127.0.0.1:$bare" "$ours" "$real"; do measure warm-up "$address" 1 >/dev/null; done
for round in $(seq "$rounds"); do
    measure bare "127.0.0.1:$bare" "$seconds" >>"$work/bare"
    measure ours "$ours" "$seconds" >>"$work/ours"
    measure real "$real" "$seconds" >>"$work/real"
    echo "round $round: bare $(tail -n 1 "$work/bare"), toxic-proxy $(tail -n 1 "$work/ours"), Toxiproxy $(tail -n 1 "$work/real") requests/s"
done
python3 - "$(median "$work/ours")" "$(median "$work/real")" "$(median "$work/bare")" <<'PY'
import sys
ours, real, bare = map(float, sys.argv[1:])
print(f"medians: bare {bare:.0f}, toxic-proxy {ours:.0f}, Toxiproxy {real:.0f} requests/s")
print(f"toxic-proxy / Toxiproxy = {ours / real:.2f} (wanted: at least 1.0)")
sys.exit(0 if ours >= real else 1)
PY
