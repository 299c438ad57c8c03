"""python3 -m determined.launch.wrap_rank: labels the lines of a rank."""

import sys
from typing import List, NoReturn, Optional

from determined.launch._become import become

USAGE = """usage: python3 -m determined.launch.wrap_rank [--no-redirect-stdio] RANK [--] SCRIPT...

Runs SCRIPT with "[rank=N] " before each line that it prints. RANK is a number, or names of environment variables
separated by commas, of which the first that is set holds it."""


def main(arguments: Optional[List[str]] = None) -> NoReturn:
    """Replaces this process by det-wrap-rank."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--no-redirect-stdio"]:  # no effect: det-wrap-rank keeps its stdout and stderr
        del words[0]
    if words[:1] in (["-h"], ["--help"]):
        print(USAGE)
        sys.exit(0)
    if len(words) < 2 or words[0].startswith("-"):
        print(f"{USAGE}\nerror: a rank and a script are needed", file=sys.stderr)
        sys.exit(1)
    become("det-wrap-rank", words)


if __name__ == "__main__":
    main()
