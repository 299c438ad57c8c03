"""Context.checkpoint. This file has the checkpoints that consist of files."""

import contextlib
import enum
import json
import os
import pathlib
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union

from determined import _lib
from determined.core._state import StateCheckpoints

Path = Union[str, "os.PathLike[str]"]
Selector = Callable[[str], bool]


class DownloadMode(enum.Enum):
    """How the ranks of a node download a checkpoint."""

    # Collective. Local rank 0 downloads, and the other ranks of the node return when the files are there.
    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    # Each rank downloads for itself.
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


class CheckpointContext(StateCheckpoints):
    """Obtained from `Context.checkpoint`.

    Metadata is a map that holds at least "steps_completed", the number of batches since the beginning of the trial.
    A selector gets paths relative to the checkpoint; those of directories end with a slash.
    """

    def upload(
        self,
        ckpt_dir: Optional[Path],
        metadata: Optional[Dict[str, Any]] = None,
        *,
        shard: bool = False,
        selector: Optional[Selector] = None,
    ) -> str:
        """Makes a checkpoint of the files of a directory. Blocks until it is committed.

        Args:
            ckpt_dir: the directory; None on a rank that brings no files
            metadata: with shard the maps of all ranks are merged
            shard: all ranks call it and their files make one checkpoint; without it only the chief calls it
            selector: which files to take; None: all

        Returns:
            the storage_id of the checkpoint

        Raises:
            RuntimeError: on another rank than the chief without shard; ckpt_dir is None without shard, with a
                selector or on all ranks; ranks bring different files of the same name or contradicting
                metadata
            ValueError: no rank's metadata has steps_completed, or it is no number from 0 to 2**63 - 1
        """
        if ckpt_dir is None and selector is not None:
            raise RuntimeError("upload() got a selector without a ckpt_dir")
        if ckpt_dir is not None and _has_manifest(os.fspath(ckpt_dir)):
            selector = _all_but_manifest(selector)
        if not shard:
            self._require_chief("upload")
            if ckpt_dir is None:
                raise RuntimeError("cannot call .upload(ckpt_dir=None, shard=False)")
            with self.store_path(metadata) as (path, storage_id):
                _copy_tree(os.fspath(ckpt_dir), str(path), selector)
            return storage_id
        steps = self._agree_on_steps(metadata)
        if steps is None:
            raise _no_steps()
        directory = None if ckpt_dir is None else os.path.abspath(os.fspath(ckpt_dir))
        storage_id = self._handle().upload(steps, json.dumps(metadata or {}), directory, selector)
        self._log_saved(storage_id)
        return storage_id

    @contextlib.contextmanager
    def store_path(
        self, metadata: Optional[Dict[str, Any]] = None, *, shard: bool = False
    ) -> Iterator[Tuple[pathlib.Path, str]]:
        """Gives a directory to write files into, which become a checkpoint at the end of the block.

            with context.checkpoint.store_path({"steps_completed": 100}) as (path, storage_id):
                torch.save(model.state_dict(), path / "model.pt")

        After an exception in the block there is no checkpoint.

        Args:
            metadata: with shard the maps of all ranks are merged
            shard: all ranks enter the block and fill one checkpoint; on a file system all get the same directory.
                Without it only the chief enters

        Raises:
            RuntimeError, ValueError: as upload()
        """
        if not shard:
            self._require_chief("store_path")
        steps = self._agree_on_steps(metadata) if shard else _check_steps([_steps_in(metadata)])
        draft = self._handle().open_draft(steps or 0, json.dumps(metadata or {}), shard)
        try:
            yield pathlib.Path(draft.directory), draft.uuid
            if steps is None:
                raise _no_steps()
            draft.commit()
        except BaseException as problem:
            if shard:
                draft.give_up(f"rank {self._distributed.rank}: {type(problem).__name__}: {problem}")
            raise
        finally:
            draft.destroy()
        self._log_saved(draft.uuid)

    def download(
        self,
        storage_id: str,
        ckpt_dir: Path,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Optional[Selector] = None,
    ) -> None:
        """Copies a checkpoint into a directory, which is made if it does not exist.

        Args:
            download_mode: with LocalWorkersShareDownload it is collective, and a file is copied if the selector of any
                rank of the node wants it
            selector: which files; None: all

        Raises:
            CheckpointNotFound: there is no such checkpoint
            RuntimeError: with LocalWorkersShareDownload, on the node's other ranks if its local rank 0 has failed
        """
        directory = os.path.abspath(os.fspath(ckpt_dir))
        if self._is_unshared(download_mode):
            _fetch(lambda: self._handle().download(storage_id, directory, selector))
            return
        wanted = self._wanted_by_node(storage_id, selector)

        def fetch() -> None:
            self._handle().download(storage_id, directory, None if wanted is None else wanted.__contains__)

        self._by_local_chief(fetch)

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Optional[Selector] = None,
    ) -> Iterator[pathlib.Path]:
        """Gives a directory in which the files of a checkpoint can be read. Files are compared with their checksums.

        Args:
            download_mode: with LocalWorkersShareDownload all ranks enter the block and get one path for the node
            selector: which files must be there; None: all. There may be more

        Raises:
            CheckpointNotFound: there is no such checkpoint
            RuntimeError: with LocalWorkersShareDownload, on the node's other ranks if its local rank 0 has failed
        """
        if self._is_unshared(download_mode):
            yield pathlib.Path(_fetch(lambda: self._handle().restore_path(storage_id)))
            return
        yield pathlib.Path(self._by_local_chief(lambda: self._handle().restore_path(storage_id)))
        self._distributed.gather_local(None)  # local rank 0 leaves the block after the node's other ranks

    @contextlib.contextmanager
    def _restore_path_verified_beside(self, storage_id: str) -> Iterator[pathlib.Path]:
        """restore_path() for a block that reads all files into memory: if the storage is a directory, a
        thread compares the files with their checksums while the block reads them. The block must not use what
        it has read, because only the end of the block raises an error for a damaged checkpoint. All ranks
        call it; those of a node get one path.
        """
        handle = self._handle()
        directory = self._by_local_chief(lambda: handle.checkpoint_directory(storage_id))
        if directory is None:
            with self.restore_path(storage_id) as path:
                yield path
            return
        is_verifier = self._distributed.local_rank == 0
        verification = _InBackground(lambda: handle.restore_path(storage_id)) if is_verifier else None

        def wait_for_verification() -> None:
            if verification is not None:
                verification.wait()

        try:
            yield pathlib.Path(directory)
        except Exception:
            # Raises the damage of a file, which is the likely reason, instead. A rank that ended before would
            # make its launcher kill the verifier, which reports the damage.
            self._by_local_chief(wait_for_verification)
            raise
        self._by_local_chief(wait_for_verification)

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        """The metadata of a checkpoint.

        Raises:
            CheckpointNotFound: there is no such checkpoint
        """
        metadata: Dict[str, Any] = self._manifest(storage_id).get("metadata") or {}
        return metadata

    def delete(self, storage_id: str) -> None:
        """Removes a checkpoint from the storage."""
        self._handle().delete_checkpoint(storage_id)

    def _handle(self) -> _lib.Handle:
        return self._distributed._handle()

    def _require_chief(self, call: str) -> None:
        if self._distributed.rank != 0:
            raise RuntimeError(
                f"cannot call .{call}(shard=False) from non-chief worker (rank={self._distributed.rank})"
            )

    def _is_unshared(self, mode: DownloadMode) -> bool:
        return self._distributed.size < 2 or DownloadMode(mode) is DownloadMode.NoSharedDownload

    def _agree_on_steps(self, metadata: Optional[Dict[str, Any]]) -> Optional[int]:
        """The steps_completed of the lowest rank that has it; None if no rank has it. Collective: a value that
        is out of range is an error on all ranks.

        Different values are an error later, when the metadata of the ranks is merged.
        """
        return _check_steps(self._distributed.allgather(_steps_in(metadata)))

    def _manifest(self, storage_id: str) -> Dict[str, Any]:
        manifest: Dict[str, Any] = json.loads(_fetch(lambda: self._handle().manifest(storage_id)))["body"]
        return manifest

    def _paths_in(self, storage_id: str) -> List[str]:
        manifest = self._manifest(storage_id)
        directories = [f"{directory}/" for directory in manifest.get("directories", [])]
        return directories + [file["path"] for file in manifest["files"]]

    def _wanted_by_node(self, storage_id: str, selector: Optional[Selector]) -> Optional[Set[str]]:
        """The paths that the selectors of this node's ranks choose; None: everything. Collective."""
        own = None if selector is None else [path for path in self._paths_in(storage_id) if selector(path)]
        wanted: Set[str] = set()
        for paths in self._distributed.allgather_local(own):
            if paths is None:
                return None
            wanted.update(paths)
        return wanted

    def _by_local_chief(self, fetch: Callable[[], Any]) -> Any:
        """Calls fetch() on local rank 0; all ranks of the node return its result. Collective.

        If it fails, local rank 0 raises its exception and the other ranks of the node a RuntimeError with its text.
        """
        result, problem = None, None
        if self._distributed.local_rank == 0:
            try:
                result = _fetch(fetch)
            except Exception as caught:
                problem = caught
        told = None if problem is None else f"{type(problem).__name__}: {problem}"
        result, told = self._distributed.broadcast_local((result, told))
        if problem is not None:
            raise problem
        if told is not None:
            raise RuntimeError(f"local rank 0 could not fetch the checkpoint: {told}")
        return result


