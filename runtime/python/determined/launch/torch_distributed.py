"""python3 -m determined.launch.torch_distributed: starts ranks by torch.distributed.run."""

import sys
from typing import List, NoReturn, Optional

from determined.launch._become import launch

USAGE = """usage: python3 -m determined.launch.torch_distributed [[TORCHRUN_OPTION...] --] (--trial M:C | SCRIPT...)

Starts a rank of SCRIPT per slot by torch.distributed.run. `det-launch torch_distributed --help` says more."""


def main(arguments: Optional[List[str]] = None) -> NoReturn:
    """Replaces this process by det-launch torch_distributed."""
    launch("torch_distributed", sys.argv[1:] if arguments is None else arguments, USAGE)


if __name__ == "__main__":
    main()
