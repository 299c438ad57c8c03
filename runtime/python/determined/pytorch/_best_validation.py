"""Which validations are followed by a checkpoint."""

from typing import Any, Dict, Optional

from determined.pytorch._search_rungs import searcher_of


class BestValidation:
    """Decides by the checkpoint policy.

    Args:
        policy: which validations are followed by a checkpoint. "best": those that are better than all earlier
            ones of the experiment, or all if there is no searcher's metric; "all"; "none"
    """

    def __init__(self, core_context: Any, policy: str) -> None:
        self._core = core_context
        self._policy = policy
        searcher = searcher_of(core_context)
        self._metric: Optional[str] = searcher.get("metric")
        self._smaller_is_better = searcher.get("smaller_is_better", True)

    def searcher_metric(self, metrics: Dict[str, Any]) -> float:
        """The value of the metric by which the searcher decides.

        Raises:
            RuntimeError: it is missing or no number
        """
        value = metrics.get(self._metric or "")
        if not isinstance(value, (int, float)):
            what = "is missing" if value is None else f"is {value!r} and no number"
            raise RuntimeError(
                f"the searcher's metric '{self._metric}' {what}; the validation metrics are: {', '.join(sorted(metrics))}"
            )
        return float(value)

    def wants_checkpoint(self, metrics: Dict[str, Any]) -> bool:
        """Whether to save a checkpoint after this validation. Collective. Call it before the metrics are
        reported, because it compares them with the reported ones."""
        if self._policy != "best" or self._metric is None:
            return self._policy != "none"
        is_better = False
        if self._core.distributed.rank == 0:
            best = self._core.train.get_experiment_best_validation()
            value = self.searcher_metric(metrics)
            is_better = best is None or (value < best if self._smaller_is_better else value > best)
        return bool(self._core.distributed.broadcast(is_better))
