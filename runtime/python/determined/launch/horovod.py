"""python3 -m determined.launch.horovod: starts ranks by horovodrun."""

import importlib
import os
import sys
from typing import List, NoReturn, Optional

import determined
from determined.launch._become import launch

USAGE = """usage: python3 -m determined.launch.horovod [[HOROVODRUN_OPTION...] --] (--trial MODULE:CLASS | SCRIPT...)

Starts a rank of SCRIPT per slot by horovodrun. `det-launch horovod --help` says more."""


def has_one_slot() -> bool:
    """Whether the task has one slot, or is off the cluster."""
    info = determined.get_cluster_info()
    return info is None or (len(info.container_addrs) == 1 and len(info.slot_ids) <= 1)


def run_single_rank(command: List[str]) -> NoReturn:
    """Replaces this process by the script. Exits with 127 if it can't be run."""
    sys.stdout.flush()
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        print(f"{command[0]} can't be run: {problem.strerror}", file=sys.stderr)
        sys.exit(127)


def main(arguments: Optional[List[str]] = None) -> NoReturn:
    """Replaces this process by det-launch horovod; with --autohorovod and at most one slot, by the script
    itself, and for a trial class by what autohorovod starts."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--autohorovod"]:
        del words[0]
        if words and words[0].startswith("--trial"):
            importlib.import_module("determined.launch.autohorovod").main(words)
        command = words[words.index("--") + 1 :] if "--" in words else words
        if command and not command[0].startswith("-") and has_one_slot():
            run_single_rank(command)
    launch("horovod", words, USAGE)


if __name__ == "__main__":
    main()
