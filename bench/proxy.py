"""The embedded engine against a real Toxiproxy, both before the same bare server."""

import contextlib
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import urllib.request

import load
import servers
from rounds import Ratio, digits, median, rounds

TOXIPROXY = "v2.12.0"
BULK = 1 << 20  # bytes of an answer from /bulk of the bare server
OPEN = (500, 1000, 2000, 5000)  # connections, open and idle
# Toxics that have work to do and no delay to add: what they cost is what is measured.
TOXICS = [
    {"name": "latency", "type": "latency", "attributes": {"latency": 0, "jitter": 0}},
    {"name": "limit", "type": "limit_data", "attributes": {"bytes": 1 << 60}},
    {"name": "slow", "type": "slow_close", "attributes": {"delay": 0}},
]
# What is measured, and whether more is better.
FIGURES = {
    "requests a second": True,
    "MB a second": True,
    "new connections a second": True,
    "added latency, median (µs)": False,
    "added latency, p99 (µs)": False,
}


def engine():
    port = servers.free_port()
    return servers.Server([servers.RELEASE / "toxic-proxy", "--port", port, "--log-level", "error"], port)


def toxiproxy():
    port = servers.free_port()
    env = dict(os.environ, LOG_LEVEL="error")
    return servers.Server([installed(), "-host", "127.0.0.1", "-port", port], port, env=env)


PROXIES = {"engine": engine, "Toxiproxy": toxiproxy}


def installed():
    """The real server, built through the Go module proxy where it is not at hand."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    place = cache / "chaos-runner" / f"toxiproxy-{TOXIPROXY}"
    if not (place / "server").exists():
        module = f"github.com/Shopify/toxiproxy/v2/cmd/server@{TOXIPROXY}"
        subprocess.run(["go", "install", module], env=dict(os.environ, GOBIN=str(place)), check=True)
    return place / "server"


def call(api, path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{api}{path}", data=json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def behind(api, name, upstream, toxics):
    """A proxy in front of `upstream`, with the first `toxics` toxics; its port."""
    made = call(api, "/proxies", {"name": name, "listen": "127.0.0.1:0", "upstream": f"127.0.0.1:{upstream}"})
    for toxic in TOXICS[:toxics]:
        call(api, f"/proxies/{name}/toxics", {**toxic, "stream": "downstream"})
    return int(made["listen"].rpartition(":")[2])


def measure(quick):
    count, seconds = (1, 1) if quick else (5, 2)
    with contextlib.ExitStack() as stack:
        bare = stack.enter_context(servers.bare())
        proxies = {name: stack.enter_context(start()) for name, start in PROXIES.items()}
        chains = {}
        for toxics in (0, 1, 3):
            ports = {name: behind(server.port, f"toxics-{toxics}", bare.port, toxics) for name, server in proxies.items()}
            print(f" {toxics} toxics", file=sys.stderr)
            chains[toxics] = compared(ports, bare.port, count, seconds)
    return {"chains": chains, "open": opened()}


def compared(ports, direct, count, seconds):
    """{figure: each one's median, and the ratio that is above 1 where the engine is better}."""
    subjects = {name: lambda _, port=port: figures(port, seconds) for name, port in {"direct": direct, **ports}.items()}
    taken = rounds(subjects, count)
    for name in ports:
        for seen, straight in zip(taken[name], taken["direct"]):
            for which in ("median", "p99"):
                # Less than nothing is the noise of the machine; a microsecond is what wrk resolves.
                seen[f"added latency, {which} (µs)"] = max(1.0, seen[which] - straight[which])
    out = {}
    for figure, more in FIGURES.items():
        ours, real = ([seen[figure] for seen in taken[name]] for name in ("engine", "Toxiproxy"))
        out[figure] = {
            "engine": median(ours),
            "Toxiproxy": median(real),
            # Latency is the difference of two figures, and of no round's alone.
            "ratio": str(Ratio(ours, real)) if more else digits(median(real) / median(ours)),
        }
    return out


def figures(port, seconds):
    alone = load.get(port, "/", seconds, connections=1)
    return {
        "requests a second": load.get(port, "/", seconds).rate,
        "MB a second": load.get(port, "/bulk", seconds, connections=4).rate * BULK / 1e6,
        "new connections a second": load.get(port, "/close", seconds).rate,
        "median": alone.p50 * 1000,
        "p99": alone.p99 * 1000,
    }


def opened():
    """Bytes of memory for so many connections that are open and idle, of servers that did nothing before."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    taken = {}
    for name, start in PROXIES.items():
        taken[name] = []
        with contextlib.ExitStack() as stack:
            upstream, server = stack.enter_context(servers.bare()), stack.enter_context(start())
            port = behind(server.port, "open", upstream.port, 1)
            before = server.resident()
            for more in (most - less for less, most in zip((0, *OPEN), OPEN)):
                sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(more)]
                for each in sockets:
                    each.sendall(b"GET / HTTP/1.1\r\nHost: bare\r\n\r\n")
                for each in sockets:
                    if not each.recv(1):
                        raise SystemExit(f"{name} closed a connection")
                taken[name].append(server.resident() - before)
    return {"connections": OPEN, **taken, "ratio": taken["Toxiproxy"][-1] / taken["engine"][-1]}
