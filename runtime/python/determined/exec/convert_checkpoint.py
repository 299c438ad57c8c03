"""python3 -m determined.exec.convert_checkpoint: files of torch and those of checkpoints. det-submit runs it.

    export DIRECTORY FILE PREFIX    the state in the files of a checkpoint, as torch.save writes it; PREFIX "": all of it
    import FILE TARGET              the tensors in a file of torch.save, as a safetensors file
"""

import json
import pathlib
import struct
import sys
from typing import Any, Dict, List, Optional

from determined.core import _arrays
from determined.core._state_directory import has_state, read_state
from determined.core._state_pack import plain_keys


def below(state: Any, prefix: str) -> Any:
    """The part of a nest with this name: names of dicts and positions in lists, joined by dots.

    Raises:
        KeyError: there is none
    """
    if not prefix:
        return state
    if isinstance(state, dict):
        for key, name in plain_keys(state).items():
            if prefix == str(name):
                return state[key]
            if prefix.startswith(f"{name}."):
                return below(state[key], prefix[len(f"{name}.") :])
    elif isinstance(state, (list, tuple)):
        index, _, rest = prefix.partition(".")
        if index.isdigit() and int(index) < len(state):
            return below(state[int(index)], rest)
    raise KeyError(prefix)


def export(directory: str, file: str, prefix: str) -> Optional[str]:
    """Returns an error."""
    import torch

    source = pathlib.Path(directory)
    if has_state(source):
        state: Any = read_state(source)
    else:
        from determined.pytorch import _checkpoint_files

        state = _checkpoint_files.load_state(source)
    try:
        state = below(state, prefix)
    except KeyError:
        return f"the checkpoint has nothing with the name '{prefix}'"
    torch.save(state, file)
    return None


def flatten(state: Any, name: str, tensors: Dict[str, _arrays.Array]) -> None:
    """Collects the tensors of a nest by their names."""
    if isinstance(state, dict):
        for key, value in state.items():
            flatten(value, f"{name}.{key}" if name else str(key), tensors)
    elif isinstance(state, (list, tuple)):
        for index, value in enumerate(state):
            flatten(value, f"{name}.{index}" if name else str(index), tensors)
    else:
        array = _arrays.describe(state)
        if array is not None:
            tensors[name] = _arrays.row_by_row(array)


def import_file(file: str, target: str) -> Optional[str]:
    """Returns an error."""
    import torch

    tensors: Dict[str, _arrays.Array] = {}
    flatten(torch.load(file, map_location="cpu", weights_only=True), "", tensors)
    if not tensors:
        return f"{file} has no tensors"
    header: Dict[str, Any] = {}
    offset = 0
    for name, array in tensors.items():
        size = array.size_bytes()
        header[name] = {"dtype": array.stored, "shape": array.stored_shape(), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with open(target, "xb") as opened:
        opened.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            opened.write(memoryview(_arrays.as_kind(_arrays.bytes_of(array), "numpy")))
    return None


def main(arguments: Optional[List[str]] = None) -> int:
    """Returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) == 4 and words[0] == "export":
        problem = export(*words[1:])
    elif len(words) == 3 and words[0] == "import":
        problem = import_file(*words[1:])
    else:
        problem = "usage: convert_checkpoint export DIRECTORY FILE PREFIX | import FILE TARGET"
    if problem is not None:
        print(problem, file=sys.stderr)
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main())
