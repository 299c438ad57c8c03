"""How many bytes of gradients the ranks exchange."""

import csv
from typing import Any, List

from determined.pytorch._exchange import unwrap


def gradient_bytes(models: List[Any]) -> int:
    """The size of the gradients of all models."""
    parameters = [each for model in models for each in unwrap(model).parameters() if each.requires_grad]
    return sum(each.numel() * each.element_size() for each in parameters)


def write_gradient_sizes(path: str, context: Any) -> None:
    """optimizations.grad_updates_size_file: the chief writes the size of each parameter's gradient, as CSV."""
    if context.distributed.rank != 0:
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "parameter", "elements", "bytes"])
        for index, model in enumerate(context.models):
            for name, parameter in unwrap(model).named_parameters():
                if parameter.requires_grad:
                    size = parameter.numel()
                    writer.writerow([index, name, size, size * parameter.element_size()])
