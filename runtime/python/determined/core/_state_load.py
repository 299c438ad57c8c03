"""A checkpoint with a state that can be loaded."""

import ctypes
import json
from typing import Any, Callable, Dict, List, Sequence, Tuple

from determined import _lib, errors
from determined.core._device_memory import DeviceMemory
from determined.core._distributed import DistributedContext
from determined.core._state_fill import Filler, Stored, parse_tree, tree_of_tensors
from determined.core._state_pack import OBJECTS, TREE


class SavedState:
    """One checkpoint. Methods are collective where they say so.

    Attributes:
        uuid, steps_completed, metadata: of the checkpoint
    """

    def __init__(
        self,
        saves: _lib.TensorSaves,
        ranks: DistributedContext,
        devices: DeviceMemory,
        uuid: str,
        manifest: Dict[str, Any],
    ) -> None:
        self.uuid = uuid
        self.steps_completed = int(manifest.get("steps_completed", 0))
        self.metadata: Dict[str, Any] = manifest.get("metadata") or {}
        self._saves = saves
        self._ranks = ranks
        self._devices = devices
        self._stored: Stored = {
            tensor["name"]: (tensor["dtype"], tuple(tensor["shape"])) for tensor in manifest.get("tensors", [])
        }
        self._objects: Dict[str, List[Any]] = {}
        self._texts: Dict[str, Any] = {}
        self._is_own = False

    def load_texts(self) -> None:
        """Loads the texts and the pickles, which are not unpickled yet. Collective. Precedes tree() and filler()."""
        names = [TREE, OBJECTS, self._of_rank(TREE), self._of_rank(OBJECTS)]
        self._texts = {
            name: (ctypes.c_char * self._stored[name][1][0])() for name in names if name in self._stored
        }
        memories = [
            _lib.Memory(name, ctypes.addressof(text), "U8", (len(text),)) for name, text in self._texts.items()
        ]
        self._is_own = self._saves.load_from(self.uuid, memories).is_own

    def tree(self) -> Dict[str, Any]:
        """The text that ranks share.

        Raises:
            InvalidCheckpointException: the checkpoint has no tensors
        """
        if not self._stored:
            raise errors.InvalidCheckpointException(
                f"checkpoint {self.uuid} consists of files: load it by restore_path() or download()"
            )
        return parse_tree(self._texts[TREE].raw) if TREE in self._texts else tree_of_tensors(self._stored)

    def filler(self) -> Filler:
        own = self._texts.get(self._of_rank(TREE))
        return Filler(
            self.tree(),
            None if own is None else parse_tree(own.raw).get("values"),
            self._stored,
            lambda: self._unpickle(OBJECTS),
            lambda: self._unpickle(self._of_rank(OBJECTS)),
            self._devices.can_copy,
        )

    def fill(self, state: Any) -> None:
        """Fills a state in place. Collective."""

        def plan() -> Tuple[Filler, List[_lib.Memory]]:
            filler = self.filler()
            return filler, filler.plan(state)

        filler, memories = result_of_ranks(self._ranks, plan)
        self.load(memories)
        filler.finish()

    def load(self, memories: Sequence[_lib.Memory]) -> None:
        """Loads tensors, or parts of them. Collective."""
        self._devices.prepare()  # of the stream that the program uses now
        # A call takes one part of each tensor.
        calls: List[List[_lib.Memory]] = [[]]
        seen: Dict[str, int] = {}
        for memory in memories:
            number = seen[memory.name] = seen.get(memory.name, -1) + 1
            if number == len(calls):
                calls.append([])
            calls[number].append(memory)
        most = max(self._ranks.allgather(len(calls)))
        for each in calls + [[]] * (most - len(calls)):
            self._saves.load_from(self.uuid, each)

    def _of_rank(self, name: str) -> str:
        return f"{name}.rank-{self._ranks.rank}"

    def _unpickle(self, name: str) -> List[Any]:
        if not self._is_own:
            raise errors.InvalidCheckpointException(
                f"checkpoint {self.uuid} has pickled objects, which can run code, and it is not known who wrote it\n"
                "  hint: load it in the experiment that saved it, or save states without such objects"
            )
        if name not in self._objects:
            import pickle

            self._objects[name] = pickle.loads(self._texts[name].raw)
        return self._objects[name]


def load_manifest(ranks: DistributedContext, uuid: str) -> Dict[str, Any]:
    from determined.core._checkpoint import _fetch

    manifest: Dict[str, Any] = json.loads(_fetch(lambda: ranks._handle().manifest(uuid)))["body"]
    return manifest


def result_of_ranks(ranks: DistributedContext, call: Callable[[], Any]) -> Any:
    """The result of a call on this rank, or on all ranks the error of the lowest rank that has one. Collective."""
    if ranks.size == 1:
        return call()
    result, problem = None, None
    try:
        result = call()
    except Exception as caught:
        problem = caught
    texts = ranks.allgather(None if problem is None else f"{type(problem).__name__}: {problem}")
    if problem is not None:
        raise problem
    for rank, text in enumerate(texts):
        if text is not None:
            raise RuntimeError(f"rank {rank}: {text}")
    return result
