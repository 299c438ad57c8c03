"""An interpreter that has imported torch and waits for programs to run (slurm.warm_start).

`det-launch keep-interpreters` starts it as `python3 warm_interpreter.py ROOM SOCKET DIRECTORY PROCESSORS LISTENS`, with the environment
in which a rank of the first run has started. If LISTENS is "at-once", a rank that comes earlier waits for the rest of the import; else
there is no SOCKET until then. For each connection to SOCKET, a name in the abstract namespace, it forks a monitor, which forks the rank. The rank becomes the program as if `python3` had just started it: arguments, environment, working directory,
descriptors, signals, affinity and limits are those of `det-launch warm-start`, which connects, passes signals on, and ends as the
rank does. If that process ends first, for example because Slurm has killed its step, the monitor kills the rank and all that it has started.

No device is used before the fork: a CUDA context can't be forked. The monitor outlives this process, which may be killed at any time.
"""

import array
import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
import types
import warnings
from typing import Dict, List, NoReturn, Optional, Set, Tuple

# What takes time. The package determined does not, and reads the variables of the rank.
IMPORTED = ("torch", "torch.distributed")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# Slurm's notice may reach each process of the job, also an interpreter that waits and a monitor.
IGNORED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
ENDED_WITHIN_S = 10.0  # after KILL; a process that waits for a device may take a while
_libc = ctypes.CDLL(None, use_errno=True)


class Request:
    """What `det-launch warm-start` has sent."""

    def __init__(self, fields: List[bytes], files: List[int]):
        self.files = files
        counts = iter(fields)
        self.argv = [os.fsdecode(next(counts)) for _ in range(int(next(counts)))]
        self.environment = [next(counts) for _ in range(int(next(counts)))]
        self.directory = os.fsdecode(next(counts))
        self.umask = int(next(counts))
        self.processors = {int(number) for number in next(counts).split()}
        self.blocked = {int(number) for number in next(counts).split()}
        self.limits = [tuple(map(int, limit.split(b":"))) for limit in next(counts).split()]


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def receive_request(connection: socket.socket) -> Request:
    """The message is its size, which comes with the descriptors 0 to 2, and fields that end with NUL.

    Raises:
        EOFError, OSError, ValueError, StopIteration: it is no whole request
    """
    data, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(3 * 4))
    files = array.array("i")
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(content[: len(content) // 4 * 4])
    try:
        if not data or len(files) != 3:
            raise EOFError
        (size,) = struct.unpack("<I", data + receive_exactly(connection, 4 - len(data)))
        return Request(receive_exactly(connection, size).split(b"\0"), list(files))
    except BaseException:
        for file in files:  # a wrapper would wait for the end of this output
            os.close(file)
        raise


def has_ended(connection: socket.socket) -> bool:
    """Whether the other side has given up waiting for the import: it then starts the rank itself."""
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError:
        return False


def is_of_this_user(connection: socket.socket) -> bool:
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(uid == os.geteuid())


# The monitor of a rank.


def fork() -> int:
    """os.fork(), which warns from Python 3.12 on if a library has started threads. They are not used in the child."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def descendants() -> Set[int]:
    """The processes below this one. Those whose parents have ended are its children (PR_SET_CHILD_SUBREAPER)."""
    parents: Dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                parents[int(name)] = int(stat.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it has ended
    found: Set[int] = set()
    newest = {os.getpid()}
    while newest:
        newest = {pid for pid, parent in parents.items() if parent in newest} - found
        found |= newest
    return found


def end_descendants() -> None:
    """Returns when all have ended, and if one can't be killed at the latest after ENDED_WITHIN_S."""
    deadline = time.monotonic() + ENDED_WITHIN_S
    while time.monotonic() < deadline:
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return
        if select.select([wake_read], [], [], 0.1)[0]:  # a child has ended
            os.read(wake_read, 4096)


def wait_for_rank(rank: int, connection: socket.socket) -> Optional[int]:
    """Passes signals on until the rank has ended: returns its status of waitpid(2), or None if the connection has ended first."""
    requests = b""
    while True:
        is_readable = select.select([connection, wake_read], [], [])[0]
        if wake_read in is_readable:
            os.read(wake_read, 4096)
            while True:  # the rank and its orphans
                try:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                except ChildProcessError:
                    return None
                if pid == rank:
                    return status
                if pid == 0:
                    break
        if connection in is_readable:
            try:
                piece = connection.recv(4096)
            except OSError:
                piece = b""
            if not piece:
                return None
            *lines, requests = (requests + piece).split(b"\n")
            for line in lines:
                os.kill(rank, int(line))


def monitor(connection: socket.socket, request: Request) -> None:
    """Returns in the rank only."""
    global wake_read
    wake_read, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    own = os.getpid()
    # A signal that reaches the rank before it has its own actions (take_over) stays pending.
    signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)
    rank = fork()
    if rank == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(wake_read)
        os.close(wake_write)
        connection.close()
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != own:
            os._exit(1)
        os.setsid()
        return
    for file in request.files:
        os.close(file)
    status = None
    try:
        connection.sendall(b"started %d\n" % rank)
        status = wait_for_rank(rank, connection)
    except OSError:
        pass  # the connection has ended
    end_descendants()
    if status is not None:
        try:
            connection.sendall(b"ended %d\n" % status)
        except OSError:
            pass
    os._exit(0)


wake_read = -1


class Monitors:
    """The monitors of this process, and the runs of their ranks."""

    def __init__(self) -> None:
        self.runs: Dict[int, str] = {}

    def reap(self) -> None:
        while self.runs:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.runs.clear()
                return
            if pid == 0:
                return
            self.runs.pop(pid, None)

    def wait_for_other_runs(self, run: str) -> None:
        """A rank that has ended late would still have the device and the ports that the next run needs. Waits at most
        once for each run: the ranks of a node ask one after the other."""
        deadline = time.monotonic() + ENDED_WITHIN_S
        while time.monotonic() < deadline:
            self.reap()
            if all(each == run for each in self.runs.values()):
                return
            time.sleep(0.002)
        self.runs = {pid: each for pid, each in self.runs.items() if each == run}


# From the interpreter that waits to the rank.


def find_places() -> Tuple[int, int, int, int]:
    """Where the kernel finds the arguments and the environment of this process for /proc/PID: begin and end of each."""
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    return int(fields[45]), int(fields[46]), int(fields[47]), int(fields[48])


def show_in_proc(places: Tuple[int, int, int, int], argv: List[str], environment: List[bytes]) -> None:
    """Lets /proc/PID/cmdline and environ have what the program was started with: other programs look for the variables of a
    run there. det-launch has left room, an argument and a variable. What does not fit is left out."""
    for begin, end, words in ((places[0], places[1], [*map(os.fsencode, argv)]), (places[2], places[3], environment)):
        text = b"".join(word + b"\0" for word in words)
        if begin > 0 and len(text) <= end - begin:
            ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)


