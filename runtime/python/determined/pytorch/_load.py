"""Loads a trained model from the files of a checkpoint."""

import importlib
import inspect
import json
import logging
import pathlib
from typing import Any, Dict, Optional

import determined
from determined import core
from determined.core._state_directory import has_state, read_state
from determined.pytorch import _checkpoint_files as files
from determined.pytorch._checkpoint import load_models
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._exchange import GradientExchange
from determined.pytorch._optimizations import Optimizations

logger = logging.getLogger("determined.pytorch")

_FORMER_METADATA_FILE = "metadata.json"


class CheckpointLoadContext(PyTorchTrialContext):
    """A context for building a trial without training it, in order to use its model.

    Args:
        hparams: what get_hparam() gives
        exp_conf: what get_experiment_config() gives
    """

    def __init__(self, hparams: Optional[Dict[str, Any]] = None, exp_conf: Optional[Dict[str, Any]] = None) -> None:
        ranks = core.DistributedContext(rank=0, size=1)
        local = core.Context(ranks, None, None, core.PreemptMode.WorkersAskChief, core.TensorboardMode.MANUAL)
        super().__init__(local, GradientExchange(), hparams, exp_conf, Optimizations(), False)


def import_trial_class(specification: str) -> Any:
    """The class MODULE:CLASS.

    Raises:
        ImportError, ValueError: there is none
    """
    module_name, _, class_name = specification.partition(":")
    if not module_name or not class_name:
        raise ValueError(f"'{specification}' is not MODULE:CLASS, for example model_def:MyTrial")
    found: Any = importlib.import_module(module_name)
    for name in class_name.split("."):
        if not hasattr(found, name):
            raise ImportError(f"{specification}: {module_name} in {getattr(found, '__file__', '?')} has no {name}")
        found = getattr(found, name)
    return found


def load_trial_from_checkpoint_path(
    path: str,
    trial_class: Any = None,
    trial_kwargs: Optional[Dict[str, Any]] = None,
    torch_load_kwargs: Optional[Dict[str, Any]] = None,
    **kwargs: Any,
) -> Any:
    """A PyTorchTrial with the weights of a checkpoint.

    Checkpoints of Determined 0.17.6 and older have no file that names the class and the hyperparameters. Its
    Checkpoint.download() added them in the file metadata.json.

    Args:
        path: directory of the checkpoint, for instance what Checkpoint.download() returned
        trial_class: the class; None: that of the checkpoint, imported from the code in it
        trial_kwargs: arguments of the class besides the context
        torch_load_kwargs: arguments of torch.load, for a checkpoint of the format "torch"
        kwargs: deprecated; as torch_load_kwargs

    Raises:
        ValueError: the class can't be imported, or the checkpoint does not name it
        InvalidCheckpointException: it is not a checkpoint of a PyTorchTrial
    """
    directory = pathlib.Path(path)
    is_former = not (directory / files.LOAD_FILE).exists()
    saved = _read_former_metadata(directory) if is_former else _read_json(directory / files.LOAD_FILE)
    if trial_class is None:
        trial_class = _class_of(directory, saved)
    context = CheckpointLoadContext(saved.get("hparams"), saved.get("experiment_config"))
    arguments = dict(trial_kwargs or {})
    if "hparams" in inspect.signature(trial_class.__init__).parameters and "hparams" not in arguments:
        arguments["hparams"] = saved.get("hparams")
    trial = trial_class(context, **arguments)
    if has_state(directory):
        state = read_state(directory, ["models_state_dict"])
    else:
        state = files.load_state(directory, **(torch_load_kwargs or {}), **kwargs)
    if is_former and not context.models and hasattr(trial, "build_model"):
        model = trial.build_model()  # until Determined 0.13 trials had a single model and did not wrap it
        load_models([model], state)
        return model
    load_models(context.models, state)
    return trial


def _read_json(path: pathlib.Path) -> Dict[str, Any]:
    content: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _read_former_metadata(directory: pathlib.Path) -> Dict[str, Any]:
    """What a checkpoint of Determined 0.17.6 or older says of its trial, with the names of files.LOAD_FILE. Empty if it
    says nothing."""
    path = directory / _FORMER_METADATA_FILE
    metadata = _read_json(path) if path.exists() else {}
    if "experiment_config" not in metadata:
        return {}
    # Entrypoints of that time are classes.
    config = metadata["experiment_config"] or {}
    return {**metadata, "trial_cls_spec": config.get("entrypoint")}


def _class_of(directory: pathlib.Path, saved: Dict[str, Any]) -> Any:
    if not saved:
        raise ValueError(
            f"the checkpoint in {directory} does not name its class and hyperparameters: it has no {files.LOAD_FILE}, as all "
            "checkpoints of Determined 0.17.6 and older. Their Checkpoint.download() and Checkpoint.write_metadata_file() "
            f'make {_FORMER_METADATA_FILE}, or write it yourself: {{"experiment_config": {{"entrypoint": "MODULE:CLASS"}}, '
            '"hparams": {...}}. A class without hyperparameters needs no file: pass trial_class=...'
        )
    specification = saved.get("trial_cls_spec")
    code = directory / files.CODE_DIRECTORY
    problem: Optional[BaseException] = None
    if specification is not None:
        try:
            with determined.import_from_path(code):
                return import_trial_class(specification)
        except Exception as caught:
            problem = caught
    raise ValueError(
        f"the class of the trial ({specification}) can't be imported from {code}: pass trial_class=..."
    ) from problem
