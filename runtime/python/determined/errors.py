"""Exceptions that users see."""


class CheckpointNotFound(Exception):
    """There is no checkpoint of this storage_id."""
