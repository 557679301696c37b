#!/usr/bin/env bash
# Checks the provider against documents of its own making:
# - /openapi.json with schemathesis: no 5xx, and no answer that the document does not describe,
#   for every profile and for the admin API;
# - /metrics with Prometheus's parser, the dashboard and the alerts against it.
#
#   stub-provider/conformance/run.sh [EXAMPLES] [PROFILE…]
#
# EXAMPLES is the number of examples for each operation. Needs cargo, curl and python3. Exits 0
# only if everything passed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
examples=${1:-100}
shift || true
profiles=("$@")
work=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

fail() { echo "conformance: $*" >&2; exit 1; }

cargo build --quiet --manifest-path "$root/Cargo.toml" -p stub-provider
target=$(cargo metadata --quiet --format-version 1 --no-deps --manifest-path "$root/Cargo.toml" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check \
    schemathesis==4.32.5 prometheus_client==0.26.0 PyYAML==6.0.4 >"$work/pip.log" 2>&1 ||
    { cat "$work/pip.log" >&2; fail "the packages could not be installed"; }

# The names of the built-in profiles; numbers.toml is the part that several have in common.
built_in() {
    for file in "$root"/stub-provider/profiles/*.toml; do
        local name=${file##*/}
        [ "$name" = numbers.toml ] || echo "${name%.toml}"
    done
}

# Starts the provider; sets $url.
start() {
    local log=$work/stub-${#pids[@]}.log
    : >"$log"
    "$target/debug/stub-provider" --listen 127.0.0.1:0 --json-logs "$@" 2>"$log" &
    local pid=$!
    pids+=("$pid")
    until grep -q '"ready"' "$log"; do
        kill -0 "$pid" 2>/dev/null || { cat "$log" >&2; fail "the provider does not start"; }
        sleep 0.05
    done
    url=$(sed -n 's/.*"ready".*"url":"\([^"]*\)".*/\1/p' "$log" | head -n 1)
    [ -n "$url" ] || fail "the provider does not say where it listens"
}

# Runs schemathesis on the operations of a tag.
check() {
    local name=$1 tag=$2
    shift 2
    # In its own directory: it leaves its results where it runs.
    (cd "$work" && exec "$work/venv/bin/schemathesis" --config-file "$here/schemathesis.toml" --no-color run "$url/openapi.json" \
        --include-tag "$tag" --max-examples "$examples" --phases examples,coverage,fuzzing \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance \
        --request-timeout 20 --continue-on-failure --seed 1 "$@") >"$work/$name.log" 2>&1 ||
        { tail -n 150 "$work/$name.log" >&2; fail "schemathesis: $name failed"; }
    grep -Eq '[0-9]+ generated' "$work/$name.log" || { cat "$work/$name.log" >&2; fail "$name: nothing was tested"; }
    echo "schemathesis: $name: $(grep -Eo '[0-9]+ generated.*' "$work/$name.log" | head -n 1)"
}

start
first=$url
[ ${#profiles[@]} -gt 0 ] || mapfile -t profiles < <(built_in)
for profile in "${profiles[@]}"; do
    start --profile "$profile"
    check "$profile" api
done
# Apart from the API: a fault in force changes the API's answers, as it should.
start
check admin admin --exclude-path /admin/events
url=$first
curl -s -o "$work/sent" "$url/v1/messages" -H 'Idempotency-Key: k' -d '{"to":"+12025550142","body":"1"}'
"$work/venv/bin/python" "$here/metrics.py" "$url" "$root/stub-provider"
echo "conformance: all passed"
