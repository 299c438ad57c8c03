"""The program of a job: `python -m determined.executor._run FOLDER` loads the call, makes it, and stores the result."""

import contextlib
import logging
import pathlib
import sys
import traceback

from determined.executor._interruption import SignalHandler
from determined.executor.core import utils
from determined.executor.core.job_environment import JobEnvironment

_LOG = logging.getLogger("determined.executor")


def process_job(folder: utils.Path) -> None:
    """Runs the job of this process, and stores what its function returns, or the traceback of what it raises.

    Raises:
        Exception: what the function has raised
    """
    env = JobEnvironment()
    paths = utils.JobPaths(folder, env.job_id, env.global_rank)
    _LOG.info("%s begins", env)
    handler = None
    try:
        with contextlib.suppress(FileNotFoundError):  # of this rank in a run before, which rank 0 has ended by a requeue
            paths.result_pickle.unlink()
        submission = utils.DelayedSubmission.load(paths.submitted_pickle)
        handler = SignalHandler(env, paths, submission)
        handler.install()
        result = submission.result()
        handler.finish()
        utils.dump_pickle(("success", result), paths.result_pickle)
    except BaseException as error:
        if handler is not None and handler.exits:
            raise  # the job is queued again: there is no result yet
        # After the announcement rank 0 may have ended, and this rank has lost it. Rank 0 says how the job ends.
        if handler is not None and handler.is_announced and env.global_rank != 0:
            _LOG.exception("job %s, rank %d: an error after the announced end of the job", env.job_id, env.global_rank)
            raise
        if isinstance(error, (Exception, SystemExit)):
            utils.dump_pickle(("error", traceback.format_exc()), paths.result_pickle)
        raise
    _LOG.info("job %s, rank %d, has ended", env.job_id, env.global_rank)


def main() -> None:
    """Runs the job. Its log is in its standard output, and warnings in standard error too."""
    for stream, level in ((sys.stdout, logging.INFO), (sys.stderr, logging.WARNING)):
        handler = logging.StreamHandler(stream)
        handler.setLevel(level)
        handler.setFormatter(logging.Formatter("executor %(levelname)s %(asctime)s: %(message)s"))
        _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)
    _LOG.propagate = False
    process_job(pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    main()
