"""docs/benchmarks.md, from the figures of all sections."""

import math
import os

from rounds import digits

HEAD = """# Benchmarks

<!-- Written by bench/bench.py. -->

`make bench` measures all of this side by side, in turns, in one run on one machine, load generator included:
{cores} cores, {rust}. Figures are medians; a ratio is the median of the ratios of each round, with the least
and the greatest in brackets. Another machine has other figures; the ratios travel better. Load is from `wrk`
over 32 kept connections, unless something else is said.
"""


def written(sections):
    parts = [HEAD.format(cores=os.cpu_count(), rust=(sections["programs"] or {}).get("rust", "Rust"))]
    for name, write in (
        ("provider", provider),
        ("memory", memory),
        ("proxy", proxy),
        ("runner", runner),
        ("programs", programs),
    ):
        if sections[name]:
            parts.append(write(sections[name]))
    return "\n".join(parts)


def table(head, rows, left=1):
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(rule) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def provider(seen):
    names = {
        "floor": "a bare hyper server that answers the same bytes and remembers nothing",
        "unique": "stub-provider, each request under a key of its own, everything recorded",
        "replays": "stub-provider, replays alone, everything recorded",
    }
    rows = [
        [names[name], f"{row['rate']:,.0f}", row["ratio"], f"{row['processor']:.1f} µs", f"{row['p99']:.2f} ms", row["p99_ratio"]]
        for name, row in seen["floor"].items()
    ]
    disk = seen["disk"]
    rows.append(["stub-provider `--data-dir`, unique keys, measured apart", f"{disk['rate']:,.0f}", disk["ratio"], "", "", ""])
    peers = [
        [name, f"{row['rate']:,.0f}", f"{row['p99']:.2f} ms", row["failed"], row["ratio"]]
        for name, row in sorted(seen["peers"]["rows"].items(), key=lambda item: -item[1]["rate"])
    ]
    absent = [f"{name}: {why}." for name, why in seen["peers"]["absent"].items()]
    sync = seen["sync"]
    return "\n".join(
        [
            f"\n## The provider ({seen['date']})\n",
            table(["", "requests/s", "of the floor", "processor time each", "p99", "p99, of the floor's"], rows),
            "\nWhat one would pick instead, each with nothing of a journal or log, warm; the provider records everything:\n",
            table(["", "requests/s", "p99", "failed or after 2 s", "stub-provider has so many times as many"], peers),
            *absent,
            f"\nWith `--fsync` an answer waits until the disk has it; whoever waits at the same time shares one sync. This disk"
            f"\nmakes {sync['disk']:,.0f} syncs a second, one after the other:\n",
            table(
                ["connections", "requests/s", "of the disk's syncs"],
                [[count, f"{sync[count]['rate']:,.0f}", sync[count]["ratio"]] for count in ("16", "256")],
            ),
        ]
    )


def memory(seen):
    points = seen["points"]
    memory_slope = slope([(p["messages"], p["bytes"]) for p in points])
    marks = thinned(points)
    return "\n".join(
        [
            f"\n## Memory of the provider ({seen['date']})\n",
            f"{seen['on_record']:,} messages, each with its attempt, its delivery and its stored answer: "
            f"{seen['each']:,.0f} bytes each, {seen['million'] / 1e6:,.0f} MB for a million.",
            f"On logarithmic axes its slope is {memory_slope:.2f}: 1 is a line.\n",
            table(
                ["messages", "MB", "requests/s just then"],
                [[f"{p['messages']:,}", f"{p['bytes'] / 1e6:,.0f}", f"{p['rate']:,.0f}"] for p in marks],
                left=0,
            ),
            "",
            plot("Memory against messages", "messages", "MB", [(p["messages"], p["bytes"] / 1e6) for p in marks]),
        ]
    )


