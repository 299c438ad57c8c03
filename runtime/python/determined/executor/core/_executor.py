"""Executors: what submits calls."""

import abc
import contextlib
import difflib
import pathlib
import warnings
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple, Type, TypeVar

from determined.executor.core import utils
from determined.executor.core.core import Job

R = TypeVar("R")


def nearest_name(name: str, known: Iterable[str]) -> str:
    """": use 'NAME'" with the known name that is nearly this one; empty if there is none."""
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.75)
    return f": use '{found[0]}'" if found else ""


class DelayedJob(Job[R]):
    """A job that `with executor.batch()` will submit at its end. Until then it has no attributes."""

    def __init__(self, executor: "Executor") -> None:
        self._executor = executor

    def __getattr__(self, name: str) -> Any:
        executor = self.__dict__.get("_executor")
        if executor is None or name.startswith("__") or name == "_cancel_at_deletion":
            raise AttributeError(name)
        if not executor._allow_implicit_submissions:
            raise AttributeError(f"'{name}': the job is submitted at the end of `with executor.batch()`")
        executor._submit_delayed_batch()
        if isinstance(self, DelayedJob):
            raise AttributeError(f"'{name}': the submission of the job has failed")
        return getattr(self, name)

    def _become(self, job: Job[Any]) -> None:
        self.__dict__ = job.__dict__
        self.__class__ = type(job)  # type: ignore[assignment]

    def __repr__(self) -> str:
        return object.__repr__(self)

    def __del__(self) -> None:
        pass


# What Job itself has would be found before __getattr__ is asked.
for _name in [name for name in vars(Job) if not name.startswith("_") and name != "watcher"]:
    setattr(DelayedJob, _name, property(lambda self, name=_name: self.__getattr__(name)))  # type: ignore[misc]


class Executor(abc.ABC):
    """Submits calls. `with executor.batch()` and map_array() submit many at once.

    Args:
        folder: where the files of the jobs are kept; `%j` in it stands for a job's id
    """

    def __init__(self, folder: utils.Path, parameters: Optional[Dict[str, Any]] = None) -> None:
        self.folder = pathlib.Path(folder).expanduser().absolute()
        self.parameters: Dict[str, Any] = {} if parameters is None else parameters
        self._delayed_batch: Optional[List[Tuple[DelayedJob[Any], utils.DelayedSubmission]]] = None
        self._allow_implicit_submissions = False

    @classmethod
    def name(cls) -> str:
        """The name of this kind: slurm, local or debug."""
        return cls.__name__.replace("Executor", "").lower()

    @classmethod
    def affinity(cls) -> int:
        """How well this kind suits this machine: -1 not at all, 0 only if asked for, 1, 2 best."""
        return 1

    @classmethod
    def _valid_parameters(cls) -> Set[str]:
        """What update_parameters() takes."""
        return set()

    def _convert_parameters(self, params: Dict[str, Any]) -> Dict[str, Any]:
        """Renames the parameters that all kinds have to those of this one."""
        return params

    def submit(self, fn: Callable[..., R], *args: Any, **kwargs: Any) -> Job[R]:
        """Submits `fn(*args, **kwargs)`.

        Raises:
            FailedSubmissionError: the scheduler refuses it
            pickle.PicklingError: the call can't be sent to the job
        """
        submission = utils.DelayedSubmission(fn, *args, **kwargs)
        if self._delayed_batch is None:
            return self._internal_process_submissions([submission])[0]
        job: DelayedJob[R] = DelayedJob(self)
        self._delayed_batch.append((job, submission))
        return job

    def map_array(self, fn: Callable[..., R], *iterable: Iterable[Any]) -> List[Job[R]]:
        """Submits `fn` with the first elements of all iterables, with the second ones, and so on, as one array."""
        return self._submit_all([utils.DelayedSubmission(fn, *args) for args in zip(*iterable)])

    def submit_array(self, fns: Sequence[Callable[[], R]]) -> List[Job[R]]:
        """Submits functions without arguments, as one array."""
        return self._submit_all([utils.DelayedSubmission(fn) for fn in fns])

    def _submit_all(self, submissions: List[utils.DelayedSubmission]) -> List[Job[Any]]:
        if self._delayed_batch is not None:
            raise RuntimeError("inside of `with executor.batch()` call submit(): the batch itself is an array")
        if not submissions:
            warnings.warn("Received an empty job array", stacklevel=3)
            return []
        return self._internal_process_submissions(submissions)

    @contextlib.contextmanager
    def batch(self, allow_implicit_submissions: bool = False) -> Iterator[None]:
        """All submissions inside of this context are submitted as one array, at its end. If an exception leaves it,
        nothing is submitted.

        Args:
            allow_implicit_submissions: the use of a job's attribute submits what there is so far; otherwise it is an
                AttributeError
        """
        if self._delayed_batch is not None:
            raise RuntimeError('Nesting "with executor.batch()" contexts is not allowed.')
        self._allow_implicit_submissions = allow_implicit_submissions
        self._delayed_batch = []
        try:
            yield
            self._submit_delayed_batch()
        finally:
            self._delayed_batch = None

    def _submit_delayed_batch(self) -> None:
        if not self._delayed_batch:
            if not self._allow_implicit_submissions:
                warnings.warn(
                    'No submission happened during "with executor.batch()" context.', RuntimeWarning, stacklevel=4
                )
            return
        delayed, self._delayed_batch = self._delayed_batch, []
        for (job, _), submitted in zip(delayed, self._internal_process_submissions([each for _, each in delayed])):
            job._become(submitted)

    def update_parameters(self, **kwargs: Any) -> None:
        """Sets parameters of later submissions. A parameter that does not exist, or has no effect, is an error."""
        if self._delayed_batch is not None:
            raise RuntimeError('Changing parameters within batch context "with executor.batch():" is not allowed')
        self._internal_update_parameters(**kwargs)

    def _internal_update_parameters(self, **kwargs: Any) -> None:
        self.parameters.update(kwargs)

    @abc.abstractmethod
    def _internal_process_submissions(self, submissions: Sequence[utils.DelayedSubmission]) -> List[Job[Any]]:
        """Submits calls, several ones as an array."""


class PicklingExecutor(Executor):
    """An executor whose jobs load a pickle of their call.

    Args:
        folder: where the files of the jobs are kept
        max_num_timeout: how often a job is queued again after it has reached its time limit
        max_pickle_size_gb: a submission whose pickles are together larger is an error
    """

    job_class: Type[Job[Any]]

    def __init__(self, folder: utils.Path, max_num_timeout: int = 3, max_pickle_size_gb: float = 1.0) -> None:
        super().__init__(folder)
        self.max_num_timeout = max_num_timeout
        self.max_pickle_size_gb = max_pickle_size_gb

    def _check_size(self, pickle_file: pathlib.Path, count: int) -> None:
        size_gb = pickle_file.stat().st_size * count / 2**30
        if size_gb > self.max_pickle_size_gb:
            raise RuntimeError(
                f"the pickles of {count} calls have about {size_gb:.2f} GB: give the function the path of a file with "
                f"its data, or raise executor.max_pickle_size_gb (now {self.max_pickle_size_gb})"
            )
