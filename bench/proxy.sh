#!/usr/bin/env bash
# Measures toxic-proxy without toxics against a real Toxiproxy: requests a
# second by wrk, through each to the same bare server, in turns. The ratio is
# the median of the rounds' ratios, so that a noisy machine is noisy for both;
# processor time for each request hardly depends on noise at all.
#
#   TOXIPROXY_SERVER=/path/to/server   the real one, to be started; or
#   TOXIPROXY=HOST:PORT                the API of one that runs already; or else
#                                      one is installed into target/ through Go
#   ROUNDS=9 SECONDS_EACH=2 CONNECTIONS=32   how much and how long
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
rounds=${ROUNDS:-9}
seconds=${SECONDS_EACH:-2}
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
cargo build --quiet --release --manifest-path "$root/Cargo.toml" -p toxic-proxy --bin toxic-proxy -p stub-provider --example bare
target=$(cargo metadata --quiet --format-version 1 --no-deps --manifest-path "$root/Cargo.toml" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')

server=${TOXIPROXY_SERVER:-}
if [ -z "$server" ] && [ -z "${TOXIPROXY:-}" ]; then
    server=$target/toxiproxy/server
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
ours_pid=$!
pids+=("$ours_pid")
real_api=${TOXIPROXY:-}
real_pid=
if [ -n "$server" ]; then
    real_api=127.0.0.1:$(free_port)
    LOG_LEVEL=error "$server" -host 127.0.0.1 -port "${real_api##*:}" >/dev/null 2>&1 &
    real_pid=$!
    pids+=("$real_pid")
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

ticks() { # PID: processor time so far, in clock ticks; 0 for a process that is not ours
    if [ -n "$1" ]; then awk '{ print $14 + $15 }' "/proc/$1/stat"; else echo 0; fi
}
measure() { # NAME ADDRESS SECONDS PID: prints requests a second, and µs of processor time for each
    local before after
    before=$(ticks "$4")
    wrk --threads 1 --connections "$connections" --duration "${3}s" "http://$2/" >"$work/wrk.log"
    after=$(ticks "$4")
    if grep -q 'Non-2xx\|Socket errors' "$work/wrk.log"; then
        cat "$work/wrk.log" >&2
        fail "errors through $1"
    fi
    awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" \
        '/requests in/ { us = ticks / hz * 1e6 / $1 } /^Requests\/sec:/ { print $2, us }' "$work/wrk.log"
}

# The first second warms everything up and does not count.
for address in "127.0.0.1:$bare" "$ours" "$real"; do measure warm-up "$address" 1 "" >/dev/null; done
for round in $(seq "$rounds"); do
    measure bare "127.0.0.1:$bare" "$seconds" "" >>"$work/bare"
    measure toxic-proxy "$ours" "$seconds" "$ours_pid" >>"$work/ours"
    measure Toxiproxy "$real" "$seconds" "$real_pid" >>"$work/real"
    echo "round $round: $(for who in bare ours real; do echo "$who $(tail -n 1 "$work/$who" | cut -d' ' -f1)"; done | paste -sd ' ') requests/s"
done
python3 - "$work" <<'PY'
import sys
from statistics import median

read = lambda who: [tuple(map(float, line.split())) for line in open(f"{sys.argv[1]}/{who}")]
bare, ours, real = map(read, ("bare", "ours", "real"))
rate = lambda runs: median(run[0] for run in runs)
print(f"medians: bare {rate(bare):.0f}, toxic-proxy {rate(ours):.0f}, Toxiproxy {rate(real):.0f} requests/s")
cpu = [median(run[1] for run in runs) for runs in (ours, real)]
if cpu[1]:
    print(f"processor time a request: toxic-proxy {cpu[0]:.1f} µs, Toxiproxy {cpu[1]:.1f} µs")
ratio = median(a[0] / b[0] for a, b in zip(ours, real))
print(f"toxic-proxy / Toxiproxy = {ratio:.2f} (wanted: at least 1.0)")
sys.exit(0 if ratio >= 1 else 1)
PY
