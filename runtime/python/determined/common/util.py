"""Small functions that published programs import from Determined."""

import importlib
import sys
from typing import IO, Any, Iterator, Sequence, Union

from determined._absent import refuse_names_of
from determined.experimental.client._times import parse_time as parse_protobuf_timestamp


def chunks(lst: Sequence[Any], chunk_size: int) -> Iterator[Sequence[Any]]:
    """Yields parts of chunk_size elements; the last one may be shorter."""
    for begin in range(0, len(lst), chunk_size):
        yield lst[begin : begin + chunk_size]


def sizeof_fmt(val: Union[int, float]) -> str:
    """A number of bytes as text: "1.5KB"."""
    value = float(val)
    for unit in ("", "K", "M", "G", "T", "P", "E", "Z"):
        if abs(value) < 1024:
            return f"{value:3.1f}{unit}B"
        value /= 1024
    return f"{value:.1f}YB"


def yaml_safe_load(stream: Union[str, bytes, IO[Any]]) -> Any:
    """Loads a YAML document of plain values.

    Raises:
        ImportError: neither ruamel.yaml nor PyYAML is installed
    """
    try:
        return importlib.import_module("ruamel.yaml").YAML(typ="safe", pure=True).load(stream)
    except ImportError:
        return importlib.import_module("determined.common.yaml").safe_load(stream)


def safe_load_yaml_with_exceptions(yaml_file: Union[str, IO[Any]]) -> Any:
    """As yaml_safe_load(), but prints an error of the document and ends the program with exit code 1."""
    library = importlib.import_module("determined.common.yaml")
    try:
        return yaml_safe_load(yaml_file)
    except library.YAMLError as problem:
        print(f"error: the file is not YAML: {problem}", file=sys.stderr)
        sys.exit(1)


__all__ = ["chunks", "parse_protobuf_timestamp", "safe_load_yaml_with_exceptions", "sizeof_fmt", "yaml_safe_load"]

__getattr__ = refuse_names_of(__name__)
