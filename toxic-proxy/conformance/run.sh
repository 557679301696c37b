#!/usr/bin/env bash
# Drives toxic-proxy with Toxiproxy's clients in three languages:
# the published test suite of the crate toxiproxy_rust (37 tests), and scripts
# of ours that use every call of the npm and PyPI packages.
# Needs ports 8474, 2000 and 2001 (they are fixed in that suite), cargo, node,
# npm and python3. Exits 0 only if everything passed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

fail() { echo "conformance: $*" >&2; exit 1; }

cargo build --quiet --manifest-path "$root/Cargo.toml" -p toxic-proxy
target=$(cargo metadata --quiet --format-version 1 --no-deps --manifest-path "$root/Cargo.toml" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')

# Starts the proxy; sets $api to the address that it says it listens on.
start() {
    local log=$work/proxy-${#pids[@]}.log
    : >"$log"
    "$target/debug/toxic-proxy" --listen "$1" --log-format json 2>"$log" &
    local pid=$!
    pids+=("$pid")
    until grep -q '"API listens"' "$log"; do
        kill -0 "$pid" 2>/dev/null || { cat "$log" >&2; fail "the proxy does not start on $1"; }
        sleep 0.05
    done
    api=$(sed -n 's/.*"API listens","address":"\([^"]*\)".*/\1/p' "$log")
    [ -n "$api" ] || fail "the proxy does not say where it listens"
}

start 127.0.0.1:8474
fixed=$api
start 127.0.0.1:0
free=$api

# The crate's suite, from the sources that cargo has.
host=$(rustc -vV | sed -n 's/^host: //p')
suite=$(cargo metadata --quiet --format-version 1 --filter-platform "$host" --manifest-path "$root/Cargo.toml" |
    python3 -c 'import json, os, sys
print(next(os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"] == "toxiproxy_rust"))')
cp -r "$suite" "$work/suite"
chmod -R u+w "$work/suite"
# The same versions as ours; and a workspace of its own.
cp "$root/Cargo.lock" "$work/suite/Cargo.lock"
printf '\n[workspace]\n' >>"$work/suite/Cargo.toml"
# The suite denies warnings, and compilers learn new ones.
RUSTFLAGS="--cap-lints warn" CARGO_TARGET_DIR="$target/conformance" NO_PROXY=127.0.0.1,localhost \
    cargo test --manifest-path "$work/suite/Cargo.toml" -- --test-threads 1 >"$work/suite.log" 2>&1 ||
    { tail -n 60 "$work/suite.log" >&2; fail "toxiproxy_rust's suite failed"; }
passed=$(sed -n 's/^test result: ok\. \([0-9]*\) passed.*/\1/p' "$work/suite.log" | awk '{ sum += $1 } END { print sum + 0 }')
[ "$passed" -eq 37 ] || { cat "$work/suite.log" >&2; fail "$passed of toxiproxy_rust's 37 tests passed"; }
echo "toxiproxy_rust: its own suite, $passed of 37 tests passed"

mkdir "$work/node"
cp "$here/node.mjs" "$work/node/"
(cd "$work/node" && npm install --silent --no-audit --no-fund --no-package-lock toxiproxy-node-client@4.1.0 >npm.log 2>&1) ||
    { cat "$work/node/npm.log" >&2; fail "toxiproxy-node-client could not be installed"; }
node "$work/node/node.mjs" "http://$free" "http://$fixed"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check toxiproxy-python==0.1.1 >"$work/pip.log" 2>&1 ||
    { cat "$work/pip.log" >&2; fail "toxiproxy-python could not be installed"; }
"$work/venv/bin/python" "$here/python.py" "${free%:*}" "${free##*:}"

echo "conformance: all passed"
