"""DetCallback: what the Trainer of Hugging Face's transformers reports, saves and asks in a trial."""

import functools
import json
import logging
import math
import os
import shutil
from typing import Any, Dict, List, Optional, Set

import torch
import transformers

from determined import core
from determined._training_end import TrainingEnd
from determined.pytorch._search_rungs import trial_of
from determined.transformers._memory import STATE_FILE, MemoryStates, ends_epoch

logger = logging.getLogger("determined.transformers")

USER_DATA = "my_data.json"  # Determined's name
_EVALUATION, _TEST = "eval_", "test_"  # the prefixes of Trainer.evaluate() and Trainer.predict()
_SUMMARY = "train_runtime"  # only the log at the end of Trainer.train() has it
_UPLOADS = ".det-uploads"  # in output_dir: what is being copied into the storage


class DetCallback(transformers.TrainerCallback):
    """Makes the training of a Trainer the training of a trial. Every rank makes one and adds it to its Trainer.

    - What the Trainer logs is reported by the chief, once for each step: names that begin with eval_ as validation, those with
      test_ in the group test, all others as training.
    - Each checkpoint of the Trainer becomes a checkpoint of the trial. On one node its files are copied into the storage while the
      training goes on. A run that continues downloads the newest one, and that which the Trainer calls its best, into
      args.output_dir and sets args.resume_from_checkpoint, which the program gives to Trainer.train().
    - With slurm.memory_checkpoints the state is also kept in the memory of the node, and the next run of the job continues from
      there.
    - All ranks ask for a preemption after each step. Then the Trainer logs and evaluates if that is due, saves, and the
      program ends by SystemExit(0). At the end of an epoch that is after what is due then. The last step asks no more.
    - The training ends at the length of the searcher, and validates at the rungs of adaptive_asha and async_halving.

    Off the cluster metrics are only logged, and checkpoints stay where the Trainer saves them.

    Args:
        core_context: of core.init(), with the default preempt_mode
        args: the arguments of the Trainer
        filter_metrics: report only metrics whose names have one of these texts in them; None: all
        user_data: a map that becomes the file my_data.json of each checkpoint

    Raises:
        TypeError: JSON lacks a value of user_data
        CheckpointNotFound: the checkpoint from which this run continues was removed
        ValueError: that checkpoint is none of the Trainer; the Trainer has another number of ranks than core_context, or saves no
            optimizer
    """

    def __init__(
        self,
        core_context: core.Context,
        args: transformers.TrainingArguments,
        filter_metrics: Optional[List[str]] = None,
        user_data: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__()
        self.core_context = core_context
        self.filter_metrics = filter_metrics
        self.user_data = user_data
        self._user_data_text = None if user_data is None else json.dumps(user_data)
        self._ranks = core_context.distributed
        trained = _count_ranks(args)
        if trained != self._ranks.size:
            raise ValueError(
                f"the Trainer has {trained} ranks, and the trial has {self._ranks.size}: each rank would train alone\n"
                "  hint: on CPUs pass TrainingArguments(use_cpu=True, ddp_backend='gloo'); start ranks by "
                "determined.launch.torch_distributed"
            )
        self._trial = trial_of(core_context)
        if self._trial is not None and getattr(args, "save_only_model", False):
            raise ValueError(
                "save_only_model is set: a run could not continue from such a checkpoint with the state of its optimizer\n"
                "  hint: leave save_only_model out"
            )
        self._reported: Dict[str, Set[str]] = {}  # by group, the names that were reported for the last step
        self._reported_step = -1
        self._saved_step = -1
        self._is_preempted = False
        self._end = TrainingEnd(core_context)
        self._memory = None if self._trial is None else MemoryStates(core_context, args)
        self.load_last_checkpoint(args)

    def load_last_checkpoint(self, args: transformers.TrainingArguments) -> None:
        """Downloads the checkpoint from which this run continues, or writes what was kept in memory. Collective; the constructor
        calls it."""
        if self._memory is None:
            return
        latest = self.core_context.info.latest_checkpoint
        if getattr(args, "overwrite_output_dir", False):  # transformers 5 has no such argument
            if latest is not None:
                logger.warning("overwrite_output_dir is set: the training begins anew, and not from checkpoint %s", latest)
            return
        if self._ranks.rank == 0:
            shutil.rmtree(os.path.join(args.output_dir, _UPLOADS), ignore_errors=True)
        path = self._memory.write_newest(args.output_dir)
        if path is None:
            if latest is None:
                return
            steps = self._steps_of(latest)
            path = self._download(latest, args.output_dir, steps)
            if not os.path.isdir(path):
                raise ValueError(f"checkpoint {latest} was not saved by a Trainer: it has no directory {_folder_of(steps)}")
            logger.info("continuing from checkpoint %s of step %d", latest, steps)
        self._download_best(args.output_dir, path)
        args.resume_from_checkpoint = path
        if args.device.type == "cpu" and args.device.index is not None:
            _let_torch_load_to_numbered_cpus()

    def _download(self, uuid: str, output_dir: str, steps: int) -> str:
        """Downloads a checkpoint as one of the Trainer in output_dir. Collective. Returns its directory."""
        folder = _folder_of(steps)
        self.core_context.checkpoint.download(uuid, output_dir, selector=_files_of(folder))
        self._ranks.allgather(None)  # nodes may share output_dir: all have written when any reads
        return os.path.join(output_dir, folder)

    def _download_best(self, output_dir: str, newest: str) -> None:
        """Downloads also the checkpoint that the Trainer calls its best one, which it may load at the end. Collective."""
        state_file = os.path.join(newest, STATE_FILE)
        best = _read_state(state_file).get("best_model_checkpoint")
        if best is None:
            return
        best_steps = int(str(best).rsplit("-", maxsplit=1)[-1])
        uuid = self._ranks.broadcast(self._find(best_steps) if self._ranks.rank == 0 else None)
        if uuid is None:
            logger.warning("the best checkpoint, of step %d, is no longer in the storage", best_steps)
            return
        if os.path.basename(newest) != _folder_of(best_steps):
            self._download(uuid, output_dir, best_steps)
        if self._ranks.local_rank == 0:
            # output_dir may be another one than that of the run before.
            state = {**_read_state(state_file), "best_model_checkpoint": os.path.join(output_dir, _folder_of(best_steps))}
            new = f"{state_file}.{self._ranks.rank}.new"  # nodes may share output_dir
            with open(new, "w", encoding="utf-8") as file:
                json.dump(state, file)
            os.replace(new, state_file)
        self._ranks.allgather(None)

    def _find(self, steps: int) -> Optional[str]:
        """The newest checkpoint of the trial after so many steps."""
        listed = self.core_context.checkpoint._saves().list_loadable()
        return next((uuid for uuid in listed if self._steps_of(uuid) == steps), None)

    def _steps_of(self, uuid: str) -> int:
        return int(self.core_context.checkpoint.get_metadata(uuid)["steps_completed"])

    def on_train_begin(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        train_dataloader: Any = None,
        **_: Any,
    ) -> None:
        def to_steps(unit: str, length: int) -> Optional[int]:
            return _to_steps(unit, length, args, train_dataloader)

        self._end.begin(to_steps, state.max_steps, "TrainingArguments")

    def on_step_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        model: Any = None,
        optimizer: Any = None,
        lr_scheduler: Any = None,
        **_: Any,
    ) -> transformers.TrainerControl:
        self.core_context.checkpoint.poll()
        if self._end.is_reached(state.global_step):
            control.should_training_stop = True
        # What is due at the end of an epoch comes first: the next run begins with the next epoch. on_epoch_end() follows.
        if not ends_epoch(state):
            self._request(state, control)
        if self._memory is not None:
            self._memory.after_step(state, control, model, optimizer, lr_scheduler)
        return control

    def on_epoch_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **_: Any,
    ) -> transformers.TrainerControl:
        self._request(state, control)
        if control.should_save and self._saved_step == state.global_step:
            # The Trainer has saved after the last step of the epoch, and writes the same files again. Those of the checkpoint are
            # links to them, and must be copied before.
            self.core_context.checkpoint.wait()
        return control

    def on_step_begin(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **_: Any,
    ) -> None:
        self._end.require_metric(state.global_step)

    def on_train_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **_: Any,
    ) -> None:
        self._end.require_metric(state.global_step)
        self.core_context.checkpoint.wait()

    def on_log(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        logs: Optional[Dict[str, Any]] = None,
        model: Any = None,
        optimizer: Any = None,
        lr_scheduler: Any = None,
        **_: Any,
    ) -> None:
        if not logs or _SUMMARY in logs:
            return
        step = state.global_step
        if step != self._reported_step:
            self._reported_step, self._reported = step, {}
        self._report(step, _group_of(logs), logs)
        if self._trial is not None and self._ranks.rank == 0 and not self._end.has_length() and state.max_steps > 0:
            self.core_context.train.report_progress(min(1.0, step / state.max_steps))
        self._end.note(step, logs)
        if self._memory is not None:
            self._memory.after_log(state, model, optimizer, lr_scheduler)

    def on_save(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **_: Any,
    ) -> None:
        step = state.global_step
        if self._trial is not None and self._saved_step != step:
            self._upload(args.output_dir, step)
            self._saved_step = step
        # An evaluation of this step may have let another callback, such as EarlyStopping, end the training.
        if self._is_preempted and not control.should_training_stop:
            self.core_context.checkpoint.wait()
            self.core_context.preempt.acknowledge_preemption_signal()
            logger.info("preempted at step %d", step)
            raise SystemExit(0)

    def _request(self, state: transformers.TrainerState, control: transformers.TrainerControl) -> None:
        """Asks the Trainer for what the searcher needs after a step, and to save if the trial is preempted. Collective."""
        step = state.global_step
        if self._end.needs_metric(step):
            control.should_log = control.should_save = True
            control.should_evaluate = control.should_evaluate or self._end.metric.startswith(_EVALUATION)
        # A training that ends here is not preempted: the program goes on to its end.
        if control.should_training_stop:
            return
        if self.core_context.preempt.should_preempt(auto_ack=False):
            # With save_strategy="best" an evaluation may take this back. Then the next step asks again.
            control.should_save = self._is_preempted = True

    def _report(self, step: int, group: str, logs: Dict[str, Any]) -> None:
        """Reports what is new at this step: a last evaluation may repeat what was logged before."""
        known = self._reported.setdefault(group, {"epoch"})
        new = [name for name in logs if name not in known and logs[name] is not None and self._is_wanted(name)]
        if not new:
            return
        known.update(new)
        if self._ranks.rank == 0:
            metrics = {name: value for name, value in logs.items() if name in new or name == "epoch"}
            self.core_context.train.report_metrics(group, step, metrics)

    def _is_wanted(self, name: str) -> bool:
        return not self.filter_metrics or any(text in name for text in self.filter_metrics)

    def _upload(self, output_dir: str, step: int) -> None:
        """Makes a checkpoint of the files that the Trainers of all ranks have saved. Collective."""
        folder = _folder_of(step)
        if self._ranks.rank == 0 and self._user_data_text is not None:
            with open(os.path.join(output_dir, folder, USER_DATA), "w", encoding="utf-8") as file:
                file.write(self._user_data_text)
        metadata = {"steps_completed": step, "trial_id": self._trial.trial_id}
        if self._ranks.cross_size == 1:
            self._ranks.allgather(None)  # the Trainers of all ranks have saved
            files = _link_files(output_dir, folder) if self._ranks.rank == 0 else None
            # libdet copies the files while the training goes on, and poll() removes the links.
            self.core_context.checkpoint._save({}, step, metadata, files)
            return
        # The ranks of a node have one output_dir. Files that nodes share are uploaded once.
        brings = self._ranks.local_rank == 0 and os.path.isdir(os.path.join(output_dir, folder))
        self.core_context.checkpoint.upload(
            output_dir if brings else None,
            metadata,
            shard=True,
            selector=_files_of(folder) if brings else None,
        )


