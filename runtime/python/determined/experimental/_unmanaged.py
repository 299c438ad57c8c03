"""What core_v2 gives as the task of a program that runs off the cluster."""

import logging
import os
import pathlib
import urllib.parse
from typing import Any, Dict, Optional

from determined._info import ClusterInfo, RendezvousInfo, ResourcesInfo, TrialInfo


logger = logging.getLogger("determined")


class UnmanagedInfo(ClusterInfo):
    """The task of a program that no cluster runs. Its numbers are 0, its names are empty."""

    def __init__(self, config: Dict[str, Any], hparams: Dict[str, Any], latest_checkpoint: Optional[str]) -> None:
        self.master_url = self.cluster_id = self.agent_id = self.session_token = ""
        self.task_id = self.allocation_id = ""
        self.task_type = "TRIAL"
        self.slot_ids = []
        self.master_cert_name = self.master_cert_file = None
        self._latest_checkpoint = latest_checkpoint
        self._trial = TrialInfo(
            {
                "trial_id": 0,
                "experiment_id": 0,
                "trial_seed": 0,
                "hparams": hparams,
                "config": config,
                "steps_completed": 0,
                "trial_run_id": 0,
                "debug": False,
                "inter_node_network_interface": None,
            }
        )
        self._rendezvous = RendezvousInfo(
            {"container_addrs": ["127.0.0.1"], "container_rank": 0, "container_slot_counts": [1]}
        )
        self._resources = ResourcesInfo({"gpu_uuids": []})


class LatestCheckpoint:
    """Remembers the newest checkpoint of a program that names its experiment and its trial, in a file below the
    user's data directory."""

    def __init__(self, data_directory: str, experiment: str, trial: str) -> None:
        names = (urllib.parse.quote(name, safe="") for name in (experiment, trial))
        self._file = pathlib.Path(data_directory, "unmanaged", *(f"of-{name}" for name in names), "latest_checkpoint")

    def read(self) -> Optional[str]:
        """Its storage_id; None if there is none yet."""
        try:
            return self._file.read_text(encoding="utf-8") or None
        except FileNotFoundError:
            return None

    def write(self, storage_id: str) -> None:
        """Replaces it. An error is a warning: the checkpoint itself is saved, and the training goes on."""
        new = self._file.with_name(f"new.{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(storage_id, encoding="utf-8")
            os.replace(new, self._file)
        except OSError as problem:
            logger.warning("checkpoint %s is saved, but not as the latest one of this trial: %s", storage_id, problem)
