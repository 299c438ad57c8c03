"""Refused: callbacks of Keras trials."""

from determined._refused import refuse

__getattr__ = refuse(__name__, "use the callbacks of Keras itself, and report by determined.core")
