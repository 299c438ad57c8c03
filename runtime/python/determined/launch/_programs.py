"""Finds the programs of det-submit and becomes one of them."""

import os
import pathlib
import shutil
import sys
from typing import Iterator, List, NoReturn, Optional


def _candidates(name: str) -> Iterator[pathlib.Path]:
    # The package is in PREFIX/lib/det-submit/python/determined, or deeper where libraries are in lib/<machine>.
    for parent in list(pathlib.Path(__file__).resolve().parents)[4:7]:
        yield parent / "bin" / name
    modules = os.environ.get("DET_MODULES")  # PREFIX/lib
    if modules:
        yield pathlib.Path(modules).parent / "bin" / name
    found = shutil.which(name)
    if found:
        yield pathlib.Path(found)


def find_program(name: str) -> Optional[str]:
    """The path of a program of det-submit: beside this package, beside the run's own programs, or in PATH."""
    return next((str(path) for path in _candidates(name) if os.access(path, os.X_OK)), None)


def become(name: str, arguments: List[str]) -> NoReturn:
    """Replaces this process by a program of det-submit. If it can't be found, ends with 1."""
    program = find_program(name)
    if program is None:
        print(f"{name} is neither beside the package determined nor in PATH", file=sys.stderr)
        sys.exit(1)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, *arguments])


def launch(launcher: str, arguments: List[str], usage: str) -> NoReturn:
    """Becomes `det-launch LAUNCHER`.

    Args:
        usage: printed on --help, and before the error if there is neither a script nor a trial class
    """
    if arguments[:1] in (["-h"], ["--help"]):
        print(usage)
        sys.exit(0)
    if not [word for word in arguments if word != "--"]:
        print(f"{usage}\nerror: neither a script nor --trial is given", file=sys.stderr)
        sys.exit(1)
    become("det-launch", [launcher, *arguments])
