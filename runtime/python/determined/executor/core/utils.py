"""What an executor stores: paths, pickles, the submitted call; its errors; and commands as functions."""

import contextlib
import itertools
import os
import pathlib
import pickle
import secrets
import stat
import subprocess
import sys
import threading
import types
from typing import IO, Any, Callable, Dict, Iterator, List, Optional, Type, TypeVar, Union

try:
    import cloudpickle
except ImportError:
    cloudpickle = None

Path = Union[str, "os.PathLike[str]"]
_D = TypeVar("_D", bound="DelayedSubmission")

_WITHOUT_CLOUDPICKLE = (
    "without the package cloudpickle only functions and classes of importable modules can be submitted: "
    "install it (pip install cloudpickle; Debian: python3-cloudpickle), or move the function into a module"
)


class UncompletedJobError(RuntimeError):
    """The job has no result: it was cancelled, ended by Slurm, or interrupted."""


class FailedJobError(UncompletedJobError):
    """The function has raised an exception; the message has its traceback."""


class FailedSubmissionError(RuntimeError):
    """The job could not be submitted; the message has the words of sbatch."""


class _ImportableOnly(pickle.Pickler):
    """Refuses what the job could not import: pickle stores functions and classes by their names, and `__main__` is
    another module in the job."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (types.FunctionType, type)) and getattr(obj, "__module__", "") == "__main__":
            raise pickle.PicklingError(f"{obj.__qualname__} is defined in __main__")
        return NotImplemented


def _write_pickle(obj: Any, file: IO[bytes]) -> None:
    if cloudpickle is not None:
        cloudpickle.dump(obj, file, protocol=pickle.HIGHEST_PROTOCOL)
        return
    try:
        _ImportableOnly(file, protocol=pickle.HIGHEST_PROTOCOL).dump(obj)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise pickle.PicklingError(f"{error}; {_WITHOUT_CLOUDPICKLE}") from error


def dump_pickle(obj: Any, path: Path) -> None:
    """Replaces a file by a pickle, in one step, so that readers never see a part of it. Only its owner may read it."""
    path = pathlib.Path(path)
    # In a directory that others may write to, a file of that name would be theirs.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:
            _write_pickle(obj, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def load_pickle(path: Path) -> Any:
    """Reads a pickle. Loading one runs code that is in it, so the file must belong to this user, and nobody else may
    write it.

    Raises:
        PermissionError: the file is another user's, or others may write it
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.getuid():
            raise PermissionError(f"'{path}' belongs to user {status.st_uid}, so its pickle is not loaded")
        if not stat.S_ISREG(status.st_mode) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"others may write '{path}', so its pickle is not loaded (chmod go-w)")
        return pickle.load(file)


# submitit's names for them.
cloudpickle_dump = dump_pickle
pickle_load = load_pickle


class JobPaths:
    """The files of a job. `%j` in the folder stands for the job's id, `%t` for the rank.

    Attributes:
        job_id: the id, or None for paths with `%j` in them
        task_id: the rank
    """

    def __init__(self, folder: Path, job_id: Optional[str] = None, task_id: Optional[int] = None) -> None:
        self._folder = pathlib.Path(folder).expanduser().absolute()
        self.job_id = job_id
        self.task_id = task_id or 0

    def _path(self, name: str) -> pathlib.Path:
        text = str(self._folder / name)
        if self.job_id is not None:
            text = text.replace("%j", self.job_id).replace("%t", str(self.task_id))
        return pathlib.Path(text)

    @property
    def folder(self) -> pathlib.Path:
        """The directory of the job."""
        return self._path("")

    @property
    def submission_file(self) -> pathlib.Path:
        """The batch script."""
        return self._path("%j_submission.sh")

    @property
    def submitted_pickle(self) -> pathlib.Path:
        """The call, at first as it was submitted, later as checkpoint() has returned it."""
        return self._path("%j_submitted.pkl")

    @property
    def result_pickle(self) -> pathlib.Path:
        """What the function has returned or raised on this rank."""
        return self._path("%j_%t_result.pkl")

    @property
    def stderr(self) -> pathlib.Path:
        """The standard error of this rank."""
        return self._path("%j_%t_log.err")

    @property
    def stdout(self) -> pathlib.Path:
        """The standard output of this rank."""
        return self._path("%j_%t_log.out")

    @staticmethod
    def get_first_id_independent_folder(folder: Path) -> pathlib.Path:
        """The longest part of the folder's path that is the same for all jobs."""
        parts = pathlib.Path(folder).expanduser().absolute().parts
        return pathlib.Path(*itertools.takewhile(lambda part: "%j" not in part and "%t" not in part, parts))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.folder})"


