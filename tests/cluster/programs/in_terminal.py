"""Runs a command in a pseudo-terminal of 100 columns and writes all that it prints to stdout.

in_terminal.py [--interrupt-at TEXT] COMMAND...: types Ctrl-C when TEXT was printed. The exit code is that of the
command, or 128 and the number of the signal that ended it.
"""
import fcntl
import os
import pty
import struct
import sys
import termios
from typing import List, Optional


def run(command: List[str], interrupt_at: Optional[bytes]) -> int:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    printed = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the command has closed the terminal
            break
        if not part:
            break
        printed += part
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        if interrupt_at is not None and interrupt_at in printed:
            os.write(terminal, b"\x03")
            interrupt_at = None
    status = os.waitpid(pid, 0)[1]
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


arguments = sys.argv[1:]
text = None
if arguments[0] == "--interrupt-at":
    text = arguments[1].encode()
    arguments = arguments[2:]
sys.exit(run(arguments, text))
