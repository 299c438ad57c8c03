"""The module `determined` on the PYTHONPATH of a run. It loads the package `determined` of the user's
environment if there is one, else that of det-submit.

The package itself can't be on the PYTHONPATH: Python looks there before it looks for the packages of the
environment, so that a `determined` that the user has installed would be hidden.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_OWN = os.path.join(os.path.dirname(_HERE), "python")


def _load() -> None:
    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("determined", others)
    if spec is None or spec.loader is None:
        spec = importlib.machinery.PathFinder.find_spec("determined", [_OWN])
    elif os.path.abspath(spec.origin or "") != os.path.join(_OWN, "determined", "__init__.py"):
        print(f"note: using the package determined in {spec.origin} and not det-submit's", file=sys.stderr)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"there is no package determined in {_OWN}", name="determined")
    module = importlib.util.module_from_spec(spec)
    sys.modules["determined"] = module  # the import statement returns this entry
    spec.loader.exec_module(module)


_load()
