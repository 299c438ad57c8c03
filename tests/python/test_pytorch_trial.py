"""Tests PyTorchTrial and Trainer, outside of a trial in this process, and in a run of an experiment."""

import contextlib
import json
import logging
import os
import pathlib
import pickle
import shutil
import tempfile
import unittest
import warnings
from unittest import mock

import torch

import determined as det
from determined import errors, pytorch
from determined.pytorch import _checkpoint_files
from determined.pytorch._checkpoint_files import Progress, load_progress, load_state
from support import Case, finish
from trial_support import LIMIT_S, TrialCase

EVENTS = []


def recording(name):
    def hook(_, *arguments):
        EVENTS.append(" ".join([name, *(str(number) for number in arguments if isinstance(number, int))]))

    return hook


HOOKS = [name for name in dir(pytorch.PyTorchCallback) if name.startswith("on_")]
Recorder = type("Recorder", (pytorch.PyTorchCallback,), {name: recording(name) for name in HOOKS})


class Line(pytorch.PyTorchTrial):
    """Learns y = 2x."""

    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

    def build_training_data_loader(self):
        inputs = torch.arange(8.0).unsqueeze(1) / 8
        return pytorch.DataLoader(torch.utils.data.TensorDataset(inputs, 2 * inputs), batch_size=2)

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return loss

    def evaluate_batch(self, batch, batch_idx):
        return {"error": (self.model(batch[0]) - batch[1]).abs().mean(), "batch": batch_idx}


class Recorded(Line):
    def build_callbacks(self):
        return {"recorder": Recorder()}


class Compiled(torch.nn.Module):
    """What torch.compile(module) returns in torch 2: an OptimizedModule, which keeps the module as _orig_mod."""

    def __init__(self, module):
        super().__init__()
        self._orig_mod = module

    def forward(self, *arguments):
        return self._orig_mod(*arguments)


class LocalCase(Case):
    def setUp(self):
        super().setUp()
        os.environ.update({**self.variables, "XDG_DATA_HOME": self.directory})
        EVENTS.clear()

    @contextlib.contextmanager
    def reports(self):
        """Records the calls of the reporting functions in the block: (group, steps_completed, metrics)."""
        found = []
        train = det.core.TrainContext
        with mock.patch.object(
            train, "report_training_metrics", lambda self, steps, metrics, _: found.append(("training", steps, metrics))
        ), mock.patch.object(
            train, "report_validation_metrics", lambda self, steps, metrics: found.append(("validation", steps, metrics))
        ):
            yield found

    def fit(self, trial_class=Line, aggregation_frequency=1, **arguments):
        arguments.setdefault("max_length", pytorch.Batch(3))
        with pytorch.init(aggregation_frequency=aggregation_frequency) as context:
            trial = trial_class(context)
            pytorch.Trainer(trial, context).fit(**arguments)
        return trial


