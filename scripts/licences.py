#!/usr/bin/env python3
"""Prints the licences of everything that is built into the programs.

Reads `cargo metadata`: the packages that the programs depend on, not those of their tests, and
the licence files that each of them ships. Equal texts stand once. A package without one is named
with the licence that it declares. Arguments are passed on to `cargo metadata`.
"""

import collections
import json
import subprocess
import sys
from pathlib import Path

NAMES = ("license", "licence", "copying", "notice", "copyright", "unlicense")


def linked(metadata):
    """The packages that the workspace's programs depend on, outside the workspace."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    todo, seen = list(metadata["workspace_members"]), set()
    while todo:
        package = todo.pop()
        if package in seen:
            continue
        seen.add(package)
        for dependency in nodes[package]["deps"]:
            # Those of build scripts too: openssl-src is one, and it is what is built in.
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    ours = set(metadata["workspace_members"])
    every = {package["id"]: package for package in metadata["packages"]}
    return sorted((every[i] for i in seen - ours), key=lambda p: (p["name"], p["version"]))


def texts(package):
    """The licence files of a package, with those of the sources that it bundles."""
    root = Path(package["manifest_path"]).parent
    for path in sorted({*root.glob("*"), *root.glob("*/*"), *root.glob("*/*/*")}):
        if path.name.lower().startswith(NAMES) and path.is_file():
            if path.suffix.lower() in ("", ".txt", ".md") or path.stem.lower() in NAMES:
                text = path.read_text(errors="replace").strip()
                if text:
                    yield text


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", *sys.argv[1:]]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    by_text = collections.defaultdict(list)
    bare = []
    for package in linked(metadata):
        name = f"{package['name']} {package['version']} ({package['license'] or 'see its text'})"
        found = list(dict.fromkeys(texts(package)))
        for text in found:
            by_text[text].append(name)
        if not found:
            bare.append(name)
    print("These programs are built with the following libraries.")
    if bare:
        print("\nWithout a text of their own, under the licence that stands beside them:\n")
        print("\n".join(f"  {name}" for name in bare))
    for text, names in sorted(by_text.items(), key=lambda item: item[1]):
        print("\n" + "=" * 96)
        print("\n".join(f"  {name}" for name in names))
        print("-" * 96)
        print(text)


main()
