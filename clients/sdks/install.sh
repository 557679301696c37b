#!/usr/bin/env bash
# install.sh: the SDKs in the versions on record, and the certificate of tls.py, under target/sdks.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
made=$here/../../target/sdks
mkdir -p "$made/node"

[ -x "$made/venv/bin/python" ] || python3 -m venv "$made/venv"
"$made/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/python/requirements.txt"

[ -s "$made/certificate.pem" ] ||
	openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=127.0.0.1" \
		-addext "subjectAltName=IP:127.0.0.1" -keyout "$made/key.pem" -out "$made/certificate.pem" 2>/dev/null

# --ignore-scripts: what a package wants to run at its installation is not needed here.
cp "$here/node/package.json" "$here/node/package-lock.json" "$made/node"
npm ci --prefix "$made/node" --silent --no-audit --no-fund --ignore-scripts

(cd "$here/libraries/go" && go build -o "$made/go-send" .)
