#!/usr/bin/env python3
"""Is every defect found, by its own name and by no other?

    table.py whole [DEFECT…]   the whole suite, without a defect and with each: writes the record
    table.py rows [DEFECT…]    the scenarios of each row: compares with the record, or writes it
                               (--write)
    table.py page [--check]    the page alone, from the record

The record is rows.json, the page docs/defects.md. Each row has the smallest scenario that shows the
defect, and its controls: the same without the trigger, or what tells it from its neighbours. What
is found must be that one kind, in any scenario that was run. Exits with 1 where it is not, and
where something differs from the record.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import defect

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ROWS = HERE / "rows.json"
PAGE = ROOT / "docs" / "defects.md"
RUNNER = ROOT / "target" / "debug" / "chaos-runner"

REFUSED = "retryable[status=503]"

# Fifty messages at once take a processor for themselves. On half of one the client hangs up on
# answers that it had no turn to read, and what its waits then were says nothing.
ALONE = {"no-jitter", "no-backoff"}

# The smallest scenario that shows a defect, and the controls beside it.
SCENARIOS = {
    "no-key": [REFUSED, "two-messages"],
    "key-per-attempt": [REFUSED, "two-messages"],
    "key-dropped": [REFUSED, "two-messages"],
    "key-lost-on-redirect": ["redirect[status=307]", REFUSED],
    "caller-key-overwritten": ["caller-key", REFUSED],
    "volatile-key": ["quick-retry-long-wait", REFUSED],
    "key-reused": ["same-recipient", "two-messages"],
    "key-shared-by-customers": ["two-customers", "two-messages"],
    "key-mangled": ["long-keys", "short-keys"],
    "key-mangled:own-key": ["close-ids", "two-messages"],
    "payload-changed": ["retryable-twice", "two-messages"],
    "payload-reserialised": ["retryable-twice", "two-messages"],
    "key-outlived": ["retention-passed", "retention-kept"],
    "new-key-on-stored-error": ["error-stored", "error-after-accept[status=500]", REFUSED],
    "in-flight-mishandled": ["in-flight", REFUSED],
    "in-flight-mishandled:new-key": ["in-flight", REFUSED],
    "resend-reused-connection": ["reused-reset[stage=after-accept]", "reset[stage=after-accept]"],
    "resend-fresh-connection": ["close[stage=after-accept]", REFUSED],
    "ambiguous-as-failed": ["timeout-after-accept", REFUSED],
    "ambiguous-as-failed:new-key": ["timeout-after-accept", REFUSED],
    "retried-accepted-500": ["error-after-accept[status=500]", REFUSED],
    "bad-success-retried": ["answer-garbled[how=bad-json]", "hang[stage=after-accept]", REFUSED],
    "broken-success-trusted": ["success-garbled[how=bad-json]", REFUSED],
    "permanent-retried": ["permanent[status=400]", REFUSED],
    "retryable-given-up": [REFUSED, "two-messages"],
    "retry-after-ignored": ["retry-after-seconds[status=429]", REFUSED],
    "retry-after-misread": ["retry-after-date", "retry-after-seconds[status=429]"],
    "no-jitter": ["jitter", "two-messages"],
    "no-backoff": ["backoff", REFUSED],
    "no-backoff:unbounded": ["exhausted", REFUSED],
    "layered-retries": ["exhausted", "two-messages"],
    "crash-mints-key": ["client-killed[stage=after-accept]", "hang[stage=after-accept]", REFUSED],
    "lease-too-short": [
        "answer-after-lease-two-workers", "answer-after-lease[wait=1500ms]", "workers",
    ],
    "sweeper-too-eager": ["answer-after-lease[wait=1500ms]", "workers"],
    "no-claim-lock": ["workers", "two-messages"],
    "sent-then-rolled-back": ["database-locked", "two-messages"],
    "sent-after-deadline": ["expired", "expires-later"],
    "lost": ["client-killed-when-connected", "client-killed-at-submission"],
    "receipt-mishandled": ["receipt-twice", "receipt-late"],
    "failover-duplicates": ["failover-after-ambiguity", "failover-when-unreachable"],
    "swallowed": ["same-recipient", "two-messages"],
    "stuck": ["client-killed-when-connected", "client-killed-at-submission"],
    "front-door-duplicates": ["submitted-twice", "two-messages"],
    "front-door-conflict-hidden": ["submitted-with-other-words", "submitted-twice"],
}


def run(name, runner, scenarios, directory, jobs):
    """One run of the client with one defect, as the runner's JSON has it."""
    report = pathlib.Path(directory) / (name.replace(":", "-") or "none")
    result = report.with_suffix(".json")
    done = subprocess.run(
        [runner, "run", *scenarios, "--client", HERE / "client.toml", "--quiet",
         "--jobs", str(jobs), "--report", report, "--json", result],
        cwd=ROOT,
        env=environment(name),
        capture_output=True,
        text=True,
    )
    if not result.exists():
        raise SystemExit(f"{name}: nothing was run\n{done.stdout}{done.stderr}")
    return json.loads(result.read_text())


