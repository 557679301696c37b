#!/usr/bin/env python3
"""Runs a composite action's steps on this machine, as a runner does it for `shell: bash`.

    action.py ACTION_DIRECTORY [INPUT=VALUE…]

The current directory is the workspace. Only `run` steps are known; another kind is an error. The
action's outputs are printed as one line of JSON at the end, and the exit code is that of the first
step that failed. Needs PyYAML.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


def filled(text, context):
    """The text with each `${{ a.b }}` replaced; one that has no value is an error."""

    def value(match):
        here = context
        for part in match[1].split("."):
            here = here[part]
        return str(here)

    return EXPRESSION.sub(value, str(text))


def assignments(path):
    """What a step wrote to GITHUB_OUTPUT."""
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if line)


def main():
    directory = Path(sys.argv[1]).resolve()
    action = yaml.safe_load((directory / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    context = {
        "github": {"token": "none", "action_repository": "example/chaos-runner"},
        "steps": {},
    }
    given = dict(word.split("=", 1) for word in sys.argv[2:])
    unknown = given.keys() - action["inputs"].keys()
    if unknown:
        sys.exit(f"the action has no input {', '.join(sorted(unknown))}")
    context["inputs"] = {
        name: given.get(name, filled(about.get("default", ""), context))
        for name, about in action["inputs"].items()
    }
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        temporary = Path(temporary)
        for number, step in enumerate(action["runs"]["steps"]):
            if failed:
                break
            if set(step) - {"name", "id", "shell", "env", "run"} or step["shell"] != "bash":
                sys.exit(f"this runs no step like {step['name']!r}")
            script, output = temporary / f"{number}.sh", temporary / f"{number}.out"
            script.write_text(filled(step["run"], context))
            output.touch()
            environment = dict(
                os.environ,
                GITHUB_ACTIONS="true",
                GITHUB_ACTION_PATH=str(directory),
                GITHUB_WORKSPACE=os.getcwd(),
                GITHUB_OUTPUT=str(output),
                RUNNER_TEMP=str(temporary),
            )
            for name, value in step.get("env", {}).items():
                environment[name] = filled(value, context)
            print(f"::group::{step['name']}", flush=True)
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
            failed = subprocess.run(command, env=environment).returncode
            print("::endgroup::", flush=True)
            context["steps"][step.get("id", number)] = {"outputs": assignments(output)}
        outputs = {
            name: filled(about["value"], context) if not failed or "run" in context["steps"] else None
            for name, about in action["outputs"].items()
        }
        print(json.dumps(outputs))
    sys.exit(failed)


main()