def check_folder_of_ranks(folder: Path, ranks: int) -> None:
    """Refuses a folder for each rank: the call and the batch script are in one place, which all ranks know.

    Raises:
        ValueError: the folder has `%t`, and the job more than one rank
    """
    if ranks > 1 and "%t" in str(folder):
        raise ValueError(
            f"folder is {str(folder)!r}, and the job has {ranks} tasks: with %t each would look for the call in a folder of its own\n"
            "  hint: leave %t out; the names of a task's files have its number"
        )


class DelayedSubmission:
    """A call that is made later: `function(*args, **kwargs)`. What a checkpoint() method returns.

    Attributes:
        function, args, kwargs: the call
    """

    def __init__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self._result: Any = None
        self._done = False
        self._timeout_min: float = 0
        self._timeout_countdown = 0

    def result(self) -> Any:
        """Makes the call, at the first time, and returns what it has returned."""
        if not self._done:
            self._result = self.function(*self.args, **self.kwargs)
            self._done = True
        return self._result

    def done(self) -> bool:
        """Whether the call has been made."""
        return self._done

    def set_timeout(self, timeout_min: float, max_num_timeout: int) -> None:
        """Sets the time limit in minutes, and how often the job may still be queued again after reaching it."""
        self._timeout_min = timeout_min
        self._timeout_countdown = max_num_timeout

    def dump(self, filepath: Path) -> None:
        """Stores the call in a file."""
        dump_pickle(self, filepath)

    @classmethod
    def load(cls: Type[_D], filepath: Path) -> _D:
        """Loads a call from a file of this user.

        Raises:
            TypeError: the file has another object
            PermissionError: see load_pickle()
        """
        loaded = load_pickle(filepath)
        # A copy of the class in the user's own project will do, as for submitit.
        if type(loaded).__name__ != cls.__name__:
            raise TypeError(f"'{filepath}' has a {type(loaded).__name__} and no {cls.__name__}")
        call: _D = loaded
        return call

    def find_checkpoint(self) -> Optional[Callable[..., Any]]:
        """The method of the callable that prepares the call of the next run; None if it has none."""
        for name in ("__submitit_checkpoint__", "checkpoint"):
            method = getattr(self.function, name, None)
            if method is not None:
                return method  # type: ignore[no-any-return]
        return None


@contextlib.contextmanager
def environment_variables(**kwargs: Any) -> Iterator[None]:
    """Sets environment variables, and restores the former values at the end."""
    former = {name: os.environ.get(name) for name in kwargs}
    os.environ.update({name: str(value) for name, value in kwargs.items()})
    try:
        yield
    finally:
        for name, value in former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _copy_lines(source: IO[str], lines: List[str], target: Optional[IO[str]]) -> None:
    for line in source:
        lines.append(line)
        if target is not None:
            target.write(line)
            target.flush()


class CommandFunction:
    """A command as a function, which returns what the command prints to standard output.

    Args:
        command: the program and its arguments
        verbose: also prints the command and its output while it runs
        cwd: the directory in which it runs
        env: its environment, in place of that of this process
    """

    def __init__(
        self,
        command: List[str],
        verbose: bool = True,
        cwd: Optional[Path] = None,
        env: Optional[Dict[str, str]] = None,
    ) -> None:
        if not isinstance(command, list):
            raise TypeError("the command must be a list: the program, then its arguments")
        self.command = command
        self.verbose = verbose
        self.cwd = None if cwd is None else str(cwd)
        self.env = env

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        """Runs the command. args are added to it as words, kwargs as `--name=value`.

        Returns:
            its standard output, without white space at both ends

        Raises:
            FailedJobError: its exit code is not 0; the message has its standard error
        """
        words = [*self.command, *map(str, args), *(f"--{name}={value}" for name, value in kwargs.items())]
        if self.verbose:
            print(f"running {words}", flush=True)
        out: List[str] = []
        err: List[str] = []
        with subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env=self.env,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            reader = threading.Thread(
                target=_copy_lines, args=(process.stderr, err, sys.stderr if self.verbose else None), name="stderr"
            )
            reader.start()
            try:
                _copy_lines(process.stdout, out, sys.stdout if self.verbose else None)
            except BaseException:
                process.kill()
                raise
            finally:
                reader.join()
        if process.returncode != 0:
            text = "".join(err).strip()
            failed = subprocess.CalledProcessError(process.returncode, words, "".join(out), text)
            raise FailedJobError(f"{failed}\n{text}" if text else str(failed)) from failed
        return "".join(out).strip()
