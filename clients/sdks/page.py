"""The page docs/sdks.md, from the record and the remarks. Pure: it reads and writes nothing."""

FOR_EVER = {
    "no-answer-ever": "no answer",
    "reset-every-time": "reset",
    "closed-every-time": "close",
    "error-503-every-time": "503",
}
ONCE = {
    "answer-lost": "no answer",
    "reset-after-accept": "reset",
    "closed-after-accept": "close",
    "error-500-after-accept": "500",
    "answer-cut": "a cut answer",
    "answer-garbled": "broken JSON",
    "rate-limited": "429",
    "in-flight": "a slow answer",
}
FAULTS = {
    "baseline": "none",
    **{name: f"{words}, every time" for name, words in FOR_EVER.items()},
    "answer-lost": "accepted; no answer",
    "reset-after-accept": "accepted; reset",
    "closed-after-accept": "accepted; close",
    "error-500-after-accept": "accepted; 500",
    "answer-cut": "accepted; the answer is cut in its body",
    "answer-garbled": "accepted; the answer is broken JSON",
    "rate-limited": "429 with a Retry-After of 1 s",
    "in-flight": "answers after 2 s; the key gets 409 meanwhile",
}
BY_THEMSELVES = {
    "closed-on-fresh": "close, fresh connection",
    "reset-on-fresh": "reset, fresh connection",
    "closed-on-reused": "close, reused connection",
    "reset-on-reused": "reset, reused connection",
    "no-answer-on-fresh": "no answer",
}
CLOSED = {name: BY_THEMSELVES[name] for name in ("closed-on-fresh", "closed-on-reused")}
OUTCOMES = {"sent": "returns", "unknown": "raises", "pending": "goes on", None: "goes on"}


def requests(row):
    """How many requests one call became; a plus where it was not over."""
    return "–" if "attempts" not in row else f"{row['attempts']}{'+' * row['cut_short']}"


def key_policy(rows):
    """What became of the key over all retries of a client."""
    tried = [row for row in rows.values() if row.get("attempts", 0) > 1]
    if not tried:
        only = rows["baseline"]
        return "never retries; a key" if only["keys"] else "never retries; no key"
    if all(row["keyless"] == row["attempts"] for row in tried):
        return "**none**"
    if all(row["keys"] == 1 and not row["keyless"] for row in tried):
        return "the same"
    if all(row["keys"] == row["attempts"] for row in tried):
        return "**another each time**"
    return "**differs**"


def twice(rows):
    """The faults after which more than one message was delivered."""
    return [name for name, row in rows.items() if row.get("deliveries", 0) > 1]


def kinds(rows):
    """What was found, the most frequent first."""
    count = {}
    for row in rows.values():
        for kind in row["kinds"]:
            count[kind] = count.get(kind, 0) + 1
    return sorted(count, key=lambda kind: (-count[kind], kind))


def in_short(measured):
    """One line for whoever waits."""
    rows = measured["rows"]
    counts = "/".join(requests(row) for row in rows.values())
    return f"{measured['version']:12} {counts:30} {', '.join(kinds(rows)) or '-'}"


def conduct(rows):
    """What a caller has to expect of one call."""
    if twice(rows):
        return "twice"
    return "again" if any(row.get("attempts", 0) > 1 for row in rows.values()) else "once"


def at_a_glance(record, words):
    """A table for each conduct, the worst first."""
    lines = []
    for name in ("twice", "again", "once"):
        chosen = [m for m in record.values() if conduct(m["rows"]) == name]
        chosen.sort(key=lambda m: (m["name"].lower().lstrip("@"), m["registry"]))
        title, _, text = words[name].strip().partition("\n")
        lines += [f"### {title}", "", *text.strip().splitlines(), ""]
        lines += table_of(chosen, name) if chosen else ["None of them."]
        lines.append("")
    return lines


def table_of(chosen, name):
    last = {"twice": " sent twice after |", "again": "", "once": ""}[name]
    lines = [
        f"| package | version | no answer | reset | close | 503 | key on retries |{last} found |",
        "|---" * (8 + bool(last)) + "|",
    ]
    for measured in chosen:
        rows = measured["rows"]
        counts = " | ".join(requests(rows[fault]) for fault in FOR_EVER)
        doubled = [words for fault, words in ONCE.items() if fault in twice(rows)]
        found = ", ".join(f"[`{kind}`](bug-kinds.md)" for kind in kinds(rows)) or "nothing"
        lines.append(
            f"| [{measured['name']}](#{anchor(measured)}) ({measured['registry']}) "
            f"| {measured['version']} | {counts} | {key_policy(rows)} "
            + (f"| {', '.join(doubled)} " if last else "")
            + f"| {found} |"
        )
    return lines


