"""python3 -m determined.launch.tensorflow: starts a process per node; TF_CONFIG names the nodes."""

import sys
from typing import List, NoReturn, Optional

from determined.launch._become import launch

USAGE = """usage: python3 -m determined.launch.tensorflow [--port PORT] [--] SCRIPT...

Starts SCRIPT once per node, with TF_CONFIG. `det-launch tensorflow --help` says more."""


def main(arguments: Optional[List[str]] = None) -> NoReturn:
    """Replaces this process by det-launch tensorflow."""
    launch("tensorflow", sys.argv[1:] if arguments is None else arguments, USAGE)


if __name__ == "__main__":
    main()
