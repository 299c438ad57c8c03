"""Samplers that repeat, split, skip and shuffle. A batch sampler yields lists of indices. num_workers is the
number of ranks."""

from typing import Any, Iterator, List, Sized

import numpy as np
from torch.utils.data import BatchSampler, Sampler


def _check_rank(num_workers: int, rank: int) -> None:
    if num_workers < 1:
        raise ValueError(f"num_workers must be at least 1, not {num_workers}")
    if not 0 <= rank < num_workers:
        raise ValueError(f"rank must be between 0 and {num_workers - 1}, not {rank}")


def _check_skip(skip: int) -> None:
    if skip < 0:
        raise ValueError(f"skip must be at least 0, not {skip}")


def _share(length: int, num_workers: int, rank: int) -> int:
    """How many of `length` items a rank has if each takes every num_workers-th."""
    return length // num_workers + (1 if length % num_workers > rank else 0)


def _repeat(items: Any) -> Iterator[Any]:
    while True:
        is_empty = True
        for item in items:
            is_empty = False
            yield item
        if is_empty:
            return  # otherwise an empty sampler would loop forever


def _every_nth(items: Any, count: int, offset: int) -> Iterator[Any]:
    for index, item in enumerate(items):
        if index % count == offset:
            yield item


def _skip(items: Any, count: int) -> Iterator[Any]:
    iterator = iter(items)
    for _ in range(count):
        if next(iterator, None) is None:
            return
    yield from iterator


class _Wrapper:
    """A sampler that wraps another one and has its length."""

    def __init__(self, sampler: Any) -> None:
        self._sampler = sampler

    def __len__(self) -> int:
        return len(self._sampler)


class RepeatSampler(_Wrapper, Sampler):
    """Yields the indices of a sampler again and again. Its length is that of one pass."""

    def __iter__(self) -> Iterator[int]:
        return _repeat(self._sampler)


class RepeatBatchSampler(_Wrapper, BatchSampler):
    """Yields the batches of a batch sampler again and again. Its length is that of one pass."""

    def __iter__(self) -> Iterator[List[int]]:
        return _repeat(self._sampler)


class DistributedSampler(_Wrapper, Sampler):
    """Yields every num_workers-th index, beginning with index number `rank`."""

    def __init__(self, sampler: Any, num_workers: int, rank: int) -> None:
        _check_rank(num_workers, rank)
        super().__init__(sampler)
        self._num_workers, self._rank = num_workers, rank

    def __len__(self) -> int:
        return _share(len(self._sampler), self._num_workers, self._rank)

    def __iter__(self) -> Iterator[int]:
        return _every_nth(self._sampler, self._num_workers, self._rank)


class DistributedBatchSampler(_Wrapper, BatchSampler):
    """Yields every num_workers-th batch, beginning with batch number `rank`."""

    def __init__(self, batch_sampler: Any, num_workers: int, rank: int) -> None:
        _check_rank(num_workers, rank)
        super().__init__(batch_sampler)
        self._num_workers, self._rank = num_workers, rank

    def __len__(self) -> int:
        return _share(len(self._sampler), self._num_workers, self._rank)

    def __iter__(self) -> Iterator[List[int]]:
        return _every_nth(self._sampler, self._num_workers, self._rank)


class SkipSampler(_Wrapper, Sampler):
    """Leaves out the first indices. Its length is that of the wrapped sampler."""

    def __init__(self, sampler: Any, skip: int) -> None:
        _check_skip(skip)
        super().__init__(sampler)
        self._skip = skip

    def __iter__(self) -> Iterator[int]:
        return _skip(self._sampler, self._skip)


class SkipBatchSampler(_Wrapper, BatchSampler):
    """Leaves out the first batches. Its length is that of the wrapped sampler."""

    def __init__(self, batch_sampler: Any, skip: int) -> None:
        _check_skip(skip)
        super().__init__(batch_sampler)
        self._skip = skip

    def __iter__(self) -> Iterator[List[int]]:
        return _skip(self._sampler, self._skip)


class ReproducibleShuffleSampler(_Wrapper, Sampler):
    """Shuffles the indices of a sampler. Each pass has another order, which follows from the seed."""

    def __init__(self, sampler: Sized, seed: int) -> None:
        super().__init__(sampler)
        self._random = np.random.RandomState(seed)

    def __iter__(self) -> Iterator[int]:
        indices = list(self._sampler)
        self._random.shuffle(indices)
        return iter(indices)


class ReproducibleShuffleBatchSampler(_Wrapper, BatchSampler):
    """Shuffles the batches of a batch sampler. Each pass has another order, which follows from the seed."""

    def __init__(self, batch_sampler: Sized, seed: int) -> None:
        super().__init__(batch_sampler)
        self._random = np.random.RandomState(seed)

    def __iter__(self) -> Iterator[List[int]]:
        batches = list(self._sampler)
        self._random.shuffle(batches)
        return iter(batches)
