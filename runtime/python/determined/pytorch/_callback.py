"""Callbacks of the training loop."""

import inspect
import logging
from typing import Any, Dict, List, Mapping

logger = logging.getLogger("determined.pytorch")

# Names that hooks had in older releases of Determined. A hook with the old name is called after that with the
# present name.
_FORMER_NAMES = {"on_validation_start": "on_validation_step_start", "on_validation_end": "on_validation_step_end"}


class PyTorchCallback:
    """Methods that the training loop calls, for a trial to override. PyTorchTrial.build_callbacks() returns
    such objects.

    Every rank calls them, unless a method says otherwise.
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Any) -> None:
        """Called before the data loaders are made.

        Args:
            first_batch_idx: the batch with which this run begins
            checkpoint_uuid: the checkpoint from which it continues; None without one
        """

    def on_checkpoint_load_start(self, checkpoint: Dict[str, Any]) -> None:
        """Called before the state of a checkpoint is loaded. May change the state."""

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Loads what state_dict() has returned."""

    def state_dict(self) -> Dict[str, Any]:
        """The state of this callback for a checkpoint. Only the chief calls it."""
        return {}

    def on_training_start(self) -> None:
        """Called once, after a checkpoint was loaded and before the first batch of this run."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Called before the first batch of an epoch."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """Called after the last batch of an epoch."""

    def on_training_workload_end(self, avg_metrics: Dict[str, Any], batch_metrics: List[Dict[str, Any]]) -> None:
        """Called after training metrics were reported, which also happens before a validation and a
        checkpoint.

        Args:
            avg_metrics: on the chief the reported metrics, on other ranks those of this rank
            batch_metrics: those of each batch since the last report
        """

    def on_validation_start(self) -> None:
        """Called before a validation."""

    def on_validation_epoch_start(self) -> None:
        """Called before the first batch of a validation."""

    def on_validation_epoch_end(self, outputs: List[Any]) -> None:
        """Called after the last batch of a validation.

        Args:
            outputs: what evaluate_batch() of this rank returned; empty with evaluate_full_dataset()
        """

    def on_validation_end(self, metrics: Dict[str, Any]) -> None:
        """Called after a validation, before its metrics are reported. The metrics are combined from all
        ranks."""

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        """Called before a checkpoint is written, only on the chief. May change the state."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Deprecated: use on_checkpoint_write_end(), which is called just after this method."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """Called after the chief has written the files that ranks share, before the checkpoint is committed.
        Only on the chief. May add files."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """Called after a checkpoint was committed."""

    def on_trial_shutdown(self) -> None:
        """Called at the end of the run, also if it was preempted or has failed."""


class Callbacks:
    """The callbacks of a trial, called together."""

    def __init__(self, callbacks: Mapping[str, PyTorchCallback]) -> None:
        self._all = dict(callbacks)
        for name, callback in self._all.items():
            if type(callback).on_checkpoint_end is not PyTorchCallback.on_checkpoint_end:
                logger.warning("%s: on_checkpoint_end() is deprecated: use on_checkpoint_write_end()", name)
            for present, former in _FORMER_NAMES.items():
                if hasattr(callback, former):
                    logger.warning("%s: %s() is deprecated: use %s()", name, former, present)

    def call(self, method: str, *arguments: Any) -> None:
        for callback in self._all.values():
            getattr(callback, method)(*arguments)
            former = getattr(callback, _FORMER_NAMES.get(method, ""), None)
            if former is not None:
                former(*arguments)

    def start_epoch(self, epoch_idx: int) -> None:
        """Calls on_training_epoch_start(). It has no parameter in trials for older releases of Determined."""
        for name, callback in self._all.items():
            if inspect.signature(callback.on_training_epoch_start).parameters:
                callback.on_training_epoch_start(epoch_idx)
            else:
                logger.warning("%s: on_training_epoch_start() takes the parameter epoch_idx in newer releases", name)
                callback.on_training_epoch_start()  # type: ignore[call-arg]

    def state_dict(self) -> Dict[str, Any]:
        return {name: callback.state_dict() for name, callback in self._all.items()}

    def load_state_dict(self, states: Dict[str, Any]) -> None:
        for name, callback in self._all.items():
            if name in states:
                callback.load_state_dict(states[name])
            else:
                logger.warning("the checkpoint has no state of the callback '%s'", name)
