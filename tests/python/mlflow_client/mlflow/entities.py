"""The types of the values that a store takes and returns, with MLflow's names."""

import dataclasses
from typing import Dict, Optional


@dataclasses.dataclass
class Metric:
    key: str
    value: float
    timestamp: int
    step: int


@dataclasses.dataclass
class Param:
    key: str
    value: str


@dataclasses.dataclass
class RunTag:
    key: str
    value: str


@dataclasses.dataclass
class Experiment:
    experiment_id: str
    name: str
    artifact_location: str


@dataclasses.dataclass
class RunInfo:
    run_id: str
    experiment_id: str
    run_name: str
    status: str
    end_time: Optional[int]
    artifact_uri: str


@dataclasses.dataclass
class RunData:
    metrics: Dict[str, float]
    params: Dict[str, str]
    tags: Dict[str, str]


@dataclasses.dataclass
class Run:
    info: RunInfo
    data: RunData
