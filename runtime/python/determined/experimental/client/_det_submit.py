"""Runs det-submit and reads what it prints with --json."""

import json
import subprocess
import sys
from typing import Any, Iterator, List

from determined._programs import find_program
from determined.common.api import errors


class CommandError(errors.APIException, RuntimeError):
    """A command of det-submit failed, or det-submit was not found.

    Attributes:
        exit_code: the exit code of det-submit; 4: a named thing does not exist; 127: there is no det-submit
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class AbsentError(CommandError, errors.NotFoundException):
    """A named thing does not exist."""


def _error(message: str, exit_code: int) -> CommandError:
    return (AbsentError if exit_code == 4 else CommandError)(message, exit_code)


def _program() -> str:
    program = find_program("det-submit")
    if program is None:
        raise CommandError("det-submit is neither beside the package determined nor in PATH", 127)
    return program


def ask(*words: str) -> Any:
    """Runs `det-submit WORDS --json` and returns the JSON that it prints; None if it prints nothing. Its
    warnings go to stderr.

    Raises:
        CommandError: its exit code is not 0, or it was not found
    """
    done = subprocess.run(
        [_program(), *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise _error(done.stderr.strip() or f"det-submit {' '.join(words)} failed", done.returncode)
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout) if done.stdout.strip() else None


def read_lines(*words: str) -> Iterator[str]:
    """Yields the lines that `det-submit WORDS` prints, while it runs. Its messages go to stderr. Ends
    det-submit if the caller wants no more lines.

    Raises:
        CommandError: its exit code is not 0, or it was not found
    """
    command: List[str] = [_program(), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        try:
            yield from process.stdout
        except GeneratorExit:  # the caller wants no more lines
            process.terminate()
            raise
    if process.returncode != 0:
        raise CommandError(f"det-submit {' '.join(words)} failed", process.returncode)
