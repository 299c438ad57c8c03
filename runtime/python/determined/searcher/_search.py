"""A search of a SearchMethod between two events: its operations become answers of the protocol of samplers.

An answer names a file with the state of the search after it. The supervisor records the answer, and with it the name; a file whose
answer is not recorded is never read. So each event happens once, however often a process is killed.
"""

import hashlib
import io
import json
import logging
import os
import pathlib
import pickle
import random
import sys
import tempfile
import time
import uuid
import zipfile
from typing import Any, Dict, List, NamedTuple, Optional, Set

from determined import _sampler
from determined.searcher._search_method import (
    Close,
    Create,
    ExitedReason,
    Operation,
    Progress,
    SearcherState,
    SearchMethod,
    Shutdown,
    ValidateAfter,
)

logger = logging.getLogger("determined.searcher")

_REASONS = {
    "failed": ExitedReason.ERRORED,
    "canceled": ExitedReason.USER_CANCELED,
    "invalid": ExitedReason.INVALID_HP,
}
_KEPT_S = 600  # another process may be asked from an older state


class _Created(NamedTuple):
    """A trial that was created. It begins when it has a length."""

    request_id: uuid.UUID
    hparams: Dict[str, Any]


class Search:
    """The search of a request, and what its method has answered."""

    def __init__(self, method: SearchMethod, request: _sampler.Request, directory: pathlib.Path) -> None:
        self._method = method
        self._request = request
        self._directory = directory / "method"
        self._state = SearcherState()
        self._waiting: List[_Created] = []  # created, and not begun
        self._lengths: Dict[uuid.UUID, List[int]] = {}  # that a trial has not been given yet
        self._given: Dict[int, int] = {}  # the last length of each trial
        self._trials: Dict[int, uuid.UUID] = {}
        self._training: Set[int] = set()  # trials that have a length, and no event tells yet that they have reached it
        self._is_new = request.state is None
        self._answer: Dict[str, Any] = {"lengths": {}, "close": []}
        if self._is_new:
            self._state.experiment_id = request.experiment
        else:
            self._load(request.state["file"])

    def answer(self) -> Dict[str, Any]:
        """Handles the event of the request and returns the answer to it."""
        if self._is_new:
            self._apply(self._method.initial_operations(self._state))
        if self._request.question == "trained":
            self._on_trained()
        elif self._request.question == "exited":
            self._exit_early(self._trial_line().state)
        if self._request.question == "begin":
            self._begin()
        if self._state.experiment_completed and "hyperparameters" not in self._answer:
            self._answer["stop"] = "the search method has shut down the search"
        if self._answer.get("wait"):
            return {"wait": True}
        self._state.last_event_id += 1
        created = [each for each in self._waiting if self._lengths.get(each.request_id)]
        self._answer["can_begin"] = len(self._trials) + len(created)
        self._check_count(self._answer["can_begin"])
        self._answer["state"] = {"file": self._save()}
        return self._answer

    def _check_count(self, trials: int) -> None:
        if trials > self._request.max_trials:
            raise ValueError(
                f"the search method creates {trials} trials: more than searcher.max_trials, {self._request.max_trials}"
            )

    def _trial_line(self) -> _sampler.Trial:
        return next(trial for trial in self._request.trials if trial.trial == self._request.trial)

    def _on_trained(self) -> None:
        trial = self._trial_line()
        request_id = self._trials[trial.trial]
        self._training.discard(trial.trial)
        if not trial.validations:
            logger.error("trial %s has reported no %s", trial.trial, self._request.searcher["metric"])
            self._answer["close"].append(trial.trial)
            return self._exit_early("failed")
        self._state.trial_progress[request_id] = 1.0
        self._apply(
            self._method.on_validation_completed(
                self._state, request_id, trial.validations[-1][1], self._given[trial.trial]
            )
        )
        if not self._state.experiment_completed:
            print(f"progress: {self._method.progress(self._state):.3f}", file=sys.stderr)
        self._give_length(trial.trial)
        return None

    def _exit_early(self, state: str) -> None:
        request_id = self._trials[self._request.trial]
        reason = _REASONS.get(state, ExitedReason.ERRORED)
        if reason is ExitedReason.INVALID_HP:
            self._state.trial_progress.pop(request_id, None)
        elif reason is ExitedReason.ERRORED:
            self._state.failures.add(request_id)
        self._lengths.pop(request_id, None)
        self._training.discard(self._request.trial)
        self._apply(self._method.on_trial_exited_early(self._state, request_id, reason))

    def _begin(self) -> None:
        if self._state.experiment_completed:
            return
        index = self._request.trial
        for position, created in enumerate(self._waiting):
            if self._lengths.get(created.request_id):
                del self._waiting[position]
                self._trials[index] = created.request_id
                self._answer["hyperparameters"] = created.hparams
                self._give_length(index)
                return
        self._answer["wait"] = True

    def _give_length(self, index: int) -> None:
        """Gives the trial its next length, if the method has said one and the trial does not train."""
        lengths = self._lengths.get(self._trials[index], [])
        if lengths and index not in self._training and index not in self._answer["close"]:
            self._given[index] = lengths.pop(0)
            self._answer["lengths"][str(index)] = self._given[index]
            self._training.add(index)

    def _index_of(self, request_id: uuid.UUID) -> Optional[int]:
        return next((index for index, known in self._trials.items() if known == request_id), None)

    def _apply(self, operations: List[Operation]) -> None:
        """Carries out operations, and those that follow from the events which they cause."""
        remaining = list(operations)
        while remaining:
            remaining += self._carry_out(remaining.pop(0))

    def _carry_out(self, operation: Operation) -> List[Operation]:
        if isinstance(operation, Create):
            self._waiting.append(_Created(operation.request_id, json.loads(operation.hparams)))
            self._state.trials_created.add(operation.request_id)
            self._state.trial_progress[operation.request_id] = 0.0
            return self._method.on_trial_created(self._state, operation.request_id) or []
        if isinstance(operation, ValidateAfter):
            self._validate_after(operation)
        elif isinstance(operation, Close):
            return self._close(operation.request_id)
        elif isinstance(operation, Progress):
            print(f"progress: {operation.progress:.3f}", file=sys.stderr)
        elif isinstance(operation, Shutdown):
            self._state.experiment_completed = True
        else:
            raise TypeError(f"{type(operation).__name__} is no operation of a search method")
        return []

    def _validate_after(self, operation: ValidateAfter) -> None:
        if operation.request_id not in self._state.trials_created:
            raise ValueError(f"ValidateAfter: no trial was created with the request_id {operation.request_id}")
        if operation.request_id in self._state.trials_closed:
            raise ValueError(f"ValidateAfter: the trial {operation.request_id} is closed")
        if operation.length < 1:
            raise ValueError(f"ValidateAfter: a trial can't train to length {operation.length}")
        self._lengths.setdefault(operation.request_id, []).append(int(operation.length))
        index = self._index_of(operation.request_id)
        if index is not None:
            self._give_length(index)

    def _close(self, request_id: uuid.UUID) -> List[Operation]:
        if request_id in self._state.trials_closed:
            return []
        self._state.trials_closed.add(request_id)
        self._lengths.pop(request_id, None)
        self._waiting = [created for created in self._waiting if created.request_id != request_id]
        index = self._index_of(request_id)
        if index is not None and index not in self._answer["close"]:
            self._answer["close"].append(index)
        return self._method.on_trial_closed(self._state, request_id) or []

    # What is kept between two events.

    def _save(self) -> str:
        """Saves the state and returns the name of its file, which is the hash of what is in it."""
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name)
            self._method.save(self._state, path, experiment_id=self._request.experiment)
            kept = {
                "waiting": [(str(each.request_id), each.hparams) for each in self._waiting],
                "lengths": {str(request_id): lengths for request_id, lengths in self._lengths.items()},
                "given": self._given,
                "training": sorted(self._training),
                "trials": {index: str(request_id) for index, request_id in self._trials.items()},
            }
            (path / "det_search.json").write_text(json.dumps(kept))
            (path / "det_random").write_bytes(pickle.dumps(_random_states()))
            if not _keeps_itself(self._method):
                (path / "det_method").write_bytes(_pickle_method(self._method))
            text = io.BytesIO()
            with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in sorted(path.rglob("*")):
                    if file.is_file():
                        archive.writestr(zipfile.ZipInfo(str(file.relative_to(path))), file.read_bytes())
        content = text.getvalue()
        name = hashlib.sha256(content).hexdigest()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._directory, prefix=".new-", delete=False) as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(out.name, self._directory / name)
        self._remove_old(name)
        return name

    def _remove_old(self, name: str) -> None:
        kept = {name, (self._request.state or {}).get("file")}
        for file in self._directory.iterdir():
            try:
                if file.name not in kept and time.time() - file.stat().st_mtime > _KEPT_S:
                    file.unlink()
            except OSError:
                pass  # another process has removed it

    def _load(self, name: str) -> None:
        content = (self._directory / name).read_bytes()
        if hashlib.sha256(content).hexdigest() != name:
            raise ValueError(f"the state of the search '{self._directory / name}' is damaged")
        with tempfile.TemporaryDirectory() as unpacked:
            path = pathlib.Path(unpacked)
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                archive.extractall(path)
            if (path / "det_method").exists():
                self._method.__dict__.update(pickle.loads((path / "det_method").read_bytes()))
            self._state, _ = self._method.load(path)
            kept = json.loads((path / "det_search.json").read_text())
            _set_random_states(pickle.loads((path / "det_random").read_bytes()))
        self._waiting = [_Created(uuid.UUID(request_id), hparams) for request_id, hparams in kept["waiting"]]
        self._lengths = {uuid.UUID(request_id): lengths for request_id, lengths in kept["lengths"].items()}
        self._given = {int(index): length for index, length in kept["given"].items()}
        self._training = set(kept["training"])
        self._trials = {int(index): uuid.UUID(request_id) for index, request_id in kept["trials"].items()}


def _keeps_itself(method: SearchMethod) -> bool:
    return type(method).save_method_state is not SearchMethod.save_method_state


def _pickle_method(method: SearchMethod) -> bytes:
    try:
        return pickle.dumps(method.__dict__)
    except Exception as error:
        raise ValueError(
            f"{type(method).__name__} can't be pickled ({error}): implement save_method_state() and load_method_state()"
        ) from error


def _random_states() -> Dict[str, Any]:
    """The states of the generators that a method may use without an object of its own."""
    states: Dict[str, Any] = {"random": random.getstate()}
    if "numpy" in sys.modules:
        states["numpy"] = sys.modules["numpy"].random.get_state()
    return states


def _set_random_states(states: Dict[str, Any]) -> None:
    random.setstate(states["random"])
    if "numpy" in states and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(states["numpy"])
