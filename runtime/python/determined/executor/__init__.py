"""Python functions as jobs of Slurm, with the names of submitit.

    from determined import executor as submitit

    executor = submitit.AutoExecutor(folder="logs/%j")
    executor.update_parameters(timeout_min=60, slurm_partition="gpu", gpus_per_node=1)
    job = executor.submit(train, 0.1)
    print(job.job_id, job.result())
"""

from determined.executor import core, helpers
from determined.executor.auto import AutoExecutor
from determined.executor.core._executor import Executor
from determined.executor.core.core import Job
from determined.executor.core.job_environment import JobEnvironment
from determined.executor.core.utils import FailedJobError, FailedSubmissionError, UncompletedJobError
from determined.executor.debug import DebugExecutor, DebugJob
from determined.executor.local import LocalExecutor, LocalJob
from determined.executor.slurm import SlurmExecutor, SlurmJob

__all__ = [
    "AutoExecutor",
    "DebugExecutor",
    "DebugJob",
    "Executor",
    "FailedJobError",
    "FailedSubmissionError",
    "Job",
    "JobEnvironment",
    "LocalExecutor",
    "LocalJob",
    "SlurmExecutor",
    "SlurmJob",
    "UncompletedJobError",
    "core",
    "helpers",
]