class Local(LocalCase):
    def test_metrics_are_reported_once_a_period_and_when_something_is_due(self):
        with self.reports() as reports:
            self.fit(
                max_length=pytorch.Epoch(2), reporting_period=pytorch.Batch(3), validation_period=pytorch.Epoch(1)
            )
        self.assertEqual(
            [(group, steps) for group, steps, _ in reports],
            [("training", 3), ("training", 4), ("validation", 4), ("training", 6), ("training", 8), ("validation", 8)],
        )
        metrics = reports[2][2]
        self.assertEqual((metrics["batches"], metrics["epochs"], metrics["batch"]), (4, 1, 1.5))
        self.assertEqual(set(reports[0][2]), {"loss", "batches", "epochs"})

    def test_hooks_are_called_in_the_order_of_determined(self):
        with self.reports():
            self.fit(Recorded, max_length=pytorch.Epoch(1), reporting_period=pytorch.Batch(3), step_zero_validation=True)
        validation = ["on_validation_start", "on_validation_epoch_start", "on_validation_epoch_end", "on_validation_end"]
        checkpoint = [
            "on_checkpoint_save_start", "on_checkpoint_end", "on_checkpoint_write_end", "on_checkpoint_upload_end",
        ]
        self.assertEqual(
            EVENTS,
            ["on_trial_startup 0", "on_training_start", *validation, "on_training_epoch_start 0",
             "on_training_workload_end", "on_training_epoch_end 0", "on_training_workload_end", *validation, *checkpoint,
             "on_trial_shutdown"],
        )

    def test_hooks_with_former_names_are_called(self):
        former = type("Former", (pytorch.PyTorchCallback,), {
            name: recording(name)
            for name in ("on_validation_start", "on_validation_step_start", "on_validation_step_end")
        })
        trial = type("Trial", (Line,), {"build_callbacks": lambda _: {"former": former()}})
        with self.reports(), self.assertLogs("determined.pytorch", logging.WARNING) as logs:
            self.fit(trial, max_length=pytorch.Batch(1))
        self.assertEqual(EVENTS, ["on_validation_start", "on_validation_step_start", "on_validation_step_end"])
        self.assertIn("on_validation_step_end() is deprecated: use on_validation_end()", "\n".join(logs.output))

    def test_a_window_of_batches_is_a_larger_batch(self):
        torch.manual_seed(1)
        small = self.fit(aggregation_frequency=2, max_length=pytorch.Batch(4))

        class Larger(Line):
            def build_training_data_loader(self):
                return pytorch.DataLoader(super().build_training_data_loader().dataset, batch_size=4)

        torch.manual_seed(1)
        large = self.fit(Larger, max_length=pytorch.Batch(2))
        for weights, others in zip(small.model.parameters(), large.model.parameters()):
            self.assertTrue(torch.allclose(weights, others, atol=1e-6))

    def test_a_trial_stops_when_it_asks_for_it(self):
        class Stops(Line):
            def train_batch(self, batch, epoch_idx, batch_idx):
                self.context.set_stop_requested(batch_idx == 4)
                return super().train_batch(batch, epoch_idx, batch_idx)

        with self.reports() as reports:
            self.fit(Stops, max_length=pytorch.Batch(100), reporting_period=pytorch.Batch(5))
        self.assertEqual([steps for _, steps, _ in reports], [5])

    def test_a_callback_of_any_step_of_the_loop_can_stop_the_trial(self):
        for hook in ("on_training_workload_end", "on_validation_end", "on_checkpoint_upload_end"):

            class Stops(Line):
                def build_callbacks(self):
                    callback = pytorch.PyTorchCallback()
                    setattr(callback, hook, lambda *_: self.context.set_stop_requested(True))
                    return {"stops": callback}

            # A checkpoint is committed while the training goes on, so that its hook is called some batches later.
            is_later = hook == "on_checkpoint_upload_end"
            with self.subTest(hook), self.reports() as reports:
                self.fit(
                    Stops,
                    max_length=pytorch.Batch(100_000 if is_later else 100),
                    reporting_period=pytorch.Batch(5),
                    validation_period=pytorch.Batch(5),
                    checkpoint_period=pytorch.Batch(5),
                    checkpoint_policy="none",
                )
                if is_later:
                    self.assertLess(reports[-1][1], 100_000)
                else:
                    self.assertEqual({steps for _, steps, _ in reports}, {5})

    def test_test_mode_trains_and_validates_one_batch(self):
        with self.reports() as reports:
            self.fit(test_mode=True, max_length=None)
        self.assertEqual([(group, steps) for group, steps, _ in reports], [("training", 1), ("validation", 1)])
        self.assertEqual(reports[1][2]["batch"], 0)

    def test_a_loaded_trial_has_the_weights_of_its_checkpoint(self):
        storage_ids = []

        class Saved(Line):
            def build_callbacks(self):
                callback = pytorch.PyTorchCallback()
                callback.on_checkpoint_upload_end = storage_ids.append
                return {"saved": callback}

        trial = self.fit(Saved)
        path = f"{self.directory}/determined/{storage_ids[-1]}"
        loaded = pytorch.load_trial_from_checkpoint_path(path, trial_class=Line)
        self.assertEqual(loaded.model.state_dict(), trial.model.state_dict())
        with self.assertRaisesRegex(ValueError, "pass trial_class"):
            pytorch.load_trial_from_checkpoint_path(path)
        with self.reports() as reports:
            self.fit(Line, max_length=pytorch.Batch(5), latest_checkpoint=storage_ids[-1])
        self.assertEqual([steps for _, steps, _ in reports], [5, 5])

    def test_a_local_run_begins_anew_unless_it_is_given_the_checkpoint_of_a_local_run(self):
        storage_ids, starts = [], []

        class Saved(Line):
            def build_callbacks(self):
                callback = pytorch.PyTorchCallback()
                callback.on_checkpoint_upload_end = storage_ids.append
                callback.on_training_start = lambda: starts.append(self.model.weight.item())
                return {"saved": callback}

        def trained_steps(**arguments):
            with self.reports() as reports:
                self.fit(Saved, max_length=pytorch.Batch(5), reporting_period=pytorch.Batch(1), **arguments)
            return [steps for group, steps, _ in reports if group == "training"]

        weight = self.fit(Saved, checkpoint_format="torch").model.weight.item()
        checkpoint = storage_ids[0]
        self.assertEqual(trained_steps(), [1, 2, 3, 4, 5])
        self.assertNotEqual(starts[-1], weight)
        self.assertEqual(trained_steps(latest_checkpoint=checkpoint), [4, 5])
        self.assertEqual(starts[-1], weight)
        # From the checkpoint of a trial of an experiment it takes the weights, as Determined does.
        of_trial = Progress(trial_id=7000000, batches_trained=3, last_ckpt=3)
        with mock.patch.object(_checkpoint_files, "load_progress", lambda _: of_trial):
            self.assertEqual(trained_steps(latest_checkpoint=checkpoint), [1, 2, 3, 4, 5])
        self.assertEqual(starts[-1], weight)

    def test_a_compiled_model_is_saved_under_the_names_of_the_plain_one(self):
        storage_ids = []

        class Plain(Line):
            model_of = staticmethod(lambda: torch.nn.Sequential(torch.nn.BatchNorm1d(1), torch.nn.Linear(1, 1)))

            def __init__(self, context):
                self.context = context
                self.model = context.wrap_model(self.model_of())
                self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9))

            def build_callbacks(self):
                callback = pytorch.PyTorchCallback()
                callback.on_checkpoint_upload_end = storage_ids.append
                return {"saved": callback}

        class Whole(Plain):
            model_of = staticmethod(lambda: Compiled(Plain.model_of()))

        class Part(Plain):
            model_of = staticmethod(
                lambda: torch.nn.Sequential(torch.nn.BatchNorm1d(1), Compiled(torch.nn.Linear(1, 1)))
            )

        for trained in (Whole, Part, Plain):
            trial = self.fit(trained, aggregation_frequency=2)  # 3 batches: gradients are saved too
            path = f"{self.directory}/determined/{storage_ids[-1]}"
            state = load_state(pathlib.Path(path))
            saved = state["models_state_dict"][0]
            self.assertEqual(
                list(saved),
                ["0.weight", "0.bias", "0.running_mean", "0.running_var", "0.num_batches_tracked", "1.weight", "1.bias"],
            )
            self.assertEqual(saved._metadata["0"], {"version": 2})
            self.assertEqual(sorted(state["rank"]["gradients"][0]), ["0.bias", "0.weight", "1.bias", "1.weight"])
            # As Determined saves it, and det-submit did before.
            former = f"{self.directory}/former"
            shutil.copytree(path, former, ignore=shutil.ignore_patterns("*.safetensors"))
            state["models_state_dict"][0] = {f"_orig_mod.{name}": value for name, value in saved.items()}
            torch.save(state, f"{former}/state_dict.pth")
            for loaded_class in (Plain, Whole, Part):
                for source in (path, former):
                    loaded = pytorch.load_trial_from_checkpoint_path(source, trial_class=loaded_class)
                    values = zip(loaded.model.state_dict().values(), trial.model.state_dict().values())
                    self.assertTrue(all(torch.equal(one, other) for one, other in values))
                with self.reports() as reports:
                    self.fit(loaded_class, aggregation_frequency=2, max_length=pytorch.Batch(4), latest_checkpoint=storage_ids[-1])
                self.assertEqual([steps for _, steps, _ in reports], [4, 4])
                del storage_ids[-1]
            shutil.rmtree(former)

    def test_metrics_that_are_arrays_are_reduced_to_numbers(self):
        class Arrays(Line):
            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = super().train_batch(batch, epoch_idx, batch_idx)
                return {"loss": loss.reshape(1), "each": torch.tensor([batch_idx, batch_idx + 3.0]), "text": "none"}

            def evaluate_batch(self, batch, batch_idx):
                samples = torch.arange(batch_idx + 1.0)  # 0; 0, 1; 0, 1, 2; 0, 1, 2, 3
                return {"one": torch.ones(1), "mean": samples, "sum": samples, "max": samples.reshape(1, -1), "min": samples}

            def evaluation_reducer(self):
                kinds = pytorch.Reducer
                return {"one": kinds.AVG, "mean": kinds.AVG, "sum": kinds.SUM, "max": kinds.MAX, "min": kinds.MIN}

        with self.reports() as reports:
            self.fit(Arrays)
        (_, _, training), (_, _, validation) = reports
        self.assertIs(type(training["loss"]), float)
        self.assertEqual((training["each"], training["text"]), (2.5, None))
        self.assertEqual([validation[name] for name in ("one", "mean", "sum", "max", "min")], [1, 0.75, 10, 3, 0])
        self.assertTrue(all(type(value) in (int, float) for value in validation.values()), validation)

    def test_a_metric_of_one_element_is_a_number(self):
        class Full(Line):
            evaluate_batch = pytorch.PyTorchTrial.evaluate_batch

            def __init__(self, context):
                super().__init__(context)
                context.wrap_reducer(lambda values: torch.ones(1, 1), "wrapped")

            def evaluate_full_dataset(self, data_loader):
                return {"error": torch.ones(1)}

        with self.reports() as reports:
            self.fit(Full)
        values = [metrics["wrapped"] for _, _, metrics in reports] + [reports[-1][2]["error"]]
        self.assertEqual([(type(value), value) for value in values], [(float, 1)] * 3)

    def test_reducers_of_batches_may_differ_by_name(self):
        class Reduced(Line):
            def evaluation_reducer(self):
                return {"error": pytorch.Reducer.MAX, "batch": pytorch.Reducer.SUM}

        with self.reports() as reports:
            self.fit(Reduced)
        self.assertEqual(reports[-1][2]["batch"], 0 + 1 + 2 + 3)

    def test_a_function_reduces_what_all_batches_gave(self):
        class Reduced(Line):
            def __init__(self, context):
                super().__init__(context)
                self.largest = context.wrap_reducer(max, "largest", for_training=False)

            def evaluate_batch(self, batch, batch_idx):
                self.largest.update(batch_idx)
                return super().evaluate_batch(batch, batch_idx)

        with self.reports() as reports:
            self.fit(Reduced)
        self.assertNotIn("largest", reports[0][2])
        self.assertEqual(reports[-1][2]["largest"], 3)

    def test_half_precision_trains_on_the_cpu(self):
        class Half(Line):
            def __init__(self, context):
                context.experimental.use_amp()
                super().__init__(context)

            def train_batch(self, batch, epoch_idx, batch_idx):
                assert self.model(batch[0]).dtype is torch.bfloat16
                return super().train_batch(batch, epoch_idx, batch_idx)

        with self.reports() as reports:
            self.fit(Half)
        self.assertEqual(len(reports), 2)