def take_over(request: Request, places: Tuple[int, int, int, int], run_directory: str) -> None:
    """Gives this process everything that the program would have inherited."""
    for number, file in enumerate(request.files):
        os.dup2(file, number)
    for file in request.files:
        if file > 2:
            os.close(file)
    for which, soft, hard in request.limits:
        try:
            resource.setrlimit(which, (soft, hard))
        except (OSError, ValueError):
            pass  # a hard limit can't be raised again
    os.sched_setaffinity(0, request.processors)
    os.umask(request.umask)
    os.chdir(request.directory)
    os.environ.clear()
    for variable in request.environment:
        name, _, value = variable.partition(b"=")
        os.environb[name] = value
    show_in_proc(places, request.argv, request.environment)
    new_directory = os.environ.get("DET_RUN_DIR", "")
    if run_directory and new_directory:  # each run has another one
        sys.path[:] = [path.replace(run_directory, new_directory) for path in sys.path]
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, request.blocked)
    if "numpy" in sys.modules:  # the ranks must not draw the same numbers; random does this itself
        sys.modules["numpy"].random.seed()


def flush_files() -> None:
    """Writes what the program has written to files that it has not closed, also to a former sys.stdout."""
    objects = gc.get_objects()
    kinds = set()
    for kind in {*map(type, objects)}:
        with contextlib.suppress(BaseException):  # a class can do anything when it is asked
            if issubclass(kind, io.IOBase):
                kinds.add(kind)
    for each in (sys.__stdout__, sys.__stderr__, *(each for each in objects if type(each) in kinds)):
        with contextlib.suppress(BaseException):  # it is closed, or can't be written
            each.flush()