def proxy(seen):
    rows = []
    for toxics, figures in seen["chains"].items():
        for figure, row in figures.items():
            rows.append([toxics, figure, digits(row["engine"]), digits(row["Toxiproxy"]), row["ratio"]])
    opened = seen["open"]
    counts = opened["connections"]
    return "\n".join(
        [
            f"\n## The embedded engine and Toxiproxy ({seen['date']})\n",
            "The ratio is above 1 where the engine is better. The toxics have work to do and no delay to add; latency is what"
            "\none connection sees more than it does without a proxy; MB are of answers of one MiB.\n",
            table(["toxics", "", "engine", "Toxiproxy", "ratio"], rows, left=2),
            f"\n{counts[-1]:,} open connections take {opened['engine'][-1] / counts[-1]:,.0f} bytes each in the engine and"
            f"\n{opened['Toxiproxy'][-1] / counts[-1]:,.0f} in Toxiproxy, {digits(opened['ratio'])} times as much. The slope of the engine's memory"
            f"\non logarithmic axes is {slope(list(zip(counts, opened['engine']))):.2f}.\n",
            table(
                ["open connections", "engine, MB", "Toxiproxy, MB"],
                [[f"{n:,}", *(f"{opened[who][at] / 1e6:.1f}" for who in ("engine", "Toxiproxy"))] for at, n in enumerate(counts)],
                left=0,
            ),
            "",
            plot("The engine's memory against open connections", "connections", "MB", list(zip(counts, (bytes / 1e6 for bytes in opened["engine"]))), 1),
        ]
    )


def runner(seen):
    intents = [(p["intents"], p["millis"]) for p in seen["intents"]]
    history = [(p["events"], p["millis"]) for p in seen["history"]]
    return "\n".join(
        [
            f"\n## The runner ({seen['date']})\n",
            table(
                ["", ""],
                [
                    ["one scenario, less the time in which the client's processes ran", f"{seen['scenario']:.1f} ms"],
                    ["the standard suite with the reference client", f"{seen['suite']:.1f} s"],
                    ["from the start to the first byte of output", f"{seen['first_line']:.1f} ms"],
                ],
            ),
            "\nOne scenario with so many intents, a process of the client for each: the slope on logarithmic axes is"
            f"\n{slope(intents):.2f}.\n",
            table(["intents", "ms", "ms each"], [[f"{n:,}", f"{millis:,.0f}", f"{millis / n:.2f}"] for n, millis in intents], left=0),
            "",
            plot("A scenario against its intents", "log10 of intents", "log10 of ms", logarithms(intents), 1),
            f"\nThe judgement of a history, every check over it and its index included: the slope is {slope(history):.2f}.\n",
            table(["events", "ms", "µs each"], [[f"{n:,}", f"{millis:,.1f}", f"{millis * 1000 / n:.2f}"] for n, millis in history], left=0),
            "",
            plot("Judgement against history", "log10 of events", "log10 of ms", logarithms(history), 1),
        ]
    )


def programs(seen):
    sizes = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in seen["sizes"].items())
    took = seen["build"]
    built = f"From nothing, with the sources at hand, a release build takes {took // 60:.0f} min {took % 60:.0f} s. " if took else ""
    lines = [f"\n## The programs ({seen['date']})\n", f"{built}Stripped: {sizes}."]
    if seen["heaviest"]:
        lines += [
            "\nWhat others have written and takes the longest to build, in seconds of one core:\n",
            table(["crate", "s", "what for"], [[name, f"{took:.0f}", why] for name, took, why in seen["heaviest"]], left=3),
        ]
    return "\n".join(lines) + "\n"


def slope(points):
    """Of the line through the logarithms, by least squares."""
    logs = [(math.log(x), math.log(y)) for x, y in points if y > 0]
    middle_x, middle_y = (sum(axis) / len(logs) for axis in zip(*logs))
    above = sum((x - middle_x) * (y - middle_y) for x, y in logs)
    below = sum((x - middle_x) ** 2 for x, _ in logs)
    return above / below if below else float("nan")


def thinned(points, most=12):
    step = max(1, math.ceil(len(points) / most))
    return points[::-1][::step][::-1]


def logarithms(points):
    return [(round(math.log10(x), 2), math.log10(y)) for x, y in points]


def plot(title, x, y, points, digits_behind=0):
    return "\n".join(
        [
            "```mermaid",
            "xychart-beta",
            f'    title "{title}"',
            f"    x-axis \"{x}\" {points[0][0]} --> {points[-1][0]}",
            f'    y-axis "{y}"',
            f"    line [{', '.join(f'{round(value, digits_behind) + 0:.{digits_behind}f}' for _, value in points)}]",
            "```",
        ]
    )
