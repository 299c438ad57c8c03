#!/usr/bin/env python3
"""Logs the trials of an experiment as runs of Weights & Biases: run it where wandb is installed and logged in.

It reads experiment.jsonl, which lies beside it. Run again after a newer export, it adds what is new, because a trial
has the same run id each time and wandb ignores steps that a run has already.
"""

import argparse
import json
import pathlib
from typing import Any, Dict

import wandb


def finish(run: Any, trial: Dict[str, Any]) -> None:
    if run is not None:
        run.summary["state"] = trial["state"]
        run.finish(exit_code=trial["exit_code"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", help="the project of the runs; default: the name of the experiment")
    parser.add_argument("--entity", help="the user or team of the project")
    parser.add_argument("--offline", action="store_true", help="write directories for `wandb sync` instead")
    arguments = parser.parse_args()
    run: Any = None
    trial: Dict[str, Any] = {}
    with open(pathlib.Path(__file__).resolve().parent / "experiment.jsonl", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if "step" in entry:
                # NaN and infinities, which JSON does not have, are texts.
                run.log({name: float(value) for name, value in entry["values"].items()}, step=entry["step"])
                continue
            finish(run, trial)
            trial = entry
            run = wandb.init(
                project=arguments.project or trial["project"],
                entity=arguments.entity,
                mode="offline" if arguments.offline else None,
                resume=None if arguments.offline else "allow",
                id=trial["id"],
                name=trial["name"],
                group=trial["group"],
                notes=trial["notes"],
                tags=trial["tags"],
                config=trial["config"],
            )
    finish(run, trial)


if __name__ == "__main__":
    main()
