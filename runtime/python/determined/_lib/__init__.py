"""libdet by ctypes: the calls of det.h that the package uses, as methods of `Handle`."""

from determined._lib._handle import Draft, Handle, Ranks, check_steps
from determined._lib._library import LibraryError, find_library, load

__all__ = ["Draft", "Handle", "LibraryError", "Ranks", "check_steps", "find_library", "load"]
