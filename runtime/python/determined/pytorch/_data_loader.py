"""The data loader of a trial: torch's DataLoader, split among the ranks, which can continue in the middle of
an epoch."""

import inspect
from typing import Any, Callable, Dict, Iterator, Optional

import torch
from torch.utils.data import BatchSampler, IterableDataset, RandomSampler, SequentialSampler

from determined import errors
from determined.pytorch._batches import EpochBatches, adapt_user_sampler
from determined.pytorch._global_batches import BatchShares

_HAS_PREFETCH_FACTOR = "prefetch_factor" in inspect.signature(torch.utils.data.DataLoader.__init__).parameters


class DataLoader:
    """The arguments of a torch.utils.data.DataLoader, which get_data_loader() or the training loop makes.

    With several ranks each rank gets different batches, of batch_size samples. In a training the order of
    shuffled samples follows from the trial's seed and the epoch, unless a generator is given.

    Raises:
        ValueError: arguments exclude each other, as for torch; the data set is an IterableDataset; batch_size is None
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: Optional[int] = 1,
        shuffle: bool = False,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Optional[Callable[..., Any]] = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Optional[Callable[[int], None]] = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: Optional[int] = None,
        persistent_workers: bool = False,
    ) -> None:
        if isinstance(dataset, IterableDataset):
            raise ValueError(
                "an IterableDataset can't be split and resumed: use a data set with __getitem__ and __len__, or return "
                "torch's own DataLoader after context.experimental.disable_dataset_reproducibility_checks()"
            )
        if sampler is not None and shuffle:
            raise ValueError("sampler and shuffle exclude each other")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and drop_last")
        elif batch_size is None:
            raise ValueError("batch_size is None: the samples must come in batches")
        elif batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        self.dataset = dataset
        self._batch_size = batch_size
        self._shuffle = shuffle
        self._sampler = sampler
        self._drop_last = drop_last
        self._generator = generator
        self._user_batch_sampler = batch_sampler
        self._options: Dict[str, Any] = {
            "num_workers": num_workers,
            "collate_fn": collate_fn,
            "pin_memory": pin_memory,
            "timeout": timeout,
            "worker_init_fn": worker_init_fn,
            "multiprocessing_context": multiprocessing_context,
            "persistent_workers": persistent_workers,
        }
        if prefetch_factor is not None and _HAS_PREFETCH_FACTOR:
            self._options["prefetch_factor"] = prefetch_factor

    def get_data_loader(
        self, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
    ) -> "torch.utils.data.DataLoader[Any]":
        """Torch's DataLoader for one rank.

        Args:
            repeat: begin again at the end
            skip: number of this rank's batches to leave out
            num_replicas, rank: each rank takes every num_replicas-th batch. The seed of the order is torch's
                initial seed, which must then be the same on all ranks
        """
        return self._build(repeat, skip, num_replicas, rank, torch.initial_seed())

    def _build(self, repeat: bool, skip: int, num_replicas: int, rank: int, seed: int) -> Any:
        batches = self._batches_of_rank(self._batch_size or 1, repeat, skip, num_replicas, rank, seed)
        return self._with_batches(batches, seed, skip)

    def _build_shares(self, global_batch_size: int, skip: int, num_replicas: int, rank: int, seed: int) -> Any:
        """The loader of a training of an elastic trial: each batch is this rank's share of a batch of all ranks.

        Args:
            skip: number of batches of all ranks to leave out

        Raises:
            InvalidExperimentException: batch_sampler or the batch size leaves it open what a batch of all ranks is
        """
        if self._user_batch_sampler is not None:
            raise errors.InvalidExperimentException(
                "an elastic trial can't use batch_sampler, which says the batches of a rank: pass a sampler"
            )
        if self._batch_size != global_batch_size // num_replicas:
            raise errors.InvalidExperimentException(
                f"the trial is elastic, and the batch_size of its training loader is {self._batch_size}: pass "
                "batch_size=context.get_per_slot_batch_size(), which follows from the hyperparameter global_batch_size"
            )
        batches = self._batches_of_rank(global_batch_size, True, skip, 1, 0, seed)
        return self._with_batches(BatchShares(batches, num_replicas, rank), seed, skip)

    def _batches_of_rank(
        self, size: int, repeat: bool, skip: int, num_replicas: int, rank: int, seed: int
    ) -> Any:
        user_sampler = self._find_user_sampler(size)
        if user_sampler is None:
            order = seed if self._shuffle else None
            return EpochBatches(len(self.dataset), size, self._drop_last, order, repeat, skip, num_replicas, rank)
        return adapt_user_sampler(user_sampler, seed, repeat, skip, num_replicas, rank)

    def _with_batches(self, batches: Any, seed: int, skip: int) -> Any:
        # Torch draws the workers' seed from this generator and not from the global one, which the training
        # uses.
        generator = torch.Generator().manual_seed((seed + skip) % 2**63)
        return torch.utils.data.DataLoader(
            self.dataset, batch_sampler=batches, generator=generator, **self._options
        )

    def _find_user_sampler(self, size: int) -> Any:
        """The batch sampler that the arguments describe; None if none of the user's objects chooses samples."""
        if self._user_batch_sampler is not None:
            return self._user_batch_sampler
        if self._sampler is not None:
            return BatchSampler(self._sampler, size, self._drop_last)
        if self._shuffle and self._generator is not None:
            ordered = RandomSampler(self.dataset, generator=self._generator)
            return BatchSampler(ordered, size, self._drop_last)
        return None

    def _batch_sampler_alone(self) -> Any:
        """The batch sampler that torch would make from the arguments."""
        found = self._find_user_sampler(self._batch_size or 1)
        if found is not None:
            return found
        samples = RandomSampler(self.dataset) if self._shuffle else SequentialSampler(self.dataset)
        return BatchSampler(samples, self._batch_size or 1, self._drop_last)

    def __iter__(self) -> Iterator[Any]:
        """All batches once, in another order each time if they are shuffled."""
        return iter(
            torch.utils.data.DataLoader(
                self.dataset, batch_sampler=self._batch_sampler_alone(), generator=self._generator, **self._options
            )
        )

    def __len__(self) -> int:
        return len(self._batch_sampler_alone())
