# flood.py NODE NODE OTHER...: see the script `flood`. A NODE is a network namespace with an address on eth0.
# flood.py connect KIND COUNT ADDRESS:PORT...: keeps COUNT connections to each port, until it is killed.
# flood.py listen ADDRESS: listens at a free port, prints it and accepts nothing.
import json
import os
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("DET_BUILD_DIR", "")
PAIRS = int(os.environ.get("DET_BENCH_PAIRS", "20"))
CONNECTIONS = 200
STEP_BYTES = 1 << 20
STEPS = 40
ANSWER_TIMEOUT_S = 60
SETTLE_S = 0.3


def connect(kind, count, targets):
    """Reads nothing and says nothing (idle), or sends what no rank would send (garbage)."""
    first = b"" if kind == "idle" else b"GET / HTTP/1.1\r\n" + b"x" * 200
    held = {}
    missing = [(host, int(port)) for host, port in (t.rsplit(":", 1) for t in targets) for _ in range(count)]
    while True:
        again = []
        for target in missing:
            made = socket.socket()
            made.settimeout(0.5)
            try:
                made.connect(target)
                if first:
                    made.sendall(first)
            except OSError:
                made.close()
                again.append(target)
                continue
            made.setblocking(False)
            held[made] = target
        missing = again
        for made in select.select(list(held), [], [], 0.05)[0]:
            try:
                data = made.recv(4096)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data:
                missing.append(held.pop(made))
                made.close()


def listen(address):
    listener = socket.socket()
    listener.bind((address, 0))
    listener.listen(4096)
    print(listener.getsockname()[1], flush=True)
    signal.pause()


def address_of(node):
    shown = json.loads(subprocess.check_output(["ip", "-n", node, "-j", "addr", "show", "eth0"]))
    return next(entry["local"] for entry in shown[0]["addr_info"] if entry["family"] == "inet")


def in_node(node, command, **options):
    return subprocess.Popen(["ip", "netns", "exec", node, *command], text=True, start_new_session=True, **options)


def own_script(*arguments):
    return [sys.executable, os.path.abspath(__file__), *arguments]


class Ranks:
    """Two ranks, one on each of the first nodes. The first one reads commands and writes answers."""

    def __init__(self, nodes, directory):
        rendezvous = os.path.join(directory, "rendezvous")
        program = f"{BUILD}/tests/bench-internode-rank"
        subprocess.check_call([program, rendezvous])
        chief = address_of(nodes[0])
        self.processes = [
            in_node(node, [program, str(rank), "2", rendezvous, chief, address_of(node)],
                    stdin=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if rank == 0 else None)
            for rank, node in enumerate(nodes[:2])
        ]
        self.step_s(1)

    def step_s(self, steps):
        chief = self.processes[0]
        print(STEP_BYTES, steps, file=chief.stdin, flush=True)
        signal.alarm(ANSWER_TIMEOUT_S)
        answer = chief.stdout.readline()
        signal.alarm(0)
        if not answer:
            raise RuntimeError("a rank has ended")
        return float(answer)


def ports_of(node):
    """The ports of the ranks on a node: they listen at its address."""
    shown = subprocess.check_output(["ip", "netns", "exec", node, "ss", "-Htln"], text=True)
    local = [line.split()[3] for line in shown.splitlines()]
    return [name for name in local if name.startswith(address_of(node) + ":")]


class Flood:
    def __init__(self, node, kind, targets):
        self.process = in_node(node, own_script("connect", kind, str(CONNECTIONS), *targets))
        self.stop()

    def stop(self):
        os.killpg(self.process.pid, signal.SIGSTOP)

    def measure(self, ranks):
        os.killpg(self.process.pid, signal.SIGCONT)
        time.sleep(SETTLE_S)
        seconds = ranks.step_s(STEPS)
        self.stop()
        return seconds


def row(name, pairs):
    return json.dumps({
        "name": name,
        "ours": float(f"{statistics.median(a for a, _ in pairs):.4g}"),
        "peer": float(f"{statistics.median(b for _, b in pairs):.4g}"),
        "ratio": float(f"{statistics.median(a / b for a, b in pairs):.4g}"),
        "unit": "s",
        "better": "lower",
    })


def main(nodes):
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("no answer")))
    started = []
    with tempfile.TemporaryDirectory() as directory:
        try:
            ranks = Ranks(nodes, directory)
            started += ranks.processes
            of_ranks = [port for node in nodes[:2] for port in ports_of(node)]
            silent = []
            for node in nodes[:2]:
                for _ in ports_of(node):
                    listener = in_node(node, own_script("listen", address_of(node)), stdout=subprocess.PIPE)
                    started.append(listener)
                    silent.append(f"{address_of(node)}:{listener.stdout.readline().strip()}")
            for kind in ("idle", "garbage"):
                ours, peer = (Flood(nodes[-1], kind, targets) for targets in (of_ranks, silent))
                started += [ours.process, peer.process]
                pairs = []
                for i in range(PAIRS):
                    if i % 2 == 0:
                        first = ours.measure(ranks)
                        pairs.append((first, peer.measure(ranks)))
                    else:
                        second = peer.measure(ranks)
                        pairs.append((ours.measure(ranks), second))
                print(row(f"flood-step-{kind}", pairs), flush=True)
                for flood in (ours, peer):
                    os.killpg(flood.process.pid, signal.SIGKILL)
        finally:
            for process in started:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()


if sys.argv[1] == "connect":
    connect(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
elif sys.argv[1] == "listen":
    listen(sys.argv[2])
else:
    main(sys.argv[1:])
