#!/usr/bin/env bash
# browser.sh [FILE…]: the pages in a real Chromium, with real clicks; screenshots go to
# target/screenshots. Installs Debian's chromium where there is none, and the drivers from npm.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${CHROMIUM:-}" ] && ! [ -x /usr/bin/chromium ]; then
	echo "browser.sh: no Chromium here, installing Debian's" >&2
	apt-get update -q >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium fonts-dejavu-core >&2
fi
cargo build --workspace --bins
cd browser
npm ci --silent --no-audit --no-fund
[ $# -gt 0 ] || set -- inbox.test.mjs report.test.mjs exploration.test.mjs
# The limit is for a whole file too; what hangs is ended, and named, by the tests' own limit before.
exec node --test --test-concurrency=1 --test-timeout=300000 "$@"
