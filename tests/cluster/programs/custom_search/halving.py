"""A search method written for Determined: asynchronous successive halving."""

import dataclasses
import logging
import pickle
import sys
import uuid
from typing import Any, Callable, Dict, List, Set

from determined import searcher


@dataclasses.dataclass
class Rung:
    """Results of the trials that have trained to a length, the best first."""

    length: int
    results: List[Any] = dataclasses.field(default_factory=list)  # (metric, request_id)
    promoted: Set[uuid.UUID] = dataclasses.field(default_factory=set)

    def add(self, metric: float, request_id: uuid.UUID) -> None:
        self.results.append((metric, request_id))
        self.results.sort(key=lambda result: result[0])

    def promotable(self, divisor: int) -> List[uuid.UUID]:
        best = self.results[: len(self.results) // divisor]
        return [request_id for _, request_id in best if request_id not in self.promoted]


class HalvingState:
    def __init__(self, max_length: int, max_trials: int, num_rungs: int, divisor: int, concurrent: int) -> None:
        self.max_trials = max_trials
        self.divisor = divisor
        self.concurrent = concurrent
        self.rungs = [Rung(max(1, max_length // divisor ** (num_rungs - 1 - i))) for i in range(num_rungs)]
        self.rung_of: Dict[uuid.UUID, int] = {}
        self.failed: Set[uuid.UUID] = set()
        self.closed: Set[uuid.UUID] = set()
        self.pending = 0
        self.events: List[str] = []


class HalvingSearchMethod(searcher.SearchMethod):
    def __init__(self, search_space: Callable[[], Dict[str, Any]], **settings: int) -> None:
        self.state = HalvingState(**settings)
        self.search_space = search_space

    def initial_operations(self, searcher_state: searcher.SearcherState) -> List[searcher.Operation]:
        operations: List[searcher.Operation] = []
        for _ in range(self.state.concurrent):
            operations += self._create()
        return operations

    def on_trial_created(
        self, searcher_state: searcher.SearcherState, request_id: uuid.UUID
    ) -> List[searcher.Operation]:
        self.state.events.append("created")
        assert request_id in searcher_state.trials_created
        return []

    def on_validation_completed(
        self, searcher_state: searcher.SearcherState, request_id: uuid.UUID, metric: Any, train_length: int
    ) -> List[searcher.Operation]:
        assert isinstance(metric, float)
        assert train_length == self.state.rungs[self.state.rung_of[request_id]].length
        self.state.events.append("validated")
        return self._advance(request_id, metric)

    def on_trial_closed(
        self, searcher_state: searcher.SearcherState, request_id: uuid.UUID
    ) -> List[searcher.Operation]:
        self.state.events.append("closed")
        if len(self.state.closed) == self.state.max_trials:
            return [searcher.Shutdown()]
        return []

    def on_trial_exited_early(
        self, searcher_state: searcher.SearcherState, request_id: uuid.UUID, exited_reason: searcher.ExitedReason
    ) -> List[searcher.Operation]:
        self.state.events.append(f"exited {exited_reason.value}")
        self.state.failed.add(request_id)
        return self._advance(request_id, sys.float_info.max)

    def progress(self, searcher_state: searcher.SearcherState) -> float:
        return len(self.state.closed) / self.state.max_trials

    def save_method_state(self, path: Any) -> None:
        with path.joinpath("method_state").open("wb") as file:
            pickle.dump(self.state, file)

    def load_method_state(self, path: Any) -> None:
        with path.joinpath("method_state").open("rb") as file:
            self.state = pickle.load(file)

    def _create(self) -> List[searcher.Operation]:
        create = searcher.Create(request_id=uuid.uuid4(), hparams=self.search_space(), checkpoint=None)
        self.state.rung_of[create.request_id] = 0
        self.state.pending += 1
        return [create, searcher.ValidateAfter(request_id=create.request_id, length=self.state.rungs[0].length)]

    def _advance(self, request_id: uuid.UUID, metric: float) -> List[searcher.Operation]:
        state = self.state
        state.pending -= 1
        number = state.rung_of[request_id]
        state.rungs[number].add(metric, request_id)
        operations: List[searcher.Operation] = []
        for candidate in state.rungs[number].promotable(state.divisor) if number + 1 < len(state.rungs) else []:
            state.rungs[number].promoted.add(candidate)
            if candidate not in state.failed:
                logging.info("promoting %s", candidate)
                state.rung_of[candidate] = number + 1
                state.pending += 1
                operations.append(searcher.ValidateAfter(candidate, state.rungs[number + 1].length))
        if not operations and len(state.rung_of) < state.max_trials:
            operations += self._create()
        if state.pending == 0:  # nothing trains any more: all are at their ends
            for trial in state.rung_of:
                if trial not in state.closed:
                    state.closed.add(trial)
                    operations.append(searcher.Close(trial))
        return operations
