"""rehearse.py BUILD: packs the bundle, unpacks it elsewhere, and runs it where neither the build nor the installed Slurm is
visible, with the tests' own driver. Every row must be right, and nothing may be left. Exit code 77: it can't run here."""

import json
import os
import subprocess
import sys
import tempfile
from typing import List

sys.dont_write_bytecode = True

from checks import CHECKS, UNTRIED  # noqa: E402
from one_node_slurm import Slurm  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
RUN_LIMIT_S = 300
SKIPPED = 77

HIDE = """
for directory; do mount --bind "$EMPTY" "$directory"; done
cd /
exec "$BUNDLE/run" --rehearse
"""


def find_obstacle() -> str:
    """Why the rehearsal can't run here; empty if it can."""
    if os.geteuid() != 0:
        return "it needs root, to hide the build from the programs"
    missing = Slurm(None).find_missing()
    return f"there is no {', '.join(missing)}" if missing else ""


def hidden_directories(build: str) -> List[str]:
    """The build, the sources, and the plugins of the installed Slurm."""
    plugins = "/usr/lib/x86_64-linux-gnu/slurm-wlm"
    return [directory for directory in (build, SOURCE, plugins) if os.path.isdir(directory)]


def processes_of(directory: str) -> List[str]:
    """The programs below a directory that run."""
    found = []
    for process in os.listdir("/proc"):
        try:
            program = os.readlink(f"/proc/{process}/exe")
        except OSError:
            continue
        if program.startswith(directory):
            found.append(program)
    return found


def check(rows: List[dict]) -> List[str]:
    """What is wrong."""
    results = {row["row"]: row["result"] for row in rows}
    expected = {name: "ok" for each in CHECKS for name in each.rows}
    expected.update((name, "skipped") for name in UNTRIED)
    return [f"{name}: {results.get(name)}, not {result}" for name, result in expected.items() if results.get(name) != result]


def main() -> int:
    build = os.path.abspath(sys.argv[1])
    obstacle = find_obstacle()
    if obstacle:
        print(f"SKIPPED: {obstacle}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="det-rehearsal-") as directory:
        archive, empty, temporary = f"{directory}/gpu.tar.gz", f"{directory}/empty", f"{directory}/tmp"
        os.mkdir(empty)
        os.mkdir(temporary)
        subprocess.run([f"{HERE}/bundle", archive], env={**os.environ, "DET_BUILD_DIR": build}, check=True)
        subprocess.run(["tar", "-xzf", archive, "-C", directory], check=True)
        bundle = f"{directory}/det-gpu"
        environment = {**os.environ, "EMPTY": empty, "BUNDLE": bundle, "TMPDIR": temporary, "PYTHON": sys.executable}
        subprocess.run(
            ["unshare", "--mount", "--propagation=private", "bash", "-eu", "-c", HIDE, "hide", *hidden_directories(build)],
            env=environment,
            timeout=RUN_LIMIT_S,
            check=False,  # the rows tell more
        )
        with open(f"{bundle}/logs/rows.jsonl") as file:
            rows = [json.loads(line) for line in file][1:]
        problems = check(rows)
        problems += [f"{program} still runs" for program in processes_of(directory)]
        problems += [f"{name} is left in TMPDIR" for name in os.listdir(temporary)]
        for problem in problems:
            print(f"rehearse: {problem}")
        if problems:
            subprocess.run("tail -n 40 -- *.log slurm/*", shell=True, cwd=f"{bundle}/logs", check=False)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