class Mistakes(LocalCase):
    def check(self, exception, words, trial_class=Line, **arguments):
        with self.assertRaisesRegex(exception, words), self.reports():
            self.fit(trial_class, **arguments)

    def test_a_trial_needs_a_model_an_optimizer_and_one_way_to_validate(self):
        class NoModel(Line):
            def __init__(self, context):
                pass

        class NoOptimizer(Line):
            def __init__(self, context):
                context.wrap_model(torch.nn.Linear(1, 1))

        class Both(Line):
            def evaluate_full_dataset(self, data_loader):
                return {}

        self.check(errors.InvalidExperimentException, "wrap_model", NoModel)
        self.check(errors.InvalidExperimentException, "wrap_optimizer", NoOptimizer)
        self.check(errors.InvalidExperimentException, "exactly one of evaluate_batch", Both)

    def test_loaders_of_torch_need_the_callers_consent(self):
        class Foreign(Line):
            def build_training_data_loader(self):
                return torch.utils.data.DataLoader(super().build_training_data_loader().dataset, batch_size=2)

        class Allowed(Foreign):
            def __init__(self, context):
                super().__init__(context)
                context.experimental.disable_dataset_reproducibility_checks()

        self.check(RuntimeError, "disable_dataset_reproducibility_checks", Foreign)
        with self.reports() as reports:
            self.fit(Allowed, max_length=pytorch.Epoch(2))
        self.assertEqual(reports[-1][1], 8)

    def test_arguments_that_can_not_be_used_are_refused(self):
        self.check(ValueError, "needs max_length", max_length=None)
        self.check(TypeError, "of an integer", max_length=pytorch.Batch([1, 2]))
        self.check(ValueError, "checkpoint_policy must be", checkpoint_policy="bets")

    def test_batches_must_have_the_same_metrics(self):
        class Changing(Line):
            def evaluate_batch(self, batch, batch_idx):
                return {f"error{batch_idx}": 1.0}

        self.check(ValueError, "the same metrics for each batch", Changing)

    def test_a_failing_reducer_is_named(self):
        class Failing(Line):
            def __init__(self, context):
                super().__init__(context)
                context.wrap_reducer(lambda values: values[5], "fifth")

        self.check(ValueError, r"the reducer 'fifth' failed in cross_slot_reduce\(\)", Failing)

    def test_schedulers_and_optimizers_are_checked_when_they_are_wrapped(self):
        plateau, mode = torch.optim.lr_scheduler.ReduceLROnPlateau, pytorch.LRScheduler.StepMode
        with pytorch.init(hparams={"global_batch_size": 5, "other": 1}) as context:
            trial = Line(context)
            foreign = torch.optim.SGD(trial.model.parameters(), lr=1.0)
            for call, words in (
                (lambda: context.wrap_lr_scheduler(plateau(trial.optimizer), mode.STEP_EVERY_EPOCH), "MANUAL_STEP"),
                (lambda: context.wrap_lr_scheduler(plateau(foreign), mode.MANUAL_STEP), "must be wrapped first"),
                (lambda: context.wrap_optimizer(foreign, backward_passes_per_step=0), "at least 1"),
                (lambda: context.configure_apex_amp(), "use_amp"),
            ):
                with self.assertRaisesRegex(errors.InvalidExperimentException, words):
                    call()
            self.assertEqual((context.get_per_slot_batch_size(), context.get_hparam("other")), (5, 1))
            self.assertRaises(ValueError, context.get_hparam, "missing")
            self.assertRaises(errors.InternalException, context.current_train_batch)

    def test_a_batch_size_is_an_integer_of_at_least_one_sample_a_slot(self):
        for size in (True, 2.0, "16", 0):
            with pytorch.init(hparams={"global_batch_size": size}) as context:
                self.assertRaises(errors.InvalidExperimentException, context.get_global_batch_size)
        with pytorch.init() as context:
            self.assertRaises(ValueError, context.get_per_slot_batch_size)
            self.assertRaises(ValueError, context.get_hparams)


