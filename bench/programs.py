"""How long the programs take to build from nothing, and how large they are."""

import os
import subprocess
import sys
import tempfile
import time

import servers

PROGRAMS = ("chaos-runner", "stub-provider", "toxic-proxy")


def measure(quick):
    command = ["cargo", "build", "--release", "--quiet", *(word for name in PROGRAMS for word in ("-p", name)), "--bins"]
    took = None
    if not quick:
        subprocess.run(["cargo", "fetch", "--quiet"], cwd=servers.ROOT, check=True)
        with tempfile.TemporaryDirectory(dir=servers.ROOT / "target") as place:
            began = time.monotonic()
            subprocess.run(command, cwd=servers.ROOT, env=dict(os.environ, CARGO_TARGET_DIR=place), check=True)
            took = time.monotonic() - began
            print(f"  built from nothing in {took:.0f} s", file=sys.stderr)
    sizes = {name: (servers.RELEASE / name).stat().st_size for name in PROGRAMS}
    return {"build": took, "sizes": sizes, "rust": version()}


def version():
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
