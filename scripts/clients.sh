#!/usr/bin/env bash
# clients.sh [NAME…]: builds the honest clients and runs the standard suite against each; all of
# them where none is named. One whose toolchain is not here is skipped, and says so. The clients on
# PostgreSQL find it by PGPORT (scripts/postgres.sh brings one). ARGS goes to the runner; with
# SOAK=N there are N runs of each with a core kept busy, and none may end otherwise than with 0.
set -uo pipefail
cd "$(dirname "$0")/.."

names=("$@")
[ $# -gt 0 ] || names=(shell-curl python go node-typescript java rust-reqwest otp-service)
passed=0 failed=() skipped=0

# Builds what a client needs; 1: a tool is missing, and `why` says which.
build() {
	local tool
	for tool in $1; do
		command -v "$tool" >/dev/null || {
			why="no $tool here"
			return 1
		}
	done
	shift
	(cd "clients/$name" && "$@") || {
		echo "$name: cannot be built" >&2
		return 2
	}
}

python_environment() {
	[ -x .venv/bin/python ] || python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps -r requirements.txt
}

node_build() {
	npm ci --silent --no-audit --no-fund && npm run --silent build
}

# Also archives what the JVM loads for one message (to nobody), which halves the start of each run.
java_build() {
	mvn --quiet --batch-mode package dependency:copy-dependencies &&
		echo '{"intent":"a","customer":"c","to":"+12025550142","body":"b","expires_at":null}' |
		SMS_API_BASE=http://127.0.0.1:1 SMS_BACKOFF_CAP=1ms java -XX:+UseSerialGC \
			-XX:ArchiveClassesAtExit=target/sms.jsa -cp 'target/sms.jar:target/dependency/*' \
			sms.Batch target/nobody.jsonl >/dev/null 2>&1
}

cargo build --quiet -p chaos-runner || exit 1
for name in "${names[@]}"; do
	why=
	case $name in
	shell-curl) build "bash curl jq" true ;;
	python)
		if [ -n "${PGPORT:-}" ]; then
			build python3 python_environment
		else
			why="no PostgreSQL (PGPORT is not set)"
			false
		fi
		;;
	go) build go go build -o bin/sms . ;;
	node-typescript) build "node npm" node_build ;;
	java) build "java mvn" java_build ;;
	rust-reqwest) build cargo cargo build --quiet -p rust-reqwest ;;
	otp-service) build python3 true ;;
	*)
		echo "clients.sh: there is no client $name" >&2
		exit 2
		;;
	esac
	built=$?
	if [ -n "$why" ]; then
		echo "== $name: skipped: $why"
		skipped=$((skipped + 1))
		continue
	fi
	echo "== $name"
	soak=()
	[ -z "${SOAK:-}" ] || soak=(python3 scripts/soak.py "$SOAK" --busy --verdicts --)
	# shellcheck disable=SC2086 # several words are several arguments
	if [ $built = 0 ] && "${soak[@]}" target/debug/chaos-runner run --client "clients/$name/client.toml" --quiet ${ARGS:-}; then
		passed=$((passed + 1))
	else
		failed+=("$name")
	fi
done
[ ${#failed[@]} = 0 ] || echo "failed: ${failed[*]}"
echo "clients: $passed passed, ${#failed[@]} failed, $skipped skipped"
[ ${#failed[@]} = 0 ]
