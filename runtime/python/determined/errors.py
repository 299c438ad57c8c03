"""Exceptions that users see, with Determined's names."""

from typing import Any, List


class InternalException(Exception):
    """A state of a trial that must not occur."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class EnterpriseOnlyError(Exception):
    """A feature that only the enterprise edition of Determined has."""


class InvalidExperimentException(BaseException):
    """The experiment can't run as it is written. As in Determined, `except Exception` does not catch it."""


class InvalidDataTypeException(InvalidExperimentException):
    """A data loader of a type that can't be used."""

    def __init__(self, typ: Any, message: str = "") -> None:
        super().__init__(": ".join(filter(None, [f"data of type {typ} can't be used", message])))


class InvalidConfigurationException(InvalidExperimentException):
    """A value of the configuration that can't be used.

    Attributes:
        config: the configuration
    """

    def __init__(self, config: Any, message: str) -> None:
        super().__init__(f"{message}\nthe configuration: {config}")
        self.config = config


class InvalidModelException(InvalidExperimentException):
    """A model that can't be used."""


class InvalidCheckpointException(Exception):
    """The files of a checkpoint can't be loaded."""


class CheckpointNotFound(Exception):
    """There is no checkpoint of this storage_id."""


class CheckpointStateException(Exception):
    """The checkpoint is not complete, or has been deleted."""


class NoDirectStorageAccess(Exception):
    """The storage of a checkpoint can't be read from here."""


class ProxiedDownloadFailed(Exception):
    """A checkpoint could not be downloaded through the master. det-submit always reads the storage itself."""


class MultipleDownloadsFailed(Exception):
    """All ways of downloading a checkpoint failed.

    Attributes:
        errors: the exception of each way
    """

    def __init__(self, errors: List[Exception]) -> None:
        super().__init__("; ".join(str(error) for error in errors))
        self.errors = errors


class StopLoadingImplementation(Exception):
    """Ends the loading of a trial class early."""


class WorkerError(Exception):
    """A rank has failed."""


class WorkerFinishedGracefully(Exception):
    """A rank has ended without an error."""


class SkipWorkloadException(Exception):
    """A workload is left out."""
