"""Saves the state of a training, and loads it so that the training continues as if it had not been
interrupted.

By default the state is saved by core_context.checkpoint.save_state() while the training goes on. With the format
"torch" the chief writes state_dict.pth as Determined does, and each rank adds rank-<number>.pth. Both have the state that
differs between ranks: its random state and, in the middle of an aggregation window, its gradients.
"""

import collections
import dataclasses
import logging
import os
import pathlib
import shutil
import tempfile
from typing import Any, Callable, Dict, Iterable, List, Optional

import torch

import determined
from determined import core, errors
from determined.core._state_load import result_of_ranks
from determined.pytorch import _checkpoint_files as files
from determined.pytorch._exchange import unwrap
from determined.pytorch._rng import get_rng_state, set_rng_state

logger = logging.getLogger("determined.pytorch")

_MODULE_PREFIX = "module."  # of names in a DistributedDataParallel
_COMPILED = "_orig_mod"  # where torch.compile(module) keeps the module


class Checkpoints:
    """Saves and loads checkpoints of a trial. All ranks call each method."""

    def __init__(self, trial: Any, context: Any, callbacks: Any, format: str) -> None:
        self._format = format
        self._trial = trial
        self._context = context
        self._callbacks = callbacks
        self._rank_state: Dict[str, Any] = {}
        self._loaded: Dict[str, Any] = {}
        self._gradient_orders: List[Optional[List[int]]] = []
        self._window_gradients: Any = None
        self._code_directory = os.getcwd()
        self._code: Optional[List[str]] = None
        self._has_warned = False

    def _is_chief(self) -> bool:
        return bool(self._context.distributed.rank == 0)

    # Saving.

    def save(self, progress: files.Progress, is_last: bool) -> None:
        """Saves a checkpoint. Collective.

        Args:
            is_last: the trial was preempted, and ends
        """
        metadata = self._metadata(progress)
        if self._format == "torch":
            self._save_files(progress, {**metadata, "format": "pickle"})
        else:
            self._save_state(progress, {**metadata, "format": "state"}, is_last)

    @staticmethod
    def _metadata(progress: files.Progress) -> Dict[str, Any]:
        return {
            "determined_version": determined.__version__,
            "steps_completed": progress.batches_trained,
            "framework": f"torch-{torch.__version__}",
        }

    def keep(self, progress: files.Progress) -> None:
        """Keeps the state in memory if slurm.memory_checkpoints wants that after this batch. Files that callbacks write
        into checkpoints are not kept. While a checkpoint is written none is kept: a run that continued from it would
        never make this checkpoint. Collective."""
        checkpoint, steps = self._context._core.checkpoint, progress.batches_trained
        if checkpoint._in_flight or not checkpoint._is_kept(steps):
            return
        if self._format == "state":
            checkpoint._keep(self._whole_state(progress), steps, {**self._metadata(progress), "format": "state"})
        elif self._is_chief() and not self._has_warned:
            logger.warning("slurm.memory_checkpoints: with checkpoint_format torch no state is kept in memory")
            self._has_warned = True

    def read_kept(self) -> Optional[files.Progress]:
        """read() of the newest state that an earlier run has kept in memory; None if there is none. Collective."""
        checkpoint = self._context._core.checkpoint
        for name in checkpoint._list_kept():
            try:
                return self.read(name)
            except (RuntimeError, errors.CheckpointNotFound) as problem:
                self._loaded = {}
                checkpoint._log_unused(problem)
        return None

    def poll(self) -> None:
        """Completes the saves that are written by now. Call it after each batch."""
        self._tell_ended(self._context._core.checkpoint.poll())

    def begin_training(self) -> None:
        """Call it before the first batch."""
        self._step_hooks().add(self._context.optimizers)

    def _step_hooks(self) -> Any:
        return self._context._core.checkpoint._step_hooks

    def _with_overlap(self) -> List[Any]:
        """The optimizers whose parameters are copied while the training continues: those of torch of which step() was
        called since the last save. Others may change parameters where no hook waits for the copies: the replay of a CUDA
        graph does, and so do implementations of sharpness-aware minimization."""
        return [each for each in self._step_hooks().take_stepped() if type(each).__module__.startswith("torch.optim.")]

    def wait_snapshot(self) -> None:
        """Waits until the last save has copied the weights and the state of the optimizers. Steps of the optimizers wait
        too; call it before other code of the trial may change weights."""
        self._context._core.checkpoint.wait_snapshot()

    def finish(self) -> None:
        """Waits until all saves are written."""
        self._tell_ended(self._context._core.checkpoint.wait())

    def _tell_ended(self, storage_ids: List[str]) -> None:
        for storage_id in storage_ids:
            self._callbacks.call("on_checkpoint_upload_end", storage_id)

    def _save_state(self, progress: files.Progress, metadata: Dict[str, Any], is_last: bool) -> None:
        checkpoint, steps = self._context._core.checkpoint, progress.batches_trained
        state = self._whole_state(progress)
        directory = tempfile.mkdtemp(prefix="det-checkpoint-") if self._is_chief() else None
        try:
            if directory is not None:
                self._write_files(pathlib.Path(directory))
            if not is_last:
                checkpoint._save(state, steps, metadata, directory, self._with_overlap())
            elif checkpoint._save_before_preemption(state, steps, metadata, directory) is None:
                logger.warning("no checkpoint of batch %d: the time before the end of the job is too short", steps)
        except BaseException:
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
            raise
        self.poll()

    def _whole_state(self, progress: files.Progress) -> Dict[str, Any]:
        """What a state of the trial has: on the chief everything, on the others what belongs to their rank."""
        state: Dict[str, Any] = {}
        window_gradients = self._gradients_of_window(progress)
        if self._is_chief():
            state = {**self._state(), **window_gradients}
            self._callbacks.call("on_checkpoint_save_start", state)
            state["progress"] = dataclasses.asdict(progress)
        state["rank"] = core.PerRank(self._state_of_rank(progress))
        return state

    def _save_files(self, progress: files.Progress, metadata: Dict[str, Any]) -> None:
        is_shared = self._context.distributed.size > 1
        window_gradients = self._gradients_of_window(progress)
        with self._context._core.checkpoint.store_path(metadata, shard=is_shared) as (path, storage_id):
            if self._is_chief():
                self._write_shared_files(path, progress, window_gradients)
            state_of_rank = self._state_of_rank(progress)
            rank_file = path / _rank_file(self._context.distributed.rank)
            files.save(state_of_rank, rank_file)
        self._callbacks.call("on_checkpoint_upload_end", storage_id)

    def _write_shared_files(
        self, path: pathlib.Path, progress: files.Progress, window_gradients: Dict[str, Any]
    ) -> None:
        state = {**self._state(), **window_gradients}
        self._callbacks.call("on_checkpoint_save_start", state)
        files.save(state, path / files.STATE_FILE)
        files.repeat_write(lambda: files.write_progress(path, progress))
        self._write_files(path)

    def _write_files(self, path: pathlib.Path) -> None:
        """Writes the files that the checkpoint has in both formats."""
        context = self._context
        files.repeat_write(
            lambda: files.write_load_data(path, type(self._trial), context._hparams, context._exp_conf)
        )
        if self._code is None:
            self._code = files.list_code(self._code_directory) if context._core.info else []
        files.copy_code(self._code_directory, self._code, path)
        self._callbacks.call("on_checkpoint_end", str(path))
        self._callbacks.call("on_checkpoint_write_end", str(path))

    def _state(self) -> Dict[str, Any]:
        context = self._context
        state = {
            "models_state_dict": [_weights_of(model) for model in context.models],
            "optimizers_state_dict": [optimizer.state_dict() for optimizer in context.optimizers],
            "lr_schedulers_state_dict": [scheduler.state_dict() for scheduler in context.lr_schedulers],
            "callbacks": self._callbacks.state_dict(),
            "rng_state": get_rng_state(),
        }
        if context._steps.scaler is not None:
            state["scaler_state_dict"] = context._steps.scaler.state_dict()
        if context._tuned_bucket_mib is not None:
            state["tensor_fusion_threshold"] = context._tuned_bucket_mib
        orders = context._exchange.gradient_orders(context.models)
        if orders is not None:
            state["gradient_orders"] = orders
        return state

    def _state_of_rank(self, progress: files.Progress) -> Dict[str, Any]:
        context = self._context
        is_in_window = self._is_in_window(progress) and not context._is_elastic
        return {
            "size": context.distributed.size,
            "rng_state": get_rng_state(),
            "gradients": [_gradients_of(model) for model in context.models] if is_in_window else None,
        }

    def _is_in_window(self, progress: files.Progress) -> bool:
        return progress.batches_trained % self._context._optimizations.aggregation_frequency != 0

    def _gradients_of_window(self, progress: files.Progress) -> Dict[str, Any]:
        """What an elastic trial saves in the middle of an aggregation window, on every rank the same: the means of the
        gradients over the ranks. At the end of the window the ranks exchange means, so a run with any number of ranks
        may give these to each of its ranks. Collective."""
        if not self._context._is_elastic or not self._is_in_window(progress):
            return {}
        average = self._context._exchange.average
        by_model = [_gradients_of(model) for model in self._context.models]
        return {
            "window_gradients": [{name: average(each) for name, each in by_name.items()} for by_name in by_model]
        }

    # Loading.

    def read(self, storage_id: str) -> files.Progress:
        """Reads a checkpoint of either format, for load() and restore_rank(). Returns how far its trial had
        trained. Collective."""
        checkpoint = self._context._core.checkpoint
        manifest = result_of_ranks(self._context.distributed, lambda: checkpoint._manifest(storage_id))
        if manifest.get("tensors"):
            checkpoint.load_state(self._loaded, storage_id)
            progress = files.Progress(**self._loaded.pop("progress"))
            self._rank_state = self._loaded.pop("rank", {})
        else:
            progress = self._read_files(storage_id)
        self._rank_state.setdefault("rng_state", self._loaded.get("rng_state"))
        return progress

    def _read_files(self, storage_id: str) -> files.Progress:
        with self._context._core.checkpoint._restore_path_verified_beside(storage_id) as path:
            progress = files.load_progress(path)
            self._loaded = files.load_state(path)
            rank_file = path / _rank_file(self._context.distributed.rank)
            self._rank_state = files.load_file(rank_file) if rank_file.exists() else {}
        return progress

    def load(self, state_of_trial: bool) -> None:
        """Loads the state that read() has read into models, optimizers, schedulers, callbacks and the
        GradScaler.

        Args:
            state_of_trial: False for a checkpoint of another trial: schedulers and callbacks keep their state
        """
        context, state = self._context, self._loaded
        self._loaded = {}
        self._callbacks.call("on_checkpoint_load_start", state)
        context._tuned_bucket_mib = state.get("tensor_fusion_threshold")
        self._gradient_orders = state.get("gradient_orders") or []
        self._window_gradients = state.get("window_gradients")
        load_models(context.models, state)
        _load_each("optimizer", context.optimizers, state.get("optimizers_state_dict", []))
        if state_of_trial:
            _load_each("learning rate scheduler", context.lr_schedulers, state.get("lr_schedulers_state_dict", []))
            self._callbacks.load_state_dict(state.get("callbacks", {}))
        if context._steps.scaler is not None:
            if "scaler_state_dict" in state:
                context._steps.scaler.load_state_dict(state["scaler_state_dict"])
            else:
                logger.warning("the checkpoint has no state of the GradScaler")

    def restore_rank(self, progress: files.Progress) -> None:
        """Restores the random state and the gradients of this rank, and how ranks exchange gradients. Collective; call it
        just before the next batch."""
        self._context._exchange.restore_gradient_orders(self._context.models, self._gradient_orders)
        if self._window_gradients is not None and self._is_in_window(progress):
            self._set_gradients(self._window_gradients)
        if not self._rank_state:
            return
        if self._rank_state.get("rng_state") is not None:
            set_rng_state(self._rank_state["rng_state"])
        gradients = self._rank_state.get("gradients")
        if gradients is None or not self._is_in_window(progress):
            return
        if self._rank_state.get("size") != self._context.distributed.size:
            logger.warning("the gradients of the unfinished aggregation window are dropped: the number of ranks differs")
            return
        self._set_gradients(gradients)

    def _set_gradients(self, gradients: List[Dict[str, Any]]) -> None:
        for model, by_name in zip(self._context.models, gradients):
            of_plain_names = {_plain_name(name): gradient for name, gradient in by_name.items()}
            for name, parameter in unwrap(model).named_parameters():
                if _plain_name(name) in of_plain_names:
                    parameter.grad = of_plain_names[_plain_name(name)].to(parameter.device)


