"""The former module of Run, from which some libraries import it."""

from wandb._run import Run

__all__ = ["Run"]
