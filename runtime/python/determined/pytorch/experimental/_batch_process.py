"""torch_batch_process(): the loop of a batch inference."""

import json
import logging
import math
import os
import pathlib
import uuid
from typing import Any, Dict, Iterator, Optional, Tuple, Type

import torch

import determined
from determined import core
from determined.pytorch._exchange import GradientExchange, Ranks, connect_in_trial
from determined.pytorch._rng import seed_all
from determined.pytorch.experimental._batch_processor import TorchBatchProcessor, TorchBatchProcessorContext
from determined.pytorch.experimental._output import InferenceOutput
from determined.pytorch.samplers import DistributedBatchSampler, SkipBatchSampler

logger = logging.getLogger("determined.pytorch")

_PROGRESS_FILE = "batch_completed.json"
_OUTPUT_DIRECTORY = "inference"


def torch_batch_process(
    batch_processor_cls: Type[TorchBatchProcessor],
    dataset: Any,
    batch_size: Optional[int] = None,
    max_batches: Optional[int] = None,
    checkpoint_interval: int = 5,
    dataloader_kwargs: Optional[Dict[str, Any]] = None,
    distributed_context: Optional[core.DistributedContext] = None,
) -> None:
    """Processes a data set on all ranks of a trial. Collective. If a run is preempted or killed, the next run
    continues after the last saved progress.

    Args:
        dataset: a data set with a length. Rank r of n processes the batches r, r + n, r + 2n ...
        batch_size: samples of a batch; None: that of dataloader_kwargs, or 1
        max_batches: number of batches that a rank processes; None, or a number out of range: all
        checkpoint_interval: saves the progress after so many batches of each rank
        dataloader_kwargs: further arguments of torch's DataLoader
        distributed_context: the ranks; None: those of the launcher

    Raises:
        RuntimeError: it is not called in a trial, or an earlier run of the trial had another number of ranks
        ValueError: an argument can't be used
    """
    info = determined.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        raise RuntimeError("torch_batch_process() works only in a trial: submit it by det-submit experiment create")
    options = _check_arguments(dataset, batch_size, checkpoint_interval, dataloader_kwargs)
    if distributed_context is None:
        ranks = connect_in_trial(sum(info.container_slot_counts))
    else:
        ranks = Ranks(distributed_context, GradientExchange())
    seed_all(info.trial.trial_seed)
    with core.init(distributed=ranks.distributed) as core_context:
        _Inference(core_context, info, dataset, options, max_batches, checkpoint_interval).run(batch_processor_cls)
    ranks.close()


def _check_arguments(
    dataset: Any, batch_size: Optional[int], checkpoint_interval: int, dataloader_kwargs: Optional[Dict[str, Any]]
) -> Dict[str, Any]:
    """The arguments of torch's DataLoader, with batch_size."""
    options = dict(dataloader_kwargs or {})
    if not hasattr(dataset, "__len__"):
        raise ValueError("the dataset of torch_batch_process() needs __len__")
    if batch_size is not None and "batch_size" in options:
        raise ValueError("batch_size is given twice, also in dataloader_kwargs")
    for name in ("shuffle", "sampler", "batch_sampler"):
        if options.pop(name, None):
            raise ValueError(f"dataloader_kwargs must not have {name}: the order of samples must be the same in each run")
    if checkpoint_interval < 1:
        raise ValueError(f"checkpoint_interval must be at least 1, not {checkpoint_interval}")
    options["batch_size"] = options.get("batch_size", 1) if batch_size is None else batch_size
    return options


