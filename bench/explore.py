#!/usr/bin/env python3
"""What an exploration costs against its depth: the reference client, twelve faults, two cores.

    bench/explore.py [DEPTH]     up to this depth (default: 4); writes docs/explore-cost.md

Built for release. Each depth is an exploration of its own, from nothing; a depth that does not end in a
pass ends the measurement.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNNER = ROOT / "target" / "release" / "chaos-runner"
CLIENT = ROOT / "clients" / "outbox-worker" / "client-explore.toml"
PAGE = ROOT / "docs" / "explore-cost.md"


def release_client(directory):
    """The client file with the release build in place of the debug one."""
    text = CLIENT.read_text().replace("../../target/debug/", f"{ROOT}/target/release/")
    path = pathlib.Path(directory) / "client.toml"
    path.write_text(text)
    return path


def explore(depth, directory):
    result = pathlib.Path(directory) / f"{depth}.json"
    done = subprocess.run(
        [RUNNER, "explore", "--client", release_client(directory), "--depth", str(depth), "--quiet",
         "--report", pathlib.Path(directory) / "report", "--json", result],
        cwd=ROOT,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"depth {depth} ended with {done.returncode}")
    return json.loads(result.read_text())


def page(rows):
    seconds = [row["millis"] / 1000 for row in rows]
    lines = [
        "# What an exploration costs",
        "",
        "<!-- Written by bench/explore.py. -->",
        "",
        f"The [reference client](../clients/outbox-worker), {len(rows[0]['alphabet'])} faults, "
        f"{os.cpu_count()} cores, built for release. Its read timeout is 300 ms, a rate limit asks it to wait",
        "one second.",
        "",
        "| depth | scripts | run | covered without running | time | scripts a second |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for row, took in zip(rows, seconds):
        counts = row["counts"]
        lines.append(
            f"| {row['depth']} | {row['total']:,} | {counts['run']:,} | {counts['covered']:,} "
            f"| {took:.1f} s | {row['total'] / took:,.0f} |"
        )
    depths = ", ".join(str(row["depth"]) for row in rows)
    lines += [
        "",
        "```mermaid",
        "xychart-beta",
        '    title "Seconds against depth"',
        f"    x-axis \"depth\" [{depths}]",
        '    y-axis "seconds"',
        f"    bar [{', '.join(f'{took:.1f}' for took in seconds)}]",
        "```",
        "",
        "The first depths cost what their longest script waits for: a rate limit at each attempt takes a second each.",
        "From depth 4 on it is the number of scripts that costs.",
    ]
    return "\n".join(lines) + "\n"


def main():
    deepest = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for depth in range(1, deepest + 1):
            rows.append(explore(depth, directory))
            print(f"depth {depth}: {rows[-1]['total']} scripts in {rows[-1]['millis'] / 1000:.1f} s", flush=True)
    PAGE.write_text(page(rows))


main()
