"""Determined's Python API for experiments of det-submit."""

from determined._info import ClusterInfo, RendezvousInfo, ResourcesInfo, TrialInfo, get_cluster_info
from determined._version import __version__

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"


class InvalidHP(Exception):
    """Raised by a program that cannot train with its hyperparameters."""

    def __init__(self, msg: str = "...") -> None:
        if not isinstance(msg, str):
            raise TypeError(f"InvalidHP takes a message, not {type(msg).__name__}")
        super().__init__(msg)
        self.msg = msg


from determined import core, errors  # noqa: E402

__all__ = [
    "ClusterInfo",
    "InvalidHP",
    "LOG_FORMAT",
    "RendezvousInfo",
    "ResourcesInfo",
    "TrialInfo",
    "__version__",
    "core",
    "errors",
    "get_cluster_info",
]
