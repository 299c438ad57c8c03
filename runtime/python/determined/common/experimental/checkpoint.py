"""Checkpoints, under Determined's name for their module."""

from determined.experimental.client import Checkpoint, CheckpointState, DownloadMode

__all__ = ["Checkpoint", "CheckpointState", "DownloadMode"]
