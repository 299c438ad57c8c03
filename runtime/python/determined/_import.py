"""import_from_path(): modules of another version of the user's code."""

import contextlib
import os
import sys
from types import ModuleType
from typing import Dict, Iterator


def _modules_below(directory: str) -> Dict[str, ModuleType]:
    """The imported modules whose files are below a directory, and not in an environment inside of it."""
    prefix = os.path.join(os.path.realpath(directory), "")
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        path = os.path.realpath(file) if file else ""
        if path.startswith(prefix) and "site-packages" not in path and name != "__main__":
            found[name] = module
    return found


@contextlib.contextmanager
def import_from_path(path: "os.PathLike[str]") -> Iterator[None]:
    """In the block, import statements look first in `path`, for instance in the code of a checkpoint.

        with determined.import_from_path(checkpoint_path / "code"):
            import model_def

    Modules of the working directory that are already imported are hidden in the block. Its end puts them back
    into sys.modules and removes those of `path`, which objects made of them still use. No __pycache__ is
    written.
    """
    directory = os.path.abspath(os.fspath(path))
    hidden = _modules_below(os.getcwd())
    before = (list(sys.path), sys.dont_write_bytecode)
    for name in hidden:
        del sys.modules[name]
    sys.path.insert(0, directory)
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.path[:], sys.dont_write_bytecode = before
        for name in _modules_below(directory):
            del sys.modules[name]
        sys.modules.update(hidden)
