"""python3 -m determined.launch.jax: starts the processes of a JAX program, which find each other by jax.distributed."""

import sys
from typing import List, NoReturn, Optional

from determined.launch._become import launch

USAGE = """usage: python3 -m determined.launch.jax [--processes-per-node COUNT] [--] SCRIPT...

Starts SCRIPT once per slot, or COUNT times per node. `det-launch jax --help` says more."""


def main(arguments: Optional[List[str]] = None) -> NoReturn:
    """Replaces this process by det-launch jax."""
    launch("jax", sys.argv[1:] if arguments is None else arguments, USAGE)


if __name__ == "__main__":
    main()
