"""The section `optimizations` of a configuration."""

import dataclasses
from typing import Any, Dict, Optional


@dataclasses.dataclass
class Optimizations:
    """How gradients are aggregated and exchanged, and metrics averaged. The names are those of the configuration."""

    aggregation_frequency: int = 1
    average_aggregated_gradients: bool = True
    average_training_metrics: bool = True
    gradient_compression: bool = False
    tensor_fusion_threshold: Optional[int] = None  # the size of a bucket of gradients, in MiB; None: torch's
    auto_tune_tensor_fusion: bool = False
    mixed_precision: str = "O0"
    grad_updates_size_file: Optional[str] = None

    @classmethod
    def from_config(cls, config: Dict[str, Any]) -> "Optimizations":
        section = config.get("optimizations") or {}
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: section[name] for name in names if section.get(name) is not None})

    def uses_amp(self) -> bool:
        """Whether mixed precision is configured. O1, O2 and O3 of Apex all mean torch.autocast."""
        return self.mixed_precision not in ("", "O0")
