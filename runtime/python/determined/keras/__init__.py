"""Refused: Keras trials."""

from determined._refused import refuse

INSTEAD = "train with Keras as usual, and report by determined.core from a callback of Keras"

__getattr__ = refuse(__name__, INSTEAD)
