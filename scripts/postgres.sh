#!/usr/bin/env bash
# Runs a command beside a PostgreSQL server of its own, on a free port of 127.0.0.1, in a
# directory that goes away afterwards. The command finds it by PGPORT and CHAOS_POSTGRES.
# Installs Debian's postgresql where no server is at hand.
set -euo pipefail

find_bin() {
	for dir in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) $(echo "$PATH" | tr : ' '); do
		if [ -x "$dir/initdb" ] && [ -x "$dir/pg_ctl" ]; then
			readlink -f "$dir/pg_ctl" | xargs dirname
			return
		fi
	done
}

bin=$(find_bin)
if [ -z "$bin" ]; then
	echo "postgres.sh: no PostgreSQL server here, installing Debian's" >&2
	apt-get update -q >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -qy postgresql >&2
	bin=$(find_bin)
fi

home=$(mktemp -d)
chmod 755 "$home"
as_owner=()
if [ "$(id -u)" = 0 ]; then
	# The server refuses to run as root.
	chown postgres "$home"
	as_owner=(runuser -u postgres --)
fi
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cleanup() {
	"${as_owner[@]}" "$bin/pg_ctl" -D "$home/data" -m immediate stop >/dev/null 2>&1 || true
	rm -rf "$home"
}
trap cleanup EXIT

cd "$home"
"${as_owner[@]}" "$bin/initdb" -D "$home/data" -U postgres -A trust -E UTF8 --no-sync >/dev/null
"${as_owner[@]}" "$bin/pg_ctl" -D "$home/data" -w -l "$home/log" \
	-o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$home -c fsync=off -c max_connections=300" start >/dev/null
cd "$OLDPWD"
PGPORT=$port CHAOS_POSTGRES="postgres://postgres@127.0.0.1:$port" "$@"
