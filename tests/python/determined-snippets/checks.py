"""What the programs here share."""

import sys

EXPERIMENT_ID = int(sys.argv[1]) if len(sys.argv) > 1 else 0


def check(got, expected):
    if got != expected:
        raise SystemExit(f"{got!r} and not {expected!r}")
