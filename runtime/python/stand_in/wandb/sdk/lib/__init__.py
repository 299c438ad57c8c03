"""Names that libraries import."""


class RunDisabled:
    """The type of a run with mode="disabled" in some releases of wandb. This module never makes one: its runs
    are of type Run."""


__all__ = ["RunDisabled"]
