#!/usr/bin/env python3
"""Does an exploration alone find every defect that faults at the provider can provoke?

    explored.py run [DEFECT…]    explores with each defect: compares with the record, or writes it
                                 (--write)
    explored.py page [--check]   the page alone, from the record

The record is explored.json, the page docs/explored.md. Nobody tells an exploration where to look: it
is given the alphabet, and must come back with the one kind, a smallest script of the length that
theory gives, and nothing else. Exits with 1 where it does not, and where something differs from the
record.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import defect
import table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RECORD = HERE / "explored.json"
PAGE = ROOT / "docs" / "explored.md"

# The length of a smallest script that can show a defect, by the defect's own words, and what is
# asked for beside the standard faults.
THEORY = {
    "no-key": (1, "", "any retry"),
    "key-per-attempt": (1, "", "any retry"),
    "key-dropped": (1, "", "any retry"),
    "key-lost-on-redirect": (1, "", "a redirect"),
    "volatile-key": (1, "", "a wait of a second"),
    "payload-changed": (1, "", "any retry"),
    "payload-reserialised": (1, "", "any retry"),
    "new-key-on-stored-error": (1, "", "an error that the key replays"),
    "in-flight-mishandled": (1, "", "a 409"),
    "in-flight-mishandled:new-key": (1, "", "a 409"),
    "resend-reused-connection": (2, "", "an answer that leaves the connection open, then a break"),
    "resend-fresh-connection": (1, "", "a break"),
    "ambiguous-as-failed": (1, "", "an answer that is lost"),
    "ambiguous-as-failed:new-key": (1, "", "an answer that is lost"),
    "retried-accepted-500": (1, "", "a 500 after acceptance"),
    "bad-success-retried": (1, "", "a broken success"),
    "broken-success-trusted": (1, "false-success", "a broken success of what was not accepted"),
    "permanent-retried": (1, "", "a 400"),
    "retryable-given-up": (1, "", "any refusal"),
    "retry-after-ignored": (1, "", "a Retry-After"),
    "retry-after-misread": (1, "rate-limited-date", "a Retry-After that is a date"),
    "no-backoff:unbounded": (1, "", "an error without end, which the key replays"),
    "layered-retries": (1, "", "any refusal"),
    "crash-mints-key": (1, "processes", "a kill"),
    "stuck": (1, "processes", "a kill"),
}

# What no fault at the attempts of one message can provoke.
OUT_OF_REACH = {
    "caller-key-overwritten": "a key of the caller's",
    "key-reused": "two messages to one number",
    "key-shared-by-customers": "two customers",
    "key-mangled": "a key of the caller's",
    "key-mangled:own-key": "ids that begin alike",
    "key-outlived": "a provider that forgets keys",
    "no-jitter": "many waits that are long enough to be compared",
    "no-backoff": "many waits that are long enough to be compared",
    "lease-too-short": "several workers",
    "sweeper-too-eager": "an answer that comes after the lease",
    "no-claim-lock": "several workers",
    "lost": "a kill before the request has left",
    "sent-then-rolled-back": "a database that is locked",
    "sent-after-deadline": "an expiry",
    "receipt-mishandled": "receipts",
    "failover-duplicates": "a second provider",
    "swallowed": "two messages to one number",
    "front-door-duplicates": "a message that is handed over twice",
    "front-door-conflict-hidden": "a message that is handed over twice",
}


def explore(name, runner, directory):
    """What an exploration of the client with one defect comes to, as its JSON has it."""
    length, beside, _ = THEORY[name]
    report = pathlib.Path(directory) / (name.replace(":", "-") or "none")
    result = report.with_suffix(".json")
    done = subprocess.run(
        [runner, "explore", "--client", HERE / "client.toml", "--depth", str(length), "--quiet",
         "--faults", ",".join(filter(None, ["standard", beside])), "--jobs", "1",
         "--fail-fast", "--report", report, "--json", result],
        cwd=ROOT,
        env=table.environment(name),
        capture_output=True,
        text=True,
    )
    if not result.exists():
        raise SystemExit(f"{name}: nothing was explored\n{done.stdout}{done.stderr}")
    return json.loads(result.read_text())


def row_of(name, explored):
    """What an exploration found of a defect, without what differs from time to time."""
    row = {"kinds": sorted(found["kind"] for found in explored["kinds"])}
    for found in explored["kinds"]:
        if found["kind"] == table.kind_of(name):
            row |= {
                "script": found["script"],
                "company": found["company"],
                "reproduced": f"{found['reproduced']} of {found['runs']}",
                "nearest": found["neighbour"],
            }
    return row


def complaint(name, row):
    """What is wrong with a row; empty: it is as theory has it."""
    if row["kinds"] != [table.kind_of(name)]:
        return f"{name}: found {', '.join(row['kinds']) or 'nothing'}"
    length = THEORY[name][0]
    if len(row["script"]) != length:
        return f"{name}: the smallest script is {row['script']}, theory says {length}"
    return ""


def run(arguments):
    """Explores with each defect."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    wrong = []

    def one(name):
        with tempfile.TemporaryDirectory() as directory:
            return row_of(name, explore(name, arguments.runner, directory))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, row in zip(arguments.defects, pool.map(one, arguments.defects)):
            why = complaint(name, row)
            if arguments.write and not why:
                record[name] = row
                keep(record)
            elif not why and row["script"] != record.get(name, {}).get("script"):
                why = f"{name}: on record {record.get(name)}\n{' ' * len(name)}      now {row}"
            print("DIFFERS " + why if why else f"ok      {name}", flush=True)
            wrong += filter(None, [why])
    return wrong


