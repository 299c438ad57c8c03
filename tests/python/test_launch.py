"""Tests the launch modules. Programs that print their command line stand for det-launch and det-wrap-rank."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import unittest

from support import BUILD, Case, environment_of

PROGRAM = "#!/bin/sh\nprintf '%s\\n' \"${0##*/}\" \"$@\"\nexit 7\n"


class Launch(Case):
    def setUp(self):
        super().setUp()
        packages = f"{self.directory}/lib/det-submit/python"
        shutil.copytree(f"{BUILD}/lib/det-submit/python", packages)
        os.mkdir(f"{self.directory}/bin")
        for name in ("det-launch", "det-wrap-rank"):
            with open(f"{self.directory}/bin/{name}", "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            os.chmod(file.name, 0o755)
        self.variables["PYTHONPATH"] = packages

    def module(self, line, **more):
        name, *arguments = line.split()
        return subprocess.run(
            [sys.executable, "-m", f"determined.launch.{name}", *arguments],
            env=environment_of(**{**self.variables, **more}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    def check(self, line, becomes, **more):
        done = self.module(line, **more)
        self.assertEqual(" ".join(done.stdout.split()), becomes, done.stderr)
        self.assertEqual(done.returncode, 7)

    def on_cluster(self, slots):
        """Makes the files of a task with one node."""
        info = f"{self.directory}/run/info"
        os.makedirs(info, exist_ok=True)
        cluster = dict.fromkeys("master_url cluster_id agent_id task_id allocation_id session_token".split(), "")
        cluster.update(slot_ids=slots, task_type="TRIAL")
        rendezvous = {"container_addrs": ["n0"], "container_rank": 0, "container_slot_counts": [len(slots)]}
        for name, content in (("cluster", cluster), ("rendezvous", rendezvous)):
            with open(f"{info}/{name}.json", "w", encoding="utf-8") as file:
                json.dump(content, file)
        self.variables["DET_RUN_DIR"] = f"{self.directory}/run"

    def test_the_command_lines_of_the_documentation_become_those_of_det_launch(self):
        for line in (
            "horovod --fusion-threshold-mb 1 --cycle-time-ms 2 -- --trial model_def:MyTrial",
            "horovod --trial model_def:TrialClass",
            "torch_distributed --rdzv_endpoint=n0:1 -- --trial model_def:MyTrial",
            "torch_distributed python3 train.py --lr 0.1",
            "deepspeed --trial model_def:MyTrial",
            "tensorflow --port 29500 -- python3 train.py",
            "jax --processes-per-node 2 -- python3 train.py",
        ):
            self.check(line, f"det-launch {line}")

    def test_the_rank_wrapper_takes_numbers_and_variables(self):
        self.check("wrap_rank 3 -- python3 script worker", "det-wrap-rank 3 -- python3 script worker")
        self.check("wrap_rank --no-redirect-stdio RANK,PMI_RANK true", "det-wrap-rank RANK,PMI_RANK true")

    def test_autohorovod_runs_a_script_alone_on_one_slot(self):
        done = self.module("autohorovod echo alone")
        self.assertEqual(done.stdout, "alone\n" if done.returncode == 0 else done.stderr)
        self.on_cluster([0, 1])
        self.check("horovod --autohorovod echo together", "det-launch horovod echo together")

    def test_autohorovod_starts_a_trial_class_by_horovodrun_where_it_is_installed(self):
        self.on_cluster([0, 1])
        os.mkdir(f"{self.directory}/horovod")
        self.variables["PYTHONPATH"] += f":{self.directory}"
        with open(f"{self.directory}/horovod/__init__.py", "w", encoding="utf-8"):
            pass
        self.check("autohorovod --trial model_def:MnistTrial", "det-launch horovod --trial model_def:MnistTrial")
        self.check("autohorovod model_def:MnistTrial", "det-launch horovod --trial model_def:MnistTrial")
        self.check("autohorovod -v -- --trial=m:T", "det-launch horovod -v -- --trial=m:T")
        self.check("horovod --autohorovod --trial m:T", "det-launch horovod --trial m:T")

    @unittest.skipIf(importlib.util.find_spec("horovod"), "SKIPPED: Horovod is installed")
    def test_autohorovod_starts_a_trial_class_by_torch_without_horovod(self):
        self.on_cluster([0, 1])
        done = self.module("autohorovod model_def:MnistTrial")
        note = "Horovod is not installed: the ranks are started by torch.distributed.run"
        self.assertEqual(
            done.stdout, f"{note}\ndet-launch\ntorch_distributed\n--trial\nmodel_def:MnistTrial\n", done.stderr
        )

    def test_autohorovod_trains_a_trial_class_alone_on_one_slot_and_in_a_rank_of_slurm(self):
        for slots, variables in (([0], {}), ([0, 1], {"LOCAL_RANK": "1"})):
            self.on_cluster(slots)
            done = self.module("autohorovod --trial no_such_module:MnistTrial", **variables)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("trial.json", done.stderr)  # the harness has started and misses the trial's file

    def test_neither_a_script_nor_a_trial_is_a_usage_error(self):
        for name in ("torch_distributed", "horovod", "deepspeed", "tensorflow", "jax", "wrap_rank"):
            done = self.module(name)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"usage: python3 -m determined.launch.{name}", done.stderr)

    def test_help_is_the_usage(self):
        done = self.module("deepspeed -h")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("[[DEEPSPEED_OPTION...] --] (--trial MODULE:CLASS | SCRIPT...)", done.stdout)

    def test_the_modules_are_found_through_the_pythonpath_of_a_run(self):
        done = self.module("wrap_rank --help", PYTHONPATH=f"{BUILD}/lib/det-submit/python-path")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
