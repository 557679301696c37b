#!/usr/bin/env bash
# dist-test.sh [PART…]: tarball, deb, wheel, action; all of them where none is named.
#
# What `make dist` made, as those who get it use it: each package is installed in a clean place and
# runs the standard suite against the reference client in a clean directory, with no variable of
# this one. The tarball, the Debian package (unpacked; and by apt, where this is root's machine
# and it is not installed yet), the wheel with the pytest plugin's own tests, and the GitHub
# Action's steps. Needs PyPI for pytest and PyYAML.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$(realpath "${DIST:-target/dist}")
from=$(realpath "${DIST_FROM:-target/release}")
[ $# -gt 0 ] || set -- tarball deb wheel action
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

only() { # the one file that a pattern names
	[ $# = 1 ] && [ -f "$1" ] || { echo "run make dist first: $*" >&2; exit 1; }
	echo "$1"
}
tarball=$(only "$dist"/*.tar.gz)
wheel=$(only "$dist"/*.whl)

# A directory with a client and its program and nothing else: clean NAME CLIENT PROGRAM
clean() {
	mkdir "$work/$1"
	sed 's#\.\./\.\./target/debug/#./#' "clients/$2/client.toml" >"$work/$1/client.toml"
	cp "$from/$3" "$work/$1"
}

suite() { # NAME PROGRAM: the standard suite, by that program
	echo "== $1"
	local directory=${1// /-}
	clean "$directory" outbox-worker outbox-worker
	(cd "$work/$directory" && env -i HOME="$work" PATH=/usr/bin:/bin "$2" run --client client.toml --color never >suite.txt) || {
		cat "$work/$directory/suite.txt"
		exit 1
	}
	tail -n 1 "$work/$directory/suite.txt"
}

test_tarball() {
	tar -xzf "$tarball" -C "$work"
	suite tarball "$work/$(basename "$tarball" .tar.gz)/bin/chaos-runner"
}

test_deb() {
	if ! command -v dpkg-deb >/dev/null; then
		echo "== deb: skipped: no dpkg-deb here"
		return
	fi
	deb=$(only "$dist"/*.deb)
	dpkg-deb -x "$deb" "$work/root"
	suite "deb unpacked" "$work/root/usr/bin/chaos-runner"
	if [ "$(id -u)" = 0 ] && ! dpkg -s chaos-runner >/dev/null 2>&1; then
		trap 'dpkg --purge chaos-runner >/dev/null 2>&1; rm -rf "$work"' EXIT
		apt-get install -qqy --no-install-recommends "$deb" >"$work/apt.txt" 2>&1 || { cat "$work/apt.txt"; exit 1; }
		suite "deb installed" /usr/bin/chaos-runner
		for file in bin/stub-provider bin/toxic-proxy share/man/man1/chaos-runner-run.1.gz \
			share/bash-completion/completions/chaos-runner share/doc/chaos-runner/copyright; do
			[ -s "/usr/$file" ] || { echo "no /usr/$file" >&2; exit 1; }
		done
		# Two words in: what bash offers for `chaos-runner sch`.
		env -i PATH=/usr/bin:/bin bash -c '
			. /usr/share/bash-completion/completions/chaos-runner
			COMP_WORDS=(chaos-runner sch) COMP_CWORD=1
			function=$(complete -p chaos-runner | sed "s/.* -F \\([^ ]*\\).*/\\1/")
			"$function" chaos-runner sch chaos-runner
			[ "${COMPREPLY[*]}" = schema ] || { echo "completed to: ${COMPREPLY[*]}" >&2; exit 1; }'
		dpkg --purge chaos-runner >/dev/null
		trap 'rm -rf "$work"' EXIT
	fi
}

# The wheel in an environment of its own, where the action finds its program too.
environment() {
	[ ! -x "$work/venv/bin/chaos-runner" ] || return 0
	python3 -m venv "$work/venv"
	"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
}

test_wheel() {
	environment
	suite wheel "$work/venv/bin/chaos-runner"
	echo "== pytest plugin"
	"$work/venv/bin/pip" install --quiet --disable-pip-version-check pytest
	cp -r python/tests "$work/tests"
	(cd "$work/tests" && env -i HOME="$work" PATH=/usr/bin:/bin "$work/venv/bin/pytest" -q -p no:cacheprovider .)
}

action() { # NAME, then inputs: the action's steps, in the directory NAME
	local directory=$work/$1
	shift
	(cd "$directory" && "$work/venv/bin/python" "$OLDPWD/scripts/action.py" "$OLDPWD" "$@" >steps.txt 2>&1)
}

test_action() {
	environment
	"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyyaml
	echo "== action, a program that is there"
	clean action outbox-worker outbox-worker
	action action binary="$work/venv/bin/chaos-runner" || { cat "$work/action/steps.txt"; exit 1; }
	tail -n 1 "$work/action/steps.txt"
	[ -s "$work/action/target/chaos/junit.xml" ] && [ -s "$work/action/target/chaos/chaos.json" ]

	echo "== action, a release, and a client that is wrong"
	clean wrong naive naive
	mkdir "$work/gh"
	cat >"$work/gh/gh" <<-END
	#!/bin/sh
	# Stands in for GitHub: gh release download TAG --repo R --pattern FILE --dir DIR
	[ "\$7" = "$(basename "$tarball")" ] && exec cp "$tarball" "\$9"
	echo "no release has \$7" >&2; exit 1
	END
	chmod +x "$work/gh/gh"
	version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
	status=0
	PATH=$work/gh:$PATH action wrong version="$version" scenarios="timeout-after-accept hang" args="--jobs 2" || status=$?
	if [ "$status" != 1 ] || ! grep -q '"exit-code": "1"' "$work/wrong/steps.txt" || ! grep -q no-key "$work/wrong/steps.txt"; then
		cat "$work/wrong/steps.txt"
		echo "the naive client was not caught (exit code $status)" >&2
		exit 1
	fi
	tail -n 1 "$work/wrong/steps.txt"
}

for part; do
	"test_$part"
done
echo "all of it works: $*"
