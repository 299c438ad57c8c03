"""Information about the task of this process: the files of DET_RUN_DIR/info, with Determined's names."""

import atexit
import json
import os
import pathlib
import shutil
import tempfile
from typing import Any, Dict, List, Optional

from determined import _sampler

_DEFAULT_RUN_DIR = "/run/determined"


def _load(path: pathlib.Path) -> Dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        content: Dict[str, Any] = json.load(file)
    return content


class TrialInfo:
    """The trial of this task.

    Attributes:
        trial_id, experiment_id: numbers
        trial_seed: the seed for random numbers of this trial
        hparams: the hyperparameters of this trial, nested as configured
    """

    def __init__(self, content: Dict[str, Any]) -> None:
        self.trial_id: int = content["trial_id"]
        self.experiment_id: int = content["experiment_id"]
        self.trial_seed: int = content["trial_seed"]
        self.hparams: Dict[str, Any] = content["hparams"]
        self._config: Dict[str, Any] = content["config"]
        self._steps_completed: int = content["steps_completed"]
        self._trial_run_id: int = content["trial_run_id"]
        self._debug: bool = content["debug"]
        self._inter_node_network_interface: Optional[str] = content["inter_node_network_interface"]


class RendezvousInfo:
    """The nodes of the task, in rank order."""

    def __init__(self, content: Dict[str, Any]) -> None:
        self.container_addrs: List[str] = content["container_addrs"]
        self.container_rank: int = content["container_rank"]
        self.container_slot_counts: List[int] = content["container_slot_counts"]


class ResourcesInfo:
    """The devices of this node."""

    def __init__(self, content: Dict[str, Any]) -> None:
        self.gpu_uuids: List[str] = content["gpu_uuids"]


class ClusterInfo:
    """The task on this node. Obtained from get_cluster_info().

    Attributes:
        cluster_id, agent_id, task_id, allocation_id, task_type: names
        slot_ids: numbers of the slots on this node
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        content = _load(directory / "cluster.json")
        self.master_url: str = content["master_url"]
        self.cluster_id: str = content["cluster_id"]
        self.agent_id: str = content["agent_id"]
        self.slot_ids: List[int] = content["slot_ids"]
        self.task_id: str = content["task_id"]
        self.allocation_id: str = content["allocation_id"]
        self.session_token: str = content["session_token"]
        self.task_type: str = content["task_type"]
        self.master_cert_name: Optional[str] = content.get("master_cert_name")
        self.master_cert_file: Optional[str] = content.get("master_cert_file")
        self._latest_checkpoint: Optional[str] = content.get("latest_checkpoint")
        self._trial: Optional[TrialInfo] = None
        self._rendezvous: Optional[RendezvousInfo] = None
        self._resources: Optional[ResourcesInfo] = None

    @property
    def latest_checkpoint(self) -> Optional[str]:
        """The storage_id of the checkpoint from which this run continues; None if it starts from the beginning."""
        return self._latest_checkpoint if self.task_type == "TRIAL" else None

    @property
    def user_data(self) -> Dict[str, Any]:
        """The section `data` of the configuration."""
        return (self.trial._config.get("data") or {}) if self.task_type == "TRIAL" else {}

    @property
    def trial(self) -> TrialInfo:
        """The trial.

        Raises:
            RuntimeError: the task is no trial
        """
        if self.task_type != "TRIAL":
            raise RuntimeError(f"a task of type {self.task_type} has no trial")
        if self._trial is None:
            self._trial = TrialInfo(_load(self._directory / "trial.json"))
        return self._trial

    @property
    def _trial_info(self) -> Optional[TrialInfo]:
        """The trial; None if the task is no trial. Published programs use this name of Determined's."""
        return self.trial if self.task_type == "TRIAL" else None

    def _load_rendezvous(self) -> RendezvousInfo:
        if self._rendezvous is None:
            self._rendezvous = RendezvousInfo(_load(self._directory / "rendezvous.json"))
        return self._rendezvous

    @property
    def container_addrs(self) -> List[str]:
        """The addresses of the nodes, in rank order."""
        return self._load_rendezvous().container_addrs if self.task_type == "TRIAL" else ["127.0.0.1"]

    @property
    def container_slot_counts(self) -> List[int]:
        """The number of slots of each node, in rank order."""
        if self.task_type == "TRIAL":
            return self._load_rendezvous().container_slot_counts
        return [len(self.slot_ids)]

    @property
    def container_rank(self) -> int:
        """The number of this node."""
        return self._load_rendezvous().container_rank if self.task_type == "TRIAL" else 0

    @property
    def gpu_uuids(self) -> List[str]:
        """The UUIDs of the GPUs of this node that Slurm gave to this task; of all GPUs of the node if Slurm
        lists none."""
        if self._resources is None:
            self._resources = ResourcesInfo(_load(self._directory / "resources.json"))
        return self._resources.gpu_uuids


_info: Optional[ClusterInfo] = None
_FILES = ("cluster", "trial", "rendezvous", "resources")


def copy_of(info: ClusterInfo) -> Dict[str, Any]:
    """What the files of an info say, without the token."""
    content = {name: _load(info._directory / f"{name}.json") for name in _FILES}
    content["cluster"]["session_token"] = ""
    return content


def _info_of_search() -> Optional[ClusterInfo]:
    """In a sampler: the task in which RemoteSearchRunner has created the experiment; None without one."""
    global _info
    content = _sampler.request().searcher.get("cluster_info")
    if content is None:
        return None
    directory = pathlib.Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    for name in _FILES:
        (directory / f"{name}.json").write_text(json.dumps(content[name]), encoding="utf-8")
    _info = ClusterInfo(directory)
    return _info


def get_cluster_info() -> Optional[ClusterInfo]:
    """The task of this process, read once; None off the cluster."""
    global _info
    if _info is None and _sampler.is_asked():
        return _info_of_search()
    if _info is None:
        directory = pathlib.Path(os.environ.get("DET_RUN_DIR") or _DEFAULT_RUN_DIR) / "info"
        if (directory / "cluster.json").exists():
            _info = ClusterInfo(directory)
    return _info
