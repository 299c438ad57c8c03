"""Artifacts and saved files of a script, which are copied below the trial's own files."""

import contextlib
import glob
import os
import re
import shutil
import tempfile
from typing import IO, Any, Iterator, List, Optional, Tuple

from determined._script_reports import trial_files
from wandb._notes import Partial, warn_once
from wandb.errors import CommError


def _place_of(name: str) -> str:
    """The directory of an artifact. Ignores a version after ':', because only the newest version is kept."""
    return trial_files("wandb", "artifacts", re.sub(r"[^\w.-]+", "_", name.split(":")[0]).lstrip(".") or "artifact")


class Artifact(Partial):
    """Files under a name. Only the newest version is kept: it replaces files of the same name. There are no
    aliases."""

    def __init__(self, name: str, type: str = "", description: Optional[str] = None, metadata: Any = None, **_: Any) -> None:
        self.name = name
        self.type = type
        self.description = description
        self.metadata = metadata or {}
        self.aliases: List[str] = []
        self.version = "latest"
        self._files: List[Tuple[str, str]] = []
        self._written: Optional["tempfile.TemporaryDirectory[str]"] = None  # the files of new_file()

    def add_file(self, local_path: str, name: Optional[str] = None, **_: Any) -> None:
        if not os.path.isfile(local_path):
            raise ValueError(f"there is no file {local_path}")
        self._files.append((os.fspath(local_path), name or os.path.basename(local_path)))

    def add_dir(self, local_path: str, name: Optional[str] = None, **_: Any) -> None:
        if not os.path.isdir(local_path):
            raise ValueError(f"there is no directory {local_path}")
        for directory, _folders, files in os.walk(local_path):
            for file in files:
                path = os.path.join(directory, file)
                self._files.append((path, os.path.join(name or "", os.path.relpath(path, local_path))))

    @contextlib.contextmanager
    def new_file(self, name: str, mode: str = "w", encoding: Optional[str] = None, **_: Any) -> Iterator[IO[Any]]:
        """Opens a new file of the artifact for writing."""
        if self._written is None:
            self._written = tempfile.TemporaryDirectory(prefix="wandb-artifact-")
        path = os.path.join(self._written.name, str(len(self._files)))
        with open(path, mode, encoding=None if "b" in mode else encoding or "utf-8") as file:
            yield file
        self._files.append((path, name))

    def add(self, obj: Any, name: str, **_: Any) -> None:
        """Does not store the object (for example a Table): warns once for each type."""
        warn_once(f"Artifact.add {type(obj).__name__}", f"a {type(obj).__name__} in an artifact is not stored: add a file")

    def save(self, *_: Any, **__: Any) -> None:
        """Stores the artifact with the current run."""
        import wandb

        wandb.log_artifact(self)

    def wait(self, *_: Any, **__: Any) -> "Artifact":
        return self

    def __repr__(self) -> str:
        return f"Artifact '{self.name}'"

    def download(self, root: Optional[str] = None, **_: Any) -> str:
        """Returns the directory with the files; with a root copies it there and returns the root."""
        place = _place_of(self.name)
        if root is None:
            return place
        shutil.copytree(place, root, dirs_exist_ok=True)
        return root

    def _store(self) -> None:
        place = _place_of(self.name)
        for path, name in self._files:
            target = os.path.abspath(os.path.join(place, name))
            if os.path.commonpath([target, os.path.abspath(place)]) != os.path.abspath(place):
                raise ValueError(f"'{name}' is outside of the artifact '{self.name}'")
            copy_file(path, target)


def find_artifact(name: str) -> Artifact:
    """An artifact that a run of this trial has logged.

    Raises:
        CommError: there is none of this name
    """
    if not os.path.isdir(_place_of(name.split("/")[-1])):
        raise CommError(f"no run of this trial has logged the artifact '{name}', and det-submit asks no server")
    return Artifact(name.split("/")[-1])


def copy_file(source: str, target: str) -> None:
    """Copies a file. It first has another name, so that a run that is killed leaves no half file under its
    name."""
    if os.path.abspath(source) == os.path.abspath(target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy2(source, target + ".new")
    os.replace(target + ".new", target)


def save_files(pattern: str, base_path: Optional[str], directory: str) -> List[str]:
    """Copies the files that match the pattern now, for wandb.save(). Returns the paths of the copies."""
    base = base_path or os.path.dirname(pattern)
    copies = []
    for path in filter(os.path.isfile, glob.glob(pattern)):
        name = os.path.relpath(path, base or ".")
        copies.append(os.path.join(directory, os.path.basename(path) if name.startswith("..") else name))
        copy_file(path, copies[-1])
    return copies
