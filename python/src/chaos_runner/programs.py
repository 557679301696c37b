"""Where the programs of this package are."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

__all__ = ["ProgramNotFound", "program"]


class ProgramNotFound(RuntimeError):
    """The program is not where packages put their commands, and not on PATH."""


def program(name: str) -> Path:
    """The path of ``chaos-runner``, ``stub-provider`` or ``toxic-proxy``.

    A path in the environment wins (``STUB_PROVIDER`` for stub-provider, and so on); then the
    commands of this interpreter; then PATH.
    """
    variable = name.upper().replace("-", "_")
    named = os.environ.get(variable)
    if named:
        path = Path(named)
        if not os.access(path, os.X_OK):
            raise ProgramNotFound(f"{variable} names {named}, which is no program")
        return path
    for scripts in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")):
        path = Path(scripts) / name
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if found is None:
        raise ProgramNotFound(
            f"{name} is neither among this Python's commands nor on PATH: install the wheel, "
            f"or let {variable} name the program"
        )
    return Path(found)
