"""The executor that suits the machine, or the one that is named."""

import warnings
from typing import Any, Dict, List, Optional, Sequence, Type

from determined.executor.core import utils
from determined.executor.core._executor import Executor, nearest_name
from determined.executor.core.core import Job
from determined.executor.debug import DebugExecutor
from determined.executor.local import LocalExecutor
from determined.executor.slurm import SlurmExecutor

_EXECUTORS: Dict[str, Type[Executor]] = {"slurm": SlurmExecutor, "local": LocalExecutor, "debug": DebugExecutor}
_GENERIC: Dict[str, Any] = {
    "name": str,
    "timeout_min": (int, float),
    "mem_gb": (int, float),
    "nodes": int,
    "cpus_per_task": int,
    "gpus_per_node": int,
    "tasks_per_node": int,
    "stderr_to_stdout": bool,
}


class AutoExecutor(Executor):
    """Submits to Slurm where there is one, else runs functions on this machine.

    Args:
        folder: where the files of the jobs are kept
        cluster: "slurm", "local" or "debug"; None: what suits this machine
        kwargs: arguments of an executor, with its name in front: slurm_max_num_timeout=2

    Raises:
        ValueError: there is no such cluster or argument
    """

    def __init__(self, folder: utils.Path, cluster: Optional[str] = None, **kwargs: Any) -> None:
        self.cluster = cluster or self.which()
        if self.cluster not in _EXECUTORS:
            raise ValueError(f"cluster is '{self.cluster}': set it to {', '.join(_EXECUTORS)}")
        if "max_num_timeout" in kwargs:
            warnings.warn("Setting 'max_num_timeout' is deprecated. Use 'slurm_max_num_timeout' instead.", stacklevel=2)
            kwargs["slurm_max_num_timeout"] = kwargs.pop("max_num_timeout")
        own: Dict[str, Any] = {}
        for name, value in kwargs.items():
            prefix, _, argument = name.partition("_")
            if prefix not in _EXECUTORS or not argument:
                raise ValueError(f"'{name}': arguments begin with the name of an executor: {', '.join(_EXECUTORS)}")
            if prefix == self.cluster:
                own[argument] = value
        self._executor = _EXECUTORS[self.cluster](folder, **own)
        super().__init__(self._executor.folder, self._executor.parameters)

    @staticmethod
    def which() -> str:
        """The name of the executor that suits this machine."""
        return max(_EXECUTORS, key=lambda name: _EXECUTORS[name].affinity())

    def register_dev_folders(self, folders: List[utils.Path]) -> None:
        """Refused: jobs run in the directory from which they are submitted.

        Raises:
            NotImplementedError: always
        """
        raise NotImplementedError(
            "register_dev_folders: jobs run in the directory from which they are submitted, with its PYTHONPATH"
        )

    def _internal_update_parameters(self, **kwargs: Any) -> None:
        """Sets parameters: those that all executors have, and `EXECUTOR_NAME` for NAME of one. Those of another executor than
        the chosen one are checked and left out.

        Raises:
            NameError: there is no such parameter
            TypeError: a value of a wrong type
        """
        shared: Dict[str, Any] = {}
        own: Dict[str, Any] = {}
        mistakes: List[str] = []
        known = {*_GENERIC, *(f"{each}_{one}" for each in _EXECUTORS for one in _EXECUTORS[each]._valid_parameters() | set(_GENERIC))}
        for name, value in kwargs.items():
            prefix, _, parameter = name.partition("_")
            if name in _GENERIC:
                self._add_shared(shared, name, value)
            elif prefix not in _EXECUTORS:
                fitting = [each for each in _EXECUTORS if name in _EXECUTORS[each]._valid_parameters()]
                if not fitting:
                    mistakes.append(f"there is no parameter '{name}'{nearest_name(name, known)}")
                    continue
                owner = self.cluster if self.cluster in fitting else fitting[0]
                warnings.warn(f"Setting '{name}' is deprecated. Use '{owner}_{name}' instead.", stacklevel=4)
                if owner == self.cluster:
                    own[name] = value
            elif parameter not in _EXECUTORS[prefix]._valid_parameters() | set(_GENERIC):
                own_names = [each for each in known if each.startswith(f"{prefix}_")]
                mistakes.append(f"the executor {prefix} has no parameter '{parameter}' ('{name}'){nearest_name(name, own_names)}")
            elif prefix == self.cluster:
                own[parameter] = value
        if mistakes:
            mistakes.append(f"Parameters of all executors: {', '.join(sorted(_GENERIC))}; executors: {', '.join(_EXECUTORS)}")
            raise NameError("\n".join(mistakes))
        # What is set for this executor wins, under each of its two names.
        converted = self._executor._convert_parameters(shared)
        converted.update(self._executor._convert_parameters({name: own[name] for name in own if name in _GENERIC}))
        converted.update({name: own[name] for name in own if name not in _GENERIC})
        if converted:
            self._executor._internal_update_parameters(**converted)

    def _add_shared(self, shared: Dict[str, Any], name: str, value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, _GENERIC[name]) or (isinstance(value, bool) and _GENERIC[name] is not bool):
            raise TypeError(f"{name} is {value!r}, of type {type(value).__name__}")
        if self.cluster != "slurm" and name not in self._executor._valid_parameters():
            # A program that runs on Slurm too must be able to set it.
            warnings.warn(f"{name} has no effect with cluster='{self.cluster}'", stacklevel=5)
            return
        shared[name] = value

    def _internal_process_submissions(self, submissions: Sequence[utils.DelayedSubmission]) -> List[Job[Any]]:
        return self._executor._internal_process_submissions(submissions)
