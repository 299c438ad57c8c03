"""The protocol of samplers (runtime/sampler/PROTOCOL.md): reads a request, writes the answer."""

import json
import os
import sys
from typing import Any, Callable, Dict, IO, List, NamedTuple, Optional, Tuple

VERSION = 1


class Trial(NamedTuple):
    """What the search knows about a trial that has begun."""

    trial: int
    state: str  # running, waiting, completed, stopped, failed, canceled or invalid
    hyperparameters: Dict[str, Any]
    metric: Optional[float]  # the best validation
    validations: List[Tuple[int, float]]  # steps completed, value of the searcher's metric
    last_validation: Dict[str, float]
    note: Any  # what the sampler has noted when the trial began


class Request(NamedTuple):
    """A question to a sampler, and what it may be answered from."""

    experiment: int
    seed: int
    max_trials: int
    searcher: Dict[str, Any]
    hyperparameters: Dict[str, Any]  # as configured
    trials: List[Trial]
    question: str  # begin or report; trained or exited if the sampler sets lengths
    trial: int
    state: Any = None  # what the sampler has kept last


def parse_request(lines: List[str]) -> Request:
    """Parses the lines of a request.

    Raises:
        ValueError: they are no request, or one of a newer protocol
    """
    values = [json.loads(line) for line in lines if line.strip()]
    if len(values) < 2:
        raise ValueError("a request to a sampler has at least two lines")
    search, question = values[0], values[-1]
    if search.get("sampler") != VERSION:
        raise ValueError(f"version {search.get('sampler')} of the protocol of samplers is not known")
    return Request(
        experiment=search["experiment"],
        seed=search["seed"],
        max_trials=search["max_trials"],
        searcher=search["searcher"],
        hyperparameters=search["hyperparameters"],
        trials=[_parse_trial(value) for value in values[1:-1]],
        question=question["question"],
        trial=question["trial"],
        state=search.get("state"),
    )


def _parse_trial(value: Dict[str, Any]) -> Trial:
    metric = value["metric"]
    return Trial(
        trial=value["trial"],
        state=value["state"],
        hyperparameters=value["hyperparameters"],
        metric=None if metric is None else float(metric),
        validations=[(int(step), float(number)) for step, number in value["validations"]],
        last_validation={name: float(number) for name, number in value["last_validation"].items()},
        note=value.get("note"),
    )


DIRECTORY = "DET_SAMPLER_DIR"  # set where a supervisor asks: where a sampler may keep files

_request: Optional[Request] = None
_output: Optional[int] = None


def is_asked() -> bool:
    """Whether a supervisor has started this process to ask its sampler."""
    return DIRECTORY in os.environ


def keep_output() -> None:
    """Keeps standard output for the answer: what is printed from now on goes to standard error, which is kept."""
    global _output
    if _output is None:
        _output = os.dup(1)
        os.dup2(2, 1)


def request() -> Request:
    """The request, read from standard input at the first call.

    Raises:
        ValueError: there is none
    """
    global _request
    if _request is None:
        _request = parse_request(sys.stdin.readlines())
    return _request


def reply(answer: Dict[str, Any]) -> None:
    """Prints the answer to the request."""
    keep_output()
    assert _output is not None
    with os.fdopen(os.dup(_output), "w") as output:
        output.write(json.dumps({"sampler": VERSION, **answer}) + "\n")


def serve(answer: Callable[[Request], Dict[str, Any]]) -> None:
    """Reads a request from standard input and prints the answer.

    What the sampler prints to standard output from then on goes to standard error, which is kept. What it has
    printed before is a part of the answer, which is wrong then.
    """
    keep_output()
    reply(answer(request()))


def flatten(values: Dict[str, Any], prefix: str = "") -> Dict[str, Any]:
    """Nested hyperparameters by their dotted names. Empty maps are values."""
    flat: Dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and value:
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


def nest(values: Dict[Tuple[str, ...], Any]) -> Dict[str, Any]:
    """The reverse, from paths."""
    nested: Dict[str, Any] = {}
    for path, value in values.items():
        inside = nested
        for name in path[:-1]:
            inside = inside.setdefault(name, {})
        inside[path[-1]] = value
    return nested


def list_ranges(hyperparameters: Dict[str, Any], path: Tuple[str, ...] = ()) -> Dict[Tuple[str, ...], Dict[str, Any]]:
    """The configured hyperparameters that a sampler chooses, by their paths: no constants."""
    ranges: Dict[Tuple[str, ...], Dict[str, Any]] = {}
    for name in sorted(hyperparameters):
        value = hyperparameters[name]
        if not isinstance(value, dict) or not value:
            continue
        if not isinstance(value.get("type"), str):
            ranges.update(list_ranges(value, path + (name,)))
        elif value["type"] != "const":
            ranges[path + (name,)] = value
    return ranges


def value_at(hyperparameters: Dict[str, Any], path: Tuple[str, ...]) -> Any:
    """The value of a nested hyperparameter. Raises a KeyError if there is none."""
    value: Any = hyperparameters
    for name in path:
        value = value[name]
    return value