SCRIPT = """
import logging
import determined as det
from determined import pytorch
from pytorch_trial import InterruptedTrial

logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
info = det.get_cluster_info()
with pytorch.init(hparams=info.trial.hparams) as context:
    trainer = pytorch.Trainer(InterruptedTrial(context), context)
    trainer.fit(max_length=pytorch.Epoch(1), latest_checkpoint=info.latest_checkpoint, checkpoint_policy="none")
"""

BAD_HYPERPARAMETERS = """
import determined as det
from pytorch_trial import InterruptedTrial

class Bad(InterruptedTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        raise det.InvalidHP("the batch size is odd")
"""


VALUES = """
from determined import errors
from pytorch_trial import InterruptedTrial
from torch.cuda.amp import GradScaler

class Values(InterruptedTrial):
    def __init__(self, context):
        self.scaler = context.wrap_scaler(GradScaler(enabled=False))
        super().__init__(context)
        for again in (lambda: context.wrap_scaler(GradScaler(enabled=False)), context.current_train_batch):
            try:
                again()
                raise SystemExit("it was not refused")
            except (errors.InvalidExperimentException, errors.InternalException):
                pass
        assert (context.get_experiment_id(), context.get_trial_id(), context.get_trial_seed()) == (7, 7000000, 11)
        assert context.get_data_config() == {"path": "/data"}, context.get_data_config()
        assert context.get_experiment_config()["scheduling_unit"] == 2
        assert (context.get_initial_batch(), context.get_stop_requested()) == (0, False)
        assert context.get_enable_tensorboard_logging()
        context.set_enable_tensorboard_logging(False)
        assert not context.get_enable_tensorboard_logging()
        if context.distributed.rank == 0:
            context.get_tensorboard_writer().add_scalar("mine", 1.0, 1)

    def train_batch(self, batch, epoch_idx, batch_idx):
        context = self.context
        assert (context.current_train_epoch(), context.current_train_batch()) == (epoch_idx, batch_idx)
        assert (context.is_epoch_start(), context.is_epoch_end()) == (batch_idx == 0, batch_idx == 2), batch_idx
        metrics = super().train_batch(batch, epoch_idx, batch_idx)
        context.reset_reducers()
        assert self.error.count == 0
        self.error.update(batch[1], batch[1])
        return metrics
"""

