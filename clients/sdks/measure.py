#!/usr/bin/env python3
"""What does one call of each SDK do when the network fails?

    measure.py run [CLIENT…]   every scenario against each client (python/stripe, …), or against all:
                               writes the record and the page
    measure.py page [--check]  the page alone, from the record

The record is measured.json, the page docs/sdks.md. What an earlier measurement found, and why this
one finds something else, is in remarks.toml; a difference without an explanation is an error.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import page

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RECORD = HERE / "measured.json"
PAGE = ROOT / "docs" / "sdks.md"
RUNNER = ROOT / "target" / "debug" / "chaos-runner"
# How often a scenario is run again that was disturbed, and how long the runner may have been without
# a processor, in microseconds: while requests were made, and altogether in a run that took too long.
AGAIN = 4
LONGEST, ALTOGETHER = 400_000, 1_000_000
JOBS = os.environ.get("JOBS", "2")
NODE = ROOT / "target" / "sdks" / "node" / "node_modules"


class CannotRun(Exception):
    """Nothing can be said of a client."""


def clients():
    """Every client file that there is: `python/stripe` for python/stripe/client.toml, else with its
    own name."""
    files = sorted(f.relative_to(HERE) for f in HERE.glob("*/*/*.toml"))
    return {str(f.parent if f.name == "client.toml" else f.with_suffix("")): f for f in files}


def run(client):
    """All scenarios against one client. One that the machine had no time for is run again, until it
    had, or the same comes out again; so is a client that fails without any fault."""
    file = HERE / clients()[client]
    scenarios = HERE / ("scenarios-libraries" if client.startswith("libraries/") else "scenarios")
    rows, why = {}, None
    for _ in range(1 + AGAIN):
        disturbed = [name for name, row in rows.items() if row.get("disturbed")]
        if rows and not disturbed:
            break
        files = [scenarios / f"{name}.toml" for name in disturbed if name != "baseline"]
        try:
            found = once(client, file, files or [scenarios], "1" if rows else JOBS)
        except CannotRun as cannot:
            why = cannot
            continue
        for name, row in found.items():
            # What comes out the same twice is no accident, but for a client that said nothing.
            if row.get("disturbed") and row["attempts"] and row == rows.get(name):
                row["disturbed"] = False
            rows[name] = row
    if not rows:
        raise why
    return {**package(tomllib.loads(file.read_text())["name"]), "rows": rows}


def once(client, file, scenarios, jobs):
    """One run, as the runner's JSON and histories have it."""
    with tempfile.TemporaryDirectory() as directory:
        result = pathlib.Path(directory) / "report.json"
        done = subprocess.run(
            [RUNNER, "run", *scenarios, "--client", file, "--quiet", "--jobs", jobs,
             "--report", directory, "--json", result],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if not result.exists():
            raise CannotRun(f"{client}: nothing was run\n{done.stdout}{done.stderr}")
        document = json.loads(result.read_text())
        if document["baseline"]["verdict"] != "pass":
            raise CannotRun(f"{client}: fails without any fault\n{done.stdout}")
        return {
            row["name"]: measured(row) for row in [document["baseline"], *document["scenarios"]]
        }


def package(name):
    """`stripe (PyPI)`: the package, its registry and the version that is installed."""
    words, _, registry = name.removesuffix(")").rpartition(" (")
    found = words.split()[0]
    if registry == "PyPI":
        version = importlib.metadata.version(found)
    elif registry == "npm":
        version = json.loads((NODE / found / "package.json").read_text())["version"]
    else:
        version = of_tool(found)
    return {"name": words, "registry": registry, "version": version}


def of_tool(tool):
    """The version of a tool: the first that its own words hold."""
    asked = {"java": "-version", "go": "version", "curl": "--version"}[tool]
    said = subprocess.run([tool, asked], capture_output=True, text=True, check=True)
    return re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)[0]


def measured(row):
    """One scenario: what the wire saw, what the phone got, what the caller was told."""
    kinds = {"counts": [], "minor": []}
    for finding in row["findings"]:
        minor = finding["severity"] == "note"
        kinds["minor" if minor else "counts"].append(finding["kind"])
    seen = {"verdict": row["verdict"], "kinds": kinds["counts"], "notes": kinds["minor"]}
    if row["directory"] is None:
        return seen | {"reason": row["reason"]}
    history = json.loads((pathlib.Path(ROOT, row["directory"]) / "history.json").read_text())
    last = len(history["intents"])
    events = history["events"]
    submitted = [e for e in events if e["event"] == "attempt" and e["kind"] == "submit"]
    tries = [e for e in submitted if e["intent"] in (last, None)]
    before = {e["connection"] for e in submitted if e not in tries}
    ids = {e["attempt"] for e in tries}
    beliefs = [e for e in events if e["event"] == "believed" and e["intent"] == last]
    return seen | {
        "attempts": len(tries),
        "deliveries": sum(e["event"] == "delivered" and e["attempt"] in ids for e in events),
        "keys": len({e["key"] for e in tries} - {None}),
        "keyless": sum(e["key"] is None for e in tries),
        # On the connection of a message before.
        "reused": bool(tries) and tries[0]["connection"] in before,
        "outcome": beliefs[-1]["outcome"] if beliefs else None,
        "calls": beliefs[-1]["attempts"] if beliefs else None,
        # The runner ended the call: it might have gone on.
        "cut_short": any(e["event"] == "timed_out" for e in events),
        "disturbed": not tries or is_disturbed(events),
        "reason": row["reason"],
    }


def is_disturbed(events):
    """Whether the machine had no time: what was done when then says little of the client."""
    begun = next((e["at_us"] for e in events if e["event"] == "attempt"), 0)
    starved = [(e["at_us"], e["for_us"]) for e in events if e["event"] == "starved"]
    longest = max((time for at, time in starved if at > begun), default=0)
    too_long = any(e["event"] == "timed_out" for e in events)
    return longest > LONGEST or (too_long and sum(time for _, time in starved) > ALTOGETHER)


def write_page(check=False):
    record = json.loads(RECORD.read_text())
    remarks = tomllib.loads((HERE / "remarks.toml").read_text())
    text, wrong = page.page(record, remarks)
    if check:
        if not PAGE.exists() or PAGE.read_text() != text:
            wrong.append(f"{PAGE.relative_to(ROOT)} is not what measured.json says: `make sdks`")
    else:
        PAGE.write_text(text)
    return wrong


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("clients", nargs="*", metavar="CLIENT", default=list(clients()))
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_intermixed_args()
    if unknown := set(arguments.clients) - set(clients()):
        parser.error(f"there is no client {', '.join(sorted(unknown))}")
    wrong = []
    if arguments.what == "run":
        record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        for client in arguments.clients:
            try:
                record[client] = run(client)
            except CannotRun as why:
                wrong.append(str(why))
                continue
            print(f"{client:36} {page.in_short(record[client])}", flush=True)
            kept = {name: record[name] for name in clients() if name in record}
            RECORD.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    wrong += write_page(arguments.check)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
