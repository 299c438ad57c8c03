"""Refused: batch inference by trial classes."""

from determined._refused import refuse

__getattr__ = refuse(__name__, "it is not supported yet; use determined.core in a script")
