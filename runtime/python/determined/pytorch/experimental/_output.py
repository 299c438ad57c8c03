"""The files that a batch inference writes."""

import contextlib
import os
import pathlib
import shutil
import tempfile
from typing import Any, Iterator, List

_UNFINISHED = ".unfinished-"


def _files_below(directory: pathlib.Path) -> List[str]:
    return [
        os.path.relpath(os.path.join(folder, name), directory)
        for folder, _, names in os.walk(directory)
        for name in names
    ]


class InferenceOutput:
    """The output of one rank, in a directory of the trial on the shared file system. A file replaces an
    earlier one of the same name, so that the output has the files of a batch once, even if the batch is
    processed again.

    Args:
        directory: the directory of all ranks
        rank: number of this rank, whose files are in `rank_<rank>`
    """

    def __init__(self, directory: pathlib.Path, rank: int) -> None:
        self.directory = directory
        self._rank_directory = directory / f"rank_{rank}"
        self._prefix = f"{_UNFINISHED}{rank}-"
        for left_over in directory.glob(f"{self._prefix}*"):  # a run was killed while it was writing there
            shutil.rmtree(left_over, ignore_errors=True)

    @contextlib.contextmanager
    def upload_path(self) -> Iterator[pathlib.Path]:
        """Gives a block a directory to write files into. The end of the block renames each file into the
        output; after an exception it removes the files."""
        self.directory.mkdir(parents=True, exist_ok=True)
        work = pathlib.Path(tempfile.mkdtemp(prefix=self._prefix, dir=self.directory))
        try:
            yield work
            for name in _files_below(work):
                target = self._rank_directory / name
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(work / name, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def has_files(self) -> bool:
        return self._rank_directory.exists()

    def commit(self, checkpoint: Any, distributed: Any, metadata: Any) -> Any:
        """Makes a checkpoint of a copy of the output of all ranks. Collective.

        Returns:
            its storage_id; None if no rank has written a file
        """
        if not any(distributed.allgather(self.has_files())):
            return None
        own = self._rank_directory.name

        def is_own(path: str) -> bool:
            return path == f"{own}/" or path.startswith(f"{own}/")

        if distributed.size == 1:
            return checkpoint.upload(self.directory, metadata)
        directory = self.directory if self.has_files() else None
        return checkpoint.upload(directory, metadata, shard=True, selector=is_own if directory else None)
