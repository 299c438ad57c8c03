"""Which samples a batch of the training has: a function of the seed and the batch's number, so that a
training can continue at any batch."""

import threading
from typing import Any, Callable, Iterator, List, Optional

import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

from determined.pytorch._rng import IsolatedRandomness
from determined.pytorch.samplers import DistributedBatchSampler, RepeatBatchSampler, SkipBatchSampler, _share


def adapt_batch_sampler(
    batch_sampler: Any, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
) -> Any:
    """A batch sampler for one rank.

    Args:
        repeat: begin again at the end
        skip: number of this rank's batches to leave out
        num_replicas, rank: with several ranks each takes every num_replicas-th batch
    """
    if repeat:
        batch_sampler = RepeatBatchSampler(batch_sampler)
    if num_replicas > 1:
        batch_sampler = DistributedBatchSampler(batch_sampler, num_replicas, rank)
    if skip > 0:
        batch_sampler = SkipBatchSampler(batch_sampler, skip)
    return batch_sampler


class EpochBatches(BatchSampler):
    """The batches of one rank if the user has given no sampler. It can begin at any batch without drawing
    earlier ones.

    Batches are numbered across epochs; rank r of n takes the numbers r, r + n, r + 2n ... The length is that
    of one epoch.

    Args:
        samples: number of samples of the data set
        seed: None: samples come in order; else the order of an epoch follows from the seed and the epoch
        repeat: False: ends after the first epoch; True: never ends
        skip: number of this rank's batches to leave out
    """

    def __init__(
        self, samples: int, batch_size: int, drop_last: bool, seed: Optional[int], repeat: bool, skip: int,
        num_replicas: int, rank: int,
    ) -> None:
        self._samples = samples
        self._batch_size = batch_size
        self._seed = seed
        self._repeat = repeat
        self._skip = skip
        self._num_replicas = num_replicas
        self._rank = rank
        self._batches = samples // batch_size if drop_last else -(-samples // batch_size)
        # If a training continues, a thread draws the order while the state of the checkpoint is loaded: with
        # a million samples that takes a third as long as the loading of 100 MB.
        self._ahead: Optional[_OrderAhead] = None
        if skip > 0 and self._batches > 0 and seed is not None:
            self._ahead = _OrderAhead((skip * num_replicas + rank) // self._batches, self._draw)

    def __len__(self) -> int:
        return _share(self._batches, self._num_replicas, self._rank)

    def __iter__(self) -> Iterator[List[int]]:
        number = self._skip * self._num_replicas + self._rank
        epoch, order = -1, None
        while self._batches > 0:
            if number // self._batches != epoch:
                epoch = number // self._batches
                if epoch > 0 and not self._repeat:
                    return
                order = self._order_of(epoch)
            begin = number % self._batches * self._batch_size
            end = min(begin + self._batch_size, self._samples)
            yield list(range(begin, end)) if order is None else order[begin:end].tolist()
            number += self._num_replicas

    def _order_of(self, epoch: int) -> Any:
        if self._seed is None:
            return None
        ahead, self._ahead = self._ahead, None
        return ahead.wait() if ahead is not None and ahead.epoch == epoch else self._draw(epoch)

    def _draw(self, epoch: int) -> Any:
        mixed = ((self._seed or 0) * 1_000_003 + epoch) % 2**63
        return torch.randperm(self._samples, generator=torch.Generator().manual_seed(mixed))


class _OrderAhead:
    """The order of an epoch, which a separate thread draws."""

    def __init__(self, epoch: int, draw: Callable[[int], Any]) -> None:
        self.epoch = epoch
        self._draw = draw
        self._order: Any = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._order = self._draw(self.epoch)

    def wait(self) -> Any:
        self._thread.join()
        return self._order if self._order is not None else self._draw(self.epoch)  # raises the thread's exception again


class SamplerEpochs(BatchSampler):
    """The batches of a user's batch sampler, epoch by epoch. The random numbers that the sampler draws from
    the global generators follow from the seed and the epoch.

    Args:
        first_epoch: the epoch with which it begins
        repeat: False: ends after the first epoch; True: ends only if the sampler has no batches
    """

    def __init__(self, batch_sampler: Any, seed: int, first_epoch: int, repeat: bool) -> None:
        self._sampler = batch_sampler
        self._seed = seed
        self._first_epoch = first_epoch
        self._repeat = repeat

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[List[int]]:
        epoch, is_empty = self._first_epoch, False
        while not is_empty:
            randomness = IsolatedRandomness(self._seed)
            randomness.begin_epoch(epoch)
            with randomness.in_use():
                batches = iter(self._sampler)
            is_empty = True
            for batch in _drawn_by(batches, randomness):
                is_empty = False
                yield batch
            if not self._repeat:
                return
            epoch += 1


def _drawn_by(batches: Iterator[List[int]], randomness: IsolatedRandomness) -> Iterator[List[int]]:
    while True:
        with randomness.in_use():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def adapt_user_sampler(
    batch_sampler: Any, seed: int, repeat: bool, skip: int, num_replicas: int, rank: int
) -> Any:
    """Like adapt_batch_sampler(), but the sampler has its own random numbers (SamplerEpochs). With a skip,
    draws the earlier epochs again unless the sampler is one whose passes do not depend on each other
    (_has_no_memory())."""
    first_epoch = 0
    if repeat and skip > 0 and _has_no_memory(batch_sampler) and len(batch_sampler) > 0:
        # Rank r of n continues with batch skip * n + r of all ranks. Leaves out the epochs before that of
        # rank 0's batch.
        first_epoch = skip * num_replicas // len(batch_sampler)
        left_out = first_epoch * len(batch_sampler)
        numbers = SamplerEpochs(batch_sampler, seed, first_epoch, repeat)
        return SkipThenShare(numbers, skip * num_replicas - left_out + rank, num_replicas, rank)
    return adapt_batch_sampler(
        SamplerEpochs(batch_sampler, seed, first_epoch, repeat), False, skip, num_replicas, rank
    )


class SkipThenShare(BatchSampler):
    """Leaves out `skip` batches, then yields every num_replicas-th. Its length is the rank's share of the
    wrapped sampler."""

    def __init__(self, batch_sampler: Any, skip: int, num_replicas: int, rank: int) -> None:
        self._sampler = batch_sampler
        self._skip = skip
        self._num_replicas = num_replicas
        self._rank = rank

    def __len__(self) -> int:
        return _share(len(self._sampler), self._num_replicas, self._rank)

    def __iter__(self) -> Iterator[List[int]]:
        for index, batch in enumerate(self._sampler):
            if index >= self._skip and (index - self._skip) % self._num_replicas == 0:
                yield batch


def _has_no_memory(sampler: Any) -> bool:
    """Whether each pass through a sampler depends on nothing but the global generators of random numbers."""
    if type(sampler) is BatchSampler:
        return _has_no_memory(sampler.sampler)
    known = (SequentialSampler, RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
    return type(sampler) in known and getattr(sampler, "generator", None) is None
