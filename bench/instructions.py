#!/usr/bin/env python3
"""How many instructions does one operation of each hot path take, and is it what is on record?

    bench/instructions.py [--profile dev] [PATH…]     compares with the record (default: every path)
    bench/instructions.py [--profile dev] --update    renews the record: bench/instructions.json

Instructions, counted by callgrind, do not depend on how busy the machine is. The profile is release where
nothing is said; CI counts those of dev, which it has built anyway: more of them, and as steady. Each path runs N times and
2 N times: the difference is N operations, without the start of the program. Exits with 1 where a path
takes more than the tolerance above or below the record.

What the tools decide is not the code's doing: another compiler inlines otherwise, another C library
allocates otherwise, another processor is offered other routines. They are on record too. Where they are
not the same, a difference is told and proves nothing: renew the record with these tools, from a commit
before the change, and compare again.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import queue
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "bench" / "instructions.json"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# How each profile is built: dev together with everything, as all tests have it, so that nothing is built twice.
BUILDS = {
    "release": (["--release", "-p", "instructions"], TARGET / "release" / "instructions"),
    "dev": (["--workspace", "--bins"], TARGET / "debug" / "instructions"),
}

# The share of the record that a path may take more or less.
TOLERANCE = 0.05

# How often each path is done: often enough that hash tables, which start from a random seed, even out.
TIMES = {
    "request-new": 256,
    "request-replay": 256,
    "ledger-accept": 4096,
    "ledger-replay": 4096,
    "fingerprint": 512,
    "key": 2048,
    "relay": 512,
    "slicer": 256,
    "index": 2,
    "observe": 1,
}


def build(profile):
    """The program, built with that profile."""
    options, program = BUILDS[profile]
    subprocess.run(["cargo", "build", "--quiet", *options], cwd=ROOT, check=True)
    return program


def need_valgrind():
    """Installs Debian's valgrind where there is none."""
    if shutil.which("valgrind"):
        return
    print("no valgrind here, installing Debian's", file=sys.stderr)
    subprocess.run(["apt-get", "update", "-q"], stdout=sys.stderr, check=True)
    subprocess.run(
        ["apt-get", "install", "-qy", "valgrind"],
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        stdout=sys.stderr,
        check=True,
    )


def tools():
    """What decides a count, beside the code."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return {
        "machine": platform.machine() + (" with AVX2" if re.search(r"\bavx2\b", flags) else ""),
        "rustc": first_line("rustc", "--version"),
        "valgrind": first_line("valgrind", "--version"),
        "libc": " ".join(platform.libc_ver()),
    }


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def count(program, path, times, cpu):
    """Instructions of the whole program that does `path` so many times. On one processor: tables that
    are divided by the number of processors are then the same everywhere."""
    done = subprocess.run(
        ["taskset", "-c", str(cpu), "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         program, path, str(times)],
        capture_output=True,
        text=True,
    )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected:
        raise SystemExit(f"{path} could not be counted\n{done.stderr}")
    return int(collected[1])


def per_operation(program, path, cpus):
    cpu = cpus.get()
    try:
        times = TIMES[path]
        return round((count(program, path, 2 * times, cpu) - count(program, path, times, cpu)) / times)
    finally:
        cpus.put(cpu)


def measure(program, paths):
    """Instructions of one operation, by path: as many paths at once as there are processors."""
    cpus = queue.Queue()
    for cpu in os.sched_getaffinity(0):
        cpus.put(cpu)
    with concurrent.futures.ThreadPoolExecutor(cpus.qsize()) as pool:
        return dict(zip(paths, pool.map(lambda path: per_operation(program, path, cpus), paths)))


def show(recorded, now):
    """Prints the table, and returns the paths that are beyond the tolerance."""
    beyond = []
    print(f"{'path':16} {'recorded':>12} {'now':>12} {'difference':>11}")
    for path, instructions in now.items():
        before = recorded.get(path)
        share = (instructions - before) / before if before else None
        if share is None or abs(share) > TOLERANCE:
            beyond.append(path)
        print(f"{path:16} {before or '-':>12} {instructions:>12} {'new' if share is None else f'{share:+.1%}':>11}")
    return beyond


def verdict(beyond, recorded, program, profile):
    if not beyond:
        print(f"every path within {TOLERANCE:.0%} of the record")
        return 0
    here = tools()
    others = [f"{name} {here[name]}, recorded with {recorded.get(name)}" for name in here if here[name] != recorded.get(name)]
    print(f"beyond {TOLERANCE:.0%} of {RECORD.relative_to(ROOT)}: {', '.join(beyond)}")
    if others:
        print("which proves nothing, since the tools are others:")
        print("\n".join(f"  {other}" for other in others))
        print("To know, renew the record from a commit before the change (--update), and compare again.")
        return 0
    print("Where the change is meant to cost this, or is a gain, renew the record and say why in the commit:")
    print(f"  bench/instructions.py --profile {profile} --update")
    print("Where not, find what it is:")
    print(f"  valgrind --tool=callgrind {program} {beyond[0]} {TIMES[beyond[0]]}")
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--profile", choices=BUILDS, default="release")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if unknown := set(arguments.paths) - set(TIMES):
        parser.error(f"there is no path {', '.join(sorted(unknown))}")
    if arguments.update and arguments.paths:
        parser.error("the record is renewed whole: all of it is of the same tools")
    need_valgrind()
    program = build(arguments.profile)
    every = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    record = every.get(arguments.profile, {"tools": {}, "instructions": {}})
    now = measure(program, arguments.paths or list(TIMES))
    beyond = show(record["instructions"], now)
    if arguments.update:
        every[arguments.profile] = {"tools": tools(), "instructions": now}
        RECORD.write_text(json.dumps(every, indent=1) + "\n")
        return 0
    return verdict(beyond, record["tools"], program, arguments.profile)


if __name__ == "__main__":
    sys.exit(main())