def environment(name):
    """This interpreter, and no wrapper of it, is what the client's commands find."""
    here = str(pathlib.Path(sys.executable).resolve().parent)
    return os.environ | {"DEFECT": name, "PATH": here + os.pathsep + os.environ["PATH"]}


def found(document):
    """Every finding by its kind, with the scenarios that show it. A mere note counts only where
    nothing graver was found."""
    kinds = {}
    notes = {}
    for scenario in [document["baseline"], *document["scenarios"]]:
        for finding in scenario["findings"]:
            into = notes if finding["severity"] == "note" else kinds
            into.setdefault(finding["kind"], []).append((scenario, finding))
    return kinds or notes


def row_of(name, document):
    """What a run shows of a defect, without what differs from run to run."""
    kinds = found(document)
    smallest = SCENARIOS[name][0]
    shown = [
        (scenario, finding)
        for scenario, finding in kinds.get(kind_of(name), [])
        if scenario["name"] == smallest
    ]
    row = {"kinds": sorted(kinds), "scenario": smallest, "controls": SCENARIOS[name][1:]}
    if shown:
        scenario, finding = shown[0]
        row |= {
            "severity": finding["severity"],
            "or_narrower": finding["or_narrower"],
            "seen": plain(finding["detail"]),
            "proof": proof(scenario, finding),
        }
    return row


def kind_of(name):
    return name.partition(":")[0]


def plain(detail):
    """The words of a finding without keys, times and the order of messages, which differ from run
    to run."""
    detail = re.sub(r"(?<!says )`(?!sent|failed|dead|unknown|pending)[^`]*`", "`…`", detail)
    detail = re.sub(r"\bintent(s?) \d+( and \d+)?", r"intent\1 …", detail)
    return re.sub(r"\d+( ms| late| of| messages|, then)\b", r"…\1", detail)


def proof(scenario, finding):
    """The events that prove a finding, each in two words."""
    history = json.loads((pathlib.Path(ROOT, scenario["directory"]) / "history.json").read_text())
    events = {event["seq"]: event for event in history["events"]}
    requests = {e["attempt"]: e for e in history["events"] if e["event"] == "attempt"}

    def message(event):
        return requests.get(event.get("attempt"), event).get("intent")

    proofs = [events[seq] for seq in finding["evidence"]]
    several = len({message(event) for event in proofs} - {None}) > 1

    def words(event):
        nth = requests.get(event.get("attempt"), {}).get("ordinal")
        # Which of several messages goes first is chance.
        request = "a request for each" if several else f"request {nth}"
        return {
            "attempt": request,
            "answering": f"answer {nth}",
            "delivered": f"delivery by {request}",
            "believed": f"`{event.get('outcome')}`",
            "forgotten": "no record",
            "submitted": f"{event.get('submission')} submission",
            "submit_ended": f"{event.get('submission')} submission taken on",
            "process_signalled": str(event.get("signal")),
            "timed_out": "nothing more",
            "receipt": f"receipt `{event.get('status')}`",
        }.get(event["event"], event["event"])

    # Said once, in the order of the events.
    return list(dict.fromkeys(words(event) for event in proofs))


