"""What this machine has of what the checks need, and the environment in which they run."""

import datetime
import json
import os
import re
import shutil
import site
import subprocess
import sys
from typing import Any, Dict, List, NamedTuple, Set

from one_node_slurm import Slurm

PROBE_LIMIT_S = 60
# Variables of the job or the run in which the checks may themselves be started.
FOREIGN = ("DET_", "SLURM_", "SBATCH_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_")
MIB = 1 << 20
GIB = 1 << 30

PROBE_TORCH = """
import json, os, torch
try:
    import nvidia.nccl
    nccl = list(nvidia.nccl.__path__)[0] + "/lib"
except ImportError:
    nccl = ""
print(json.dumps({"torch": torch.__version__, "cuda": torch.cuda.is_available(), "nccl": nccl}))
"""


class Layout(NamedTuple):
    """The folders of a bundle."""

    root: str

    @property
    def prefix(self) -> str:
        return f"{self.root}/prefix"

    @property
    def tests(self) -> str:
        return f"{self.root}/tests"

    @property
    def checks(self) -> str:
        return f"{self.root}/checks"

    @property
    def slurm(self) -> str:
        return f"{self.root}/slurm"

    @property
    def libraries(self) -> str:
        return f"{self.root}/libraries"

    def programs(self) -> List[str]:
        """The ELF files that must find their libraries."""
        found = []
        for directory in (f"{self.prefix}/bin", self.tests, f"{self.slurm}/bin", f"{self.slurm}/sbin", f"{self.slurm}/plugins"):
            if os.path.isdir(directory):
                found += [f"{directory}/{name}" for name in sorted(os.listdir(directory))]
        return found


