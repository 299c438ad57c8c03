"""Names of Determined that det-submit does not have. Using such a name raises an ImportError that says what
to use instead."""

from typing import Any, Callable, Optional, Sequence


def refuse(module: str, instead: str, names: Optional[Sequence[str]] = None) -> Callable[[str], Any]:
    """A __getattr__ for a module. names: those that it refuses; None: every name except `__x__`."""

    def get_attribute(name: str) -> Any:
        if (name.startswith("__") and name.endswith("__")) or (names is not None and name not in names):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        raise ImportError(f"det-submit has no {module}.{name}: {instead}", name=module)

    return get_attribute
