# Servers on free ports and load for them; read by the scripts beside it. They set `seconds`.

if ! command -v wrk >/dev/null; then
    echo "wrk is missing; trying apt-get install wrk" >&2
    apt-get install -y -qq wrk >/dev/null
fi

pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done' EXIT

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

wait_for() {
    for _ in $(seq 200); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
        sleep 0.02
    done
    echo "nothing listens on port $1" >&2
    exit 1
}

load() { # port run
    wrk -t1 -c32 -d"${seconds}s" -s bench/unique_keys.lua "http://127.0.0.1:$1" -- "$2" |
        sed -n 's/^RESULT //p'
}

recorded() { # port
    curl -s "http://127.0.0.1:$1/metrics" | sed -n 's/^stub_provider_deliveries_on_record //p'
}

median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
