"""Objects of wandb that a journal of metrics can't hold, such as images. A note in the journal says that the
script logged them."""

import importlib
import logging
from typing import Any, Iterator, List, Optional, Set, Tuple

logger = logging.getLogger("wandb")

_warned: Set[str] = set()


def warn_once(name: str, message: str) -> None:
    """Logs a warning at the first call with this name."""
    if name not in _warned:
        _warned.add(name)
        logger.warning("wandb: %s", message)


class Partial:
    """Base of classes of wandb that this module implements in part. Their other methods and attributes are
    Unknown."""

    def __getattr__(self, name: str) -> "Unknown":
        if name.startswith("_"):
            raise AttributeError(name)
        return Unknown(f"{type(self).__name__}.{name}")


class Media(Partial):
    """Base of images, videos and so on. The note has the caption."""

    def __init__(self, *arguments: Any, caption: Optional[str] = None, **_: Any) -> None:
        self._caption = caption

    def __repr__(self) -> str:
        caption = "" if self._caption is None else f" '{self._caption}'"
        return f"{type(self).__name__}{caption}"


class Image(Media):
    """wandb.Image"""


class Video(Media):
    """wandb.Video"""


class Audio(Media):
    """wandb.Audio"""


class Html(Media):
    """wandb.Html"""


class Histogram(Media):
    """wandb.Histogram"""


class Object3D(Media):
    """wandb.Object3D"""


class Molecule(Media):
    """wandb.Molecule"""


class Plotly(Media):
    """wandb.Plotly"""


class Table(Media):
    """wandb.Table. Its rows stay in memory. The note has the number of rows and the names of the columns."""

    def __init__(self, columns: Optional[List[Any]] = None, data: Any = None, dataframe: Any = None, **_: Any) -> None:
        super().__init__()
        if dataframe is not None:
            columns, data = list(dataframe.columns), dataframe.values.tolist()
        self.columns: List[Any] = list(columns or [])
        self.data: List[List[Any]] = [list(row) for row in (data if data is not None else [])]

    def add_data(self, *row: Any) -> None:
        self.data.append(list(row))

    def add_column(self, name: Any, data: Any) -> None:
        self.columns.append(name)
        values = list(data)
        if not self.data:
            self.data = [[] for _ in values]
        for row, value in zip(self.data, values):
            row.append(value)

    def get_column(self, name: Any, convert_to: Optional[str] = None) -> Any:
        """The values of a column as a list; with convert_to="numpy" as an array."""
        index = self.columns.index(name)
        values = [row[index] for row in self.data]
        if convert_to != "numpy":
            return values
        import numpy

        return numpy.array(values)

    def iterrows(self) -> Iterator[Tuple[int, List[Any]]]:
        return iter(enumerate(self.data))

    def get_dataframe(self) -> Any:
        return importlib.import_module("pandas").DataFrame(self.data, columns=self.columns)

    def __repr__(self) -> str:
        return f"Table of {len(self.data)} rows: {', '.join(map(str, self.columns))}"


class Unknown:
    """An object for a name of wandb that this module lacks. A call warns once for each name and has no
    effect. As a sequence it is empty. If it is logged, a note is reported."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> "Unknown":
        if name.startswith("__") or name in ("item", "tolist"):
            raise AttributeError(name)
        return Unknown(f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **named: Any) -> "Unknown":
        warn_once(self._name, f"{self._name}() has no effect here: det-submit records metrics only")
        return Unknown(f"{self._name}()")

    def __getitem__(self, key: Any) -> "Unknown":
        return Unknown(f"{self._name}[{key!r}]")

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> "Unknown":
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __repr__(self) -> str:
        return self._name


def to_metric(value: Any) -> Any:
    """Converts a number, text, scalar array or list of numbers and texts to its value in a report. Returns
    None for other values, of which a note is reported."""
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, (Partial, Unknown)):
        return None
    size = getattr(value, "size", 1)
    count = value.numel() if hasattr(value, "numel") else size if isinstance(size, int) else 2
    if hasattr(value, "item") and count == 1:
        return value.item()  # a scalar of numpy, torch or jax
    if isinstance(value, (list, tuple)) and all(isinstance(each, (bool, int, float, str)) for each in value):
        return list(value)
    return None


def describe(value: Any) -> str:
    """The note for a value that is no metric."""
    if isinstance(value, (list, tuple)):
        kinds = sorted({repr(each) if isinstance(each, (Partial, Unknown)) else type(each).__name__ for each in value})
        return f"{len(value)} of {', '.join(kinds)}"[:500]
    if isinstance(value, (Partial, Unknown)):
        return repr(value)[:500]
    shape = getattr(value, "shape", None)
    return type(value).__name__ + (f" of shape {tuple(shape)}" if shape is not None else "")
