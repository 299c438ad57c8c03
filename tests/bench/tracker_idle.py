"""Prints the rows tracker-idle-memory and tracker-idle-wakeups for the tracker whose status is the argument."""

import json
import pathlib
import sys
import time

MEMORY_LIMIT_MB = 40
WAKEUPS_LIMIT_PER_S = 1
MEASURED_S = 60


def count_wakeups(process):
    return sum(
        int(line.split()[1])
        for status in process.glob("task/*/status")
        for line in status.read_text().splitlines()
        if line.startswith("voluntary_ctxt_switches")
    )


def resident_mb(process):
    for line in (process / "status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise ValueError(f"{process} has no VmRSS")


def print_row(name, ours, peer, unit):
    row = {"name": name, "ours": round(ours, 2), "peer": peer, "ratio": round(ours / peer, 4)}
    print(json.dumps(row | {"unit": unit, "better": "lower"}))


def main():
    process = pathlib.Path("/proc") / str(json.loads(sys.argv[1])["pid"])
    time.sleep(5)  # the first look at all experiments is not measured
    before = count_wakeups(process)
    time.sleep(MEASURED_S)
    wakeups = (count_wakeups(process) - before) / MEASURED_S
    print_row("tracker-idle-memory", resident_mb(process), MEMORY_LIMIT_MB, "MB")
    print_row("tracker-idle-wakeups", wakeups, WAKEUPS_LIMIT_PER_S, "1/s")


main()
