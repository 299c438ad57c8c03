"""Finds the programs of det-submit."""

import os
import pathlib
import shutil
from typing import Iterator, Optional


def _candidates(name: str) -> Iterator[pathlib.Path]:
    # This file is PREFIX/lib/det-submit/python/determined/_programs.py.
    for prefix in list(pathlib.Path(__file__).resolve().parents)[4:5]:
        yield prefix / "bin" / name
    modules = os.environ.get("DET_MODULES")  # PREFIX/lib
    if modules:
        yield pathlib.Path(modules).parent / "bin" / name
    found = shutil.which(name)
    if found:
        yield pathlib.Path(found)


def find_program(name: str) -> Optional[str]:
    """The path of a program of det-submit: beside this package, beside the run's own programs, or in PATH."""
    return next((str(path) for path in _candidates(name) if os.access(path, os.X_OK)), None)