def libraries(record):
    """The rows of the libraries, and what is wrong with them."""
    wrong = []
    lines = [
        "| library | version | key | fault, once, after acceptance | calls | requests | deliveries | the call | found |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for client, measured in record.items():
        key = "yes" if client.endswith("/with-key") else "no"
        for name, words in BY_THEMSELVES.items():
            row = measured["rows"][name]
            if name in ("closed-on-reused", "reset-on-reused") and not row.get("reused"):
                wrong.append(f"{client}: {name}: the connection was not reused")
            found = verdict(row)
            lines.append(
                f"| {measured['name']} | {measured['version']} | {key} | {words} | {row['calls']} "
                f"| {row['attempts']} | {row['deliveries']} | {OUTCOMES[row['outcome']]} | {found} |"
            )
    return lines, wrong


def heading(measured):
    return f"{measured['name']} {measured['version'] or ''}".strip() + f" ({measured['registry']})"


def anchor(measured):
    kept = "".join(c for c in heading(measured).lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def one_by_one(client, measured, remark):
    path = f"clients/sdks/{client}" + (".toml" if client.count("/") > 1 else "")
    lines = [f"### {heading(measured)}", ""]
    lines += [f"[{path}](../{path})" + (f": {remark}" if remark else ""), ""]
    lines += [
        "| fault | requests | deliveries | keys | the call | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for name, words in FAULTS.items():
        row = measured["rows"][name]
        if "attempts" not in row:
            lines.append(f"| {words} | – | – | – | – | {row['verdict']}: {row['reason']} |")
            continue
        lines.append(
            f"| {words} | {requests(row)} | {row['deliveries']} | {keys(row)} "
            f"| {OUTCOMES[row['outcome']] if not row['cut_short'] else 'goes on'} | {verdict(row)} |"
        )
    return [*lines, ""]


def keys(row):
    if not row["keys"]:
        return "none"
    return f"{row['keys']}" + (f", {row['keyless']} without" if row["keyless"] else "")


def verdict(row):
    said = [f"`{kind}`" for kind in row["kinds"]] + [f"`{kind}` (a note)" for kind in row["notes"]]
    if not said and row["reason"]:
        said = [row["reason"]]
    shown = row["verdict"] + (f": {', '.join(said)}" if said else "")
    return shown + (" (on a machine that had no time)" if row["disturbed"] else "")


def differences(record, earlier, faults, last):
    """The rows of the comparison, and what is wrong with them. `last` says what follows the counts
    of now."""
    lines, wrong = [], []
    for name, then in earlier.items():
        client = then["client"]
        if client not in record:
            wrong.append(f"{client} is compared with and was not measured")
            continue
        measured = record[client]
        now = [requests(measured["rows"][fault]) for fault in faults]
        before = then["requests"]
        differs = [
            words
            for words, was, is_now in zip(faults.values(), before, now)
            if was and was.rstrip("+") != is_now.rstrip("+")
        ]
        why = then.get("why", "")
        if differs and not why:
            wrong.append(f"{name}: {', '.join(differs)}: then {before}, now {now}, and nobody says why")
        shown = ["/".join(was or "–" for was in before), "/".join(now)]
        lines.append(
            f"| {name} | {then['version']} | {shown[0]} | {then['key']} | {measured['version']} "
            f"| {shown[1]} | {last(measured)} | {why or 'the same'} |"
        )
    return lines, wrong


def happened(measured):
    """What the one call did where its connection was closed."""
    return "/".join(OUTCOMES[measured["rows"][fault]["outcome"]] for fault in CLOSED)


def page(record, remarks):
    """The page, and what is wrong with the remarks."""
    sdks = {c: m for c, m in record.items() if not c.startswith("libraries/")}
    beneath = {c: m for c, m in record.items() if c.startswith("libraries/")}
    compared, wrong = differences(
        sdks, remarks["earlier"], FOR_EVER, lambda measured: key_policy(measured["rows"])
    )
    lines = [
        "# What official SDKs do when the network fails",
        "",
        "<!-- Written by `make sdks` from what the run found, with clients/sdks/remarks.toml. -->",
        "",
        *remarks["page"]["opening"].strip().splitlines(),
        "",
        "## At a glance",
        "",
        *remarks["page"]["glance"].strip().splitlines(),
        "",
        *at_a_glance(sdks, remarks["page"]),
        "## What else was measured, and why this differs",
        "",
        *remarks["page"]["compared"].strip().splitlines(),
        "",
        "| package | then | requests | key | now | requests | key | why |",
        "|---|---|---|---|---|---|---|---|",
        *compared,
        "",
    ]
    if remarks.get("not-measured"):
        lines += ["## Not measured", "", "| package | what was seen |", "|---|---|"]
        lines += [f"| {name} | {why} |" for name, why in remarks["not-measured"].items()] + [""]
    if beneath:
        lines += ["## HTTP libraries that send again by themselves", ""]
        shown, unlike = libraries(beneath)
        lines += [*remarks["page"]["libraries"].strip().splitlines(), "", *shown, ""]
        compared, more = differences(beneath, remarks["earlier-libraries"], CLOSED, happened)
        wrong += unlike + more
        lines += [*remarks["page"]["compared-libraries"].strip().splitlines(), ""]
        lines += ["| library | then | requests | the call | now | requests | the call | why |"]
        lines += ["|---|---|---|---|---|---|---|---|", *compared, ""]
    lines += ["## Fault by fault", "", *remarks["page"]["faults"].strip().splitlines(), ""]
    for client, measured in sdks.items():
        lines += one_by_one(client, measured, remarks["seen"].get(client, ""))
    for client, measured in record.items():
        silent = [name for name, row in measured["rows"].items() if row.get("attempts") == 0]
        if silent:
            wrong.append(f"{client}: nothing was sent in {', '.join(silent)}: measure it again")
    for client in remarks["seen"]:
        if client not in record:
            wrong.append(f"remarks.toml has a remark about {client}, which was not measured")
    return "\n".join(lines).rstrip() + "\n", wrong
