"""Checkpoints, under Determined's name for their module."""

from determined.experimental.checkpoint import *  # noqa: F403
from determined.experimental.checkpoint import __all__  # noqa: F401