TRACED = """
import torch
from pytorch_trial import InterruptedTrial

class Traced(InterruptedTrial):
    def __init__(self, context):
        super().__init__(context)
        schedule = torch.profiler.schedule(wait=0, warmup=0, active=2, repeat=1)
        context.set_profiler(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule)
"""


ARRAYS = """
import numpy as np
import torch
from pytorch_trial import InterruptedTrial

class Arrays(InterruptedTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        rank = self.context.distributed.rank
        super().train_batch(batch, epoch_idx, batch_idx)
        # Arrays of one shape on all ranks, and of shapes that differ.
        return {"same": torch.tensor([rank, rank + 1.0]), "ragged": torch.full((rank + 1,), float(rank))}

    def evaluate_batch(self, batch):
        super().evaluate_batch(batch)
        return {"validation_loss": torch.tensor([float(self.context.distributed.rank)])}
"""

GROUP = """
import os
import torch.distributed as dist
import determined as det
from determined import pytorch
from pytorch_trial import InterruptedTrial

is_own = os.environ["TEST_OWN_GROUP"] == "yes"
if is_own:
    dist.init_process_group("gloo")
with pytorch.init(hparams=det.get_cluster_info().trial.hparams) as context:
    assert dist.is_initialized()
    trainer = pytorch.Trainer(InterruptedTrial(context), context)
    trainer.fit(max_length=pytorch.Batch(1), checkpoint_policy="none")
assert dist.is_initialized() == is_own, is_own
"""

FEW_GPUS = """
import torch

def set_device(device):
    if (device if isinstance(device, int) else device.index) > 0:
        raise RuntimeError("CUDA error: invalid device ordinal")

torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1
torch.cuda.set_device = set_device
from determined import core, pytorch
from determined.pytorch import _exchange
ranks = core.DistributedContext.from_torch_distributed()
if ranks.local_rank == 0:
    assert _exchange.find_device(ranks) == torch.device("cuda", 0)
else:
    _exchange._connect_torch(ranks)
"""


