"""python3 -m determined.launch.autohorovod: horovodrun if there are several slots."""

import sys
from typing import List, NoReturn, Optional

from determined.launch import horovod


def main(arguments: Optional[List[str]] = None) -> NoReturn:
    """As determined.launch.horovod. A single argument that is no option is the name of a trial class."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) == 1 and not words[0].startswith("-"):
        words.insert(0, "--trial")
    horovod.main(["--autohorovod", *words])


if __name__ == "__main__":
    main()