def complaint(name, row):
    """What is wrong with a row; empty: it is as it should be."""
    if row["kinds"] != [kind_of(name)]:
        return f"{name}: found {', '.join(row['kinds']) or 'nothing'}"
    if "seen" not in row:
        return f"{name}: not seen in {row['scenario']}"
    return ""


def whole(arguments):
    """The whole suite, without a defect and with each."""
    rows = json.loads(ROWS.read_text()) if ROWS.exists() else {}
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        for name in ["", *arguments.defects]:
            document = run(name, arguments.runner, [], directory, 2 * (os.cpu_count() or 1))
            kinds = sorted(found(document))
            print(f"{name:30} {', '.join(kinds) or '-':30} {document['counts']}", flush=True)
            if name:
                rows[name] = row_of(name, document)
                wrong += filter(None, [complaint(name, rows[name])])
            elif kinds:
                wrong.append(f"without a defect: found {', '.join(kinds)}")
    keep(rows)
    return wrong


def rows(arguments):
    """The scenarios of each row, compared with what is on record."""
    record = json.loads(ROWS.read_text()) if ROWS.exists() else {}
    wrong = []

    def one(name):
        with tempfile.TemporaryDirectory() as directory:
            return row_of(name, run(name, arguments.runner, SCENARIOS[name], directory, 3))

    beside = [name for name in arguments.defects if name not in ALONE]
    alone = [name for name in arguments.defects if name in ALONE]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = itertools.chain(zip(beside, pool.map(one, beside)), ((n, one(n)) for n in alone))
        for name, row in found:
            why = complaint(name, row)
            if arguments.write and not why:
                record[name] = row
                keep(record)
            elif not why and promised(row) != promised(record.get(name)):
                why = f"{name}: on record {record.get(name)}\n{' ' * len(name)}      now {row}"
            print("DIFFERS " + why if why else f"ok      {name}", flush=True)
            wrong += filter(None, [why])
    return wrong


def promised(row):
    """What must be the same each time. Which of several signs of one defect is seen first, and so
    which events prove it, is the order of the run."""
    return row and {
        **{part: value for part, value in row.items() if part not in ("seen", "proof")},
        "events": len(row["proof"]),
    }


def keep(record):
    """Writes the record, and the page from it."""
    record = {name: record[name] for name in SCENARIOS if name in record}
    ROWS.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(record))


def page(rows):
    """The table, in Markdown."""
    lines = [
        "# Defects, and what is said of them",
        "",
        "<!-- Written by `make table` from what the runs found; CI compares. -->",
        "",
        "[clients/defective](../clients/defective) is a decent client with one defect at a time. A row has the smallest",
        "scenario that shows the defect, what is seen there, and the events that prove it. In that scenario and its controls",
        "(the same without the trigger, or what tells the kind from its neighbours), the [kind](bug-kinds.md) is found, and no",
        "other. `make defects` takes these; `make table` takes the whole suite.",
        "",
        "| kind | defect | scenario | seen | proven by | severity |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        variant = name.partition(":")[2]
        lines.append(
            f"| `{kind_of(name)}`{f' ({variant})' if variant else ''} | {defect.DEFECTS[name]} "
            f"| `{row['scenario']}` | {row.get('seen', '')} | {', '.join(row.get('proof', []))} "
            f"| {row.get('severity', '')} |"
        )
    return "\n".join(lines) + "\n"


def write_page(arguments):
    text = page(json.loads(ROWS.read_text()))
    if not arguments.check:
        PAGE.write_text(text)
        return []
    same = PAGE.exists() and PAGE.read_text() == text
    return [] if same else [f"{PAGE.relative_to(ROOT)} is not what rows.json says: `make table`"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["whole", "rows", "page"])
    parser.add_argument("defects", nargs="*", metavar="DEFECT", default=list(SCENARIOS))
    parser.add_argument("--runner", default=str(RUNNER))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_intermixed_args()
    if unknown := set(arguments.defects) - set(SCENARIOS):
        parser.error(f"there is no defect {', '.join(sorted(unknown))}")
    assert list(SCENARIOS) == list(defect.DEFECTS), "a defect without a row"
    wrong = {"whole": whole, "rows": rows, "page": write_page}[arguments.what](arguments)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
