"""Replaces the process by a program of det-submit."""

import os
import sys
from typing import List, NoReturn

from determined._programs import find_program


def become(name: str, arguments: List[str]) -> NoReturn:
    """Replaces this process by a program of det-submit. Exits with 1 if the program can't be found."""
    program = find_program(name)
    if program is None:
        print(f"{name} is neither beside the package determined nor in PATH", file=sys.stderr)
        sys.exit(1)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, *arguments])


def launch(launcher: str, arguments: List[str], usage: str) -> NoReturn:
    """Replaces this process by `det-launch LAUNCHER`.

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
