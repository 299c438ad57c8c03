"""Refused: TensorFlow estimators."""

from determined._refused import refuse

__getattr__ = refuse(__name__, "TensorFlow has removed estimators; use determined.core")