def _rank_file(rank: int) -> str:
    return f"rank-{rank}.pth"


def _gradients_of(model: Any) -> Dict[str, Any]:
    named = unwrap(model).named_parameters()
    return {_plain_name(name): parameter.grad for name, parameter in named if parameter.grad is not None}


def _plain_name(name: str) -> str:
    """The name that a parameter, a buffer or a module has if no module is compiled."""
    return ".".join(part for part in name.split(".") if part != _COMPILED)


def _rename(weights: Any, new_name: Callable[[str], str]) -> Any:
    """A state_dict() with other names, also in its metadata, where torch keeps the versions of modules. The
    same object if no name changes."""
    if all(new_name(name) == name for name in weights):
        return weights
    renamed = collections.OrderedDict((new_name(name), value) for name, value in weights.items())
    metadata = getattr(weights, "_metadata", None)
    if metadata is not None:
        renamed._metadata = {new_name(name): value for name, value in metadata.items()}  # type: ignore[attr-defined]
    return renamed


def _weights_of(model: Any) -> Any:
    """The state_dict() of a model with the names that it has if nothing is compiled, so that a model loads
    it whether it is compiled or not."""
    return _rename(unwrap(model).state_dict(), _plain_name)


def load_models(models: List[Any], state: Dict[str, Any]) -> None:
    """Loads the weights of models. They may have been saved by one rank or several, compiled or not, and by
    Determined."""
    states = state.get("models_state_dict")
    if states is None:
        states = [state["model_state_dict"]]
    for model, weights in zip(models, states):
        inner = unwrap(model)
        own_names = {_plain_name(name): name for name in inner.state_dict()}
        weights = _rename(weights, _plain_name)
        if all(name.startswith(_MODULE_PREFIX) for name in weights) and not _have_prefix(own_names):
            weights = _rename(weights, lambda name: name[len(_MODULE_PREFIX) :])
        inner.load_state_dict(_rename(weights, lambda name: own_names.get(name, name)))
    if len(models) != len(states):
        logger.warning("the checkpoint has %d models, and the trial has %d", len(states), len(models))


def _have_prefix(names: Iterable[str]) -> bool:
    return any(name.startswith(_MODULE_PREFIX) for name in names)


def _load_each(kind: str, objects: List[Any], states: List[Any]) -> None:
    if len(objects) != len(states):
        logger.warning("the checkpoint has the state of %d %ss, and the trial has %d", len(states), kind, len(objects))
    for each, state in zip(objects, states):
        each.load_state_dict(state)
