"""The checks: which program prints which rows, what it needs, and how long it may take."""

from typing import NamedTuple, Sequence, Tuple


class Check(NamedTuple):
    """A program that prints rows.

    Attributes:
        command: gpu-checks, or a script in this directory, and its arguments
        needs: names of what the machine must have: "device", "nccl", "torch", "slurm"
        limit_s: after it the program is killed
        rows: what it prints, in this order
    """

    name: str
    command: Tuple[str, ...]
    needs: Sequence[str]
    limit_s: int
    rows: Sequence[str]


CHECKS = (
    Check(
        "collectives",
        ("gpu-checks", "collectives"),
        ("device", "nccl"),
        60,
        (
            "collectives-values",
            "collectives-many-elements",
            "collectives-streams",
            "collectives-in-flight",
            "collectives-capture",
            "collectives-memory",
            "allreduce-4B",
            "allreduce-128MiB",
        ),
    ),
    Check("two-ranks", ("gpu-checks", "two-ranks"), ("device", "nccl"), 30, ("two-ranks-one-gpu",)),
    Check(
        "checkpoints",
        ("gpu-checks", "checkpoints"),
        ("device",),
        60,
        ("checkpoint-bits", "checkpoint-save", "checkpoint-overlap", "checkpoint-load"),
    ),
    Check(
        "torch-collectives",
        ("torch_collectives.py",),
        ("device", "torch"),
        45,
        ("torch-collectives", "torch-all-reduce-4B", "torch-all-reduce-64MiB"),
    ),
    Check(
        "torch-state",
        ("torch_state.py",),
        ("device", "torch"),
        100,
        (
            "torch-state-bits",
            "torch-state-overlap-bits",
            "torch-state-save",
            "torch-state-load",
            "torch-state-torch-save",
            "torch-state-overlap",
        ),
    ),
    Check(
        "torch-trial",
        ("torch_trial.py",),
        ("device", "torch"),
        40,
        ("torch-trial-resumes",),
    ),
    Check(
        "torch-steps",
        ("torch_steps.py",),
        ("device", "torch"),
        60,
        ("torch-trial-step-1ms", "torch-trial-step-12ms"),
    ),
    Check(
        "slurm",
        ("slurm_trial.py",),
        ("device", "torch", "slurm"),
        110,
        ("slurm-slots", "slurm-trial", "slurm-telemetry"),
    ),
)

# Rows that no machine has run yet, and why.
UNTRIED = {"two-gpus": "untried: no machine with two GPUs has run these checks, and nothing is claimed of NCCL between ranks"}
