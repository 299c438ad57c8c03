"""Reports of metrics, under Determined's name for their module."""

from determined.experimental.client import TrainingMetrics, TrialMetrics, ValidationMetrics

__all__ = ["TrainingMetrics", "TrialMetrics", "ValidationMetrics"]
