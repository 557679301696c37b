"""What the runner costs beside the client that it drives."""

import json
import pathlib
import subprocess
import tempfile
import time

import servers
from rounds import median

RUNNER = servers.RELEASE / "chaos-runner"
SCENARIO = 'title = "{title}"\nwhy = "To measure the runner."\n[intents]\ncount = {intents}\n'
COPIES = 20


def measure(quick):
    count = 1 if quick else 5
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        naive = client(place, "naive")
        return {
            "scenario": median(own_cost(place / f"own-{n}", naive) for n in range(count)),
            "suite": median(suite(place / f"suite-{n}") for n in range(count)),
            "history": judging((1000, 10_000, 100_000) if quick else (1000, 10_000, 100_000, 1_000_000)),
            "first_line": median(first_line(place / f"line-{n}", naive) for n in range(count)),
            "intents": [
                {"intents": n, "millis": many(place / f"many-{n}", naive, n) * 1000}
                for n in ((10, 100) if quick else (10, 100, 1000, 10_000))
            ],
        }


def client(place, name):
    """The client file of a client, with the release build in place of the debug one."""
    source = servers.ROOT / "clients" / name
    text = (source / "client.toml").read_text()
    path = place / f"{name}.toml"
    path.write_text(text.replace("../../target/debug/", f"{servers.RELEASE}/"))
    return path


def run(place, client_file, *more):
    """Runs scenarios to their end; what is awaited is a pass."""
    command = [RUNNER, "run", "--client", client_file, "--report", place / "report", "--quiet", *more]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr}")
    return time.monotonic() - began


def scenario(place, name, intents):
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name}.toml"
    path.write_text(SCENARIO.format(title=f"Nothing goes wrong ({name})", intents=intents))
    return path


def own_cost(place, client_file):
    """Milliseconds for each scenario in which none of the client's processes was there."""
    files = [scenario(place, f"plain-{n}", 1) for n in range(COPIES)]
    whole = run(place, client_file, "--jobs", "1", *files)
    clients = sum(process_time(path) for path in (place / "report" / "latest").glob("*/history.json"))
    return (whole - clients) * 1000 / COPIES


def process_time(history):
    """Seconds in which at least one process of the client was there."""
    busy, there, since = 0, 0, 0
    for event in json.loads(history.read_text())["events"]:
        if event["event"] == "process_started":
            since = since if there else event["at_us"]
            there += 1
        elif event["event"] == "process_ended":
            there -= 1
            busy += 0 if there else event["at_us"] - since
    return busy / 1e6


def suite(place):
    place.mkdir()
    return run(place, client(place, "outbox-worker"))


def many(place, client_file, intents):
    return run(place, client_file, scenario(place, "many", intents))


def judging(sizes):
    """How long the judgement of a history takes, in each size."""
    command = [servers.RELEASE / "examples" / "judging", *(str(size) for size in sizes)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [{"events": int(events), "millis": float(millis)} for events, millis in (line.split() for line in lines)]


def first_line(place, client_file):
    """Milliseconds from the start of the program to the first byte that it prints."""
    file = scenario(place, "plain", 1)
    command = [RUNNER, "run", "--client", client_file, "--report", place / "report", file]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0) as process:
        process.stdout.read(1)
        took = time.monotonic() - began
        process.stdout.read()
    return took * 1000
