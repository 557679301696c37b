#!/usr/bin/env bash
# toxiproxy.sh VERSION COMMAND…: runs a command beside a real Toxiproxy server of that version,
# on a free port of 127.0.0.1. The command finds it by TOXIPROXY (host:port). The server is built
# through the Go module proxy where it is not at hand.
set -euo pipefail

version=$1
shift
cache=${XDG_CACHE_HOME:-$HOME/.cache}/chaos-runner/toxiproxy-$version
if [ ! -x "$cache/server" ]; then
	echo "toxiproxy.sh: building Toxiproxy $version" >&2
	GOBIN=$cache go install "github.com/Shopify/toxiproxy/v2/cmd/server@$version" >&2
fi
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$cache/server" -host 127.0.0.1 -port "$port" >/dev/null 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
	kill -0 $server || { echo "toxiproxy.sh: the server has ended" >&2; exit 1; }
done
TOXIPROXY=127.0.0.1:$port TOXIPROXY_SERVER=$cache/server "$@"
