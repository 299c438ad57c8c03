"""python3 -m determined.launch.deepspeed: starts ranks by DeepSpeed's launcher."""

import sys
from typing import List, NoReturn, Optional

from determined.launch._become import launch

USAGE = """usage: python3 -m determined.launch.deepspeed [[DEEPSPEED_OPTION...] --] (--trial MODULE:CLASS | SCRIPT...)

Starts a rank of SCRIPT per slot by deepspeed. `det-launch deepspeed --help` says more."""


def main(arguments: Optional[List[str]] = None) -> NoReturn:
    """Replaces this process by det-launch deepspeed."""
    launch("deepspeed", sys.argv[1:] if arguments is None else arguments, USAGE)


if __name__ == "__main__":
    main()
