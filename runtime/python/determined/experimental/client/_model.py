"""The model registry: names that point to checkpoints."""

import json
from typing import Any, Dict, Iterable, List, Optional

from determined.experimental.client import _checkpoint
from determined.experimental.client._checkpoint import Checkpoint
from determined.experimental.client._det_submit import ask
from determined.experimental.client._enums import ModelOrderBy
from determined.experimental.client._times import parse_time


class ModelVersion:
    """A version of a model. Obtained from Model.register_version(), get_version() or get_versions().

    Attributes:
        model_version: its number, from 1
        model_id, model_name: the model
        name, comment, notes, metadata, labels: as they are now
        creation_time, last_updated_time: UTC
        username: who registered it
    """

    def __init__(self, content: Dict[str, Any]) -> None:
        self._checkpoint: Optional[Checkpoint] = None
        self._set(content)

    def _set(self, content: Dict[str, Any]) -> None:
        self.model_version: int = content["version"]
        self.model_id: int = content["model_id"]
        self.model_name: str = content["model"]
        self.name: str = content["name"]
        self.comment: str = content["comment"]
        self.notes: str = content["notes"]
        self.metadata: Dict[str, Any] = content["metadata"]
        self.labels: List[str] = content["labels"]
        self.creation_time = parse_time(content["creation_time"])
        self.last_updated_time = parse_time(content["last_updated_time"])
        self.username: str = content["username"]
        self._uuid: str = content["checkpoint"]["uuid"]

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint; read at the first use.

        Raises:
            CheckpointNotFound: no trial of an experiment has saved it: it was imported
        """
        if self._checkpoint is None:
            self._checkpoint = Checkpoint(_checkpoint.find(self._uuid))
        return self._checkpoint

    def reload(self) -> None:
        """Reads everything again."""
        content = ask("model", "describe", str(self.model_id), "--version", str(self.model_version))
        self._set(content["version"])

    def set_name(self, name: str) -> None:
        """Changes the name."""
        self._update("--name", name)

    def set_notes(self, notes: str) -> None:
        """Changes the notes."""
        self._update("--notes", notes)

    def _update(self, *words: str) -> None:
        self._set(ask("model", "update", str(self.model_id), "--version", str(self.model_version), *words))

    def delete(self) -> None:
        """Deletes the version. The checkpoint stays, and may be removed from now on."""
        ask("model", "delete", str(self.model_id), "--version", str(self.model_version), "--yes")

    def __repr__(self) -> str:
        return f"ModelVersion(model={self.model_name!r}, version={self.model_version})"


class Model:
    """A model of the registry. Obtained from create_model(), get_model() or get_models().

    Attributes:
        model_id: its number
        name, description, metadata, labels, notes, archived: as they are now
        creation_time, last_updated_time: UTC
        username: who created it
    """

    def __init__(self, content: Dict[str, Any]) -> None:
        self._set(content)

    def _set(self, content: Dict[str, Any]) -> None:
        self.model_id: int = content["id"]
        self.name: str = content["name"]
        self.description: str = content["description"]
        self.notes: str = content["notes"]
        self.metadata: Dict[str, Any] = content["metadata"]
        self.labels: List[str] = content["labels"]
        self.creation_time = parse_time(content["creation_time"])
        self.last_updated_time = parse_time(content["last_updated_time"])
        self.username: str = content["username"]
        self.archived: bool = content["archived"]

    def reload(self) -> None:
        """Reads everything again."""
        self._set(ask("model", "describe", str(self.model_id)))

    def register_version(self, checkpoint_uuid: str) -> ModelVersion:
        """Makes a checkpoint the next version. It is not removed as long as the version exists."""
        return ModelVersion(ask("model", "register-version", str(self.model_id), checkpoint_uuid))

    def get_version(self, version: int = -1) -> Optional[ModelVersion]:
        """A version by its number. -1: the newest one, or None if the model has none.

        Raises:
            NotFoundException: there is no such version
        """
        words = [] if version == -1 else ["--version", str(version)]
        content = ask("model", "describe", str(self.model_id), *words)["version"]
        return None if content is None else ModelVersion(content)

    def get_versions(self, order_by: ModelOrderBy = ModelOrderBy.DESC) -> List[ModelVersion]:
        """All versions; by default the newest one first."""
        versions = [ModelVersion(content) for content in ask("model", "list-versions", str(self.model_id))]
        return versions[::-1] if order_by is ModelOrderBy.DESC else versions

    def list_versions(self, order_by: ModelOrderBy = ModelOrderBy.DESC) -> List[ModelVersion]:
        """The same as get_versions()."""
        return self.get_versions(order_by)

    def add_metadata(self, metadata: Dict[str, Any]) -> None:
        """Adds entries to the metadata, or replaces them."""
        self.reload()
        self._update("--metadata", json.dumps({**self.metadata, **metadata}))

    def remove_metadata(self, keys: List[str]) -> None:
        """Removes entries of the metadata.

        Raises:
            ValueError: keys is no list of texts
        """
        if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
            raise ValueError(f"keys must be a list of texts, not {keys!r}")
        self.reload()
        left = {key: value for key, value in self.metadata.items() if key not in keys}
        self._update("--metadata", json.dumps(left))

    def set_labels(self, labels: Iterable[str]) -> None:
        """Replaces the labels."""
        words = [word for label in labels for word in ("--label", label)]
        self._update(*(words or ["--no-labels"]))

    def set_description(self, description: str) -> None:
        """Changes the description."""
        self._update("--description", description)

    def _update(self, *words: str) -> None:
        self._set(ask("model", "update", str(self.model_id), *words))

    def archive(self) -> None:
        """Keeps the model as it is: no new versions, no changes."""
        self._set(ask("model", "archive", str(self.model_id)))

    def unarchive(self) -> None:
        """Allows changes again."""
        self._set(ask("model", "unarchive", str(self.model_id)))

    def move_to_workspace(self, workspace_name: str) -> None:
        """Not possible: det-submit has no workspaces of models."""
        raise NotImplementedError(f"move_to_workspace({workspace_name!r}): det-submit has no workspaces of models")

    def delete(self) -> None:
        """Deletes the model with its versions. The checkpoints stay, and may be removed from now on."""
        ask("model", "delete", str(self.model_id), "--yes")

    def to_json(self) -> Dict[str, Any]:
        """The attributes with the names that Determined gives them."""
        return {
            "name": self.name,
            "id": self.model_id,
            "description": self.description,
            "creation_time": self.creation_time,
            "last_updated_time": self.last_updated_time,
            "metadata": self.metadata,
            "archived": self.archived,
        }

    def __repr__(self) -> str:
        return f"Model(id={self.model_id}, name={self.name!r}, metadata={json.dumps(self.metadata)})"
