"""Functions that the tests of determined.executor submit: of an importable module, as without cloudpickle they must be."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

from determined import executor as submitit


def three_times(x):
    return 3 * x


def add(x, y):
    return x + y


def do_nothing(*args, **kwargs):
    print("my args", args, flush=True)
    if kwargs.get("error"):
        raise ValueError("Too bad")
    return 12


def rank_times(x):
    return x * submitit.JobEnvironment().local_rank


def fail_on_other_ranks():
    rank = submitit.JobEnvironment().local_rank
    if rank > 0:
        raise RuntimeError(f"Failed on purpose: {rank}")


def greet():
    rank = submitit.JobEnvironment().local_rank
    print("hello from", rank)
    print("bye from", rank, file=sys.stderr)


def end_with_exit():
    sys.exit("out of data")


def environment(name):
    return os.environ.get(name)


def sleep_and_return(seconds, value=None):
    time.sleep(seconds)
    return value


def unpicklable():
    return lambda: 0


class Slacker(submitit.helpers.Checkpointable):
    """Waits until it is interrupted, and then ends at once."""

    def __call__(self, slack=True):
        if slack:
            print("Slacking", flush=True)
            time.sleep(60)
            raise RuntimeError("was not interrupted")
        return "worked hard"

    def __submitit_checkpoint__(self, slack=True):
        print("I won't slack next time.", flush=True)
        return submitit.helpers.DelayedSubmission(self, slack=False)


class Finished:
    """A callable that needs no further run after an interruption."""

    def __call__(self):
        time.sleep(60)

    def checkpoint(self):
        return None


def file_of_module(name):
    return __import__(name).__file__


def terminate_children():
    """Exit codes of a child after SIGUSR2, which Slurm sends to all processes of a step, and terminate()."""
    forking = multiprocessing.get_context("fork")
    codes = []
    for _ in range(2):
        here, there = forking.Pipe()
        child = forking.Process(target=_answer_and_sleep, args=(there,), daemon=True)
        child.start()
        os.kill(child.pid, signal.SIGUSR2)
        here.send("are you there?")
        codes.append(here.recv())
        child.terminate()
        child.join(20)
        codes.append(child.exitcode)
    return codes


def leave_a_daemon():
    forking = multiprocessing.get_context("fork")
    here, there = forking.Pipe()
    forking.Process(target=_answer_and_sleep, args=(there,), daemon=True).start()
    here.send("are you there?")
    return here.recv()


def _answer_and_sleep(connection):
    connection.send(connection.recv() and "yes")
    time.sleep(600)


def lose_rank_0(number):
    """What a rank sees when rank 0 ends after the announcement."""
    if number is not None:
        os.kill(os.getpid(), number)
    raise ConnectionError("reset by rank 0")


def leave_a_program(path, seconds):
    """Starts a program, whose number it writes to a file."""
    program = subprocess.Popen(["sleep", "600"])
    with open(path + ".new", "w") as file:
        file.write(str(program.pid))
    os.replace(path + ".new", path)
    time.sleep(seconds)


def preempted_with_workers():
    """Ends like a training whose DataLoader has a worker: SIGTERM reaches both, and torch's handler raises an exception."""

    def fail(*_):
        raise RuntimeError("DataLoader worker is killed by signal: Terminated")

    signal.signal(signal.SIGCHLD, fail)
    worker = subprocess.Popen(["sleep", "600"])
    os.environ["TEST_WORKER"] = str(worker.pid)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
