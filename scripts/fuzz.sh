#!/usr/bin/env bash
# Fuzzes what reads a client's bytes (the key parser, the profile loader, the form and JSON
# readers) with libFuzzer for MINUTES of processor time each. Works on stable Rust; needs a C++
# compiler. Prints how many cases each has tried; exits 1 at the first that fails, and leaves the
# input that did it.
#
#   scripts/fuzz.sh [MINUTES] [TARGET…]
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
fuzz=$root/stub-provider/fuzz
minutes=${1:-10}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(key profile form json)
host=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-$fuzz/target}

# Edge coverage and the operands of comparisons, for libFuzzer to see. With --target they leave
# build scripts alone.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
cargo build --quiet --release --manifest-path "$fuzz/Cargo.toml" --target "$host" \
    --target-dir "$target"

# Seconds of processor time that this shell's ended children have used.
ticks=$(getconf CLK_TCK)
spent() {
    awk -v ticks="$ticks" '{ print ($16 + $17) / ticks }' "/proc/$$/stat"
}

cd "$target"
for name in "${targets[@]}"; do
    corpus=$target/corpus/$name
    mkdir -p "$corpus" "$target/crashes"
    case $name in
        profile) cp "$root"/stub-provider/profiles/*.toml "$corpus/" ;;
        key) printf '"otp-1"' >"$corpus/quoted" && printf 'otp-1' >"$corpus/bare" ;;
        form) printf 'To=%%2B12025550142&Body=a+b' >"$corpus/form" ;;
        json) printf '{"to":"+12025550142","a":{"b":1},"d":"x"}' >"$corpus/json" ;;
    esac
    log=$target/$name.log
    : >"$log"
    begun=$(spent)
    while awk -v a="$begun" -v b="$(spent)" -v m="$minutes" 'BEGIN { exit !(b - a < m * 60) }'; do
        # libFuzzer counts wall time; the loop counts the processor's.
        "$target/$host/release/$name" -max_total_time=30 -max_len=8192 -timeout=10 -rss_limit_mb=2048 \
            -artifact_prefix="$target/crashes/$name-" -print_final_stats=1 "$corpus" >>"$log" 2>&1 ||
            { tail -n 40 "$log" >&2; echo "fuzz: $name failed; the input is in $target/crashes" >&2; exit 1; }
    done
    awk -v name="$name" -v seconds="$(awk -v a="$begun" -v b="$(spent)" 'BEGIN { print b - a }')" '
        /^stat::number_of_executed_units:/ { cases += $2 }
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
        END { printf "%s: %d cases in %d s of processor time, %d edges covered, no failure\n", name, cases, seconds, edges }
    ' "$log"
done
