"""States of a Trainer in the memory of the node (slurm.memory_checkpoints), and the files from which its Trainer continues."""

import dataclasses
import json
import logging
import os
import random
import shutil
from typing import Any, Dict, Optional

import accelerate
import numpy as np
import torch
import transformers

from determined import core, errors
from determined.pytorch._exchange import unwrap

logger = logging.getLogger("determined.transformers")

STATE_FILE = "trainer_state.json"
_WHOLE = ("NO", "MULTI_CPU", "MULTI_GPU")  # accelerate's names for ranks that each hold the whole state


def ends_epoch(state: transformers.TrainerState) -> bool:
    return state.epoch is not None and float(state.epoch).is_integer()


class MemoryStates:
    """Keeps what a Trainer saves in the memory of the node. All ranks call each method.

    A Trainer continues from files only. So a run that continues from memory first writes those that its Trainer would have saved.
    A state is kept when everything that is due after its step was logged; after a step with an evaluation or a checkpoint none is.

    Args:
        core_context: of a run
        args: the arguments of the Trainer
    """

    def __init__(self, core_context: core.Context, args: transformers.TrainingArguments) -> None:
        self._checkpoint = core_context.checkpoint
        self._ranks = core_context.distributed
        self._args = args
        self._logged_step = -1  # the step after which a log is due, and nothing else
        self._files: Optional[str] = None  # the directory from which this run continues
        self._has_warned = False

    def after_step(self, state: Any, control: Any, model: Any, optimizer: Any, lr_scheduler: Any) -> None:
        """Keeps the state unless more is due after this step."""
        self._remove_files()
        if ends_epoch(state) or control.should_evaluate or control.should_save or control.should_training_stop:
            return
        if control.should_log:
            self._logged_step = state.global_step
        else:
            self._keep(state, model, optimizer, lr_scheduler)

    def after_log(self, state: Any, model: Any, optimizer: Any, lr_scheduler: Any) -> None:
        """Keeps the state if the log was all that was due after its step."""
        if state.global_step == self._logged_step:
            self._logged_step = -1
            self._keep(state, model, optimizer, lr_scheduler)

    def _keep(self, state: Any, model: Any, optimizer: Any, lr_scheduler: Any) -> None:
        checkpoint, step = self._checkpoint, state.global_step
        # A run that continued from a state beside an unfinished checkpoint would never make this checkpoint.
        if checkpoint._in_flight or not checkpoint._is_kept(step):
            return
        reason = self._why_not(model)
        if reason is not None:
            if self._ranks.rank == 0 and not self._has_warned:
                logger.warning("slurm.memory_checkpoints: no state is kept in memory with %s", reason)
            self._has_warned = True
            return
        whole: Dict[str, Any] = {"random": core.PerRank(_random_state(self._args))}
        if self._ranks.rank == 0:
            whole["model"] = unwrap(model).state_dict()
            whole["optimizer"] = optimizer.state_dict()
            whole["lr_scheduler"] = lr_scheduler.state_dict()
            whole["trainer"] = json.dumps(dataclasses.asdict(state))
        checkpoint._keep(whole, step, {"steps_completed": step, "framework": f"transformers-{transformers.__version__}"})

    def _why_not(self, model: Any) -> Optional[str]:
        """What the state would lack; None if it is whole."""
        accelerator = accelerate.state.AcceleratorState()
        if accelerator.distributed_type.value not in _WHOLE:
            return f"{accelerator.distributed_type.value}: its state is in parts"
        if accelerator.mixed_precision == "fp16":
            return "fp16: the Trainer does not show its GradScaler"
        if getattr(model, "peft_config", None):
            return "adapters, whose files have names of their own"
        if getattr(self._args, "restore_callback_states_from_checkpoint", False):
            return "restore_callback_states_from_checkpoint: the Trainer does not show its other callbacks"
        return None

    def write_newest(self, output_dir: str) -> Optional[str]:
        """Writes the newest state that a run before has kept into a directory of the node, for this Trainer.

        Returns:
            the directory; None if there is no such state
        """
        for name in self._checkpoint._list_kept():
            whole: Dict[str, Any] = {}
            try:
                loaded = self._checkpoint.load_state(whole, name)
            except (RuntimeError, errors.CheckpointNotFound) as problem:
                self._checkpoint._log_unused(problem)
                continue
            assert loaded is not None  # it was named
            self._write(whole, output_dir)
            if self._ranks.rank == 0:
                logger.info("continuing from the state of step %d in the memory of the node", loaded.steps_completed)
            return self._files
        return None

    def _write(self, whole: Dict[str, Any], output_dir: str) -> None:
        # Nodes may share output_dir. The name is none of those that the Trainer counts and removes.
        path = self._files = os.path.join(output_dir, f"kept-in-memory-{self._ranks.cross_rank}")
        if self._ranks.local_rank == 0:
            shutil.rmtree(path, ignore_errors=True)
            os.makedirs(path)
            for name, key in (("pytorch_model.bin", "model"), ("optimizer.pt", "optimizer"), ("scheduler.pt", "lr_scheduler")):
                torch.save(whole[key], os.path.join(path, name))
            with open(os.path.join(path, STATE_FILE), "w", encoding="utf-8") as file:
                file.write(whole["trainer"])
        self._ranks.allgather(None)  # the other ranks of the node find the directory
        own = "rng_state.pth" if self._args.world_size <= 1 else f"rng_state_{self._args.process_index}.pth"
        if whole.get("random") is not None:  # the run before may have had fewer ranks
            torch.save(whole["random"], os.path.join(path, own))

    def _remove_files(self) -> None:
        """Removes the files from which this run has continued. After its first step all ranks have read them."""
        if self._files is None:
            return
        if self._ranks.local_rank == 0:
            shutil.rmtree(self._files, ignore_errors=True)
        self._files = None
        self._args.resume_from_checkpoint = None  # for a second training


def _random_state(args: transformers.TrainingArguments) -> Dict[str, Any]:
    """The random state of this rank, in the form of the Trainer's rng_state.pth."""
    states: Dict[str, Any] = {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "cpu": torch.random.get_rng_state(),
    }
    if torch.cuda.is_available():
        is_distributed = args.parallel_mode == transformers.training_args.ParallelMode.DISTRIBUTED
        cuda = torch.cuda.random
        states["cuda"] = cuda.get_rng_state_all() if is_distributed else cuda.get_rng_state()
    return states
