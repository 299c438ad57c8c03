"""torch_save.py DIRECTORY SIZE_BYTES TENSORS: for each line read, saves the tensors durably and prints how long it took."""
import os
import sys
import time

import torch

directory, size_bytes, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
state = {f"t{i}": torch.rand(size_bytes // count // 4 // 1024, 1024) for i in range(count)}
path = os.path.join(directory, "torch.pt")
for _ in sys.stdin:
    if os.path.exists(path):
        os.unlink(path)
    begin = time.monotonic()
    with open(path, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    sys.stdout.write(f"{time.monotonic() - begin}\n")  # in one write, also where Python does not buffer
    sys.stdout.flush()
os.unlink(path)
