"""Puts the programs into the wheel, from the tree that `scripts/dist.sh` lays out.

CHAOS_DIST_TREE names it: bin/ and share/, as under /usr. CHAOS_DIST_PLATFORM is the platform
tag, for instance manylinux_2_34_x86_64: it depends on the glibc that the programs need.
"""

import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Programs(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable":
            return  # the programs of the repository's own target/ are found by STUB_PROVIDER
        try:
            tree = Path(os.environ["CHAOS_DIST_TREE"]).resolve(strict=True)
            platform = os.environ["CHAOS_DIST_PLATFORM"]
        except KeyError as missing:
            raise SystemExit(f"{missing} is not set: build the wheel with `make dist`") from None
        # No part of it depends on the version of Python.
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        scripts, data, metadata = {}, {}, {}
        for path in sorted(tree.rglob("*")):
            if not path.is_file():
                continue
            name = path.relative_to(tree)
            if name.parts[0] == "bin":
                scripts[str(path)] = name.name
            elif name.parts[:2] == ("share", "doc"):
                metadata[str(path)] = name.name
            else:
                data[str(path)] = str(name)
        build_data["shared_scripts"] = scripts
        build_data["shared_data"] = data
        build_data["extra_metadata"] = metadata
