"""Exceptions of wandb."""


class Error(Exception):
    """A call that can't be carried out."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message


class UsageError(Error):
    """A wrong call."""


class CommError(Error):
    """A call that needs wandb's server, or an artifact that this trial has not logged."""


class ConfigError(Error):
    """A wrong use of wandb.config."""