def _count_ranks(args: transformers.TrainingArguments) -> int:
    """The number of ranks that train one model. Off CUDA and without use_cpu there may be a group of processes in which each
    trains a model of its own: then world_size is the size of the group."""
    return 1 if args.parallel_mode.value in ("not_parallel", "not_distributed") else int(args.world_size)


@functools.lru_cache(maxsize=None)
def _let_torch_load_to_numbered_cpus() -> None:
    """With several ranks on CPUs a Trainer loads the optimizer to args.device, to which accelerate (1.14) has given a number:
    cpu:0, cpu:1 and so on. torch (2.14) loads to "cpu" only, and calls for the others what is registered here."""
    torch.serialization.register_package(
        11, lambda storage: None, lambda storage, location: storage if location.startswith("cpu:") else None
    )


def _read_state(path: str) -> Dict[str, Any]:
    """The TrainerState of a checkpoint; empty if it has none."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        state: Dict[str, Any] = json.load(file)
    return state


def _folder_of(step: int) -> str:
    return f"{transformers.trainer_utils.PREFIX_CHECKPOINT_DIR}-{step}"


def _link_files(output_dir: str, folder: str) -> str:
    """A directory with the same files, which the Trainer does not remove."""
    directory = os.path.join(output_dir, _UPLOADS, folder)
    shutil.rmtree(directory, ignore_errors=True)

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:  # a file system without links
            shutil.copy2(source, target)

    shutil.copytree(os.path.join(output_dir, folder), os.path.join(directory, folder), copy_function=link)
    return directory


def _files_of(folder: str) -> Any:
    """A selector of the files below a folder."""
    return lambda path: path.startswith(f"{folder}/")


def _group_of(logs: Dict[str, Any]) -> str:
    for prefix, group in ((_EVALUATION, "validation"), (_TEST, "test")):
        if any(name.startswith(prefix) for name in logs):
            return group
    return "training"


def _to_steps(
    unit: str, length: int, args: transformers.TrainingArguments, train_dataloader: Any
) -> Optional[int]:
    """Converts a length of the searcher; None if the number of batches of an epoch is not known."""
    if unit == "batches":
        return length
    accumulated: int = args.gradient_accumulation_steps
    if unit == "records":
        records_of_step: int = args.train_batch_size * args.world_size * accumulated
        return math.ceil(length / records_of_step)
    try:
        return length * max(1, math.ceil(len(train_dataloader) / accumulated))
    except TypeError:
        return None