class _Inference:
    """A batch inference on one rank. A round is one batch on each rank. All ranks have the same number of
    rounds; in the last one some ranks may have no batch."""

    def __init__(
        self,
        core_context: core.Context,
        info: "determined.ClusterInfo",
        dataset: Any,
        options: Dict[str, Any],
        max_batches: Optional[int],
        interval: int,
    ) -> None:
        self._core = core_context
        self._distributed = core_context.distributed
        self._dataset = dataset
        self._options = dict(options)
        self._batch_size = self._options.pop("batch_size")
        self._interval = interval
        self._rounds = self._count_rounds(max_batches)
        self._is_committed = False
        self._trial_id = info.trial.trial_id
        self._begin, self._output_uuid = self._load_progress(info.latest_checkpoint, info.trial.trial_id)
        self._saved = self._begin
        run = pathlib.Path(os.environ["DET_RUN_PATH"])  # EXPERIMENT/trials/N/runs/M
        directory = run.parent.parent / _OUTPUT_DIRECTORY / self._output_uuid
        self._output = InferenceOutput(directory, self._distributed.rank)

    def _count_rounds(self, max_batches: Optional[int]) -> int:
        rounds = math.ceil(math.ceil(len(self._dataset) / self._batch_size) / self._distributed.size)
        if max_batches is None:
            return rounds
        if not 1 <= max_batches <= rounds:
            logger.warning("max_batches is %d, and a rank has %d batches: all are processed", max_batches, rounds)
            return rounds
        return max_batches

    def _load_progress(self, storage_id: Optional[str], trial_id: int) -> Tuple[int, str]:
        """The number of rounds that are done, and the UUID that names the output. Sets _is_committed.
        Collective."""
        if storage_id is not None:
            progress = self._core.checkpoint.get_metadata(storage_id)
            if progress.get("trial_id") == trial_id and "default_output_uuid" in progress:
                self._is_committed = progress.get("is_output", False)
                if progress["ranks"] != self._distributed.size:
                    raise RuntimeError(
                        f"the inference began with {progress['ranks']} ranks and can't go on with {self._distributed.size}"
                    )
                logger.info("continuing after %d batches of each rank", progress["steps_completed"])
                return progress["steps_completed"], progress["default_output_uuid"]
        return 0, self._distributed.broadcast(str(uuid.uuid4()))

    def run(self, processor_class: Type[TorchBatchProcessor]) -> None:
        if self._is_committed:
            logger.info("the output was complete before")
            return
        context = TorchBatchProcessorContext(self._core, self._output)
        processor = processor_class(context)
        context._reducers.reset()
        if self._begin > 0 and context._reducers.has_any():
            logger.warning("the metrics of reducers have only the batches after the first %d of each rank", self._begin)
        batches = self._batches()
        for index in range(self._begin, self._rounds):
            batch = next(batches, None)
            if batch is not None:
                processor.process_batch(batch=batch, batch_idx=index)
            if (index + 1) % self._interval == 0:
                self._save(processor, index + 1)
            if self._core.preempt.should_preempt():
                self._save(processor, index + 1)
                return
        self._finish(processor, context)

    def _batches(self) -> Iterator[Any]:
        sampler: Any = torch.utils.data.BatchSampler(
            torch.utils.data.SequentialSampler(self._dataset), self._batch_size, self._options.pop("drop_last", False)
        )
        if self._distributed.size > 1:
            sampler = DistributedBatchSampler(sampler, self._distributed.size, self._distributed.rank)
        sampler = SkipBatchSampler(sampler, self._begin)
        return iter(torch.utils.data.DataLoader(self._dataset, batch_sampler=sampler, **self._options))

    def _save(self, processor: TorchBatchProcessor, rounds: int) -> None:
        """Saves the number of rounds that are done, unless that number is already saved. Collective."""
        if self._saved == rounds:
            return
        self._saved = rounds
        processor.on_checkpoint_start()
        done = self._distributed.gather(rounds)
        if done is None:
            return
        progress = self._describe_progress(min(done))
        with self._core.checkpoint.store_path(progress) as (path, _):
            (path / _PROGRESS_FILE).write_text(json.dumps(progress), encoding="utf-8")
        self._core.train.report_progress(min(done) / self._rounds)

    def _describe_progress(self, rounds: int) -> Dict[str, Any]:
        """The metadata of a checkpoint, from which the next run reads where to continue."""
        return {
            "steps_completed": rounds,
            "default_output_uuid": self._output_uuid,
            "trial_id": self._trial_id,
            "ranks": self._distributed.size,
        }

    def _finish(self, processor: TorchBatchProcessor, context: TorchBatchProcessorContext) -> None:
        self._save(processor, self._rounds)
        metrics = context._reducers.reduce(False, self._distributed.allgather)
        if metrics and self._distributed.rank == 0:
            self._core.train.report_validation_metrics(self._rounds, metrics)
        processor.on_finish()
        metadata = {**self._describe_progress(self._rounds), "is_output": True}
        storage_id = self._output.commit(self._core.checkpoint, self._distributed, metadata)
        if storage_id is not None and self._distributed.rank == 0:
            logger.info("the output is checkpoint %s", storage_id)
