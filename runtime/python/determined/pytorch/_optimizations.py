"""The section `optimizations` of a configuration."""

import dataclasses
from typing import Any, Dict


@dataclasses.dataclass
class Optimizations:
    """How gradients are aggregated and exchanged, and metrics averaged."""

    aggregation_frequency: int = 1
    average_aggregated_gradients: bool = True
    average_training_metrics: bool = True

    @classmethod
    def from_config(cls, config: Dict[str, Any]) -> "Optimizations":
        section = config.get("optimizations") or {}
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: section[name] for name in names if section.get(name) is not None})
