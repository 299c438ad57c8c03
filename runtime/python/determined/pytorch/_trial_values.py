"""Values that the context has for a trial: hyperparameters, configuration, batch sizes, the current batch and
epoch."""

import logging
import pathlib
import tempfile
from typing import Any, Dict, Optional

from determined import core, errors
from determined.pytorch._global_batches import is_elastic

logger = logging.getLogger("determined.pytorch")


class TrialValues:
    """The part of PyTorchTrialContext that does not use models."""

    def __init__(
        self,
        core_context: core.Context,
        hparams: Optional[Dict[str, Any]],
        exp_conf: Optional[Dict[str, Any]],
        enable_tensorboard_logging: bool,
    ) -> None:
        self._core = core_context
        self.distributed = core_context.distributed
        self._hparams = hparams
        self._exp_conf = exp_conf
        self._enable_tensorboard_logging = enable_tensorboard_logging
        self._is_elastic = is_elastic(exp_conf)
        self._stop_requested = False
        self._current_batch_idx: Optional[int] = None
        self._epoch_length: Optional[int] = None
        self._batch_sizes: Any = None
        self._kept_batches: Optional[int] = None  # of the state in memory from which this run continues
        self._tensorboard_path: Optional[pathlib.Path] = None
        self._writer: Any = None

    # Hyperparameters and configuration.

    def get_hparams(self) -> Dict[str, Any]:
        """The hyperparameters.

        Raises:
            ValueError: pytorch.init() was called without hparams
        """
        if self._hparams is None:
            raise ValueError("the hyperparameters are not known: call pytorch.init(hparams=...)")
        return self._hparams

    def get_hparam(self, name: str) -> Any:
        """A hyperparameter.

        Raises:
            ValueError: there is none of this name, or pytorch.init() was called without hparams
        """
        hparams = self.get_hparams()
        if name not in hparams:
            raise ValueError(f"there is no hyperparameter '{name}'; there are {', '.join(sorted(hparams)) or 'none'}")
        if name == "global_batch_size":
            logger.warning("use get_per_slot_batch_size() or get_global_batch_size(): they depend on the number of slots")
        return hparams[name]

    def get_experiment_config(self) -> Dict[str, Any]:
        """The configuration of the experiment.

        Raises:
            ValueError: it is not known: outside of a trial, pytorch.init() was called without exp_conf
        """
        if self._exp_conf is None:
            raise ValueError("the configuration is not known: call pytorch.init(exp_conf=...)")
        return self._exp_conf

    def get_data_config(self) -> Dict[str, Any]:
        """The section `data` of the configuration."""
        return self.get_experiment_config().get("data") or {}

    def get_experiment_id(self) -> int:
        """The number of the experiment; 0 outside of a trial."""
        return 0 if self._trial_info() is None else int(self._trial_info().experiment_id)

    def get_trial_id(self) -> int:
        """The number of the trial; 0 outside of a trial."""
        return 0 if self._trial_info() is None else int(self._trial_info().trial_id)

    def get_trial_seed(self) -> int:
        """The seed of the trial; 0 outside of a trial."""
        return 0 if self._trial_info() is None else int(self._trial_info().trial_seed)

    def get_initial_batch(self) -> int:
        """The number of batches after which this run continues: those of the trial's own checkpoint, or of a state that
        was kept in memory, which is known when the trial has been made; 0 without one."""
        if self._kept_batches is not None:
            return self._kept_batches
        return 0 if self._trial_info() is None else int(self._trial_info()._steps_completed)

    def _trial_info(self) -> Any:
        info = self._core.info
        return info.trial if info is not None and info.task_type == "TRIAL" else None

    # Batch sizes.

    def get_per_slot_batch_size(self) -> int:
        """The number of samples of a batch of one rank: the hyperparameter global_batch_size divided by the
        number of ranks, rounded down.

        Raises:
            ValueError: there is no hyperparameter global_batch_size
            InvalidExperimentException: it is no integer, or less than the number of ranks
        """
        return int(self._find_batch_sizes()[0])

    def get_global_batch_size(self) -> int:
        """The number of samples of a batch of all ranks: the number of ranks times
        get_per_slot_batch_size(); in an elastic trial the hyperparameter global_batch_size, of which some ranks have one
        sample more than others."""
        return int(self._find_batch_sizes()[1])

    def _find_batch_sizes(self) -> Any:
        if self._batch_sizes is None:
            self._batch_sizes = _split_batch(self._hparams, self.distributed.size, self._is_elastic)
        return self._batch_sizes

    # Where the training is.

    def current_train_batch(self) -> int:
        """The number of the batch that is being trained, from 0.

        Raises:
            InternalException: before the training
        """
        return self._batch_idx()

    def current_train_epoch(self) -> int:
        """The number of the epoch that is being trained, from 0."""
        return self._batch_idx() // self._epoch_len()

    def is_epoch_start(self) -> bool:
        """Whether the current batch is the first one of an epoch."""
        return self._batch_idx() % self._epoch_len() == 0

    def is_epoch_end(self) -> bool:
        """Whether the current batch is the last one of an epoch."""
        return (self._batch_idx() + 1) % self._epoch_len() == 0

    def _batch_idx(self) -> int:
        if self._current_batch_idx is None:
            raise errors.InternalException("there is no current batch before the training")
        return self._current_batch_idx

    def _epoch_len(self) -> int:
        if self._epoch_length is None:
            raise errors.InternalException("the length of an epoch is not known before the training")
        return self._epoch_length

    def get_stop_requested(self) -> bool:
        """Whether the trial has asked to end."""
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """With True, the training ends after the next report of training metrics, with a checkpoint, and the
        trial is completed. One rank may call it for all."""
        assert isinstance(stop_requested, bool), f"stop_requested must be True or False, not {stop_requested!r}"
        self._stop_requested = stop_requested

    # TensorBoard.

    def get_tensorboard_path(self) -> pathlib.Path:
        """The directory of the trial's files for TensorBoard; outside of a trial a temporary one."""
        if self._tensorboard_path is None:
            found = self._core.train.get_tensorboard_path()
            self._tensorboard_path = found or pathlib.Path(tempfile.mkdtemp(prefix="tensorboard-"))
        return self._tensorboard_path

    def set_enable_tensorboard_logging(self, enable_tensorboard_logging: bool) -> None:
        """Chooses whether the reported metrics are also written for TensorBoard."""
        self._enable_tensorboard_logging = enable_tensorboard_logging

    def get_enable_tensorboard_logging(self) -> bool:
        """Whether the reported metrics are also written for TensorBoard."""
        return self._enable_tensorboard_logging


def _split_batch(hparams: Optional[Dict[str, Any]], slots: int, is_elastic: bool) -> Any:
    """The batch size of a rank and of all ranks. The ranks of an elastic trial share the whole batch."""
    size = (hparams or {}).get("global_batch_size")
    if size is None:
        raise ValueError("the batch size needs the hyperparameter global_batch_size")
    if not isinstance(size, int) or isinstance(size, bool):
        raise errors.InvalidExperimentException(f"the hyperparameter global_batch_size must be an integer, not {size!r}")
    if size < slots:
        raise errors.InvalidExperimentException(
            f"the hyperparameter global_batch_size is {size}, and there are {slots} slots: each needs a sample"
        )
    per_slot = size // slots
    if is_elastic:
        return per_slot, size
    if per_slot * slots != size:
        logger.warning(
            "global_batch_size %d is no multiple of %d slots: a batch has %d samples", size, slots, per_slot * slots
        )
    return per_slot, per_slot * slots
