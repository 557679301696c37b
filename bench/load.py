"""Load by wrk, and what it saw."""

import dataclasses
import pathlib
import shutil
import subprocess

SCRIPT = pathlib.Path(__file__).with_name("messages.lua")


@dataclasses.dataclass
class Load:
    """One run of wrk. Latencies are in milliseconds, as its closed loop saw them."""

    rate: float
    requests: int
    p50: float
    p99: float
    failed: int = 0


def install():
    """By Debian's package, where it is missing and there is such a thing."""
    if not shutil.which("wrk") and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "wrk"], stdout=subprocess.DEVNULL, check=False)
    if not shutil.which("wrk"):
        raise SystemExit("wrk is missing: install it (Debian: apt-get install wrk)")


def run(port, seconds, *, connections=32, prefix="key", keys=0, strict=True):
    """POSTs messages, each under a key of its own, or under `keys` keys in turn. A request that
    failed, or was answered by anything but a 2xx or 3xx, ends the measurement, unless it is not strict."""
    return wrk(f"http://127.0.0.1:{port}", seconds, connections, [prefix, str(keys)], strict)


def get(port, path, seconds, connections=32):
    """GETs one path over and over."""
    return wrk(f"http://127.0.0.1:{port}{path}", seconds, connections, ["get"])


def wrk(url, seconds, connections, words, strict=True):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", SCRIPT, url, "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not result:
        raise SystemExit(f"wrk said nothing of its requests: {done.stdout}{done.stderr}")
    rate, requests, errors, p50, p99 = result[0]
    if (int(errors) and strict) or not int(requests):
        raise SystemExit(f"{errors} of {requests} requests to {url} failed")
    return Load(float(rate), int(requests), float(p50), float(p99), int(errors))
