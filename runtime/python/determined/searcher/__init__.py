"""Refused: custom searches."""

from determined._refused import refuse

__getattr__ = refuse(
    __name__, "use the searchers of the configuration (single, random, grid, adaptive_asha)"
)
