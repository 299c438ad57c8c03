"""Runs the commands of Slurm: sbatch, squeue, sacct, scontrol, scancel."""

import logging
import os
import re
import shutil
import subprocess
from typing import Dict, Iterable, List, Optional, Set

from determined.executor.core.utils import FailedSubmissionError

_LOG = logging.getLogger("determined.executor")
# Variables by which a user or a site says who pays, and where and how jobs may run. Those of a surrounding job would
# become part of a new one.
_POLICY = frozenset(
    "SLURM_CONF SLURM_JWT SBATCH_ACCOUNT SBATCH_WCKEY SBATCH_QOS SBATCH_TIMELIMIT SBATCH_RESERVATION".split()
)
_OF_A_JOB = ("SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "SALLOC_", "SPANK_", "PMI_", "PMI2_", "PMIX_", "DET_RUN_", "DET_EXECUTOR_")
_LIMIT_S = 60


def clean_environment(environment: Dict[str, str]) -> Dict[str, str]:
    """The environment without what describes a surrounding job."""
    kept = {name: value for name, value in environment.items() if name in _POLICY or not name.startswith(_OF_A_JOB)}
    kept.pop("SUBMITIT_EXECUTOR", None)
    return kept


def _environment_for_reading() -> Dict[str, str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SQUEUE_", "SACCT_", "SCONTROL_", "SCANCEL_"))
    }
    environment.pop("SLURM_CLUSTERS", None)
    environment["SLURM_TIME_FORMAT"] = "%s"  # seconds since 1970
    return environment


def _run(words: List[str], environment: Dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=_LIMIT_S,
        check=False,
    )


def has_slurm() -> bool:
    """Whether sbatch is in PATH."""
    return shutil.which("sbatch") is not None


def submit(script: str, hold: bool) -> str:
    """Runs sbatch. Returns the job's id.

    Raises:
        FailedSubmissionError: sbatch refuses the script, is not there, or does not end
    """
    words = ["sbatch", "--parsable", *(["--hold"] if hold else []), script]
    try:
        done = _run(words, clean_environment(dict(os.environ)))
    except OSError as error:
        raise FailedSubmissionError(f"sbatch can't be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise FailedSubmissionError(
            f"{error}. The job may be submitted all the same{', and held' if hold else ''}\n"
            "  hint: look for it by `squeue --me`, and cancel it by `scancel JOB`"
        ) from error
    if done.returncode != 0:
        raise FailedSubmissionError(f"sbatch refuses '{script}': {done.stderr.strip() or done.stdout.strip()}")
    # A site's filters may print lines of their own; the id may be followed by `;CLUSTER`.
    for line in done.stdout.splitlines():
        found = re.fullmatch(r"(\d+)(;\S+)?", line.strip())
        if found is not None:
            return found.group(1)
    raise FailedSubmissionError(f"sbatch has printed no job id but '{done.stdout.strip()}'")


def release(job_id: str) -> None:
    """Lets a held job start.

    Raises:
        FailedSubmissionError: Slurm refuses, or does not answer
    """
    refusal = call_scontrol(["release", job_id])
    if refusal:
        raise FailedSubmissionError(f"job {job_id} can't be released: {refusal}")


def cancel_failed(job_id: str) -> None:
    """Cancels a job whose submission has failed. Logs an error if it may still be there."""
    refusal = _say_error(["scancel", job_id])
    if refusal:
        _LOG.error("job %s may be left, and held: it can't be cancelled: %s; hint: scancel %s", job_id, refusal, job_id)


def _read_rows(text: str) -> Dict[str, Dict[str, str]]:
    rows = (line.split("|") for line in text.splitlines())
    return {row[0]: dict(zip(("JobID", "State", "NodeList"), row)) for row in rows if len(row) == 3}


def query_jobs(job_ids: Set[str]) -> Dict[str, Dict[str, str]]:
    """JobID, State and NodeList of jobs. squeue knows all that wait or run, and for some minutes those that have
    ended; sacct, where the site has accounting, the older ones. Those that neither knows are left out.

    Raises:
        subprocess.CalledProcessError, subprocess.TimeoutExpired, OSError: Slurm does not answer
    """
    arrays = ",".join(sorted({job.partition("_")[0] for job in job_ids}))
    environment = _environment_for_reading()
    # %i of --array is ARRAY_TASK for each task, also for those that wait.
    words = ["squeue", "--noheader", "--array", "--states=all", "--format=%i|%T|%N", f"--jobs={arrays}"]
    done = _run(words, environment)
    if done.returncode != 0 and "Invalid job id" not in done.stderr:
        raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr.strip())
    found = _read_rows(done.stdout)
    if not job_ids <= set(found) and shutil.which("sacct") is not None:
        words = ["sacct", "--allocations", "--noheader", "--parsable2", "--format=JobID,State,NodeList", f"--jobs={arrays}"]
        done = _run(words, environment)
        if done.returncode == 0:  # not where the site has no accounting
            found = {**_read_rows(done.stdout), **found}
    return {job: found[job] for job in job_ids & set(found)}


def query_own_job(job_id: str) -> Optional[Dict[str, str]]:
    """The fields of `scontrol show job`; None if Slurm does not answer. Times are seconds since 1970."""
    try:
        done = _run(["scontrol", "--oneliner", "show", "job", job_id], _environment_for_reading())
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    return dict(re.findall(r"(\w+)=(\S*)", lines[0])) if done.returncode == 0 and lines else None


def call_scontrol(words: Iterable[str]) -> str:
    """Runs scontrol. Returns what it says of an error; empty if there is none."""
    return _say_error(["scontrol", *words])


def _say_error(words: List[str]) -> str:
    try:
        done = _run(words, _environment_for_reading())
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"
