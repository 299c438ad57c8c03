"""run: runs the checks of GPUs of this bundle, one after the other, and prints a table.

What the machine lacks is skipped, and the table says why. Each check has a limit of time; its output goes to a file of the
folder of logs, where table.txt and rows.jsonl are too. The exit code is 1 if a row failed.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, Iterator, List, Tuple

from checks import CHECKS, UNTRIED, Check
from machine import Layout, Machine

Row = Dict[str, Any]

DEFAULT_LIMIT_S = 285
STOP_LIMIT_S = 12  # from TERM to KILL of a check: some stop their Slurm first
SHORTEST_S = 10


class Rows:
    """The rows of the table. Every row of every check gets exactly one result.

    Args:
        judges_marks: a figure above its mark is a failure
    """

    def __init__(self, judges_marks: bool) -> None:
        self._judges_marks = judges_marks
        self.all: List[Row] = []

    def skip(self, check: Check, reason: str) -> None:
        self.all += [{"row": name, "result": "skipped", "reason": reason} for name in check.rows]

    def take(self, check: Check, output: str, outcome: str) -> None:
        """The rows that a check has printed. Those that it owes have failed with `outcome`."""
        printed = {}
        for line in output.splitlines():
            if line.startswith('{"'):
                with contextlib.suppress(ValueError):
                    row = json.loads(line)
                    printed[row.get("row")] = row
        for name in check.rows:
            reason = f"{outcome}; see {check.name}.log"
            self.all.append(self._judge(printed.get(name) or {"row": name, "result": "failed", "reason": reason}))

    def count(self, result: str) -> int:
        return sum(row["result"] == result for row in self.all)

    def _judge(self, row: Row) -> Row:
        if self._judges_marks and row["result"] == "ok" and "mark" in row and row["figure"] > row["mark"]:
            return {**row, "result": "failed", "reason": "the figure is above the mark"}
        return row


def run_check(machine: Machine, check: Check, limit_s: float, logs: str) -> Tuple[str, str]:
    """Returns the output of a check, and how it ended."""
    is_python = check.command[0].endswith(".py")
    command = [f"{machine.layout.tests}/{check.command[0]}", *check.command[1:]]
    if is_python:
        command = [sys.executable, f"{machine.layout.checks}/{check.command[0]}", *check.command[1:]]
    path = f"{logs}/{check.name}.log"
    with open(path, "w") as log:
        process = subprocess.Popen(
            command,
            env=machine.environment(check.name, is_python),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            outcome = describe_end(process.wait(limit_s))
        except subprocess.TimeoutExpired:
            outcome = f"not over after {limit_s:.0f} s"
            stop(process)
    with contextlib.suppress(ProcessLookupError):  # what it has left
        os.killpg(process.pid, signal.SIGKILL)
    with open(path, errors="replace") as log:
        return log.read(), outcome


def describe_end(code: int) -> str:
    if code < 0:
        return f"ended by signal {-code}"
    return f"ended with exit code {code} and without this row"


def stop(process: "subprocess.Popen[bytes]") -> None:
    os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_LIMIT_S)
        return
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_all(machine: Machine, chosen: List[Check], deadline: float, logs: str) -> Rows:
    rows = Rows(judges_marks=not machine.is_rehearsal)
    for check in chosen:
        lacking = [machine.lacking[need] for need in check.needs if need in machine.lacking]
        left = deadline - time.monotonic() - STOP_LIMIT_S
        if lacking:
            rows.skip(check, lacking[0])
        elif left < SHORTEST_S:
            rows.skip(check, "no time was left")
        else:
            begun = time.monotonic()
            output, outcome = run_check(machine, check, min(check.limit_s, left), logs)
            machine.remove_storage(check.name)
            rows.take(check, output, outcome)
            print(f"{check.name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    rows.all += [{"row": name, "result": "skipped", "reason": reason} for name, reason in UNTRIED.items()]
    return rows


def render_figure(row: Row) -> str:
    return f"{row['figure']:.4g} {row['unit']}" if "figure" in row else ""


def render_table(facts: Dict[str, Any], rows: List[Row]) -> str:
    """The table as Markdown."""
    lines = [" | ".join(f"{name} {value}" for name, value in facts.items() if name != "free_bytes" and value != "")]
    lines += ["", "| row | result | figure | mark | details |", "|---|---|---|---|---|"]
    for row in rows:
        details = "; ".join(str(row[key]).strip().replace("\n", " ") for key in ("reason", "note") if key in row)
        lines.append(f"| {row['row']} | {row['result']} | {render_figure(row)} | {row.get('mark', '')} | {details} |")
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def directories(storage_root: str) -> Iterator[Tuple[str, str]]:
    """A directory for work and one for checkpoints, which are removed."""
    made = [tempfile.mkdtemp(prefix="det-gpu-"), tempfile.mkdtemp(prefix="det-gpu-", dir=storage_root)]
    try:
        yield made[0], made[1]
    finally:
        for each in made:
            shutil.rmtree(each, ignore_errors=True)


def parse_arguments() -> argparse.Namespace:
    names = [check.name for check in CHECKS]
    parser = argparse.ArgumentParser(prog="run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"default: all of {', '.join(names)}")
    parser.add_argument("--logs", metavar="DIR", help="default: logs, beside this program; replaced")
    parser.add_argument("--storage", metavar="DIR", help="where checkpoints are written; default: /dev/shm if it is there")
    parser.add_argument("--limit-s", type=float, default=DEFAULT_LIMIT_S, help="of the whole run (default: %(default)s)")
    parser.add_argument("--rehearse", action="store_true", help="without a GPU, with a driver of the tests; torch on the CPU")
    arguments = parser.parse_args()
    unknown = set(arguments.checks) - set(names)
    if unknown:
        parser.error(f"there is no check {', '.join(sorted(unknown))}")
    return arguments


def main() -> int:
    deadline = time.monotonic()
    arguments = parse_arguments()
    deadline += arguments.limit_s
    layout = Layout(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    logs = os.path.abspath(arguments.logs or f"{layout.root}/logs")
    shutil.rmtree(logs, ignore_errors=True)
    os.makedirs(logs)
    storage_root = arguments.storage or ("/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir())
    with directories(storage_root) as (work, storage):
        machine = Machine(layout, work, storage, logs, arguments.rehearse)
        for line in machine.missing_libraries:
            print(f"a library is missing: {line}", file=sys.stderr)
        chosen = [check for check in CHECKS if not arguments.checks or check.name in arguments.checks]
        rows = run_all(machine, chosen, deadline, logs)
    table = render_table(machine.facts, rows.all)
    with open(f"{logs}/table.txt", "w") as file:
        file.write(table)
    with open(f"{logs}/rows.jsonl", "w") as file:
        file.writelines(json.dumps(each) + "\n" for each in [machine.facts, *rows.all])
    print(f"{table}\nlogs: {logs}")
    print(f"{rows.count('ok')} passed, {rows.count('failed')} failed, {rows.count('skipped')} skipped")
    return 1 if rows.count("failed") else 0


if __name__ == "__main__":
    sys.exit(main())
