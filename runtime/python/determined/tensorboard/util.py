"""Names of files for TensorBoard."""

import pathlib

from determined._absent import refuse_names_of

_PROFILER_SUFFIXES = (
    "xplane.pb",
    "trace.json.gz",
    "memory_profile.json.gz",
    "overview_page.pb",
    "input_pipeline.pb",
    "kernel_stats.pb",
    "tensorflow_stats.pb",
    "pt.trace.json",
)


def get_rank_aware_path(path: pathlib.Path, rank: int) -> pathlib.Path:
    """The path with `#rank` before the suffix if it is a file of a profiler, because all ranks of a node
    write such a file under the same name. Returns other paths unchanged."""
    for suffix in _PROFILER_SUFFIXES:
        if path.name.endswith(suffix):
            return path.with_name(f"{path.name[: -len(suffix)].rstrip('.')}#{rank}.{suffix}")
    return path


__getattr__ = refuse_names_of(__name__)
