"""The ranks of a program, and objects and tensors that they exchange."""

import json
import os
import pickle
from types import TracebackType
from typing import Any, List, Optional, Tuple, Type

from determined import _lib
from determined.core._tensor_collectives import TensorCollectives


_PROTOCOL = pickle.HIGHEST_PROTOCOL


def _find_chief(chief_ip: Optional[str], launcher_variable: str) -> Optional[str]:
    """The chief's address: the argument, else that of the run, else that of the launcher."""
    return chief_ip or os.environ.get("DET_CHIEF_IP") or os.environ.get(launcher_variable) or None


def _environment_name(*names: str) -> str:
    """The first of these variables that is set, with its name, as a name for a group of ranks."""
    for name in names:
        if os.environ.get(name):
            return f"{name}-{os.environ[name]}"
    return ""


class DistributedContext(TensorCollectives):
    """The number of this rank, and collective operations on picklable objects and on tensors.

    A program may make one before `core.init()`, and also without it, on a cluster and off. With several ranks the
    constructor is collective: it returns when all ranks have connected. All ranks call the same operations in
    the same order.

    Outside of a run of an experiment, ranks of several nodes find the chief by a file in a directory that the nodes
    share: a directory below the environment variable DET_RENDEZVOUS_DIR, else ~/.cache/det-submit/ranks.
    Ranks that mpirun or `srun --mpi=pmix` has started use MPI instead.

    The ranks of a node find each other by a socket in TMPDIR. Tests that simulate nodes of several ranks on one host
    need a TMPDIR for each node, and so a process for each rank; otherwise ranks of different nodes meet, and the
    constructor waits for the others until its time is over. Simulated nodes of one rank each may be threads.

    The constructor waits at most two minutes for the ranks of a node, and five minutes for those of several
    nodes. Operations wait without a limit. DET_COLLECTIVE_TIMEOUT_S sets a limit in seconds for each
    operation and, outside of a run, replaces the five minutes.

    Args:
        rank: number of this rank among all ranks, from 0; rank 0 is the chief
        size: number of all ranks
        local_rank: number of this rank on its node
        local_size: number of ranks on this node
        cross_rank: number of this node
        cross_size: number of nodes
        chief_ip: address or host name of the chief's node, the same on all ranks; needed where there are several nodes
        pub_port, port_offset: their sum must differ between programs of one user that run on a node, or with
            one chief, at the same time
        pull_port, force_tcp: accepted for compatibility, without effect

    Without numbers the process is the only rank. With rank and size alone, all ranks are on one node.

    Raises:
        ValueError: rank or size is missing and another number is given, or some but not all of the other four numbers
        AssertionError: there are several nodes, and chief_ip is missing
        LibraryError: the numbers contradict each other, or the ranks can't be connected
    """

    def __init__(
        self,
        *,
        rank: Optional[int] = None,
        size: Optional[int] = None,
        local_rank: Optional[int] = None,
        local_size: Optional[int] = None,
        cross_rank: Optional[int] = None,
        cross_size: Optional[int] = None,
        chief_ip: Optional[str] = None,
        pub_port: int = 12360,
        pull_port: int = 12376,
        port_offset: int = 0,
        force_tcp: bool = False,
        _group: str = "",
    ) -> None:
        if rank is None or size is None:
            if any(number is not None for number in (rank, size, local_rank, local_size, cross_rank, cross_size)):
                raise ValueError("DistributedContext needs rank and size")
            rank, size = 0, 1
        if local_rank is None and local_size is None and cross_rank is None and cross_size is None:
            local_rank, local_size, cross_rank, cross_size = rank, size, 0, 1
        if local_rank is None or local_size is None or cross_rank is None or cross_size is None:
            raise ValueError(
                "DistributedContext needs all of local_rank, local_size, cross_rank and cross_size, or none of them"
            )
        self.rank: int = rank
        self.size: int = size
        self.local_rank: int = local_rank
        self.local_size: int = local_size
        self.cross_rank: int = cross_rank
        self.cross_size: int = cross_size
        if self.local_size != self.size and chief_ip is None:
            raise AssertionError("DistributedContext needs chief_ip where there are several nodes")
        self._chief_ip = chief_ip
        self._group = _group or f"port-{pub_port + port_offset}"
        self._handle_of_ranks: Optional[_lib.Handle] = None
        self._is_closed = False
        if self.size > 1:
            self._handle()

    @classmethod
    def from_torch_distributed(cls, chief_ip: Optional[str] = None) -> "DistributedContext":
        """Numbers from the environment of torchrun, or of a launcher with its variables.

        Args:
            chief_ip: address of the chief's node; default: DET_CHIEF_IP, else MASTER_ADDR

        Raises:
            KeyError: a variable is missing
        """
        return cls(
            rank=int(os.environ["RANK"]),
            size=int(os.environ["WORLD_SIZE"]),
            local_rank=int(os.environ["LOCAL_RANK"]),
            local_size=int(os.environ["LOCAL_WORLD_SIZE"]),
            cross_rank=int(os.environ["GROUP_RANK"]),
            cross_size=int(os.environ["GROUP_WORLD_SIZE"]),
            chief_ip=_find_chief(chief_ip, "MASTER_ADDR"),
            _group=_environment_name("MASTER_PORT"),
        )

    @classmethod
    def from_deepspeed(cls, chief_ip: Optional[str] = None) -> "DistributedContext":
        """Numbers from the environment of the deepspeed launcher.

        Args:
            chief_ip: address of the chief's node; default: DET_CHIEF_IP, else MASTER_ADDR

        Raises:
            KeyError: a variable is missing
        """
        return cls(
            rank=int(os.environ["RANK"]),
            size=int(os.environ["WORLD_SIZE"]),
            local_rank=int(os.environ["LOCAL_RANK"]),
            local_size=int(os.environ["LOCAL_SIZE"]),
            cross_rank=int(os.environ["CROSS_RANK"]),
            cross_size=int(os.environ["CROSS_SIZE"]),
            chief_ip=_find_chief(chief_ip, "MASTER_ADDR"),
            _group=_environment_name("MASTER_PORT"),
        )

    @classmethod
    def from_horovod(cls, hvd: Any, chief_ip: Optional[str] = None) -> "DistributedContext":
        """Numbers from horovod.

        Args:
            hvd: a module of horovod such as horovod.torch, after its init()
            chief_ip: address of a node that all nodes can reach; default: DET_CHIEF_IP, else that of horovodrun
        """
        return cls(
            rank=hvd.rank(),
            size=hvd.size(),
            local_rank=hvd.local_rank(),
            local_size=hvd.local_size(),
            cross_rank=hvd.cross_rank(),
            cross_size=hvd.cross_size(),
            chief_ip=_find_chief(chief_ip, "HOROVOD_GLOO_RENDEZVOUS_ADDR"),
            _group=_environment_name("HOROVOD_GLOO_RENDEZVOUS_PORT", "PMIX_NAMESPACE"),
        )

    @classmethod
    def from_tf_config(cls) -> Tuple["DistributedContext", Any]:
        """Numbers from TF_CONFIG, with one process on each node, and the strategy of TensorFlow.

        Returns:
            the context, and a tf.distribute strategy: MultiWorkerMirroredStrategy with several workers,
            MirroredStrategy with several GPUs, else the default strategy

        Raises:
            RuntimeError: the task of this process is no worker
        """
        import tensorflow as tf

        text = os.environ.get("TF_CONFIG")
        workers, rank = ["localhost"], 0
        if text:
            config = json.loads(text)
            task = config["task"]
            if task["type"] != "worker":
                raise RuntimeError(f"TF_CONFIG has the task type '{task['type']}': only 'worker' is supported")
            workers, rank = config["cluster"]["worker"], int(task["index"])
        if len(workers) > 1:
            strategy = tf.distribute.MultiWorkerMirroredStrategy()
        elif len(tf.config.list_physical_devices("GPU")) > 1:
            strategy = tf.distribute.MirroredStrategy()
        else:
            strategy = tf.distribute.get_strategy()
        host, _, port = workers[0].rpartition(":") if ":" in workers[0] else (workers[0], "", "")
        context = cls(
            rank=rank,
            size=len(workers),
            local_rank=0,
            local_size=1,
            cross_rank=rank,
            cross_size=len(workers),
            chief_ip=host.strip("[]"),
            _group=f"tf-config-{port}",
        )
        return context, strategy

    def __enter__(self) -> "DistributedContext":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if kind is None:
            self.close()

    def close(self) -> None:
        """Disconnects. Collective: returns when all ranks have called it. Calling it again does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._destroy_groups()
        handle, self._handle_of_ranks = self._handle_of_ranks, None
        if handle is not None:
            handle.close()

    def _handle(self) -> _lib.Handle:
        """The connection to the other ranks. With a single rank the first call makes it."""
        if self._handle_of_ranks is None:
            if self._is_closed:
                raise RuntimeError("this DistributedContext is closed")
            self._handle_of_ranks = _lib.Handle(
                _lib.Ranks(
                    self.rank,
                    self.size,
                    self.local_rank,
                    self.local_size,
                    self.cross_rank,
                    self.cross_size,
                    self._group,
                    self._chief_ip,
                )
            )
        return self._handle_of_ranks

    def get_rank(self) -> int:
        return self.rank

    def get_local_rank(self) -> int:
        return self.local_rank

    def get_size(self) -> int:
        return self.size

    def get_num_agents(self) -> int:
        """The number of nodes."""
        return self.cross_size

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """Collective.

        Returns:
            on the chief the objects of all ranks in rank order, on other ranks None
        """
        if self.size < 2:
            return [stuff]
        values = self._handle().gather(_pickle(stuff))
        return _unpickle(values, self.rank, stuff) if self.rank == 0 else None

    def gather_local(self, stuff: Any) -> Optional[List[Any]]:
        """gather() among the ranks of a node, to local rank 0. All ranks of all nodes call it."""
        if self.local_size < 2 and self.size < 2:
            return [stuff]
        values = self._handle().gather(_pickle(stuff), local=True)
        return _unpickle(values, self.local_rank, stuff) if self.local_rank == 0 else None

    def allgather(self, stuff: Any) -> List[Any]:
        """Collective.

        Returns:
            the objects of all ranks in rank order
        """
        if self.size < 2:
            return [stuff]
        return _unpickle((self._handle_of_ranks or self._handle()).allgather(pickle.dumps(stuff, _PROTOCOL)), self.rank, stuff)

    def allgather_local(self, stuff: Any) -> List[Any]:
        """allgather() among the ranks of a node. All ranks of all nodes call it."""
        if self.size < 2:
            return [stuff]
        return _unpickle(self._handle().allgather(_pickle(stuff), local=True), self.local_rank, stuff)

    def broadcast(self, stuff: Any) -> Any:
        """Collective.

        Returns:
            the chief's object; those of other ranks are ignored
        """
        if self.size < 2:
            return stuff
        if self.rank == 0:
            (self._handle_of_ranks or self._handle()).send_broadcast(pickle.dumps(stuff, _PROTOCOL))
            return stuff
        return pickle.loads((self._handle_of_ranks or self._handle()).receive_broadcast())

    def broadcast_local(self, stuff: Any = None) -> Any:
        """broadcast() from local rank 0 to the ranks of its node. All ranks of all nodes call it."""
        if self.size < 2:
            return stuff
        if self.local_rank == 0:
            self._handle().send_broadcast(_pickle(stuff), local=True)
            return stuff
        return pickle.loads(self._handle().receive_broadcast(local=True))


def _pickle(value: Any) -> bytes:
    return pickle.dumps(value, _PROTOCOL)


def _unpickle(values: List[bytes], own_index: int, own: Any) -> List[Any]:
    """The objects of all ranks. This rank's own object is returned as it is."""
    loads = pickle.loads
    return [own if index == own_index else loads(value) for index, value in enumerate(values)]
