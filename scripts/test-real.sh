#!/usr/bin/env bash
# The tests that need real parts: CHAOS_POSTGRES and TOXIPROXY say where they are.
set -euo pipefail

cargo build --workspace --bins
echo "== tests on PostgreSQL"
# One of them only writes a page for a benchmark.
STUB_REPLICA_ROUNDS=${STUB_REPLICA_ROUNDS:-20} cargo test --workspace -- --ignored --skip a_large_run
echo "== the suite on PostgreSQL, embedded engine"
target/debug/chaos-runner run --client clients/outbox-worker/client-postgres.toml
echo "== honest clients in other languages"
scripts/clients.sh rust-reqwest
echo "== the suite on SQLite, real Toxiproxy at $TOXIPROXY"
target/debug/chaos-runner run --client clients/outbox-worker/client.toml --toxiproxy "$TOXIPROXY"
echo "== the pages in a real Chromium"
scripts/browser.sh
echo "== the Toxiproxy clients of other languages, on the embedded engine"
bash toxic-proxy/conformance/run.sh
