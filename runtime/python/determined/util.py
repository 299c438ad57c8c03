"""Small functions that published programs import from Determined."""

import inspect
import logging
import random
import time
from typing import Any, Callable, Dict

from determined._absent import refuse_names_of


def merge_dicts(base: Dict[str, Any], source: Dict[str, Any]) -> Dict[str, Any]:
    """A copy of base with the values of source. Maps in both are merged in the same way."""
    merged = dict(base)
    for key, value in source.items():
        both_are_maps = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge_dicts(merged[key], value) if both_are_maps else value
    return merged


def is_overridden(full_method: Any, parent_class: Any) -> bool:
    """Whether the class of a bound method has its own version of a method of parent_class."""
    if callable(full_method) and hasattr(full_method, "__func__"):
        return full_method.__func__ is not getattr(parent_class, full_method.__name__, None)
    raise TypeError("is_overridden() takes a bound method")


def has_param(fn: Callable[..., Any], name: str, pos: int = -1) -> bool:
    """Whether a function takes a parameter of this name. pos: the position that it must have; -1: any."""
    names = list(inspect.signature(fn).parameters)
    return name in names and (pos < 0 or names.index(name) == pos)


def download_gcs_blob_with_backoff(blob: Any, n_retries: int = 32, max_backoff: int = 32) -> bytes:
    """The content of a blob of google.cloud.storage. Repeats a failed request after about 1, 2, 4 ...
    seconds.

    Args:
        n_retries: number of attempts, after which it raises a RuntimeError
        max_backoff: the longest wait, in seconds
    """
    for attempt in range(n_retries):
        try:
            content: bytes = blob.download_as_string()
            return content
        except Exception as problem:
            logging.warning("download of %s failed: %s", getattr(blob, "name", blob), problem)
            time.sleep(min(2.0**attempt + random.random(), max_backoff))
    raise RuntimeError(f"{getattr(blob, 'name', blob)} could not be downloaded in {n_retries} attempts")


__getattr__ = refuse_names_of(__name__)
