"""How long the programs take to build from nothing, what takes the longest, and how large they are."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import servers

PROGRAMS = ("chaos-runner", "stub-provider", "toxic-proxy")
HEAVIEST = 10

# Why each of the heaviest is there.
FOR = {
    "libsqlite3-sys": "SQLite itself, in C: what is kept on disk survives any death, and users read it with every tool",
    "sqlx": "SQLite and PostgreSQL behind one interface, for the provider's stores and for looking into a client's outbox",
    "sqlx-core": "of sqlx",
    "sqlx-postgres": "of sqlx",
    "sqlx-sqlite": "of sqlx",
    "tokio": "the runtime of everything that waits",
    "hyper": "HTTP/1.1 on every side; of its old version, toxiproxy_rust",
    "h2": "of toxiproxy_rust, by its old reqwest",
    "reqwest": "of toxiproxy_rust, the client of a real Toxiproxy",
    "openssl-sys": "of native-tls: receipts and clients that insist on https",
    "openssl": "of native-tls: receipts and clients that insist on https",
    "clap_builder": "the command lines, their help, completions and manual pages",
    "clap_derive": "of clap",
    "syn": "of every derive macro",
    "serde_derive": "the file formats, read and written by their types",
    "serde_core": "the file formats, read and written by their types",
    "serde_json": "JSON on every side",
    "schemars": "the schemas and references of the file formats, from the types",
    "schemars_derive": "of schemars",
    "jiff": "dates, in the right calendar",
    "jiff-core": "of jiff",
    "miette": "errors that point into a file",
    "encoding_rs": "of toxiproxy_rust, by its old reqwest",
    "tracing-subscriber": "the logs",
    "libmimalloc-sys": "the provider's allocator, in C",
    "regex-automata": "of tracing-subscriber",
    "futures-util": "of hyper-util and sqlx",
}


def measure(quick):
    command = ["cargo", "build", "--release", "--quiet", "--timings", *(word for name in PROGRAMS for word in ("-p", name)), "--bins"]
    took, heaviest = None, []
    if not quick:
        subprocess.run(["cargo", "fetch", "--quiet"], cwd=servers.ROOT, check=True)
        with tempfile.TemporaryDirectory(dir=servers.ROOT / "target") as place:
            began = time.monotonic()
            environment = dict(os.environ, CARGO_TARGET_DIR=place)
            subprocess.run(command, cwd=servers.ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
            took = time.monotonic() - began
            heaviest = crates(pathlib.Path(place) / "cargo-timings" / "cargo-timing.html")
            print(f"  built from nothing in {took:.0f} s", file=sys.stderr)
    sizes = {name: (servers.RELEASE / name).stat().st_size for name in PROGRAMS}
    return {"build": took, "heaviest": heaviest, "sizes": sizes, "rust": version()}


def crates(timings):
    """[[name, seconds, what it is for]] of those that took the longest to build, ours apart."""
    units = json.loads(re.search(r"const UNIT_DATA = (\[.*?\]);\n", timings.read_text(), re.DOTALL)[1])
    seconds = collections.Counter()
    for unit in units:
        seconds[unit["name"]] += unit["duration"]
    ours = {*PROGRAMS, "chaos-judge"}
    others = [(name, took) for name, took in seconds.most_common() if name not in ours]
    return [[name, took, FOR.get(name, "")] for name, took in others[:HEAVIEST]]


def version():
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
