"""A build hook of hatchling that puts libdet, the file that DET_WHEEL_LIBRARY names, into the wheel."""

import os
from typing import Any, Dict

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface):  # type: ignore[misc]
    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        library = os.environ.get("DET_WHEEL_LIBRARY")
        if not library:
            return
        machine = os.uname().machine
        build_data["pure_python"] = False
        # ctypes calls libdet, so that one wheel serves all releases of Python. manylinux_2_28: libdet needs
        # glibc 2.28.
        build_data["tag"] = f"py3-none-manylinux_2_28_{machine}"
        build_data["force_include"][library] = "determined/_lib/libdet.so.0"
