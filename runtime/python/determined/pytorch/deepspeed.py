"""Refused: trial classes for DeepSpeed."""

from determined._refused import refuse

__getattr__ = refuse(__name__, "use determined.core in a training script that calls DeepSpeed, started by determined.launch.deepspeed")
