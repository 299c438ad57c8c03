"""Names of Determined that det-submit does not have. Importing or using one raises an ImportError that says
what serves instead."""

from typing import Any, Callable, NoReturn, Optional, Type

_KERAS = "train with Keras as usual, and report by determined.core from a callback of Keras"
_LIGHTNING = "use Lightning's Trainer with determined.lightning"
_DEEPSPEED = (
    "use determined.core in a training script that calls DeepSpeed, started by determined.launch.deepspeed"
)
_CORE_API = "use determined.core"
_TRIAL = "determined.pytorch.PyTorchTrial is the class for trials"
_NO_MASTER = "there is no master: use determined.experimental.client or `det-submit ... --json`"
_NO_USERS = "there are no users, workspaces and projects to list"
_INTERNAL = "it is internal code of Determined: use determined.core, determined.pytorch or determined.experimental.client"
_HYPERPARAMETERS = "write hyperparameters in the configuration; get_cluster_info().trial.hparams has their values"
_CLIP = "give clip_grads to context.step_optimizer()"

# Several names may share a row. A name stands for all names below it too.
_ROWS = {
    "keras experimental.keras": _KERAS,
    "estimator experimental.estimator": "TensorFlow has removed estimators; use determined.core",
    "lightning pytorch.lightning": _LIGHTNING,
    "pytorch.deepspeed": _DEEPSPEED,
    "pytorch.dsat": "DeepSpeed is not tuned: write its settings as hyperparameters, and search over them",
    "transformers": "determined.transformers has DetCallback",
    "integrations": "call determined.core where the other library calls the program back",
    "cli": "use the command det-submit, which is also named det",
    "deploy": "there is nothing to deploy: jobs need the installed directory and no service",
    "storage common.storage": "use core_context.checkpoint in a job, and Checkpoint.download() elsewhere",
    "profiler": "use core_context.profiler, or `profiling` of the configuration",
    "gpu": "get_cluster_info().gpu_uuids has the devices, `det-submit trial profile` how busy they are",
    "Checkpoint": "use determined.experimental.client.Checkpoint",
    "ExperimentConfig EnvContext": "get_cluster_info().trial._config is the configuration as a dict",
    "LegacyTrial Trial TrialContext TrialController trial": _TRIAL,
    "Categorical Constant Double Hparam Integer Log": _HYPERPARAMETERS,
    "_core _generic generic": _CORE_API,
    "constants ipc layers load monkey_patch pytorch._pytorch_context pytorch._pytorch_trial pytorch._trainer_utils workload": _INTERNAL,
    "exec": "use `det-submit experiment create`, or a module of determined.launch in the entrypoint",
    "launch": "use determined.launch.torch_distributed, horovod, deepspeed, tensorflow or autohorovod",
    "tensorboard": "a PyTorchTrial has context.get_tensorboard_writer(), and `slurm: {tensorboard: true}` writes the metrics",
    "common": _INTERNAL,
    "common.api common.util": _NO_MASTER,
    "common.experimental.session common.experimental.oauth2_scim_client common.experimental.token": _NO_MASTER,
    "common.experimental.user common.experimental.workspace common.experimental.project": _NO_USERS,
    "common.experimental.resource_pool experimental.client.ResourcePool": "use `det-submit resource-pool list --json`",
    "experimental.client.Project experimental.client.User experimental.client.Workspace": _NO_USERS,
    "experimental.client.Session experimental.client.Oauth2ScimClient": _NO_MASTER,
    "experimental.Project experimental.User experimental.Workspace": _NO_USERS,
    "experimental.Session": _NO_MASTER,
    "experimental.create experimental.init": "use determined.experimental.client.create_experiment",
    "experimental.test_one_batch": "use `det-submit experiment create --test`",
    "experimental.create_trial_instance": "use determined.pytorch.init() and make the trial of its context",
    "experimental.Mode": "use `det-submit experiment create`, with --test for a short trial",
    "experimental.unmanaged": "use determined.experimental.core_v2",
    "experimental.client.Experiment.project_id experimental.client.Experiment.workspace_id": (
        "projects and workspaces have no numbers: config['project'] and config['workspace'] are their names"
    ),
    "experimental.client.Experiment.move_to_project": "use labels, which add_label() gives",
    "experimental.client.Experiment.get_config": "use the attribute config",
    "experimental.client.Trial.get_config": "use get_experiment().config",
    "experimental.client.Checkpoint.parse_metadata experimental.client.Checkpoint.get_type": "use the attribute metadata",
    "experimental.client.Checkpoint.get_pachyderm_commit": "training.experiment_config has the configuration",
    "core.Experimental core.ExperimentalCoreContext": "report the uuid or the name of the model by context.train.set_metadata()",
    "pytorch.ClipGradsL2Norm pytorch.ClipGradsL2Value": _CLIP,
    "pytorch.PyTorchTrialController": "use pytorch.Trainer",
    "pytorch.Record": "lengths are in pytorch.Batch and pytorch.Epoch",
    "util": _INTERNAL,
    "pytorch.reset_parameters": "call reset_parameters() of the modules",
}
_INSTEAD = {name: instead for names, instead in _ROWS.items() for name in names.split()}


def find_instead(name: str) -> Optional[str]:
    """What serves in place of a name such as determined.keras.TFKerasTrial; None if it is none of Determined's."""
    words = name.split(".")[1:]
    while words:
        instead = _INSTEAD.get(".".join(words))
        if instead is not None:
            return instead
        words.pop()
    return None


def _refuse(name: str, instead: str, kind: Type[ImportError] = ImportError) -> NoReturn:
    raise kind(f"det-submit has no {name}: {instead}", name=name)


def refuse_names_of(module: str) -> Callable[[str], Any]:
    """A __getattr__ for a module."""

    def get_attribute(name: str) -> Any:
        full_name = f"{module}.{name}"
        instead = None if name.startswith("__") and name.endswith("__") else find_instead(full_name)
        if instead is not None:
            _refuse(full_name, instead)
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return get_attribute


class AbsentNames:
    """A base of classes that lack attributes of Determined's classes."""

    def __getattr__(self, name: str) -> Any:
        kind = type(self)
        module = kind.__module__.split("._", maxsplit=1)[0]
        instead = find_instead(f"{module}.{kind.__name__}.{name}")
        advice = "" if instead is None else f" in det-submit: {instead}"
        raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'{advice}")


class AbsentModules:
    """The last finder of sys.meta_path: refuses modules that nobody has found."""

    @staticmethod
    def find_spec(name: str, _path: Any = None, _target: Any = None) -> None:
        """Called for each import that the other finders leave.

        Raises:
            ModuleNotFoundError: Determined has such a module, and det-submit has not
        """
        if name.startswith("determined."):
            instead = find_instead(name)
            if instead is not None:
                _refuse(name, instead, ModuleNotFoundError)
