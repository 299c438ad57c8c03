"""Refused: trial classes for DeepSpeed."""

from determined._refused import refuse

__getattr__ = refuse(__name__, "trial classes are not supported yet; use determined.core in a training script")
