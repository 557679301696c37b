"""What a message takes in the provider's memory, how that grows, and whether it gets slower."""

import sys

import load
import servers

BATCH = 2  # seconds of load between two looks


def measure(quick):
    most = 50_000 if quick else 1_000_000
    with servers.provider() as server:
        empty = server.resident()
        points, sent, batch = [], 0, 0
        while sent < most:
            batch += 1
            seen = load.run(server.port, BATCH, prefix=f"m{batch}")
            sent += seen.requests
            points.append({"messages": sent, "bytes": server.resident() - empty, "rate": seen.rate})
            print(f"  {sent:,} messages, {points[-1]['bytes'] / 1e6:,.0f} MB, {seen.rate:,.0f} a second", file=sys.stderr)
        known = on_record(server.port)
    # The last requests of each batch may have been answered after wrk had stopped counting.
    if known < sent:
        raise SystemExit(f"only {known} of {sent} messages are on record")
    each = points[-1]["bytes"] / known
    return {"points": points, "on_record": known, "each": each, "million": empty + each * 1e6}


def on_record(port):
    name = "stub_provider_deliveries_on_record "
    lines = servers.fetch(port, "/metrics").splitlines()
    return next(int(line.removeprefix(name)) for line in lines if line.startswith(name))
