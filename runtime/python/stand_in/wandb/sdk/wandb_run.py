"""The module from which libraries import Run."""

from wandb._run import Run

__all__ = ["Run"]