def keep(record):
    """Writes the record, and the page from it."""
    record = {name: record[name] for name in THEORY if name in record}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(record))


def page(record):
    """The tables, in Markdown."""
    lines = [
        "# Defects that an exploration finds alone",
        "",
        "<!-- Written by `make explored` from what the explorations found. -->",
        "",
        "[clients/defective](../clients/defective) is a decent client with one defect at a time.",
        "[explore](explore.md) is told nothing but the alphabet. It comes back with the kind, and no other, and with a",
        "smallest script, which is as long as what the defect needs. `make explored` takes these again.",
        "",
        "| kind | needs | length | smallest script found | nearest neighbour |",
        "|---|---|---|---|---|",
    ]
    for name, row in record.items():
        length, beside, needs = THEORY[name]
        script = ", ".join(f"`{letter}`" for letter in row["script"])
        company = f" ({row['company']} messages at once)" if row["company"] > 1 else ""
        asked = f" (with `--faults standard,{beside}`)" if beside else ""
        lines.append(
            f"| {named(name)} | {needs} | {length} | {script}{company}{asked} | {row['nearest']} |"
        )
    lines += [
        "",
        "## Out of reach",
        "",
        "What needs more than faults at the attempts of a message is left to [scenarios](defects.md):",
        "",
        "| kind | needs |",
        "|---|---|",
    ]
    lines += [f"| {named(name)} | {needs} |" for name, needs in OUT_OF_REACH.items()]
    return "\n".join(lines) + "\n"


def named(name):
    variant = name.partition(":")[2]
    return f"`{table.kind_of(name)}`{f' ({variant})' if variant else ''}"


def write_page(arguments):
    text = page(json.loads(RECORD.read_text()))
    if not arguments.check:
        PAGE.write_text(text)
        return []
    same = PAGE.exists() and PAGE.read_text() == text
    return [] if same else [f"{PAGE.relative_to(ROOT)} is not what explored.json says"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("defects", nargs="*", metavar="DEFECT", default=list(THEORY))
    parser.add_argument("--runner", default=str(table.RUNNER))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_intermixed_args()
    if unknown := set(arguments.defects) - set(THEORY):
        parser.error(f"nothing is known of {', '.join(sorted(unknown))}")
    assert set(THEORY) | set(OUT_OF_REACH) == set(defect.DEFECTS), "a defect without a row"
    wrong = {"run": run, "page": write_page}[arguments.what](arguments)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