class _InBackground:
    """A call on a thread of its own, for functions of libdet, which release the global interpreter lock."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._problem: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as problem:
            self._problem = problem

    def wait(self) -> None:
        """Returns when the call has returned. Raises its exception."""
        self._thread.join()
        if self._problem is not None:
            raise self._problem


def _steps_in(metadata: Optional[Dict[str, Any]]) -> Union[int, str, None]:
    """The steps_completed of the metadata, unchecked; its text if it is no number."""
    steps = (metadata or {}).get("steps_completed")
    try:
        return None if steps is None else int(steps)
    except (TypeError, ValueError, OverflowError):
        return str(steps)


def _check_steps(of_ranks: List[Union[int, str, None]]) -> Optional[int]:
    """Checks the steps_completed of ranks, None for a rank without. Returns the first; None if there is none."""
    known = [_lib.check_steps(steps) for steps in of_ranks if steps is not None]
    return known[0] if known else None


def _no_steps() -> ValueError:
    return ValueError("metadata for a checkpoint must contain 'steps_completed'")


def _fetch(call: Callable[[], Any]) -> Any:
    """Calls libdet. Raises CheckpointNotFound if the checkpoint does not exist."""
    try:
        return call()
    except _lib.LibraryError as problem:
        if problem.code != "no-such-checkpoint":
            raise
        from determined import errors

        raise errors.CheckpointNotFound(str(problem)) from None


def _has_manifest(directory: str) -> bool:
    """Whether the directory is, or was copied from, that of a checkpoint."""
    try:
        with open(os.path.join(directory, "manifest"), "rb") as file:
            return file.read(64).replace(b" ", b"").replace(b"\n", b"").startswith(b'{"det":"manifest/')
    except OSError:
        return False


def _all_but_manifest(selector: Optional[Selector]) -> Selector:
    """Selects all files but the manifest: the new checkpoint gets its own."""
    return lambda path: path != "manifest" and (selector is None or selector(path))


def _copy_tree(source: str, target: str, selector: Optional[Selector]) -> None:
    """Copies the selected files of a directory. Symbolic links are followed."""
    import shutil

    for folder, directories, files in os.walk(source, followlinks=True):
        relative = os.path.relpath(folder, source)
        prefix = "" if relative == "." else relative + "/"
        for name in directories:
            if selector is None or selector(f"{prefix}{name}/"):
                os.makedirs(os.path.join(target, prefix + name), exist_ok=True)
        for name in files:
            if selector is None or selector(prefix + name):
                os.makedirs(os.path.join(target, prefix), exist_ok=True)
                shutil.copy2(os.path.join(folder, name), os.path.join(target, prefix + name))
