#!/usr/bin/env bash
# What is given away, into target/dist: a tarball, a Debian package and a wheel, each with the
# three programs, their manual pages and completions, and the licences of all that is in them.
#
# The programs are built with OpenSSL in them (the feature vendored-openssl of chaos-runner), so
# that they need the C library alone. DIST_FROM=DIR takes programs that are built already, as they
# are, to try the packages out: target/debug, say.
set -euo pipefail
cd "$(dirname "$0")/.."

programs=(chaos-runner stub-provider toxic-proxy)
dist=${DIST:-target/dist}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
machine=$(uname -m)
# The same source makes the same files.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

if [ -z "${DIST_FROM:-}" ]; then
	cargo build --release --locked --workspace --bins --features chaos-runner/vendored-openssl
	from=target/release
else
	from=$DIST_FROM
fi

rm -rf "$dist"
tree=$dist/chaos-runner-$version-$machine-linux
doc=$tree/share/doc/chaos-runner
man=$tree/share/man/man1
mkdir -p "$tree/bin" "$doc" "$man" "$tree"/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}

for program in "${programs[@]}"; do
	install -m 755 "$from/$program" "$tree/bin/$program"
	strip --strip-all "$tree/bin/$program"
	completions=(--completions)
	[ "$program" != chaos-runner ] || completions=(completions)
	"$from/$program" "${completions[@]}" bash >"$tree/share/bash-completion/completions/$program"
	"$from/$program" "${completions[@]}" zsh >"$tree/share/zsh/site-functions/_$program"
	"$from/$program" "${completions[@]}" fish >"$tree/share/fish/vendor_completions.d/$program.fish"
	[ "$program" = chaos-runner ] || "$from/$program" --man >"$man/$program.1"
done
"$from/chaos-runner" man "$man"
gzip -9n "$man"/*.1

cp LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$doc"
python3 scripts/licences.py --features chaos-runner/vendored-openssl \
	--filter-platform "$(rustc -vV | sed -n 's/^host: //p')" >"$doc/THIRD-PARTY-LICENSES"
find "$tree" -type d -exec chmod 755 {} + -o -type f ! -path '*/bin/*' -exec chmod 644 {} +

# What the programs need of the system they run on: libraries, and the newest symbol of glibc.
needed=$(for program in "${programs[@]}"; do readelf -d "$tree/bin/$program"; done |
	sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u | paste -sd ' ')
glibc=$(for program in "${programs[@]}"; do readelf -V "$tree/bin/$program"; done |
	grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1 | cut -d_ -f2)
echo "needs glibc $glibc: $needed"
if [ -z "${DIST_FROM:-}" ]; then
	# libgcc_s unwinds the stack; the C library's own package depends on it.
	if tr ' ' '\n' <<<"$needed" | grep -vE '^(libc|libm|libgcc_s|ld-linux-[a-z0-9-]+)\.so\.[0-9]+$' >&2; then
		echo "the programs need more than the C library" >&2
		exit 1
	fi
fi

tar -C "$dist" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
	-cf - "${tree##*/}" | gzip -9n >"$tree.tar.gz"

if command -v dpkg-deb >/dev/null; then
	root=$dist/root
	mkdir -p "$root/usr" "$root/DEBIAN"
	cp -a "$tree/." "$root/usr"
	# Where Debian has them.
	mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
	gzip -9n "$root"/usr/share/doc/chaos-runner/*
	cp packaging/copyright "$root/usr/share/doc/chaos-runner"
	depends="libc6 (>= $glibc), libgcc-s1"
	[ -z "${DIST_FROM:-}" ] || depends="$depends, libssl3"
	sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$(dpkg --print-architecture)/" \
		-e "s/@DEPENDS@/$depends/" -e "s/@SIZE@/$(du -sk "$root/usr" | cut -f1)/" \
		packaging/control >"$root/DEBIAN/control"
	(cd "$root" && find usr -type f -exec md5sum {} + | LC_ALL=C sort -k 2) >"$root/DEBIAN/md5sums"
	chmod 644 "$root"/DEBIAN/*
	dpkg-deb --root-owner-group -Zxz --build "$root" "$dist" >/dev/null
	rm -rf "$root"
else
	echo "no dpkg-deb here: no Debian package"
fi

[ -x target/dist-venv/bin/pip ] || python3 -m venv target/dist-venv
CHAOS_DIST_TREE=$PWD/$tree CHAOS_DIST_PLATFORM=manylinux_${glibc/./_}_$machine \
	target/dist-venv/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$dist" ./python

echo
(cd "$tree/bin" && ls -l "${programs[@]}") | awk '{ printf "%6.1f MiB  %s\n", $5 / 1048576, $9 }'
(cd "$dist" && ls -l ./*.deb ./*.whl ./*.tar.gz 2>/dev/null) | awk '{ sub("^./", "", $9); printf "%6.1f MiB  '"$dist"'/%s\n", $5 / 1048576, $9 }'
