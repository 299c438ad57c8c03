"""Tests determined/exec/warm_interpreter.py: what a program sees that a waiting interpreter runs, and how it ends."""

import os
import pathlib
import resource
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import warnings

import determined

SCRIPT = pathlib.Path(determined.__file__).parent / "exec/warm_interpreter.py"
LIMIT_S = 60
# A package that tells its importer's process, and takes no second to import.
TORCH = "import os\nIMPORTED_BY = os.getpid()\nclass cuda:\n    is_initialized = staticmethod(lambda: False)\n"


def wait_for(what, look):
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what}")


def exit_code_of(status):
    """os.waitstatus_to_exitcode(), which Python 3.8 lacks."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


class Program:
    """A program that an interpreter runs; this process takes the part of `det-launch warm-start`."""

    def __init__(self, name, argv, environment, directory):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect("\0" + name)
        read, write = os.pipe()
        fields = [str(len(argv)), *argv, str(len(environment)), *(f"{key}={value}" for key, value in environment.items())]
        limit = ":".join(map(str, (resource.RLIMIT_CORE, 0, resource.getrlimit(resource.RLIMIT_CORE)[1])))
        fields += [str(directory), str(0o027), " ".join(map(str, os.sched_getaffinity(0))), str(int(signal.SIGUSR2)), limit]
        data = b"".join(os.fsencode(field) + b"\0" for field in fields)
        with open(os.devnull, "rb") as nothing:
            rights = struct.pack("3i", nothing.fileno(), write, write)
            message = struct.pack("<I", len(data)) + data
            sent = self.socket.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            self.socket.sendall(message[sent:])
        os.close(write)
        self.output = open(read, encoding="utf-8")
        self.events = self.socket.makefile("r")

    def wait_for_start(self):
        word, pid = self.events.readline().split()
        assert word == "started"
        self.pid = int(pid)

    def close(self):
        self.events.close()
        self.socket.close()
        self.output.close()

    def signal(self, number):
        self.socket.sendall(b"%d\n" % number)

    def line(self):
        if not select.select([self.output], [], [], LIMIT_S)[0]:
            raise AssertionError("the program prints nothing")
        line = self.output.readline().rstrip("\n")
        return line if line != "Traceback (most recent call last):" else line + self.output.read()

    def wait(self):
        """The status of waitpid(2)."""
        word, status = self.events.readline().split()
        assert word == "ended"
        return int(status)


def is_alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


class ForkTest(unittest.TestCase):
    def test_a_fork_beside_threads_does_not_warn_and_later_warnings_are_shown(self):
        def fork():  # as that of Python 3.12
            warnings.warn("This process is multi-threaded, use of fork() may lead to deadlocks in the child.", DeprecationWarning)
            return 7

        functions = runpy.run_path(str(SCRIPT))
        with warnings.catch_warnings(record=True) as shown, unittest.mock.patch("os.fork", fork):
            warnings.simplefilter("always")
            self.assertEqual(functions["fork"](), 7)
            self.assertEqual(shown, [])
            os.fork()
            self.assertEqual(len(shown), 1)


class WarmInterpreterTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        (self.directory / "packages/torch").mkdir(parents=True)
        (self.directory / "packages/torch/__init__.py").write_text(TORCH, encoding="utf-8")
        (self.directory / "packages/torch/distributed.py").write_text("", encoding="utf-8")
        self.environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.directory / "packages"), "DET_RUN_KEY": "first", "PYTHONUNBUFFERED": "1"}
        self.name = f"test-{os.getpid()}-{id(self)}"
        self.start_interpreter("afterwards")

    def start_interpreter(self, listens):
        room = dict(self.environment, DET_WARM_ROOM=" " * 10000)
        argv = [sys.executable, str(SCRIPT), " " * 4096, self.name, str(self.directory)]
        argv += [" ".join(map(str, os.sched_getaffinity(0))), listens]
        self.interpreter = subprocess.Popen(argv, env=room)
        self.addCleanup(self.interpreter.wait)
        self.addCleanup(self.interpreter.kill)
        wait_for("the interpreter", self.is_ready)

    def is_ready(self):
        self.assertIsNone(self.interpreter.poll())
        return f"@{self.name}\n" in pathlib.Path("/proc/net/unix").read_text(encoding="utf-8")

    def start(self, text, arguments=(), **variables):
        program = self.send(text, arguments, **variables)
        program.wait_for_start()
        return program

    def send(self, text, arguments=(), **variables):
        path = self.directory / "program.py"
        path.write_text(text, encoding="utf-8")
        environment = {**self.environment, **variables}
        program = Program(self.name, [sys.executable, "program.py", *arguments], environment, self.directory)
        self.addCleanup(program.close)
        return program

    def test_a_program_sees_what_a_new_process_would_and_torch_is_there(self):
        (self.directory / "beside.py").write_text("", encoding="utf-8")
        program = self.start(
            "import os, resource, signal, sys\n"
            "import torch, beside\n"
            "print(torch.IMPORTED_BY)\n"
            "print(sys.argv, __name__, __file__ == os.path.abspath('program.py'), sys.path[0] == os.getcwd())\n"
            "print(sorted(os.environ))\n"
            "print(os.environ['RANK'], os.getenv('DET_RUN_KEY'), 'DET_WARM_ROOM' in os.environ)\n"
            "print(oct(os.umask(0)), resource.getrlimit(resource.RLIMIT_CORE)[0], signal.getsignal(signal.SIGTERM).name)\n"
            "print(signal.pthread_sigmask(signal.SIG_BLOCK, []))\n"
            "print(open('/proc/self/cmdline').read().split('\\0')[1:4])\n"
            "print('DET_RUN_KEY=second' in open('/proc/self/environ').read().split('\\0'))\n"
            "print(beside.__name__, sys.modules['__main__'].__file__ == __file__, os.getpgrp() == os.getpid())\n"
            "sys.exit(7)\n",
            ["--size", "3"],
            RANK="5",
            DET_RUN_KEY="second",
        )
        self.assertEqual(program.line(), str(self.interpreter.pid))
        self.assertEqual(program.line(), "['program.py', '--size', '3'] __main__ True True")
        self.assertEqual(program.line(), str(sorted([*self.environment, "RANK"])))
        self.assertEqual(program.line(), "5 second False")
        self.assertEqual(program.line(), "0o27 0 SIG_DFL")
        self.assertEqual(program.line(), "{<Signals.SIGUSR2: 12>}")
        self.assertEqual(program.line(), "['program.py', '--size', '3']")
        self.assertEqual(program.line(), "True")
        self.assertEqual(program.line(), "beside True True")
        self.assertEqual(exit_code_of(program.wait()), 7)

    def test_a_module_and_an_error(self):
        (self.directory / "module.py").write_text("import sys\nprint(__name__, sys.argv[1:])\nraise OSError('no')\n", encoding="utf-8")
        argv = [sys.executable, "-m", "module", "word"]
        program = Program(self.name, argv, self.environment, self.directory)
        self.addCleanup(program.close)
        program.wait_for_start()
        self.assertEqual(program.line(), "__main__ ['word']")
        text = program.line()
        self.assertTrue(text.startswith("Traceback (most recent call last):"), text)
        self.assertTrue(text.endswith("OSError: no\n"), text)
        self.assertNotIn("warm_interpreter", text)
        self.assertEqual(exit_code_of(program.wait()), 1)

    def test_a_program_that_fails_runs_its_exit_handlers_and_awaits_its_threads(self):
        program = self.start(
            "import atexit, sys, threading, time\n"
            "atexit.register(print, 'at exit')\n"
            "def work():\n"
            "    time.sleep(0.2)\n"
            "    print('worked')\n"
            "threading.Thread(target=work).start()\n"
            "sys.stdout.write('begun\\n')\n"
            "sys.stderr = sys.stdout\n"
            "raise OSError('no')\n"
        )
        self.assertEqual(exit_code_of(program.wait()), 1)
        lines = program.output.read().splitlines()
        self.assertEqual(lines[0], "begun")
        self.assertEqual(lines[-3:], ["OSError: no", "worked", "at exit"])

    def test_a_program_that_fails_loses_nothing_that_it_has_written(self):
        program = self.start(
            "import io, os, sys\n"
            "class Broken(io.RawIOBase):\n"
            "    def flush(self):\n"
            "        raise ValueError('broken')\n"
            "broken = Broken()\n"
            "text = open('text', 'w')\n"
            "text.write('of a text')\n"
            "data = open('data', 'wb')\n"
            "data.write(b'of a file')\n"
            "closed = open('closed', 'w')\n"
            "closed.close()\n"
            "first, sys.stdout = sys.stdout, None\n"
            "first.write('first\\n')\n"
            "sys.stderr = None\n"
            "raise OSError('no')\n"
        )
        self.assertEqual(exit_code_of(program.wait()), 1)
        self.assertEqual((self.directory / "text").read_text(encoding="utf-8"), "of a text")
        self.assertEqual((self.directory / "data").read_bytes(), b"of a file")
        self.assertIn("first", program.output.read())

    def test_signals_reach_the_program_and_its_end_is_told(self):
        program = self.start(
            "import signal, sys\nsignal.signal(signal.SIGUSR1, lambda *_: print('notice', flush=True))\n"
            "print('ready', flush=True)\nwhile True: signal.pause()\n"
        )
        self.assertEqual(program.line(), "ready")
        program.signal(signal.SIGUSR1)
        self.assertEqual(program.line(), "notice")
        program.signal(signal.SIGTERM)
        self.assertEqual(exit_code_of(program.wait()), -signal.SIGTERM)

    def test_a_signal_that_comes_at_once_is_not_lost(self):
        for _ in range(20):
            program = self.start("import signal\nwhile True: signal.pause()\n")
            program.signal(signal.SIGTERM)
            self.assertEqual(exit_code_of(program.wait()), -signal.SIGTERM)

    def test_the_end_of_the_step_ends_the_program_and_what_it_has_started(self):
        program = self.start(
            "import os, subprocess, sys, time\n"
            "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
            "print(child.pid, flush=True)\ntime.sleep(1000)\n"
        )
        child = int(program.line())
        self.assertTrue(is_alive(child))
        program.close()
        wait_for("the end of the program", lambda: not is_alive(program.pid))
        wait_for("the end of its child", lambda: not is_alive(child))

    def test_what_a_program_leaves_running_ends_with_it(self):
        program = self.start(
            "import subprocess\nchild = subprocess.Popen(['sleep', '1000'], start_new_session=True)\nprint(child.pid, flush=True)\n"
        )
        child = int(program.line())
        self.assertEqual(program.wait(), 0)
        self.assertFalse(is_alive(child))

    def test_a_program_survives_the_interpreter_that_has_started_it(self):
        program = self.start("import sys, signal\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit(3))\n"
                             "print('ready', flush=True)\nwhile True: signal.pause()\n")
        self.assertEqual(program.line(), "ready")
        self.interpreter.kill()
        self.interpreter.wait()
        program.signal(signal.SIGUSR1)
        self.assertEqual(exit_code_of(program.wait()), 3)

    def test_the_output_of_a_request_that_breaks_off_is_closed(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect("\0" + self.name)
            rights = struct.pack("3i", write, write, write)
            connection.sendmsg([struct.pack("<I", 100)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            os.close(write)
        self.assertTrue(select.select([read], [], [], LIMIT_S)[0], "the interpreter keeps the output open")
        self.assertEqual(os.read(read, 1), b"")

    def test_another_user_starts_no_program(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setuid(4242)
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                    connection.settimeout(LIMIT_S)
                    connection.connect("\0" + self.name)
                    code = 0 if connection.recv(1) == b"" else 2  # it is closed before there is a request
            finally:
                os._exit(code)
        self.assertEqual(exit_code_of(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(self.start("").wait(), 0)

    def test_a_program_waits_for_the_rest_of_the_import_unless_it_has_given_up(self):
        self.interpreter.kill()
        self.interpreter.wait()
        gate = self.directory / "gate"
        os.mkfifo(gate)
        (self.directory / "packages/torch/__init__.py").write_text(TORCH + f"open({str(gate)!r}).read()\n", encoding="utf-8")
        self.start_interpreter("at-once")
        one_that_gives_up = self.send("raise SystemExit(3)")
        one_that_gives_up.socket.shutdown(socket.SHUT_RDWR)
        program = self.send("import torch\nprint(torch.IMPORTED_BY)")
        self.assertEqual(select.select([program.socket, program.output], [], [], 0.2)[0], [])
        gate.write_text("", encoding="utf-8")
        program.wait_for_start()
        self.assertEqual(program.line(), str(self.interpreter.pid))
        self.assertEqual(program.wait(), 0)
        self.assertEqual(one_that_gives_up.output.read(), "")
        self.assertEqual(one_that_gives_up.events.read(), "")

    def test_slurms_notice_does_not_end_the_interpreter(self):
        self.interpreter.send_signal(signal.SIGTERM)
        self.assertEqual(self.start("").wait(), 0)


if __name__ == "__main__":
    unittest.main()
