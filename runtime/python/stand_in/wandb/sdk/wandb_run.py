"""The place of Run, which libraries import."""

from wandb._run import Run

__all__ = ["Run"]
