"""Trials on a Slurm of one node with the GPUs of this machine: slots, a PyTorchTrial that is paused, telemetry."""

import contextlib
import glob
import json
import os
import shutil
import signal
import stat
import sys
from typing import Any, Dict, Iterator, List

from one_node_slurm import Cluster, one_node_slurm, wait_until
from rows import require, row

HERE = os.path.dirname(os.path.abspath(__file__))
IS_REHEARSAL = "DET_GPU_REHEARSAL" in os.environ
STORAGE = os.environ["DET_GPU_STORAGE"]
COMMAND = os.environ["DET_GPU_DET_SUBMIT"]


def device_files() -> List[str]:
    """The GPUs of this machine. A rehearsal has a copy of /dev/null."""
    if not IS_REHEARSAL:
        return sorted(glob.glob("/dev/nvidia[0-9]*"))
    path = f"{STORAGE}/nvidia0"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.stat("/dev/null").st_rdev)
    except PermissionError:
        return ["/dev/null"]
    return [path]


class Submitter:
    """det-submit on the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._code = f"{STORAGE}/trial_code"
        shutil.copytree(f"{HERE}/trial_code", self._code)
        cluster.environment.update(
            DET_ROOT=f"{STORAGE}/det", DET_SLURM_BACKEND="commands", HOME=STORAGE, PYTHONDONTWRITEBYTECODE="1"
        )

    def run(self, *arguments: str, limit_s: float = 40) -> str:
        return self._cluster.run(COMMAND, *arguments, limit_s=limit_s)

    def ask(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))

    def create(self, name: str, entrypoint: str, batches: int, **more: Any) -> str:
        """Creates an experiment with one slot. Returns its number."""
        config: Dict[str, Any] = {
            "name": name,
            "entrypoint": entrypoint,
            "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": batches}},
            "resources": {"slots_per_trial": 1},
            "max_restarts": 0,
            "slurm": {"setup": [f"export PATH={os.path.dirname(sys.executable)}:$PATH"]},
            **more,
        }
        path = f"{STORAGE}/{name}.yaml"
        with open(path, "w") as file:
            json.dump(config, file)  # JSON is YAML
        return str(self.ask("experiment", "create", path, self._code)["id"])

    def log(self, experiment: str) -> str:
        return self.run("trial", "logs", experiment)

    def wait(self, experiment: str) -> None:
        self.run("experiment", "wait", experiment, limit_s=45)

    @contextlib.contextmanager
    def log_on_error(self, experiment: str) -> Iterator[None]:
        """Prints the log of the trial if the block raises an exception."""
        try:
            yield
        except Exception:
            print(self.log(experiment), file=sys.stderr)
            raise


def check_slots(submitter: Submitter, gpus: int) -> None:
    pools = submitter.ask("resource-pool", "list")
    for pool in pools:
        require(pool["slot_type"] == "cuda", f"{pool['name']} is of type {pool['slot_type']}")
        require(pool["slots"] == gpus, f"{pool['name']} has {pool['slots']} slots, and the machine {gpus} GPUs")
    experiment = submitter.create("info", "python3 info.py", 1)
    with submitter.log_on_error(experiment):
        submitter.wait(experiment)
    line = next(line for line in submitter.log(experiment).splitlines() if "FOUND " in line)
    found = json.loads(line.split("FOUND ", 1)[1])
    require(found["slot_ids"] == [0], f"the slots of the trial are {found['slot_ids']}")
    require(found["visible"] == "0", f"CUDA_VISIBLE_DEVICES is {found['visible']}")
    if not IS_REHEARSAL:
        require(found["devices"] == 1, f"torch sees {found['devices']} devices")
        require(found["gpu_uuids"] == found["torch_uuids"], f"det has {found['gpu_uuids']}, torch {found['torch_uuids']}")


def create_trial(submitter: Submitter) -> str:
    return submitter.create(
        "trial",
        "classifier:Classifier",
        40 if IS_REHEARSAL else 120,
        hyperparameters={"global_batch_size": 16, "step_s": 0.1},
        profiling={"enabled": True},
    )


def check_trial(submitter: Submitter, experiment: str) -> None:
    """The trial is paused in the middle and activated again."""
    device = "cpu" if IS_REHEARSAL else "cuda"
    wait_until(lambda: f"TRAINS {device}" in submitter.log(experiment), 45, "the trial does not train on the device")
    submitter.run("experiment", "pause", experiment)
    wait_until(
        lambda: submitter.ask("experiment", "describe", experiment)["state"] == "PAUSED", 30, "the trial is not paused"
    )
    submitter.run("experiment", "activate", experiment)
    submitter.wait(experiment)
    starts = [line for line in submitter.log(experiment).splitlines() if f"TRAINS {device}" in line]
    require(len(starts) == 2, f"it has begun {len(starts)} times")
    require(not starts[1].endswith("batch 0"), "it has begun again at the first batch")


def check_telemetry(submitter: Submitter, experiment: str) -> None:
    profile = json.dumps(submitter.ask("trial", "profile", experiment))
    require("gpu_util" in profile and "gpu_free_memory" in profile, f"the profile has no GPU: {profile}")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the daemons are ended
    logs = f"{os.environ['DET_GPU_LOGS']}/slurm"
    os.makedirs(logs)
    gpus = device_files()
    with one_node_slurm(os.environ.get("DET_GPU_SLURM"), f"{STORAGE}/slurm", logs, gpus) as cluster:
        submitter = Submitter(cluster)
        with row("slurm-slots"):
            check_slots(submitter, len(gpus))
        experiment = ""
        with row("slurm-trial"):
            experiment = create_trial(submitter)
            with submitter.log_on_error(experiment):
                check_trial(submitter, experiment)
        with row("slurm-telemetry"):
            check_telemetry(submitter, experiment)


if __name__ == "__main__":
    main()