class Machine:
    """This machine, for one run of the checks.

    Args:
        work: an empty directory
        storage: an empty directory for checkpoints
        logs: a directory
        is_rehearsal: the bundle's own driver and NCCL stand in for a GPU, and all packed libraries are used
    """

    def __init__(self, layout: Layout, work: str, storage: str, logs: str, is_rehearsal: bool) -> None:
        self.layout = layout
        self.is_rehearsal = is_rehearsal
        self._work = work
        self._storage = storage
        self._logs = logs
        self._libraries = f"{work}/libraries"
        self.missing_libraries = self._choose_libraries()
        self.facts: Dict[str, Any] = {
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "rehearsal": is_rehearsal,
            **read_json(f"{layout.root}/version.json"),
        }
        self.lacking: Dict[str, str] = {}  # why the machine can't do what checks need
        self._nccl = ""
        self._probe_torch()
        self._probe_device()
        self._probe_nccl()
        self._probe_slurm()

    def environment(self, check: str, is_python: bool) -> Dict[str, str]:
        """The environment of a check."""
        storage = f"{self._work if check == 'slurm' else self._storage}/{check}"
        temporary = f"{self._work}/tmp"
        for directory in (storage, temporary):
            os.makedirs(directory, exist_ok=True)
        environment = self._base_environment(with_nccl=not is_python)
        environment.update(
            DET_GPU_STORAGE=storage,
            DET_GPU_PROGRAMS=self.layout.tests,
            DET_GPU_DET_SUBMIT=f"{self.layout.prefix}/bin/det-submit",
            DET_GPU_LOGS=self._logs,
            DET_GPU_STATE_BYTES=str(self._state_bytes()),
            DET_LIBRARY=f"{self._library_directory()}/libdet.so.0",
            HOME=self._work,
            TMPDIR=temporary,
            PYTHONUSERBASE=site.getuserbase(),  # it is below the HOME of the user
            XDG_DATA_HOME=storage,
            PYTHONPATH=f"{self.layout.prefix}/lib/det-submit/python-path",
            PYTHONDONTWRITEBYTECODE="1",
            PYTHONUNBUFFERED="1",
        )
        if os.path.isdir(self.layout.slurm):
            environment["DET_GPU_SLURM"] = self.layout.slurm
        if self.is_rehearsal:
            environment["DET_GPU_REHEARSAL"] = "1"
        return environment

    def remove_storage(self, check: str) -> None:
        shutil.rmtree(f"{self._storage}/{check}", ignore_errors=True)

    def _library_directory(self) -> str:
        for name in ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu"):
            if os.path.exists(f"{self.layout.prefix}/{name}/libdet.so.0"):
                return f"{self.layout.prefix}/{name}"
        return f"{self.layout.prefix}/lib"

    def _base_environment(self, with_nccl: bool = False) -> Dict[str, str]:
        paths = [self._libraries, self._library_directory(), f"{self.layout.slurm}/plugins"]
        if self.is_rehearsal:
            paths.insert(0, f"{self._work}/driver")
        if with_nccl and self._nccl:
            paths.append(self._nccl)
        paths += os.environ.get("LD_LIBRARY_PATH", "").split(":")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        programs = [f"{self.layout.slurm}/bin", f"{self.layout.slurm}/sbin", f"{self.layout.prefix}/bin"]
        return {
            **kept,
            "PATH": os.pathsep.join(programs + [os.environ.get("PATH", os.defpath)]),
            "LD_LIBRARY_PATH": ":".join(path for path in paths if path),
        }

    def _choose_libraries(self) -> List[str]:
        """Makes the directory with the packed libraries that are used: those that the machine lacks, or all of them if
        those of the machine are too old. Returns what is still missing."""
        if self.is_rehearsal:
            make_driver_links(f"{self._work}/driver", self.layout.tests)
        if not os.path.isdir(self.layout.libraries):
            return []
        known = set() if self.is_rehearsal else known_libraries()
        missing: List[str] = []
        for names in (set(os.listdir(self.layout.libraries)) - known, set(os.listdir(self.layout.libraries))):
            shutil.rmtree(self._libraries, ignore_errors=True)
            os.makedirs(self._libraries)
            for name in names:
                os.symlink(f"{self.layout.libraries}/{name}", f"{self._libraries}/{name}")
            missing = find_missing(self.layout.programs(), self._base_environment())
            if not missing:
                break
        return missing

    def _probe_torch(self) -> None:
        done = run_probe([sys.executable, "-c", PROBE_TORCH], self._base_environment())
        if done.returncode != 0:
            self.lacking["torch"] = f"{sys.executable} has no torch"
            return
        found = json.loads(done.stdout.splitlines()[-1])
        self.facts["torch"] = found["torch"]
        self._nccl = found["nccl"]
        if not found["cuda"] and not self.is_rehearsal:
            self.lacking["torch"] = f"torch {found['torch']} sees no CUDA device"

    def _probe_device(self) -> None:
        if not os.path.exists(f"{self.layout.tests}/gpu-checks"):
            self.lacking["device"] = "gpu-checks was not built: CMake has not found the headers of CUDA and NCCL"
            return
        done = run_probe([f"{self.layout.tests}/gpu-checks", "probe"], self._base_environment(with_nccl=True))
        if done.returncode != 0:
            self.lacking["device"] = (done.stderr.strip().splitlines() or ["gpu-checks does not start"])[-1]
            return
        self.facts.update(json.loads(done.stdout.splitlines()[-1]))
        self.facts["driver"] = driver_version()

    def _probe_nccl(self) -> None:
        load = "import ctypes; ctypes.CDLL('libnccl.so.2')"
        if run_probe([sys.executable, "-c", load], self._base_environment(with_nccl=True)).returncode != 0:
            self.lacking["nccl"] = "this machine has no NCCL (libnccl.so.2)"

    def _probe_slurm(self) -> None:
        slurm = Slurm(self.layout.slurm if os.path.isdir(self.layout.slurm) else None)
        missing = slurm.find_missing()
        if missing:
            self.lacking["slurm"] = f"this machine has no {', '.join(missing)}"

    def _state_bytes(self) -> int:
        """8 GiB, or what memory and disk allow: there are three copies in memory, and two checkpoints."""
        if self.is_rehearsal:
            return 16 * MIB
        disk = shutil.disk_usage(self._storage).free
        return max(16 * MIB, min(8 * GIB, disk // 4, available_memory() // 8))


def read_json(path: str) -> Dict[str, Any]:
    with open(path) as file:
        content: Dict[str, Any] = json.load(file)
    return content


def run_probe(command: List[str], environment: Dict[str, str]) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PROBE_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return subprocess.CompletedProcess(command, 1, "", str(problem))


def make_driver_links(directory: str, tests: str) -> None:
    """The tests' own driver, NCCL and NVML under the names of NVIDIA's."""
    os.makedirs(directory)
    for name, target in (
        ("libcuda.so.1", "fake_libcuda.so"),
        ("libnccl.so.2", "fake_libcuda.so"),
        ("libnvidia-ml.so.1", "fake_libnvml.so"),
    ):
        os.symlink(f"{tests}/{target}", f"{directory}/{name}")


def known_libraries() -> Set[str]:
    """The libraries that the dynamic linker of this machine finds."""
    for program in ("/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig"):
        done = run_probe([program, "-p"], dict(os.environ))
        if done.returncode == 0:
            return {line.split()[0] for line in done.stdout.splitlines() if "=>" in line}
    return set()


def find_missing(programs: List[str], environment: Dict[str, str]) -> List[str]:
    """The libraries, or versions of them, that programs do not find."""
    done = run_probe(["ldd", *programs], environment)
    return sorted({line.strip() for line in (done.stdout + done.stderr).splitlines() if "not found" in line})


def driver_version() -> str:
    try:
        with open("/proc/driver/nvidia/version") as file:
            found = re.search(r"\b\d{3,}\.\d+(\.\d+)*\b", file.read())
    except OSError:
        return ""
    return found.group() if found else ""


def available_memory() -> int:
    with open("/proc/meminfo") as file:
        line = next(line for line in file if line.startswith("MemAvailable:"))
    return int(line.split()[1]) * 1024
