"""Optuna as the sampler of a search without a server.

    searcher: {name: custom, command: [python3, sampler.py], metric: loss, max_trials: 50}

`sampler.py`:

    import optuna
    import determined.optuna

    def make_study(seed):
        return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))

    determined.optuna.run(make_study)

Each question is a process of its own: run() makes the study, adds the trials of the request to it, asks it once, and
prints the answer. So any number of nodes may ask, and nothing is lost if one of them fails. What a sampler keeps in its trials
(CmaEsSampler, NSGAIISampler) is recorded with them.
"""

import hashlib
import json
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from determined import _sampler

Path = Tuple[str, ...]

# These pruners keep their decisions in the trials of one process.
_STATEFUL_PRUNERS = (optuna.pruners.SuccessiveHalvingPruner, optuna.pruners.HyperbandPruner)


class _Parameter(NamedTuple):
    """A hyperparameter and its distribution. choices: the values of a categorical one."""

    path: Path
    distribution: BaseDistribution
    choices: Optional[List[Any]] = None

    @property
    def name(self) -> str:
        # A dot in a name is escaped: 'a.b' is not the 'b' in the group 'a'.
        return ".".join(part.replace("\\", "\\\\").replace(".", "\\.") for part in self.path)

    def to_optuna(self, value: Any) -> Any:
        if self.choices is not None:
            return self.distribution.choices[_index_of(self.choices, value)]  # type: ignore[attr-defined]
        if isinstance(self.distribution, FloatDistribution):
            # The configuration's ends and ours may differ in the last digit.
            return min(max(float(value), self.distribution.low), self.distribution.high)
        return int(value)

    def from_optuna(self, value: Any) -> Any:
        if self.choices is None:
            return value
        return self.choices[self.distribution.choices.index(value)]  # type: ignore[attr-defined]


def _index_of(choices: List[Any], value: Any) -> int:
    """The position of a choice. 1, 1.0 and True are different."""
    return [json.dumps(choice, sort_keys=True) for choice in choices].index(json.dumps(value, sort_keys=True))


def _make_parameter(path: Path, written: Dict[str, Any]) -> _Parameter:
    kind = written["type"]
    if kind == "categorical":
        choices = list(written["vals"])
        plain = all(isinstance(choice, str) for choice in choices) and len(set(choices)) == len(choices)
        labels = choices if plain else [f"{i}: {json.dumps(choice)}" for i, choice in enumerate(choices)]
        return _Parameter(path, CategoricalDistribution(labels), choices)
    low, high = written["minval"], written["maxval"]
    if kind == "int":
        return _Parameter(path, IntDistribution(int(low), int(high)))
    if kind == "double":
        return _Parameter(path, FloatDistribution(float(low), float(high)))
    if kind == "log":
        ends = sorted([float(written["base"]) ** low, float(written["base"]) ** high])
        return _Parameter(path, FloatDistribution(ends[0], ends[1], log=True))
    raise ValueError(f"hyperparameter '{'.'.join(path)}': type '{kind}' is unknown")


def _inner(outer: Any, attribute: str) -> List[Any]:
    """A sampler or pruner, and those that it wraps."""
    found: List[Any] = []
    while outer is not None:
        found.append(outer)
        outer = getattr(outer, attribute, None)
    return found


def _check_sampler(sampler: Any) -> None:
    """Raises a ValueError for samplers that need more than the trials: each question is a process of its own."""
    for each in _inner(sampler, "_base_sampler"):
        if isinstance(each, optuna.samplers.QMCSampler):
            raise ValueError("QMCSampler keeps its place in the sequence in one process: use RandomSampler")
        if getattr(each, "_constraints_func", None) is not None:
            raise ValueError(
                f"{type(each).__name__} calls constraints_func when a trial ends, which no process of it sees: use "
                "a metric that includes the constraints"
            )


def seed_of(request: _sampler.Request) -> int:
    """A seed that depends on the experiment's seed and on what is asked: a sampler starts from it at each question."""
    text = f"{request.seed} {request.question} {len(request.trials)} {request.trial}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


