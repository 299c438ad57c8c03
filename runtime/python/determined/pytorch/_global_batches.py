"""The batches of an elastic trial, whose runs have different numbers of ranks.

A batch of all ranks has the same samples in the same order in every run. The ranks share it: of 16 samples three
ranks get 6, 5 and 5. DistributedDataParallel averages the gradients of the ranks as if all had as many samples,
so the loss of a rank is multiplied by its samples / (samples of the batch / number of ranks). The sum is then the
mean over all samples of the batch, for a loss that is a mean over the samples of the rank.
"""

import collections
import dataclasses
import logging
from typing import Any, Deque, Dict, Iterator, List, Optional, Tuple

import torch
from torch.utils.data import BatchSampler

logger = logging.getLogger("determined.pytorch")


@dataclasses.dataclass(frozen=True)
class Share:
    """The part of a batch that a rank has.

    Attributes:
        samples: number of samples that count; 0: the rank has a sample of another rank, which does not count
        loss_weight: by what the loss of the rank is multiplied
    """

    samples: int
    loss_weight: float


def share_bounds(length: int, num_replicas: int, rank: int) -> Tuple[int, int]:
    """Where the share of a rank begins and ends in a batch of `length` samples. The first ranks have the larger
    shares."""
    least, larger = divmod(length, num_replicas)
    begin = rank * least + min(rank, larger)
    return begin, begin + least + (1 if rank < larger else 0)


class BatchShares(BatchSampler):
    """Yields this rank's share of each batch. A rank without a share, at the end of an epoch with fewer samples than
    ranks, gets the first sample of the batch with the weight 0, because it must take part in the exchange of
    gradients.

    The loader's workers may take batches before they are trained: take() returns the shares in the same order.
    """

    def __init__(self, batches: Any, num_replicas: int, rank: int) -> None:
        self._batches = batches
        self._num_replicas = num_replicas
        self._rank = rank
        self._shares: Deque[Share] = collections.deque()

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[List[int]]:
        self._shares.clear()
        for batch in self._batches:
            begin, end = share_bounds(len(batch), self._num_replicas, self._rank)
            self._shares.append(Share(end - begin, (end - begin) * self._num_replicas / len(batch)))
            yield batch[begin:end] or batch[:1]

    def take(self) -> Share:
        """The share of the next batch that the loader has yielded."""
        return self._shares.popleft()


def is_elastic(config: Optional[Dict[str, Any]]) -> bool:
    """Whether the configuration of an experiment has a range of slots in resources.slots_per_trial."""
    slots = ((config or {}).get("resources") or {}).get("slots_per_trial")
    return isinstance(slots, dict)


def warn_of_batch_norm(model: Any) -> None:
    """Warns if the training of a model depends on the number of ranks."""
    normalisation = torch.nn.modules.batchnorm._BatchNorm
    for name, module in model.named_modules():
        if isinstance(module, normalisation) and not isinstance(module, torch.nn.SyncBatchNorm):
            logger.warning(
                "the trial is elastic, and %s (%s) normalises by the samples of one rank: results depend on the "
                "number of ranks. torch.nn.SyncBatchNorm.convert_sync_batchnorm(model) normalises by the samples of all "
                "ranks; GroupNorm and LayerNorm by each sample",
                name or "the model",
                type(module).__name__,
            )
            return
