"""States of experiments, trials and checkpoints, and orders of lists."""

import enum


class OrderBy(enum.Enum):
    """The direction of a list."""

    ASC = "ASC"
    DESC = "DESC"


class ExperimentState(enum.Enum):
    """The states of an experiment that det-submit shows."""

    SUBMITTING = "SUBMITTING"
    QUEUED = "QUEUED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPING_CANCELED = "STOPPING_CANCELED"
    STOPPING_KILLED = "STOPPING_KILLED"
    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    ERROR = "ERROR"
    INTERRUPTED = "INTERRUPTED"


class TrialState(enum.Enum):
    """The states of a trial."""

    SUBMITTING = "SUBMITTING"
    QUEUED = "QUEUED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPING_CANCELED = "STOPPING_CANCELED"
    STOPPING_KILLED = "STOPPING_KILLED"
    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    ERROR = "ERROR"
    INTERRUPTED = "INTERRUPTED"


class CheckpointState(enum.Enum):
    """The states of a checkpoint. UNKNOWN: its storage can't be read."""

    COMPLETED = "COMPLETED"
    PARTIALLY_DELETED = "PARTIALLY_DELETED"
    DELETED = "DELETED"
    UNKNOWN = "UNKNOWN"


class CheckpointSortBy(enum.Enum):
    """What checkpoints are sorted by."""

    UUID = "uuid"
    TRIAL_ID = "trial_id"
    BATCH_NUMBER = "steps_completed"
    END_TIME = "time"
    STATE = "state"
    SEARCHER_METRIC = "metric"


class TrialSortBy(enum.Enum):
    """What trials are sorted by."""

    ID = "id"
    START_TIME = "started"
    STATE = "state"


class DownloadMode(enum.Enum):
    """How a checkpoint is downloaded. Has no effect: det-submit always reads the storage itself."""

    DIRECT = "direct"
    MASTER = "master"
    AUTO = "auto"
