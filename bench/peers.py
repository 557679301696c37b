"""What a user would pick instead: each a server that answers one POST, set up as its documentation has it."""

import json
import pathlib
import subprocess
import sys

import servers

HERE = servers.ROOT / "target" / "bench"
NPM = HERE / "npm" / "node_modules"
VENV = HERE / "venv"
MOCKSERVER = "5.15.0"
JAR = HERE / f"mockserver-netty-no-dependencies-{MOCKSERVER}.jar"
ANSWER = {"id": "msg_0123456789abcdef", "to": "+12025550142", "status": "queued"}
PINNED = {"wiremock": "3.13.2", "@mockoon/cli": "9.9.0", "mountebank": "2.9.1"}
PYTHON = {"fastapi": "0.121.2", "uvicorn": "0.54.0", "uvloop": "0.23.0", "httptools": "0.9.0"}

FASTAPI = '''"""The stub that everybody writes first: ten lines, and a dictionary for the keys."""
import uuid

from fastapi import FastAPI, Header

app, answers = FastAPI(), {}


@app.post("/v1/messages", status_code=201)
async def send(message: dict, idempotency_key: str = Header()):
    fresh = {"id": f"msg_{uuid.uuid4().hex[:16]}", "to": message["to"], "status": "queued"}
    return answers.setdefault(idempotency_key, fresh)
'''


def install():
    """Each by the packages of its own ecosystem; one that cannot be had is left out, with a word."""
    HERE.mkdir(parents=True, exist_ok=True)
    npm = HERE / "npm"
    npm.mkdir(exist_ok=True)
    packages = [f"{name}@{version}" for name, version in PINNED.items()]
    attempt(["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", npm, *packages])
    if not JAR.exists():
        artifact = f"org.mock-server:mockserver-netty-no-dependencies:{MOCKSERVER}"
        attempt(["mvn", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={HERE}"])
    attempt([sys.executable, "-m", "venv", VENV])
    attempt([VENV / "bin" / "pip", "install", "-q", *(f"{name}=={version}" for name, version in PYTHON.items())])


def attempt(command):
    try:
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"bench/peers.py: {error}", file=sys.stderr)


def available():
    """{name: a function that gives a server}, and {name: why it is left out}."""
    every = {
        f"WireMock {PINNED['wiremock']}": (wiremock, NPM / "wiremock"),
        f"MockServer {MOCKSERVER}": (mockserver, JAR),
        f"Mockoon {PINNED['@mockoon/cli']}": (mockoon, NPM / "@mockoon"),
        f"Mountebank {PINNED['mountebank']}": (mountebank, NPM / "mountebank"),
        f"FastAPI {PYTHON['fastapi']}, uvicorn {PYTHON['uvicorn']}": (fastapi, VENV / "bin" / "uvicorn"),
    }
    here = {name: start for name, (start, needs) in every.items() if needs.exists()}
    absent = {name: "could not be installed" for name, (_, needs) in every.items() if not needs.exists()}
    return here, absent


def wiremock():
    """Without its journal, which would keep every request, and without its verbose notices."""
    port = servers.free_port()
    root = HERE / "wiremock"
    write(
        root / "mappings" / "send.json",
        json.dumps(
            {
                "request": {"method": "POST", "urlPath": "/v1/messages"},
                "response": {"status": 201, "jsonBody": ANSWER},
            }
        ),
    )
    jar = next((NPM / "wiremock").rglob("*.jar"))
    options = ["--port", port, "--root-dir", root, "--no-request-journal", "--bind-address", "127.0.0.1"]
    return servers.Server(["java", "-jar", jar, *options], port)


def mockserver():
    """With its log, which is its journal, off."""
    port = servers.free_port()
    expectation = HERE / "mockserver.json"
    write(
        expectation,
        json.dumps(
            [
                {
                    "httpRequest": {"method": "POST", "path": "/v1/messages"},
                    "httpResponse": {"statusCode": 201, "body": ANSWER},
                }
            ]
        ),
    )
    options = ["-Dmockserver.disableLogging=true", f"-Dmockserver.initializationJsonPath={expectation}"]
    return servers.Server(["java", *options, "-jar", JAR, "-serverPort", port, "-logLevel", "OFF"], port)


def mockoon():
    port = servers.free_port()
    environment = {
        "uuid": "0b7a2a1e-0000-4000-8000-000000000001",
        "lastMigration": 33,
        "name": "bench",
        "port": port,
        "hostname": "127.0.0.1",
        "routes": [
            {
                "uuid": "0b7a2a1e-0000-4000-8000-000000000002",
                "type": "http",
                "method": "post",
                "endpoint": "v1/messages",
                "responses": [
                    {
                        "uuid": "0b7a2a1e-0000-4000-8000-000000000003",
                        "body": json.dumps(ANSWER),
                        "latency": 0,
                        "statusCode": 201,
                        "headers": [{"key": "Content-Type", "value": "application/json"}],
                        "rules": [],
                        "default": True,
                    }
                ],
            }
        ],
    }
    data = HERE / "mockoon.json"
    write(data, json.dumps(environment))
    command = [NPM / ".bin" / "mockoon-cli", "start", "--data", data, "--port", port]
    quiet = ["--disable-log-to-file", "--disable-admin-api", "--max-transaction-logs", "1"]
    return servers.Server([*command, *quiet], port)


def mountebank():
    port, admin = servers.free_port(), servers.free_port()
    answer = {"statusCode": 201, "headers": {"Content-Type": "application/json"}, "body": json.dumps(ANSWER)}
    stub = {"predicates": [{"equals": {"method": "POST", "path": "/v1/messages"}}], "responses": [{"is": answer}]}
    config = HERE / "mountebank.json"
    write(config, json.dumps({"imposters": [{"port": port, "protocol": "http", "stubs": [stub]}]}))
    options = ["--port", admin, "--configfile", config, "--nologfile", "--loglevel", "error", "--localOnly"]
    pid = HERE / f"mountebank-{port}.pid"
    return servers.Server([NPM / ".bin" / "mb", "start", *options, "--pidfile", pid], port)


def fastapi():
    port = servers.free_port()
    app = HERE / "fastapi" / "ten_lines.py"
    write(app, FASTAPI)
    options = ["--port", port, "--log-level", "warning", "--no-access-log"]
    return servers.Server([VENV / "bin" / "uvicorn", "ten_lines:app", *options], port, cwd=app.parent)


def write(path: pathlib.Path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
