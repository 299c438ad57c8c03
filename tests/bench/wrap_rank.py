"""Puts "[rank=N] " before each line of a command, line by line: what det-wrap-rank is measured against.

The behaviour that det-wrap-rank has outside of a run: both streams, \\n and \\r end lines, long ones are cut, a last
line gets an end, signals are passed on, the command's exit code is kept.
"""
import signal
import subprocess
import sys
import threading

LINE_SIZE_MAX = 8191


def pass_on(source, target, prefix):
    """Reads lines as they end and writes each with its label."""
    for line in iter(lambda: source.readline(LINE_SIZE_MAX), b""):
        for part in line.rstrip(b"\n").split(b"\r"):
            target.write(prefix + part + b"\n")
        target.flush()


def main():
    rank = int(sys.argv[1])
    process = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
        signal.signal(number, lambda number, _: process.send_signal(number))
    prefix = b"[rank=%d] " % rank
    threads = [
        threading.Thread(target=pass_on, args=(process.stdout, sys.stdout.buffer, prefix)),
        threading.Thread(target=pass_on, args=(process.stderr, sys.stderr.buffer, prefix)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
