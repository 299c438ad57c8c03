"""Refused: the callback for Hugging Face."""

from determined._refused import refuse

__getattr__ = refuse(__name__, "it is not supported yet; report by determined.core from a TrainerCallback")
