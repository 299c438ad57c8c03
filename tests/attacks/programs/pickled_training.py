"""A Core API trial that saves a pickle every ten steps and never ends."""

import pickle
import time

import determined as det

info = det.get_cluster_info()
with det.core.init() as context:
    step = 0
    if info.latest_checkpoint is not None:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            step = pickle.loads((path / "weights").read_bytes())
    print(f"resumed at step {step}", flush=True)
    while not context.preempt.should_preempt():
        step += 1
        time.sleep(0.02)
        if step % 10 == 0:
            with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                (path / "weights").write_bytes(pickle.dumps(step))
