"""Refused: metric writers."""

from determined._refused import refuse

__getattr__ = refuse(__name__, "write to the directory of core_context.train.get_tensorboard_path()")
