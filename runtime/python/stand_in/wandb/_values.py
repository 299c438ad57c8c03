"""config and summary: maps whose entries are attributes too."""

from typing import Any, Callable, Dict, Iterator

from wandb._notes import warn_once


def as_map(values: Any) -> Dict[str, Any]:
    """A map, or the attributes of an object like argparse.Namespace."""
    if values is None:
        return {}
    if hasattr(values, "items"):
        return dict(values.items())
    return dict(values.flag_values_dict() if hasattr(values, "flag_values_dict") else vars(values))  # absl, argparse


class Values:
    """A map whose entries are attributes too. `changed` is called after each change."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        object.__setattr__(self, "_entries", {})
        object.__setattr__(self, "_changed", changed)

    def _set(self, name: str, value: Any) -> None:
        self._entries[name] = value
        self._changed()

    def update(self, values: Any = None, allow_val_change: Any = None, **more: Any) -> None:
        for name, value in {**as_map(values), **more}.items():
            self._set(str(name), value)

    def as_dict(self) -> Dict[str, Any]:
        return dict(self._entries)

    _as_dict = as_dict

    def get(self, name: str, default: Any = None) -> Any:
        return self._entries.get(name, default)

    def keys(self) -> Any:
        return self._entries.keys()

    def values(self) -> Any:
        return self._entries.values()

    def items(self) -> Any:
        return self._entries.items()

    def __getattr__(self, name: str) -> Any:
        try:
            return self._entries[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__.lower()} has no entry '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._set(name, value)

    def __getitem__(self, name: str) -> Any:
        return self._entries[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._set(str(name), value)

    def __delitem__(self, name: str) -> None:
        del self._entries[name]
        self._changed()

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(self._entries)

    _entries: Dict[str, Any]
    _changed: Callable[[], None]


class Config(Values):
    """The configuration of a run. The trial's hyperparameters override the values of the script, as those of
    a sweep do."""

    def __init__(self, hyperparameters: Dict[str, Any], changed: Callable[[], None] = lambda: None) -> None:
        super().__init__(changed)
        object.__setattr__(self, "_hyperparameters", hyperparameters)
        self._entries.update(hyperparameters)

    def _set(self, name: str, value: Any) -> None:
        if name in self._hyperparameters:
            if value != self._hyperparameters[name]:
                warn_once(f"config.{name}", f"config.{name} stays {self._entries[name]!r}, a hyperparameter of the trial")
            return
        super()._set(name, value)

    def setdefaults(self, values: Any) -> None:
        self.update({name: value for name, value in as_map(values).items() if name not in self._entries})

    def persist(self) -> None:
        """Does nothing: the next report writes the configuration."""

    _hyperparameters: Dict[str, Any]


class Summary(Values):
    """A value for each metric: the last one, or the one that define_metric() chooses. Values that the script
    sets stay."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        super().__init__(changed)
        object.__setattr__(self, "_set_by_script", set())

    def _set(self, name: str, value: Any) -> None:
        self._set_by_script.add(name)
        super()._set(name, value)

    def _log(self, name: str, value: Any, kind: str) -> None:
        """Updates the entry of a metric that was logged. kind: "last", "min", "max" or "none"."""
        if name in self._set_by_script or kind == "none":
            return
        old = self._entries.get(name)
        if kind in ("min", "max") and isinstance(old, (int, float)) and isinstance(value, (int, float)):
            value = min(old, value) if kind == "min" else max(old, value)
        self._entries[name] = value

    _set_by_script: Any