FORMER = """
import torch
from determined.pytorch import DataLoader, PyTorchTrial, PyTorchTrialContext

class Former(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        assert context.get_experiment_config()["description"] == "former"
        self.network = context.wrap_model(torch.nn.Linear(context.get_hparam("features"), 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.network.parameters(), lr=context.get_hparam("rate")))

    def build_training_data_loader(self):
        return DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 3)), batch_size=2)

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        return {"loss": 0.0}

    def evaluate_batch(self, batch):
        return {"loss": 0.0}

class Older(Former):  # of Determined 0.12
    def __init__(self, context):
        self.features = context.get_hparam("features")

    def build_model(self):
        return torch.nn.Linear(self.features, 1)

    def train_batch(self, batch, model, epoch_idx, batch_idx):
        return {"loss": 0.0}
"""


class FormerCheckpoints(Case):
    """Checkpoints with the files of Determined 0.17.6 and older."""

    def write_checkpoint(self, key="models_state_dict", entrypoint="former_model:Former", where="", **metadata):
        path = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        (path / "code").mkdir()
        (path / "code/former_model.py").write_text(FORMER, encoding="utf-8")
        (path / where).mkdir(exist_ok=True)
        self.weights = torch.nn.Linear(3, 1).state_dict()
        state = {
            key: [self.weights] if key == "models_state_dict" else self.weights,
            "optimizers_state_dict": [],
            "lr_schedulers_state_dict": [],
            "callbacks": {},
            "rng_state": {},
        }
        torch.save(state, path / where / "state_dict.pth")
        with open(path / "workload_sequencer.pkl", "wb") as file:
            pickle.dump({"trial_id": 3, "last_ckpt": 40, "latest_batch": 40, "step_id": 4, "last_val": 20}, file)
        if entrypoint is not None:
            content = {
                "determined_version": "0.17.6",
                "experiment_config": {"description": "former", "entrypoint": entrypoint},
                "hparams": {"features": 3, "rate": 0.5},
                **metadata,
            }
            (path / "metadata.json").write_text(json.dumps(content), encoding="utf-8")
        return path

    def check_weights(self, model):
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, self.weights[name]), name)

    def test_a_downloaded_checkpoint_becomes_a_trial_with_its_weights(self):
        for metadata in ({"framework": "torch-1.9.0+cu111", "format": "pickle"}, {"torch_version": "1.7.1"}):
            for where in ("", "pedl"):
                path = self.write_checkpoint(where=where, **metadata)
                trial = pytorch.load_trial_from_checkpoint_path(str(path))
                self.check_weights(trial.network)
                self.assertEqual(trial.optimizer.defaults["lr"], 0.5)

    def test_a_trial_that_builds_its_model_becomes_the_model(self):
        for key in ("model_state_dict", "models_state_dict"):
            path = self.write_checkpoint(key, "former_model:Older")
            self.check_weights(pytorch.load_trial_from_checkpoint_path(str(path)))

    def test_a_checkpoint_without_metadata_is_an_error_that_says_how_to_write_it(self):
        path = self.write_checkpoint(entrypoint=None)
        with self.assertRaisesRegex(ValueError, 'has no load_data.json.*write_metadata_file.*"entrypoint"'):
            pytorch.load_trial_from_checkpoint_path(str(path))
        # What det-submit and Determined store with a checkpoint does not name the class either.
        (path / "metadata.json").write_text('{"steps_completed": 40}', encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "has no load_data.json"):
            pytorch.load_trial_from_checkpoint_path(str(path))

    def test_a_checkpoint_says_how_far_its_trial_had_trained(self):
        progress = load_progress(self.write_checkpoint())
        self.assertEqual(progress, Progress(trial_id=3, last_ckpt=40, step_id=4, last_val=20, batches_trained=40))


