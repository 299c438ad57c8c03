"""The Core API: what a training program does with its trial and with the other ranks.

    with determined.core.init() as core_context:
        for step in range(100):
            ...
            core_context.train.report_training_metrics(step, {"loss": loss})
            if core_context.preempt.should_preempt():
                return

Off the cluster everything except alert() works too: reports are logged, and checkpoints are kept in the user's data
directory.
"""

from determined._absent import refuse_names_of
from determined.core._checkpoint import CheckpointContext, DownloadMode
from determined.core._context import Context, TensorboardMode, init
from determined.core._distributed import DistributedContext
from determined.core._preempt import PreemptContext, PreemptMode
from determined.core._profiler import ProfilerContext
from determined.core._searcher import SearcherContext, SearcherMode, SearcherOperation, Unit
from determined.core._state import LoadedState
from determined.core._state_pack import PerRank
from determined.core._tensor_collectives import Work
from determined.core._train import EarlyExitReason, TrainContext

# Off the cluster the same classes are used.
DummyCheckpointContext = CheckpointContext
DummyPreemptContext = PreemptContext
DummyProfilerContext = ProfilerContext
DummySearcherContext = SearcherContext
DummySearcherOperation = SearcherOperation
DummyTrainContext = TrainContext


class DummyDistributedContext(DistributedContext):
    """A process that is the only rank."""

    def __init__(self) -> None:
        super().__init__(rank=0, size=1)


__getattr__ = refuse_names_of(__name__)

__all__ = [
    "CheckpointContext",
    "Context",
    "DistributedContext",
    "DownloadMode",
    "DummyCheckpointContext",
    "DummyDistributedContext",
    "DummyPreemptContext",
    "DummyProfilerContext",
    "DummySearcherContext",
    "DummySearcherOperation",
    "DummyTrainContext",
    "EarlyExitReason",
    "LoadedState",
    "PerRank",
    "PreemptContext",
    "PreemptMode",
    "ProfilerContext",
    "SearcherContext",
    "SearcherMode",
    "SearcherOperation",
    "TensorboardMode",
    "TrainContext",
    "Unit",
    "Work",
    "init",
]
