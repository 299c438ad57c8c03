"""Jobs, executors and what they store, in modules named as those of submitit."""

from determined.executor.core import core, job_environment, utils

__all__ = ["core", "job_environment", "utils"]
