"""Names that libraries import."""


class RunDisabled:
    """The type of a run with mode="disabled" in some releases of wandb. Never made here: such a run is a Run."""


__all__ = ["RunDisabled"]
