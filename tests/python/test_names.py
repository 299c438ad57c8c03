"""Tests what `determined` exports besides the Core API: exceptions, helpers, and names that it refuses."""

import importlib
import os
import subprocess
import sys
import unittest

import determined as det
from determined import errors, util
from support import Case, environment_of


class Names(Case):
    def test_refused_experiments_are_not_caught_by_except_exception(self):
        self.assertFalse(issubclass(errors.InvalidExperimentException, Exception))
        problem = errors.InvalidConfigurationException({"a": 1}, "a is not 2")
        self.assertIsInstance(problem, errors.InvalidExperimentException)
        self.assertEqual(problem.config, {"a": 1})

    def test_names_that_are_missing_say_what_to_use(self):
        for module, name in (
            ("determined.common", "check"),
            ("determined.common.api", "bindings"),
            ("determined.common.util", "get_default_master_address"),
            ("determined.core", "ExperimentalCoreContext"),
            ("determined.tensorboard.util", "get_base_path"),
            ("determined.experimental", "test_one_batch"),
            ("determined.experimental", "Workspace"),
            ("determined.experimental.client", "Session"),
            ("determined.tensorboard", "BaseTensorboardManager"),
            ("determined.util", "check_sshd"),
            ("determined", "LegacyTrial"),
            ("determined", "Categorical"),
            ("determined", "keras"),
        ):
            with self.assertRaisesRegex(ImportError, f"det-submit has no {module}.{name}: "):
                getattr(importlib.import_module(module), name)
            with self.assertRaisesRegex(ImportError, f"det-submit has no {module}.{name}: "):
                exec(f"from {module} import {name}")
        with self.assertRaises(AttributeError):
            det.nothing_of_this_name

    def test_modules_that_are_missing_say_what_to_use(self):
        for module in (
            "determined._core",
            "determined.cli",
            "determined.common.api.bindings",
            "determined.common.experimental.workspace",
            "determined.common.storage",
            "determined.deploy.local",
            "determined.estimator",
            "determined.exec.launch",
            "determined.experimental.unmanaged",
            "determined.gpu",
            "determined.integrations",
            "determined.keras",
            "determined.keras.callbacks",
            "determined.profiler",
            "determined.storage",
            "determined.tensorboard.metric_writers.base",
            "determined.workload",
        ):
            with self.assertRaisesRegex(ImportError, "det-submit has no determined.*: .{10}"):
                importlib.import_module(module)
        with self.assertRaises(ModuleNotFoundError):
            importlib.import_module("determined.nothing_of_this_name")

    def test_a_missing_module_fails_where_it_is_run(self):
        done = subprocess.run(
            [sys.executable, "-m", "determined.cli", "e", "ls"],
            stderr=subprocess.PIPE,
            text=True,
            env=environment_of(),
            check=False,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("det-submit has no determined.cli: use the command det-submit", done.stderr)

    def test_experimental_has_the_names_of_the_client(self):
        from determined.experimental import Determined, ExperimentReference, client

        self.assertIs(Determined, client.Determined)
        self.assertIs(ExperimentReference, client.Experiment)

    def test_common_has_what_user_code_imports(self):
        from determined.common import util as common_util
        from determined.common import yaml
        from determined.common.api import errors as api_errors
        from determined.common.experimental.determined import Determined
        from determined.common.experimental.metrics import TrialMetrics
        from determined.common.experimental.trial import LogLevel
        from determined.common.experimental.model import ModelVersion
        from determined.experimental import (
            CheckpointState,
            ModelSortBy,
            OrderBy,
            TrialOrderBy,
            TrialSortBy,
            checkpoint,
            client,
            experiment,
            metrics,
        )

        self.assertEqual(yaml.safe_load("a: [1, b]"), {"a": [1, "b"]})
        self.assertEqual(common_util.safe_load_yaml_with_exceptions("a: 1"), {"a": 1})
        self.assertEqual([list(part) for part in common_util.chunks([1, 2, 3], 2)], [[1, 2], [3]])
        self.assertEqual(common_util.sizeof_fmt(1536), "1.5KB")
        self.assertTrue(issubclass(api_errors.NotFoundException, api_errors.APIException))
        self.assertIs(TrialMetrics, client.TrialMetrics)
        self.assertIs(Determined, client.Determined)
        self.assertIs(LogLevel.WARNING, client.LogLevel.WARNING)
        self.assertIs(experiment.ExperimentSortBy, client.ExperimentSortBy)
        self.assertIs(metrics.ValidationMetrics, client.ValidationMetrics)
        self.assertIs(checkpoint.CheckpointOrderBy.DESC, client.OrderBy.DESC)
        self.assertIs(checkpoint.Checkpoint, client.Checkpoint)
        self.assertIs(ModelVersion, client.ModelVersion)
        self.assertIs(ModelSortBy, client.ModelSortBy)
        self.assertIs(TrialOrderBy.DESCENDING, client.OrderBy.DESC)
        self.assertIs(TrialSortBy, client.TrialSortBy)
        self.assertIs(OrderBy.ASCENDING, client.OrderBy.ASC)
        self.assertIs(CheckpointState, client.CheckpointState)

    def test_a_file_that_is_not_yaml_ends_the_program(self):
        program = "from determined.common import util; util.safe_load_yaml_with_exceptions('a: [')"
        done = subprocess.run(
            [sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, env=environment_of(), check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith("error: the file is not YAML"), done.stderr)

    def test_maps_are_merged_deeply(self):
        base = {"a": {"b": 1, "c": 2}, "d": 3}
        self.assertEqual(util.merge_dicts(base, {"a": {"c": 4}, "d": {}}), {"a": {"b": 1, "c": 4}, "d": {}})
        self.assertEqual(base, {"a": {"b": 1, "c": 2}, "d": 3})

    def test_a_parameter_is_found_by_name_and_position(self):
        self.assertTrue(util.has_param(lambda a, b: a, "b"))
        self.assertTrue(util.has_param(lambda a, b: a, "b", 1))
        self.assertFalse(util.has_param(lambda a, b: a, "b", 0))

    def test_the_launcher_tells_which_library_connects_the_ranks(self):
        backend = det._DistributedBackend()
        os.environ["USE_HOROVOD"] = "1"
        self.addCleanup(os.environ.pop, "USE_HOROVOD")
        self.assertTrue(backend.use_horovod())
        self.assertFalse(backend.use_torch())

    def test_horovod_is_imported_at_its_first_use(self):
        from determined.horovod import hvd

        hvd.require_horovod_type("torch", "the first")
        with self.assertRaisesRegex(ValueError, "the second needs horovod.tensorflow.*the first"):
            hvd.require_horovod_type("tensorflow", "the second")

    def test_modules_of_a_path_hide_those_of_the_working_directory(self):
        for folder in ("here", "there"):
            os.mkdir(f"{self.directory}/{folder}")
            with open(f"{self.directory}/{folder}/model_def.py", "w", encoding="utf-8") as file:
                file.write(f"name = '{folder}'\n")
        program = """
import determined as det, model_def, os, sys
sys.dont_write_bytecode = False
with det.import_from_path("../there"):
    import model_def as other
print(model_def.name, other.name, sys.modules["model_def"].name, sorted(os.listdir("../there")))
"""
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=f"{self.directory}/here",
            env=environment_of(**self.variables),
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
            check=True,
        )
        self.assertEqual(done.stdout, "here there here ['model_def.py']\n")


if __name__ == "__main__":
    unittest.main()
