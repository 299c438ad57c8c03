"""States of experiments, trials and checkpoints, and orders of lists."""

import enum


class OrderBy(enum.Enum):
    """The direction of a list."""

    ASC = "ASC"
    DESC = "DESC"
    ASCENDING = "ASC"
    DESCENDING = "DESC"


class ExperimentState(enum.Enum):
    """The states of an experiment. One that trains is RUNNING, never ACTIVE."""

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

    # Of Determined; det-submit shows another state in their place.
    UNSPECIFIED = "UNSPECIFIED"
    ACTIVE = "ACTIVE"
    PULLING = "PULLING"
    STOPPING_COMPLETED = "STOPPING_COMPLETED"
    STOPPING_ERROR = "STOPPING_ERROR"
    DELETING = "DELETING"
    DELETE_FAILED = "DELETE_FAILED"
    DELETED = "DELETED"


class TrialState(enum.Enum):
    """The states of a trial. One that trains is RUNNING, never ACTIVE."""

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

    # Of Determined; det-submit shows another state in their place.
    UNSPECIFIED = "UNSPECIFIED"
    ACTIVE = "ACTIVE"
    PULLING = "PULLING"
    STOPPING_COMPLETED = "STOPPING_COMPLETED"
    STOPPING_ERROR = "STOPPING_ERROR"
    DELETING = "DELETING"
    DELETE_FAILED = "DELETE_FAILED"
    DELETED = "DELETED"


class CheckpointState(enum.Enum):
    """The states of a checkpoint. UNKNOWN: its storage can't be read."""

    COMPLETED = "COMPLETED"
    PARTIALLY_DELETED = "PARTIALLY_DELETED"
    DELETED = "DELETED"
    UNKNOWN = "UNKNOWN"

    # Of Determined; no checkpoint of det-submit has them.
    UNSPECIFIED = "UNSPECIFIED"
    ACTIVE = "ACTIVE"
    ERROR = "ERROR"


class ExperimentSortBy(enum.Enum):
    """What experiments are sorted by."""

    ID = "id"
    NAME = "name"
    DESCRIPTION = "description"
    START_TIME = "started"
    END_TIME = "ended"
    STATE = "state"
    NUM_TRIALS = "trials"
    PROGRESS = "progress"
    USER = "owner"
    FORKED_FROM = "parent_id"
    RESOURCE_POOL = "resource_pool"
    CHECKPOINT_SIZE = "checkpoint_size"
    CHECKPOINT_COUNT = "checkpoint_count"
    SEARCHER_METRIC_VAL = "best_trial"
    UNSPECIFIED = "id"
    PROJECT_ID = "id"  # det-submit has no numbers of projects


class CheckpointSortBy(enum.Enum):
    """What checkpoints are sorted by."""

    UUID = "uuid"
    TRIAL_ID = "trial_id"
    BATCH_NUMBER = "steps_completed"
    END_TIME = "time"
    STATE = "state"
    SEARCHER_METRIC = "metric"
    UNSPECIFIED = "uuid"


class TrialSortBy(enum.Enum):
    """What trials are sorted by."""

    ID = "id"
    START_TIME = "started"
    END_TIME = "ended"
    STATE = "state"
    DURATION = "duration"
    RESTARTS = "restarts"
    BEST_VALIDATION_METRIC = "best_validation"
    LATEST_VALIDATION_METRIC = "latest_validation"
    BATCHES_PROCESSED = "batches"
    CHECKPOINT_SIZE = "checkpoint_size"
    UNSPECIFIED = "id"
    LOG_RETENTION_DAYS = "id"  # that of the experiment, so the same for all of its trials


ModelOrderBy = OrderBy


class ModelSortBy(enum.Enum):
    """What models are sorted by. WORKSPACE means their names: det-submit has no workspaces of models."""

    NAME = "name"
    DESCRIPTION = "description"
    CREATION_TIME = "creation_time"
    LAST_UPDATED_TIME = "last_updated_time"
    NUM_VERSIONS = "num_versions"
    UNSPECIFIED = "name"
    WORKSPACE = "name"


class LogLevel(enum.Enum):
    """How severe a line of a log is."""

    TRACE = "trace"
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class DownloadMode(enum.Enum):
    """How a checkpoint is downloaded. Has no effect: det-submit always reads the storage itself."""

    DIRECT = "direct"
    MASTER = "master"
    AUTO = "auto"