class _Rebuilt:
    """The study of a request: the caller's, with the trials that have begun."""

    def __init__(
        self, request: _sampler.Request, study: "optuna.Study", metrics: Optional[Sequence[str]]
    ) -> None:
        self.request = request
        self.study = study
        self.metrics = list(metrics or [])
        self.parameters = [
            _make_parameter(path, written)
            for path, written in _sampler.list_ranges(request.hyperparameters).items()
        ]
        self._check()
        for trial in request.trials:
            study.add_trial(self._freeze(trial))

    def _check(self) -> None:
        directions = [direction.name.lower() for direction in self.study.directions]
        if len(directions) != max(1, len(self.metrics)):
            raise ValueError(
                f"the study has {len(directions)} objectives: run(metrics=[...]) must name as many metrics"
            )
        wanted = "minimize" if self.request.searcher["smaller_is_better"] else "maximize"
        if not self.metrics and directions != [wanted]:
            raise ValueError(f"the study must {wanted}: searcher.smaller_is_better says so")
        _check_sampler(self.study.sampler)
        for pruner in _inner(self.study.pruner, "_wrapped_pruner"):
            if isinstance(pruner, _STATEFUL_PRUNERS):
                raise ValueError(
                    f"{type(pruner).__name__} keeps its decisions in one process: use MedianPruner or "
                    "PercentilePruner, or the searcher adaptive_asha"
                )
        if self.study.trials:
            raise ValueError("the study has trials already: make_study() must make a new one in memory")

    def _values_of(self, trial: _sampler.Trial) -> Optional[List[float]]:
        """The objectives of a trial; None if it has not reported them all as numbers."""
        if not self.metrics:
            return None if trial.metric is None else [trial.metric]
        values = [trial.last_validation.get(name, float("nan")) for name in self.metrics]
        return values if all(value == value for value in values) else None

    def _freeze(self, trial: _sampler.Trial) -> FrozenTrial:
        params, distributions = {}, {}
        for parameter in self.parameters:
            try:
                value = parameter.to_optuna(_sampler.value_at(trial.hyperparameters, parameter.path))
            except (KeyError, TypeError, ValueError):
                continue  # the configuration has changed since
            params[parameter.name], distributions[parameter.name] = value, parameter.distribution
        values = self._values_of(trial)
        state = TrialState.FAIL
        if trial.state == "running":
            state = TrialState.RUNNING
        elif trial.state == "completed" and values is not None:
            state = TrialState.COMPLETE
        elif trial.state == "stopped" and trial.validations and not self.metrics:
            state = TrialState.PRUNED
        return optuna.trial.create_trial(
            state=state,
            values=values if state == TrialState.COMPLETE else None,
            params=params,
            distributions=distributions,
            intermediate_values=dict(trial.validations) if not self.metrics else {},
            system_attrs=(trial.note or {}).get("system_attrs", {}),
        )

    def begin(self) -> Dict[str, Any]:
        asked = self.study.ask({parameter.name: parameter.distribution for parameter in self.parameters})
        chosen = {
            parameter.path: parameter.from_optuna(asked.params[parameter.name]) for parameter in self.parameters
        }
        kept = self.study.get_trials(deepcopy=False)[asked.number].system_attrs
        answer: Dict[str, Any] = {"hyperparameters": _sampler.nest(chosen)}
        if kept:
            answer["note"] = {"system_attrs": kept}
        return answer

    def report(self) -> Dict[str, Any]:
        if self.metrics:
            return {}  # Optuna prunes studies with one objective only
        prune = []
        for trial, frozen in zip(self.request.trials, self.study.get_trials(deepcopy=False)):
            is_asked = trial.trial == self.request.trial and trial.state == "running"
            if is_asked and trial.validations and self.study.pruner.prune(self.study, frozen):
                prune.append(trial.trial)
        return {"prune": prune}


def answer(
    request: _sampler.Request,
    make_study: Callable[[int], "optuna.Study"],
    metrics: Optional[Sequence[str]] = None,
    should_stop: Optional[Callable[["optuna.Study"], Optional[str]]] = None,
) -> Dict[str, Any]:
    """The answer to a request: see run()."""
    rebuilt = _Rebuilt(request, make_study(seed_of(request)), metrics)
    if request.question == "report":
        return rebuilt.report()
    reason = should_stop(rebuilt.study) if should_stop is not None else None
    return {"stop": reason} if reason else rebuilt.begin()


def run(
    make_study: Callable[[int], "optuna.Study"],
    metrics: Optional[Sequence[str]] = None,
    should_stop: Optional[Callable[["optuna.Study"], Optional[str]]] = None,
) -> None:
    """Answers one question of a search `custom` from a study of Optuna.

    Args:
        make_study: makes the empty study, in memory. It gets a seed for its sampler, another one for each question:
            a sampler with a seed of its own would choose the same values again and again. Studies of one objective
            must have the direction of searcher.smaller_is_better.
        metrics: the validation metrics of a study with several objectives, in the order of its directions. With one
            objective, searcher.metric counts, and the best validation is the trial's value.
        should_stop: asked before a trial begins, with the study. Returns why no further trial begins, or None.

    Trials that the search has stopped are PRUNED, failed, cancelled and invalid ones FAIL.
    """
    _sampler.serve(lambda request: answer(request, make_study, metrics, should_stop))
