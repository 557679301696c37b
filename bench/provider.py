"""The provider against the floor and against what a user would pick instead."""

import contextlib
import os
import tempfile
import time

import load
import peers
import servers
from rounds import Ratio, median, rounds

KEYS = 1000  # that replays come under, in turn
WARM_UP = 8  # seconds: what a JVM takes until it is as fast as it gets


def measure(quick):
    count, seconds = (1, 1) if quick else (5, 3)
    return {
        "floor": against_floor(count, seconds),
        "peers": against_peers(1 if quick else 3, seconds, 1 if quick else WARM_UP),
        "disk": on_disk(count, seconds),
        "sync": synced(count, seconds),
    }


def against_floor(count, seconds):
    """Unique keys, replays alone, and the floor, each on a server of its own every round: the one
    that has answered a million is not compared with one that has just started."""

    def unique(start):
        def run(number):
            with start() as server:
                before = server.processor_time()
                seen = load.run(server.port, seconds, prefix=f"u{number}")
                return seen, (server.processor_time() - before) / seen.requests * 1e6

        return run

    def replays(number):
        with servers.provider() as server:
            load.run(server.port, 1, prefix="r", keys=KEYS)
            before = server.processor_time()
            seen = load.run(server.port, seconds, prefix="r", keys=KEYS)
            return seen, (server.processor_time() - before) / seen.requests * 1e6

    taken = rounds({"floor": unique(servers.bare), "unique": unique(servers.provider), "replays": replays}, count)
    floor = taken["floor"]
    return {
        name: {
            "rate": median(seen.rate for seen, _ in runs),
            "processor": median(cost for _, cost in runs),
            "p99": median(seen.p99 for seen, _ in runs),
            "ratio": str(Ratio((seen.rate for seen, _ in runs), (seen.rate for seen, _ in floor))),
            "p99_ratio": str(Ratio((seen.p99 for seen, _ in runs), (seen.p99 for seen, _ in floor))),
        }
        for name, runs in taken.items()
    }


def against_peers(count, seconds, warm_up):
    """All at once on the machine, so that each is warm; only one is asked at a time."""
    here, absent = peers.available()
    with contextlib.ExitStack() as stack:
        started = {name: stack.enter_context(start()) for name, start in here.items()}
        started["stub-provider"] = stack.enter_context(servers.provider())
        for name, server in started.items():
            load.run(server.port, warm_up if name != "stub-provider" else 1, prefix="w", strict=False)
        subjects = {
            name: lambda number, port=server.port: load.run(port, seconds, prefix=f"p{number}", strict=False)
            for name, server in started.items()
        }
        taken = rounds(subjects, count)
    ours = [seen.rate for seen in taken["stub-provider"]]
    rows = {
        name: {
            "rate": median(seen.rate for seen in runs),
            "p99": median(seen.p99 for seen in runs),
            "failed": sum(seen.failed for seen in runs),
            "ratio": str(Ratio(ours, (seen.rate for seen in runs))),
        }
        for name, runs in taken.items()
    }
    return {"rows": rows, "absent": absent}


def on_disk(count, seconds):
    def disk(*options):
        def run(number):
            with tempfile.TemporaryDirectory(dir=servers.ROOT / "target") as place:
                with servers.provider("--data-dir", f"{place}/data", *options) as server:
                    return load.run(server.port, seconds, prefix=f"d{number}").rate

        return run

    def floor(number):
        with servers.bare() as server:
            return load.run(server.port, seconds, prefix=f"f{number}").rate

    taken = rounds({"floor": floor, "--data-dir": disk()}, count)
    return {
        "floor": median(taken["floor"]),
        "rate": median(taken["--data-dir"]),
        "ratio": str(Ratio(taken["--data-dir"], taken["floor"])),
    }


def synced(count, seconds):
    """Messages a second with --fsync, against the syncs a second that the disk itself gives."""

    def at(connections):
        def run(number):
            with tempfile.TemporaryDirectory(dir=servers.ROOT / "target") as place:
                with servers.provider("--data-dir", f"{place}/data", "--fsync") as server:
                    return load.run(server.port, seconds, connections=connections, prefix=f"s{number}").rate

        return run

    taken = rounds({"disk": lambda _: syncs(seconds), "16": at(16), "256": at(256)}, count)
    return {
        "disk": median(taken["disk"]),
        "16": {"rate": median(taken["16"]), "ratio": str(Ratio(taken["16"], taken["disk"]))},
        "256": {"rate": median(taken["256"]), "ratio": str(Ratio(taken["256"], taken["disk"]))},
    }


def syncs(seconds):
    """How often a second 4 KiB more of a file come to the disk, one after the other."""
    with tempfile.NamedTemporaryFile(dir=servers.ROOT / "target") as file:
        began, count = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            os.write(file.fileno(), bytes(4096))
            os.fdatasync(file.fileno())
            count += 1
        return count / (time.monotonic() - began)