def flush_files_in_time() -> None:
    """A thread of the program may have locked a file, in a write that does not end."""
    flushing = threading.Thread(target=flush_files, daemon=True)
    flushing.start()
    flushing.join(ENDED_WITHIN_S)


def end_failed_program() -> NoReturn:
    """Ends this process after an uncaught exception as Python does, but without destroying modules and objects: with torch
    that takes some tenths of a second of a processor, and ranks that learn of the failure by the end of this one's connections
    wait for it, one after the other."""
    threads_and_handlers = (threading._shutdown, atexit._run_exitfuncs)  # type: ignore[attr-defined]
    files = (lambda: sys.stdout.flush(), lambda: sys.stderr.flush(), flush_files_in_time)
    for finish in (*threads_and_handlers, *files):
        try:
            finish()
        except BaseException:
            sys.excepthook(*sys.exc_info())
    _libc.fflush(None)
    os._exit(1)


def run_program(argv: List[str]) -> None:
    """As `python3 ARGV[1]...`: a script, or -m and a module. Programs start with a new module __main__."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    is_module = argv[1] == "-m"
    sys.orig_argv = list(argv)
    if is_module:
        import runpy

        sys.argv = argv[2:]
        first = os.getcwd()
    else:
        sys.argv = argv[1:]
        first = os.path.dirname(os.path.realpath(argv[1]))
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, first)
    try:
        if is_module:
            runpy._run_module_as_main(argv[2])  # type: ignore[attr-defined]
            return
        path = os.path.abspath(argv[1])
        main.__dict__.update({"__file__": path, "__builtins__": __builtins__, "__cached__": None})
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        exec(code, main.__dict__)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        # The traceback begins in the program.
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        end_failed_program()


def listen(name: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    listener.bind("\0" + name)
    listener.listen(128)
    return listener


def wait_for_start(listener: socket.socket) -> Request:
    """Returns in each rank."""
    monitors = Monitors()
    while True:
        is_readable = select.select([listener], [], [], 1.0)[0]
        monitors.reap()
        if not is_readable:
            continue
        connection, _ = listener.accept()
        if not is_of_this_user(connection):
            connection.close()
            continue
        connection.settimeout(5)
        try:
            request = receive_request(connection)
        except (EOFError, OSError, ValueError, StopIteration):
            connection.close()
            continue
        connection.settimeout(None)
        if has_ended(connection):
            connection.close()
            for file in request.files:
                os.close(file)
            continue
        run = next((word.decode(errors="replace") for word in request.environment if word.startswith(b"DET_RUN_KEY=")), "")
        monitors.wait_for_other_runs(run)
        pid = fork()
        if pid == 0:
            listener.close()
            monitor(connection, request)
            return request
        monitors.runs[pid] = run
        connection.close()
        for file in request.files:
            os.close(file)


def import_packages() -> None:
    for name in IMPORTED:
        try:
            importlib.import_module(name)
        except ImportError:
            if name == "torch":
                fail("there is no torch")


def fail(why: str) -> NoReturn:
    print(f"det-launch: slurm.warm_start: no interpreter waits here: {why}", file=sys.stderr, flush=True)
    sys.exit(0)


def main() -> Request:
    """Returns in each rank."""
    name, directory, processors, listens = sys.argv[2:6]
    listener = listen(name) if listens == "at-once" else None
    os.environ.pop("DET_WARM_ROOM", None)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    places = find_places()
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = directory
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    run_directory = os.environ.get("DET_RUN_DIR", "")
    try:  # libraries count the processors that they may use, for their threads
        os.sched_setaffinity(0, {int(number) for number in processors.split()})
    except OSError as error:
        fail(f"it can't have the processors of the first rank: {error}")
    import_packages()
    torch = sys.modules["torch"]
    if torch.cuda.is_initialized():
        fail("the import of torch has opened a device, which a fork can't use")
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    request = wait_for_start(listener or listen(name))
    take_over(request, places, run_directory)
    return request


if __name__ == "__main__":
    run_program(main().argv)
