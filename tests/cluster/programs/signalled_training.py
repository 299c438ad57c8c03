"""A trial of one slot that trains until it is asked to stop, then saves; a test signals it.

usage: signalled_training.py [torch]. With `torch` two workers of a DataLoader make the batches. A run that resumes trains 10
steps more. The program first checks that the processes that it starts can be ended.
"""

import multiprocessing
import pathlib
import signal
import subprocess
import sys
import time

import determined as det

TOO_LONG = 10


def check_that_children_can_be_ended():
    """Must hold for any program: no process that it starts has a blocked signal."""
    program = subprocess.Popen(["sleep", "600"])
    program.terminate()
    assert program.wait(TOO_LONG) == -signal.SIGTERM
    for method in "fork", "spawn":
        process = multiprocessing.get_context(method).Process(target=time.sleep, args=(600,))
        process.start()
        process.terminate()
        process.join(TOO_LONG)
        assert process.exitcode == -signal.SIGTERM, (method, process.exitcode)


def batches():
    while True:
        yield 0
        time.sleep(0.05)


def torch_batches():
    import torch

    class Endless(torch.utils.data.IterableDataset):
        def __iter__(self):
            return batches()

    return torch.utils.data.DataLoader(Endless(), num_workers=2)


def main():
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set(), "a signal is blocked"
    uses_torch = sys.argv[1:] == ["torch"]
    if uses_torch:
        import torch  # noqa: F401  before the context, as most programs do
    latest = det.get_cluster_info().latest_checkpoint
    with det.core.init() as context:
        check_that_children_can_be_ended()
        step, steps = 0, None
        if latest:
            with context.checkpoint.restore_path(latest) as path:
                step = int((pathlib.Path(path) / "step").read_text())
            steps = step + 10
        print(f"begins at step {step}", flush=True)
        for _ in torch_batches() if uses_torch else batches():
            step += 1
            if step % 5 == 0:
                print(f"step {step}", flush=True)
            if step == steps:
                break
            if context.preempt.should_preempt():
                time.sleep(2)  # a long save: every process that was signalled has ended by then
                with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                    (pathlib.Path(path) / "step").write_text(str(step))
                print(f"saved at step {step}", flush=True)
                break


if __name__ == "__main__":
    main()
