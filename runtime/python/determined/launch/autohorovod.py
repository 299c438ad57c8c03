"""python3 -m determined.launch.autohorovod: starts ranks by horovodrun if there are several slots. It starts
the entrypoint `module:Class` of a configuration.

A trial class runs without horovodrun on one slot, and in a job whose ranks Slurm has started (`slurm:
{launch: rank}`). If the job's Python has no Horovod, torch.distributed.run starts the ranks of a trial class.
"""

import importlib.util
import os
import sys
from typing import List, NoReturn, Optional

from determined.launch import horovod, torch_distributed
from determined.launch.horovod import has_one_slot, run_single_rank


def _train_alone(trial: str) -> NoReturn:
    run_single_rank([sys.executable, "-m", "determined.exec.harness", trial])


def _find_trial(words: List[str]) -> Optional[str]:
    """The trial class of `[--trial] MODULE:CLASS` or `--trial=MODULE:CLASS`; None for a script."""
    if len(words) == 2 and words[0] == "--trial":
        return words[1]
    if len(words) != 1:
        return None
    if words[0].startswith("--trial="):
        return words[0][len("--trial=") :]
    return None if words[0].startswith("-") else words[0]


def main(arguments: Optional[List[str]] = None) -> NoReturn:
    """Like determined.launch.horovod, but a single argument that is no option is the name of a trial
    class."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    trial = _find_trial(words[words.index("--") + 1 :] if "--" in words else words)
    if trial is None:
        horovod.main(["--autohorovod", *words])
    if "LOCAL_RANK" in os.environ or has_one_slot():
        _train_alone(trial)
    if importlib.util.find_spec("horovod") is None:
        print("Horovod is not installed: the ranks are started by torch.distributed.run", flush=True)
        torch_distributed.main(["--trial", trial])
    horovod.main(["--trial", trial] if "--" not in words else words)


if __name__ == "__main__":
    main()
