#!/usr/bin/env python3
"""Runs the suite, or an exploration, N times and compares them from run to run.

    scripts/soak.py RUNS [--busy] [--verdicts] -- COMMAND…

COMMAND is a `chaos-runner run …`, of which verdicts and attempt counts are compared, or a
`chaos-runner explore …`, of which each script's verdict and its place in the order are. `--report` and
`--json` are added. With --busy one process keeps a core busy all the while. With --verdicts a client may
make more attempts in one run than in another. Exits 1 when two runs differ, and says where, and when a
run does not exit with 0: the report of such a run is kept under target/soak.
"""

import collections
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KEPT = pathlib.Path("target/soak", time.strftime("%Y-%m-%dT%H-%M-%S"))


def attempts(history):
    """Submit requests that reached a provider, for each intent."""
    count = collections.Counter()
    for event in history["events"]:
        if event["event"] == "attempt" and event["kind"] == "submit":
            count[event["intent"]] += 1
    return tuple(sorted(count.items(), key=str))


def one_run(command, base):
    report = pathlib.Path(base) / "report"
    result = pathlib.Path(base) / "result.json"
    done = subprocess.run(
        [*command, "--report", str(report), "--json", str(result)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    seen = {}
    if done.returncode not in (0, 1, 3):
        print(f"the run ended with {done.returncode}: {done.stderr}", flush=True)
        return done.returncode, seen
    scripts = report / "latest" / "scripts.tsv"
    if scripts.exists():
        for place, line in enumerate(scripts.read_text().splitlines(), 1):
            script, _, verdict = line.partition("\t")
            seen[script] = [verdict, place]
        return done.returncode, seen
    for scenario in json.loads(result.read_text())["scenarios"]:
        seen[scenario["name"]] = [scenario["verdict"], None]
    for path in (report / "latest").glob("*/history.json"):
        history = json.loads(path.read_text())
        if history["scenario"] in seen:
            seen[history["scenario"]][1] = attempts(history)
    return done.returncode, seen


def main():
    split = sys.argv.index("--")
    options, command = sys.argv[1:split], sys.argv[split + 1 :]
    runs = int(options[0])
    counted = "--verdicts" not in options
    # Asked to end, it ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    busy = None
    if "--busy" in options:
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        codes = collections.Counter()
        seen = collections.defaultdict(collections.Counter)
        for nth in range(runs):
            with tempfile.TemporaryDirectory() as base:
                code, result = one_run(command, base)
                if code:
                    shutil.copytree(base, KEPT / f"run-{nth + 1}", dirs_exist_ok=True)
            codes[code] += 1
            for name, (verdict, count) in result.items():
                seen[name][(json.dumps(verdict), count if counted else None)] += 1
            print(f"run {nth + 1} of {runs}: exit {code}", flush=True)
    finally:
        if busy:
            busy.kill()
            busy.wait()
    what, of = ("place", "scripts") if "explore" in command else ("attempts", "scenarios")
    differing = {name: kinds for name, kinds in seen.items() if len(kinds) > 1}
    for name, kinds in sorted(differing.items()):
        print(f"{name}:")
        for (verdict, count), times in kinds.most_common():
            print(f"  {times:4} x {verdict}" + (f" {what} {count}" if counted else ""))
    print(f"{runs} runs, exit codes {dict(codes)}, {len(seen)} {of}, {len(differing)} differ")
    sys.exit(1 if differing or set(codes) != {0} else 0)


main()
