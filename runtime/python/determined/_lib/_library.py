"""Finds and loads libdet.so, and declares the functions of det.h."""

import ctypes
import os
import pathlib
import sys
from ctypes import POINTER, Structure, c_char_p, c_double, c_int32, c_size_t, c_uint64, c_void_p
from typing import Any, Dict, Iterator, List, Optional, Tuple

from determined._lib import _collectives, _state_calls
from determined._version import __version__

SONAME = "libdet.so.0"
UUID_SIZE = 37

WARNING_FUNCTION = ctypes.CFUNCTYPE(None, c_char_p, c_void_p)
SELECT_FUNCTION = ctypes.CFUNCTYPE(c_int32, c_char_p, c_void_p)


class LibraryError(RuntimeError):
    """A call of libdet failed.

    Attributes:
        code: a stable word such as "misuse" or "transport"
        status: the status of the call, which is also an exit code of det-submit's programs
    """

    def __init__(self, code: str, message: str, hint: str = "", status: int = 1) -> None:
        super().__init__(f"{message}\n  hint: {hint}" if hint else message)
        self.code = code
        self.status = status


class ReportTooLargeError(LibraryError, ValueError):
    """A report or the metadata takes more than 16 MiB in the journal. Nothing of it is written."""


class ContextOptions(Structure):
    """det_context_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("checkpoint_path", c_char_p),
        ("on_warning", WARNING_FUNCTION),
        ("user", c_void_p),
        ("preempt_mode", c_int32),
        ("devices", c_int32),
        ("checkpoint_storage", c_char_p),
    ]


class RankNumbers(Structure):
    """det_ranks"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("rank", c_int32),
        ("size", c_int32),
        ("local_rank", c_int32),
        ("local_size", c_int32),
        ("cross_rank", c_int32),
        ("cross_size", c_int32),
        ("group", c_char_p),
        ("chief_address", c_char_p),
    ]


_HANDLE_OUT = POINTER(c_void_p)

# Calls that return a status. ctypes releases the global interpreter lock during them, because they may wait
# for other ranks or for a disk.
_CALLS: Dict[str, Tuple[Any, ...]] = {
    "det_context_connect": (POINTER(RankNumbers), POINTER(ContextOptions), _HANDLE_OUT),
    "det_context_join_run": (c_void_p, POINTER(ContextOptions)),
    "det_context_close": (c_void_p,),
    "det_distributed_gather_bytes": (c_void_p, c_char_p, c_size_t, _HANDLE_OUT),
    "det_distributed_allgather_bytes": (c_void_p, c_char_p, c_size_t, _HANDLE_OUT),
    "det_distributed_broadcast_bytes": (c_void_p, c_char_p, c_size_t, c_int32, _HANDLE_OUT),
    "det_distributed_gather_bytes_local": (c_void_p, c_char_p, c_size_t, _HANDLE_OUT),
    "det_distributed_allgather_bytes_local": (c_void_p, c_char_p, c_size_t, _HANDLE_OUT),
    "det_distributed_broadcast_bytes_local": (c_void_p, c_char_p, c_size_t, _HANDLE_OUT),
    "det_preempt_should_preempt": (c_void_p, POINTER(c_int32)),
    "det_preempt_peek": (c_void_p, POINTER(c_int32)),
    "det_preempt_acknowledge": (c_void_p,),
    "det_train_report_metrics": (c_void_p, c_char_p, c_uint64, c_char_p),
    "det_train_report_mean": (c_void_p, c_char_p, c_uint64, POINTER(c_char_p), POINTER(c_double), c_size_t, POINTER(c_double)),
    "det_train_flush": (c_void_p,),
    "det_train_report_progress": (c_void_p, c_double),
    "det_train_set_status": (c_void_p, c_char_p),
    "det_train_set_metadata": (c_void_p, c_char_p),
    "det_train_report_early_exit": (c_void_p, c_int32),
    "det_train_report_alert": (c_void_p, c_char_p, c_char_p, c_int32),
    "det_train_load_metadata": (c_void_p, _HANDLE_OUT),
    "det_train_find_experiment_best_validation": (c_void_p, POINTER(c_int32), POINTER(c_double)),
    "det_train_find_last_steps": (c_void_p, POINTER(c_int32), POINTER(c_uint64)),
    "det_train_make_tensorboard_directory": (c_void_p, _HANDLE_OUT),
    "det_searcher_training_length": (c_void_p, POINTER(c_uint64), POINTER(c_int32)),
    "det_searcher_batches_left": (c_void_p, c_uint64, POINTER(c_int32), POINTER(c_uint64)),
    "det_searcher_next_operation": (c_void_p, c_int32, POINTER(c_uint64)),
    "det_searcher_peek_operation": (c_void_p, c_int32, POINTER(c_uint64)),
    "det_searcher_acknowledge_end": (c_void_p,),
    "det_searcher_report_progress": (c_void_p, c_double),
    "det_searcher_report_completed": (c_void_p, c_double),
    "det_checkpoint_restore_path": (c_void_p, c_char_p, _HANDLE_OUT),
    "det_checkpoint_find_directory": (c_void_p, c_char_p, _HANDLE_OUT),
    "det_checkpoint_load_manifest": (c_void_p, c_char_p, _HANDLE_OUT),
    "det_checkpoint_download": (c_void_p, c_char_p, c_char_p, SELECT_FUNCTION, c_void_p),
    "det_checkpoint_delete": (c_void_p, c_char_p),
    "det_checkpoint_draft_open": (c_void_p, c_uint64, c_char_p, _HANDLE_OUT),
    "det_checkpoint_draft_open_sharded": (c_void_p, c_uint64, c_char_p, _HANDLE_OUT),
    "det_checkpoint_draft_commit": (c_void_p,),
    "det_checkpoint_draft_give_up": (c_void_p, c_char_p),
    "det_checkpoint_upload_selected": (
        c_void_p,
        c_uint64,
        c_char_p,
        c_char_p,
        SELECT_FUNCTION,
        c_void_p,
        c_char_p,
    ),
}

