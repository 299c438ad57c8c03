"""What the author of a search method sees: its events, its operations and its state."""

import abc
import enum
import json
import pathlib
import uuid
from typing import Any, Dict, List, Optional, Set, Tuple

STATE_FILE = "state"


class SearcherState:
    """What has happened in the search so far. A search method reads it, and keeps what it changes in itself.

    Attributes:
        failures: trials that have failed
        trial_progress: how far each trial is towards the length that it was given, from 0 to 1
        trials_closed, trials_created: by their request_id
        last_event_id: number of events before the present one
        experiment_id: the experiment of the trials
        experiment_completed: whether the search is shut down
    """

    def __init__(self) -> None:
        self.failures: Set[uuid.UUID] = set()
        self.trial_progress: Dict[uuid.UUID, float] = {}
        self.trials_closed: Set[uuid.UUID] = set()
        self.trials_created: Set[uuid.UUID] = set()
        self.last_event_id = 0
        self.experiment_id = 0
        self.experiment_completed = False

    def to_dict(self) -> Dict[str, Any]:
        """The state as JSON."""
        return {
            "failures": sorted(map(str, self.failures)),
            "trialProgress": {str(trial): progress for trial, progress in self.trial_progress.items()},
            "trialsClosed": sorted(map(str, self.trials_closed)),
            "trialsCreated": sorted(map(str, self.trials_created)),
            "lastEventId": self.last_event_id,
            "experimentId": self.experiment_id,
            "experimentCompleted": self.experiment_completed,
        }

    def from_dict(self, content: Dict[str, Any]) -> None:
        """The reverse of to_dict()."""
        self.failures = {uuid.UUID(trial) for trial in content.get("failures", [])}
        self.trial_progress = {
            uuid.UUID(trial): progress for trial, progress in content.get("trialProgress", {}).items()
        }
        self.trials_closed = {uuid.UUID(trial) for trial in content.get("trialsClosed", [])}
        self.trials_created = {uuid.UUID(trial) for trial in content.get("trialsCreated", [])}
        self.last_event_id = content.get("lastEventId", 0)
        self.experiment_id = content.get("experimentId", 0)
        self.experiment_completed = content.get("experimentCompleted", False)


class ExitedReason(enum.Enum):
    """Why a trial has ended without training to its length."""

    ERRORED = "ERRORED"
    USER_CANCELED = "USER_CANCELED"
    INVALID_HP = "INVALID_HP"


class Operation:
    """What a search method wants."""


class Create(Operation):
    """Creates a trial.

    Args:
        request_id: a new uuid.uuid4()
        hparams: the hyperparameters; they must be able to become JSON. Those with a range in the configuration must lie in it
        checkpoint: must be None: searcher.source_checkpoint_uuid of the configuration names one for all trials
    """

    def __init__(self, request_id: uuid.UUID, hparams: Dict[str, Any], checkpoint: Optional[Any] = None) -> None:
        if checkpoint is not None:
            raise ValueError("Create(checkpoint=...): name it in the configuration, searcher.source_checkpoint_uuid")
        self.request_id = request_id
        self.hparams = json.dumps(hparams)
        self.checkpoint = checkpoint


class ValidateAfter(Operation):
    """Lets a trial train until its whole training has this length, in searcher.unit, and validate then."""

    def __init__(self, request_id: uuid.UUID, length: int) -> None:
        self.request_id = request_id
        self.length = length


class Close(Operation):
    """Ends a trial. One that trains to a length still does so, and no event tells of it."""

    def __init__(self, request_id: uuid.UUID) -> None:
        self.request_id = request_id


class Progress(Operation):
    """The progress of the search, from 0 to 1. It is printed to standard error, which is kept."""

    def __init__(self, progress: float) -> None:
        self.progress = progress


class Shutdown(Operation):
    """Ends the search: no further trial begins, and none trains on."""

    def __init__(self, cancel: bool = False, failure: bool = False) -> None:
        self.cancel = cancel
        self.failure = failure


class SearchMethod(abc.ABC):
    """A search. Subclasses implement a handler for each event. Handlers return operations, progress() a number.

    Each event is handled in a process of its own. So what a method keeps must be saved by save_method_state() and restored by
    load_method_state(); a method without them is kept whole, if it can be pickled. The states of `random` and of
    numpy.random are kept too.
    """

    @abc.abstractmethod
    def initial_operations(self, searcher_state: SearcherState) -> List[Operation]:
        """The first operations of the search."""

    @abc.abstractmethod
    def on_trial_created(self, searcher_state: SearcherState, request_id: uuid.UUID) -> List[Operation]:
        """A trial has been created by Create. It begins later, when Slurm has room."""

    @abc.abstractmethod
    def on_validation_completed(
        self, searcher_state: SearcherState, request_id: uuid.UUID, metric: Any, train_length: int
    ) -> List[Operation]:
        """A trial has trained to a length of ValidateAfter.

        Args:
            metric: the last validation's searcher.metric
            train_length: the length
        """

    @abc.abstractmethod
    def on_trial_closed(self, searcher_state: SearcherState, request_id: uuid.UUID) -> List[Operation]:
        """A trial has been closed by Close."""

    @abc.abstractmethod
    def progress(self, searcher_state: SearcherState) -> float:
        """How much of the search is done, from 0 to 1."""

    @abc.abstractmethod
    def on_trial_exited_early(
        self, searcher_state: SearcherState, request_id: uuid.UUID, exited_reason: ExitedReason
    ) -> List[Operation]:
        """A trial has ended without training to its length. It is closed."""

    def save(self, searcher_state: SearcherState, path: pathlib.Path, *, experiment_id: int) -> None:
        """Saves the state of the search and of the method in a directory."""
        content = {**searcher_state.to_dict(), "experimentId": experiment_id}
        (path / STATE_FILE).write_text(json.dumps(content))
        self.save_method_state(path)

    def load(self, path: pathlib.Path) -> Tuple[SearcherState, int]:
        """Loads what save() has saved. Returns the state of the search and the experiment's number."""
        content = json.loads((path / STATE_FILE).read_text())
        searcher_state = SearcherState()
        searcher_state.from_dict(content)
        self.load_method_state(path)
        return searcher_state, content["experimentId"]

    def save_method_state(self, path: pathlib.Path) -> None:
        """Saves what the method needs to go on in another process, as files in a directory."""

    def load_method_state(self, path: pathlib.Path) -> None:
        """Loads what save_method_state() has saved."""
