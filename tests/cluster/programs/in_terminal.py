"""Runs a command in a pseudo-terminal of 100 columns and writes all that it prints to stdout.

in_terminal.py [--interrupt-at TEXT] [--type-at TEXT KEYS] COMMAND...: types Ctrl-C, or other keys, when TEXT was
printed. The exit code is that of the command, or 128 and the number of the signal that ended it, or 99 if the command
has left other settings of the terminal than it found.
"""
import errno
import fcntl
import os
import pty
import struct
import sys
import termios
from typing import List, Optional, Tuple

CHANGED = 99


def read_part(terminal: int) -> bytes:
    """Returns what was printed next; empty at the end.

    When the command closes the terminal during a read, Linux may return EIO although the last text is there (pty of
    6.18: some of 20,000 times): the read after it returns that text.
    """
    for _ in range(2):
        try:
            return os.read(terminal, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
    return b""


def run(command: List[str], typed: Optional[Tuple[bytes, bytes]]) -> int:
    """typed: the text that is waited for, and the keys that are typed then."""
    settings, settings_of_child = os.pipe()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.write(settings_of_child, repr(termios.tcgetattr(0)).encode())
        os.execvp(command[0], command)
    before = os.read(settings, 65536).decode()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    printed = b""
    while True:
        part = read_part(terminal)
        if not part:
            break
        printed += part
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        if typed is not None and typed[0] in printed:
            os.write(terminal, typed[1])
            typed = None
    status = os.waitpid(pid, 0)[1]
    if repr(termios.tcgetattr(terminal)) != before:
        return CHANGED
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


arguments = sys.argv[1:]
keys = None
if arguments[0] == "--interrupt-at":
    keys = (arguments[1].encode(), b"\x03")
    arguments = arguments[2:]
elif arguments[0] == "--type-at":
    keys = (arguments[1].encode(), arguments[2].encode())
    arguments = arguments[3:]
sys.exit(run(arguments, keys))