# Calls that can't fail. ctypes releases the global interpreter lock during them, because they remove files, or wait for
# connections to end, whose other side may be a thread of this process.
_SLOW_CALLS: Dict[str, Tuple[Any, ...]] = {
    "det_context_destroy": (None, c_void_p),
    "det_checkpoint_draft_destroy": (None, c_void_p),
}

# Short calls that can't fail. ctypes keeps the global interpreter lock during them.
_SHORT_CALLS: Dict[str, Tuple[Any, ...]] = {
    "det_version": (c_char_p,),
    "det_error_code": (c_char_p,),
    "det_error_message": (c_char_p,),
    "det_error_hint": (c_char_p,),
    "det_strings_count": (c_size_t, c_void_p),
    "det_strings_get": (c_void_p, c_void_p, c_size_t, POINTER(c_size_t)),
    "det_strings_destroy": (None, c_void_p),
    "det_preempt_wrap_handler_of_child": (None,),
    "det_checkpoint_draft_uuid": (c_char_p, c_void_p),
    "det_checkpoint_draft_directory": (c_char_p, c_void_p),
}


class Library:
    """The functions of libdet, as attributes."""

    def __init__(self, path: str) -> None:
        blocking = ctypes.CDLL(path)
        short = ctypes.PyDLL(path)
        for name, arguments in {**_CALLS, **_collectives.CALLS, **_state_calls.CALLS}.items():
            function = getattr(blocking, name)
            function.restype, function.argtypes = c_int32, arguments
            setattr(self, name, function)
        slow = {**_SLOW_CALLS, **_collectives.SLOW_CALLS}
        quick = {**_SHORT_CALLS, **_collectives.SHORT_CALLS, **_state_calls.SHORT_CALLS}
        for library, calls in ((blocking, slow), (short, quick)):
            for name, (result, *parameters) in calls.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, parameters
                setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the package does not use {name}")

    def check(self, status: int) -> None:
        """Raises LibraryError with the error of the last call unless its status is 0."""
        if status != 0:
            raise self.last_error(status)

    def last_error(self, status: int) -> LibraryError:
        code = self.det_error_code().decode()
        kind = ReportTooLargeError if code == "report-too-large" else LibraryError
        return kind(code, _text(self.det_error_message()), _text(self.det_error_hint()), status)

    def take_strings(self, strings: int) -> List[bytes]:
        """Copies a list of byte strings and frees it."""
        size = c_size_t()
        pointer = ctypes.byref(size)
        get = self.det_strings_get
        values = []
        for index in range(self.det_strings_count(strings)):
            address = get(strings, index, pointer)
            values.append(ctypes.string_at(address, size.value))
        self.det_strings_destroy(strings)
        return values


def _text(value: bytes) -> str:
    return value.decode("utf-8", errors="replace")


def _candidates() -> Iterator[str]:
    named = os.environ.get("DET_LIBRARY")
    if named:
        yield named
        return
    package = pathlib.Path(__file__).resolve().parent.parent
    yield str(package / "_lib" / SONAME)
    folder = package.parent.parent.parent
    if package == folder / "det-submit" / "python" / "determined":
        # Libraries are in lib, in lib64, on Debian in lib/x86_64-linux-gnu or the like, and in a container in lib/det-host.
        machine = getattr(sys.implementation, "_multiarch", f"{os.uname().machine}-linux-gnu")
        for place in (folder, folder.parent / "lib64", folder / machine, folder / "det-host"):
            yield str(place / SONAME)
    modules = os.environ.get("DET_MODULES")
    if modules:
        yield os.path.join(modules, SONAME)


def find_library() -> str:
    """The path of libdet.so: DET_LIBRARY, else a file in the package or its prefix, else one in DET_MODULES, else
    the name alone, which the dynamic linker looks for."""
    for path in _candidates():
        if os.path.exists(path) or os.environ.get("DET_LIBRARY"):
            return path
    return SONAME


_library: Optional[Library] = None


def load() -> Library:
    """Loads libdet once.

    Raises:
        ImportError: there is no libdet, or it is of another version than the package
    """
    global _library
    if _library is None:
        path = find_library()
        try:
            library = Library(path)
        except (OSError, AttributeError) as problem:
            raise ImportError(
                f"determined {__version__} can't use {path}: {problem}\n"
                "  hint: install det-submit, or set DET_LIBRARY to the path of its libdet.so.0"
            ) from None
        version = library.det_version().decode()
        if version != __version__:
            raise ImportError(
                f"the package determined is {__version__}, and {path} is {version}\n"
                "  hint: use both from the same installation of det-submit"
            )
        _library = library
    return _library