class InTrial(TrialCase):
    config = {
        "hyperparameters": {"global_batch_size": 33, "hidden": 4, "samples": 66},
        "searcher": {"name": "single", "metric": "validation_loss", "max_length": {"records": 70}},
        "perform_initial_validation": True,
        "scheduling_unit": 2,
    }

    def test_the_configuration_says_when_to_report_and_validate(self):
        self.add_program("pytorch_trial.py")
        self.train("pytorch_trial:InterruptedTrial")
        self.assertEqual([steps for steps, _ in self.reports("validation")], [0, 3])  # 70 records in batches of 32
        self.assertEqual([steps for steps, _ in self.reports("training")], [2, 3])
        uuid, steps = self.checkpoints()[-1]
        self.assertEqual(steps, 3)
        path = f"{self.directory}/checkpoints/{uuid}"
        loaded = pytorch.load_trial_from_checkpoint_path(path)
        weights = self.final_state()["models_state_dict"][0]
        self.assertTrue(all(torch.equal(value, weights[name]) for name, value in loaded.model.state_dict().items()))
        events = os.listdir(f"{self.directory}/trials/0/tensorboard")
        self.assertEqual(len([name for name in events if "tfevents" in name]), 1)

    def test_the_configuration_says_how_often_to_validate_and_save(self):
        self.new_run(
            searcher={"name": "single", "metric": "validation_loss", "max_length": {"epochs": 1}},
            records_per_epoch=192,  # 6 batches of 32
            perform_initial_validation=False,
            min_validation_period={"records": 64},
            min_checkpoint_period={"batches": 3},
            checkpoint_policy="none",
        )
        self.add_program("pytorch_trial.py")
        self.train("pytorch_trial:InterruptedTrial")
        self.assertEqual([steps for steps, _ in self.reports("validation")], [2, 4, 6])
        self.assertEqual([steps for _, steps in self.checkpoints()], [3, 6])

    def test_a_script_trains_with_the_trainer(self):
        self.add_program("pytorch_trial.py")
        self.add_program("train.py", SCRIPT)
        self.finish_ranks(self.start_ranks("train.py"))
        self.assertEqual([steps for steps, _ in self.reports("validation")], [3])
        self.assertEqual([steps for _, steps in self.checkpoints()], [3])

    def test_the_process_group_is_destroyed_if_the_program_has_not_made_it(self):
        self.add_program("pytorch_trial.py")
        self.add_program("train.py", GROUP)
        for is_own in ("no", "yes"):
            self.finish_ranks(self.start_ranks("train.py", USE_LIBUV="0", TEST_OWN_GROUP=is_own))

    def test_a_rank_without_a_gpu_of_its_own_is_told_why(self):
        self.add_program("train.py", FEW_GPUS)
        (first, second) = finish(self.start_ranks("train.py", CUDA_VISIBLE_DEVICES="3"), LIMIT_S)
        self.assertEqual(first[0], 0, first)
        second = second[2]
        self.assertIn("ValueError: rank 1 is local rank 1 and needs the GPU with this number, but sees 1 GPU", second)
        self.assertIn("CUDA_VISIBLE_DEVICES=3", second)
        self.assertIn("resources.slots_per_trial", second)

    def test_arrays_are_reduced_over_ranks_and_elements(self):
        self.add_program("pytorch_trial.py")
        self.add_program("model_def.py", ARRAYS)
        self.train("model_def:Arrays")
        for _, metrics in self.reports("validation"):  # of 4 batches of rank 0 and 3 of rank 1
            self.assertAlmostEqual(metrics["validation_loss"], 3 / 7)
        for _, metrics in self.reports("training"):
            self.assertEqual((metrics["same"], metrics["ragged"]), (1, 0.5))

    def test_the_context_tells_of_the_trial_and_of_the_training(self):
        self.new_run(data={"path": "/data"})
        self.add_program("pytorch_trial.py")
        self.add_program("model_def.py", VALUES)
        self.train("model_def:Values")
        self.assertIn("scaler_state_dict", self.final_state())
        self.assertEqual([metrics["mean_error"] for _, metrics in self.reports("training")], [0, 0])
        (events,) = pathlib.Path(self.directory, "trials/0/tensorboard").glob("*tfevents*")
        content = events.read_bytes()
        self.assertIn(b"mine", content)
        self.assertNotIn(b"loss", content)

    def test_the_profiler_of_a_trial_traces_its_batches(self):
        self.add_program("pytorch_trial.py")
        self.add_program("model_def.py", TRACED)
        self.train("model_def:Traced")
        directory = pathlib.Path(self.directory, "trials/0/tensorboard")
        traces = [json.loads(path.read_text(encoding="utf-8")) for path in directory.glob("*.pt.trace.json")]
        self.assertEqual(len(traces), self.slots)
        for trace in traces:
            events = trace if isinstance(trace, list) else trace["traceEvents"]  # a list without Kineto
            names = {event.get("name", "") for event in events}
            self.assertIn("ProfilerStep#0", names)
            self.assertTrue(any("addmm" in name for name in names), names)

    def test_a_trial_that_starts_from_anothers_checkpoint_begins_at_batch_0(self):
        self.add_program("pytorch_trial.py")
        self.train("pytorch_trial:InterruptedTrial")
        source, checkpoint = self.directory, self.checkpoints()[-1][0]
        (*_, (_, trained)) = self.reports("validation")
        self.new_run(trial_index=1)
        self.add_program("pytorch_trial.py")
        shutil.copytree(f"{source}/checkpoints", f"{self.directory}/checkpoints")
        self.control("again", checkpoint, "0", "0")  # like a run with searcher.source_checkpoint_uuid
        (chief, _) = self.train("pytorch_trial:InterruptedTrial")
        self.assertIn("starting from a checkpoint of trial 7000000", chief)
        first, last = self.reports("validation")
        self.assertEqual((first[0], last[0]), (0, 3))
        self.assertEqual(first[1]["validation_loss"], trained["validation_loss"])
        self.assertLess(last[1]["validation_loss"], first[1]["validation_loss"])
        state = self.final_state()
        self.assertEqual(state["lr_schedulers_state_dict"][0]["last_epoch"], 3)
        self.assertEqual(state["callbacks"], {"count": {"epochs": 1}})

    def test_ranks_of_horovod_train_as_those_of_torch(self):
        more = {
            "optimizations": {"aggregation_frequency": 2},
            "searcher": {"name": "single", "metric": "validation_loss", "max_length": {"batches": 6}},
        }
        self.new_run(**more)
        self.add_program("pytorch_trial.py")
        self.train("pytorch_trial:InterruptedTrial")
        by_torch, validations = self.final_state(), self.reports("validation")
        self.new_run(**more)
        self.add_program("pytorch_trial.py")
        path = f"{pathlib.Path(__file__).resolve().parent}/horovod_on_gloo:{os.environ['PYTHONPATH']}"
        outputs = self.train("pytorch_trial:InterruptedTrial", USE_TORCH_DISTRIBUTED="", USE_HOROVOD="True", PYTHONPATH=path)
        for output in outputs:
            self.assertIn("horovod: backward_passes_per_step=2 compression=none", output)
        weights = self.final_state()["models_state_dict"][0]
        for name, value in by_torch["models_state_dict"][0].items():
            self.assertLess(float((value - weights[name]).abs().max()), 1e-5, name)
        # The last loss differs: with Horovod each rank validates with its own statistics of the batch normalization.
        self.assertEqual([steps for steps, _ in self.reports("validation")], [0, 6])
        first, other = self.reports("validation")[0][1], validations[0][1]
        self.assertAlmostEqual(first["validation_loss"], other["validation_loss"], places=5)

    def test_the_configuration_keeps_the_format_of_torch(self):
        self.new_run(slurm={"checkpoint_format": "torch"})
        self.add_program("pytorch_trial.py")
        self.train("pytorch_trial:InterruptedTrial", **self.preempt_at(0))
        self.assertEqual(self.resume(), 1)
        files = os.listdir(f"{self.directory}/checkpoints/{self.checkpoints(0)[-1][0]}")
        self.assertLess({"state_dict.pth", "rank-0.pth", "rank-1.pth", "trial_state.pkl"}, set(files))
        self.train("pytorch_trial:InterruptedTrial")
        self.assertEqual([steps for _, steps in self.checkpoints()], [3])

    def test_a_damaged_checkpoint_is_an_error(self):
        self.add_program("pytorch_trial.py")
        self.train("pytorch_trial:InterruptedTrial", **self.preempt_at(0))
        self.resume()
        file = f"{self.directory}/checkpoints/{self.checkpoints(0)[-1][0]}/rank-00000.safetensors"
        for damage in (b"?", b""):  # a changed byte, which torch may not notice; a cut file, which it does
            with open(file, "r+b") as opened:
                opened.seek(os.path.getsize(file) // 2)
                opened.write(damage)
                if not damage:
                    opened.truncate()
            outputs = self.train_to_failure("pytorch_trial:InterruptedTrial")
            self.assertTrue(any("rank-00000.safetensors" in output for output in outputs), outputs)
            self.assertIn("checkpoint", outputs[0])

    def test_a_metric_that_the_searcher_lacks_is_an_error(self):
        self.new_run(searcher={"name": "single", "metric": "accuracy", "max_length": {"batches": 1}})
        self.add_program("pytorch_trial.py")
        (chief, _) = self.train_to_failure("pytorch_trial:InterruptedTrial")
        self.assertIn("'accuracy' is missing; the validation metrics are: batches, epochs, mean_error", chief)

    def test_hyperparameters_that_can_not_train_end_the_trial(self):
        self.add_program("pytorch_trial.py")
        self.add_program("model_def.py", BAD_HYPERPARAMETERS)
        self.train("model_def:Bad")
        self.assertEqual([record["reason"] for record in self.records(0, "early-exit")], ["INVALID_HP"])

    def test_a_length_that_is_not_configured_is_an_error(self):
        self.new_run(searcher={"name": "single", "metric": "validation_loss"})
        self.add_program("pytorch_trial.py")
        for output in self.train_to_failure("pytorch_trial:InterruptedTrial"):
            self.assertIn("a trial class needs searcher.max_length", output)

    def test_a_class_that_is_no_trial_is_an_error(self):
        self.add_program("model_def.py", "class Model:\n    pass\n")
        for name, words in (
            ("model_def:Model", "is not a subclass of determined.pytorch.PyTorchTrial"),
            ("model_def:Other", "has no Other"),
        ):
            for output in self.train_to_failure(name):
                self.assertIn(words, output)


logging.getLogger("determined").setLevel(logging.ERROR)
warnings.simplefilter("ignore", FutureWarning)

if __name__ == "__main__":
    unittest.main()
