"""The class Determined, under Determined's name for its module."""

from determined.experimental.client import Determined

__all__ = ["Determined"]
