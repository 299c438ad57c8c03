"""A sampler: the floor of the k-th trial is 0.9 / k. Keys of the searcher say how it misbehaves.

`stop_after`: it begins so many trials. `mood`: `fail`, `hang`, `nonsense`; with `mood_file` only while that file is there. `prune_above`:
trials end whose best loss stays above this.
"""

import json
import os
import sys
import time


def read_request():
    lines = [json.loads(line) for line in sys.stdin]
    return lines[0]["searcher"], lines[1:-1], lines[-1]


def is_worse(trial, limit):
    """The first losses of a trial say nothing."""
    return trial["state"] == "running" and len(trial["validations"]) >= 10 and trial["metric"] > limit


def choose(searcher, trials, question):
    if question["question"] == "report":
        limit = searcher.get("prune_above", 1e9)
        return {"prune": [trial["trial"] for trial in trials if is_worse(trial, limit)]}
    if len(trials) >= searcher.get("stop_after", 1e9):
        return {"stop": f"{len(trials)} trials are enough"}
    return {"hyperparameters": {"floor": 0.9 / (len(trials) + 1)}}


def main():
    searcher, trials, question = read_request()
    mood = searcher.get("mood", "") if os.path.exists(searcher.get("mood_file", "/")) else ""
    if mood == "fail":
        raise ValueError("no mood to choose")
    if mood == "hang":
        time.sleep(600)
    if mood == "nonsense":
        print("floor = 0.5")
        return
    print(json.dumps({"sampler": 1, **choose(searcher, trials, question)}))


if __name__ == "__main__":
    main()
