#!/usr/bin/env python3
"""Measures what is promised of speed, side by side in one run, and writes docs/benchmarks.md.

    bench/bench.py [--quick] [SECTION…]     provider, memory, proxy, runner, programs; none: all

Each section's figures are kept under target/bench, and the page is written from all that are there.
--quick takes one short round of each, to see whether it works, and writes no page. Servers that a user
would pick instead are installed by their own packages first; one that cannot be had is left out, with a word.
"""

import json
import subprocess
import sys
import time

import load
import memory
import page
import peers
import programs
import provider
import proxy
import runner
import servers

SECTIONS = {
    "provider": provider.measure,
    "memory": memory.measure,
    "proxy": proxy.measure,
    "runner": runner.measure,
    "programs": programs.measure,
}
KEPT = servers.ROOT / "target" / "bench"
PAGE = servers.ROOT / "docs" / "benchmarks.md"


def build():
    cargo = ["cargo", "build", "--quiet", "--release", "--workspace", "--bins"]
    subprocess.run(cargo, cwd=servers.ROOT, check=True)
    for crate, example in (("stub-provider", "bare"), ("chaos-judge", "judging")):
        subprocess.run([*cargo[:-2], "-p", crate, "--example", example], cwd=servers.ROOT, check=True)


def main():
    quick = "--quick" in sys.argv
    named = [word for word in sys.argv[1:] if word != "--quick"]
    unknown = set(named) - set(SECTIONS)
    if unknown:
        raise SystemExit(f"no such section: {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    load.install()
    build()
    if not named or "provider" in named:
        peers.install()
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in named or SECTIONS:
        print(name, file=sys.stderr)
        figures = {"date": time.strftime("%Y-%m-%d"), **SECTIONS[name](quick)}
        if quick:
            print(json.dumps(figures, indent=1))
        else:
            (KEPT / f"{name}.json").write_text(json.dumps(figures, indent=1))
    if not quick:
        PAGE.write_text(page.written({name: figures_of(name) for name in SECTIONS}))


def figures_of(name):
    path = KEPT / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


main()
