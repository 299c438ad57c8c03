"""Tests determined.executor off the cluster: local and debug jobs, and Slurm's with commands that answer from files. Names
without a sentence are those of submitit's own tests (submitit_tests.txt); tests/cluster/functions_test.cpp has the others."""

import asyncio
import contextlib
import functools
import io
import logging
import os
import pathlib
import pickle
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest
import warnings
from unittest import mock

import functions_to_submit as functions
from determined import executor as submitit
from determined.executor import _interruption, _run, _slurm_commands, slurm
from determined.executor.core import job_environment, utils
from support import Case

TESTS = pathlib.Path(__file__).parent

SBATCH = """#!/bin/sh
echo "$*" >>"$FAKE/sbatch.calls"
cat "$FAKE/sbatch.answer" 2>/dev/null || echo 12
"""
SQUEUE = """#!/bin/sh
echo "$*" >>"$FAKE/squeue.calls"
cat "$FAKE/squeue.answer" 2>/dev/null || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
"""
SCONTROL = """#!/bin/sh
echo "$*" >>"$FAKE/scontrol.calls"
case $1 in --oneliner) cat "$FAKE/job.answer";; requeue) cat "$FAKE/refusal" >&2 2>/dev/null && exit 1;; esac
exit 0
"""
SCANCEL = """#!/bin/sh
echo "$*" >>"$FAKE/scancel.calls"
"""


class WithSlurm(Case):
    """Tests with a Slurm that consists of four scripts."""

    def setUp(self):
        super().setUp()
        self.fake = pathlib.Path(self.directory)
        programs = self.fake / "bin"
        programs.mkdir()
        for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scontrol", SCONTROL), ("scancel", SCANCEL)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        names = ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_ARRAY_JOB_ID", "SLURM_PROCID", "SUBMITIT_EXECUTOR")
        kept = {name: value for name, value in os.environ.items() if name not in names}
        kept.update(FAKE=str(self.fake), PATH=f"{programs}:{os.environ['PATH']}")
        environment = mock.patch.dict(os.environ, kept, clear=True)
        environment.start()
        self.addCleanup(environment.stop)
        watcher = mock.patch.object(submitit.SlurmJob, "watcher", slurm.SlurmInfoWatcher())
        watcher.start()
        self.addCleanup(watcher.stop)
        self.folder = self.fake / "logs"

    def answer(self, name, text):
        (self.fake / name).write_text(text)

    def calls(self, name):
        path = self.fake / f"{name}.calls"
        return path.read_text().splitlines() if path.exists() else []

    @contextlib.contextmanager
    def in_job(self, job_id, **more):
        array, _, task = job_id.partition("_")
        names = {"SUBMITIT_EXECUTOR": "slurm", "SLURM_JOB_ID": array, **more}
        if task:
            names.update(SLURM_ARRAY_JOB_ID=array, SLURM_ARRAY_TASK_ID=task)
        with mock.patch.dict(os.environ, names):
            yield

    def run_job(self, job):
        with self.in_job(job.job_id):
            handlers = {number: signal.getsignal(number) for number in (signal.SIGUSR2, signal.SIGTERM, signal.SIGCONT)}
            try:
                _run.process_job(self.folder)
            finally:
                for number, handler in handlers.items():
                    signal.signal(number, handler)

    def test_slurm_job_mocked(self):
        self.answer("squeue.answer", "12|RUNNING|n0\n")
        job = submitit.SlurmExecutor(self.folder).submit(functions.do_nothing, 1, 2, blublu=3)
        self.assertEqual((job.job_id, job.state, job.stdout()), ("12", "RUNNING", None))
        self.assertEqual(job.get_info(), {"JobID": "12", "State": "RUNNING", "NodeList": "n0"})
        job.paths.stdout.write_text("hop")
        job.paths.stderr.write_text("This is the error log\n")
        job._results_timeout_s = 0
        with self.assertRaisesRegex(submitit.UncompletedJobError, "This is the error log"):
            job._get_outcome_and_result()
        self.run_job(job)
        self.assertEqual((job.result(), job.stdout(), job.stderr()), (12, "hop", "This is the error log\n"))
        self.assertRegex(self.calls("sbatch")[0], "^--parsable --hold ")
        self.assertEqual(self.calls("scontrol"), ["release 12"])

    def test_slurm_job_array_mocked(self):
        for use_batch in (False, True):
            self.answer("squeue.answer", "".join(f"12_{i}|RUNNING|n0\n" for i in range(5)))
            executor = submitit.SlurmExecutor(self.folder)
            executor.update_parameters(array_parallelism=3)
            if use_batch:
                with executor.batch():
                    jobs = [executor.submit(functions.add, i, 10 + i) for i in range(5)]
            else:
                jobs = executor.map_array(functions.add, range(5), range(10, 15))
            self.assertEqual([job.job_id for job in jobs], [f"12_{i}" for i in range(5)])
            for job in jobs:
                self.assertEqual(job.state, "RUNNING")
                self.run_job(job)
            jobs[0]._interrupt(timeout=True)
            self.assertEqual(self.calls("scancel")[-1], "12_0 --signal USR2")
            self.assertEqual([job.result() for job in jobs], [10 + 2 * i for i in range(5)])
            script = submitit.Job(self.folder, "12").paths.submission_file.read_text()
            self.assertEqual([line for line in script.splitlines() if "--array" in line], ["#SBATCH --array=0-4%3"])

    def test_slurm_error_mocked(self):
        executor = submitit.SlurmExecutor(self.folder)
        executor.update_parameters(time=24, gpus_per_node=0)
        job = executor.submit(functions.do_nothing, 1, 2, error=12)
        with self.assertRaisesRegex(ValueError, "Too bad"):
            self.run_job(job)
        with self.assertRaisesRegex(submitit.FailedJobError, "Too bad"):
            job.result()
        self.assertIsInstance(job.exception(), submitit.FailedJobError)

    def test_mocked_missing_state(self):
        self.answer("squeue.answer", "12||\n")
        job = submitit.SlurmJob(self.folder, "12")
        self.assertEqual(job.state, "UNKNOWN")
        job._interrupt(timeout=False)
        self.assertEqual(self.calls("scancel"), ["12 --signal TERM", "12 --signal USR2"])

    def test_job_environment(self):
        with self.in_job("12"):
            self.assertEqual(submitit.JobEnvironment().cluster, "slurm")
        with self.assertRaisesRegex(RuntimeError, "not in a job"):
            submitit.JobEnvironment()

    def test_watcher(self):
        watcher = slurm.SlurmInfoWatcher()
        self.answer("squeue.answer", "12|RUNNING|n0\n")
        self.assertEqual(watcher.num_calls, 0)
        self.assertEqual(watcher.get_state("11"), "UNKNOWN")
        self.assertTrue(watcher.is_done("11", mode="cache"))  # Slurm has answered, and does not know it
        self.answer("squeue.answer", "12|FAILED|n0\n")
        self.assertEqual(watcher.get_state("12", mode="force"), "FAILED")
        self.assertTrue(watcher.is_done("12", mode="cache"))
        calls = watcher.num_calls
        watcher.get_state("12", mode="force")
        self.assertEqual(watcher.num_calls, calls)  # nothing that may change is left

    def test_a_job_of_another_process_is_known(self):
        self.answer("squeue.answer", "12|RUNNING|n0\n")
        text = pickle.dumps(submitit.SlurmJob(self.folder, "12"))
        submitit.SlurmJob.watcher.__init__()
        self.assertEqual(pickle.loads(text).state, "RUNNING")

    def test_a_silent_slurm_ends_no_job(self):
        (self.fake / "bin/squeue").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n")
        job = submitit.SlurmJob(self.folder, "12")
        with self.assertLogs("determined.executor", "WARNING"):
            self.assertFalse(job.done())
        self.assertEqual(job.state, "UNKNOWN")

    def test_get_id_from_submission_command(self):
        for text in ("5610208\n", "lines of a filter\n5610208;cluster\n"):
            self.answer("sbatch.answer", text)
            self.assertEqual(_slurm_commands.submit("x", hold=False), "5610208")

    def test_get_id_from_submission_command_raise(self):
        self.answer("sbatch.answer", "blublu")
        with self.assertRaisesRegex(submitit.FailedSubmissionError, "blublu"):
            submitit.SlurmExecutor(self.folder).submit(functions.add, 1, 2)
        (self.fake / "bin/sbatch").write_text("#!/bin/sh\necho 'invalid partition' >&2; exit 1\n")
        with self.assertRaisesRegex(submitit.FailedSubmissionError, "invalid partition"):
            submitit.SlurmExecutor(self.folder).submit(functions.add, 1, 2)
        self.assertEqual([path for path in self.folder.iterdir() if "submission-" in path.name], [])

    def test_a_job_that_can_not_be_released_is_cancelled(self):
        (self.fake / "bin/scontrol").write_text("#!/bin/sh\necho 'Access denied' >&2; exit 1\n")
        with self.assertRaisesRegex(submitit.FailedSubmissionError, "Access denied"):
            submitit.SlurmExecutor(self.folder).submit(functions.add, 1, 2)
        self.assertEqual(self.calls("scancel"), ["12"])

    def test_a_job_whose_release_does_not_end_is_cancelled(self):
        (self.fake / "bin/scontrol").write_text("#!/bin/sh\nexec sleep 60\n")
        with mock.patch.object(_slurm_commands, "_LIMIT_S", 0.3):
            with self.assertRaisesRegex(submitit.FailedSubmissionError, "job 12 .*timed out"):
                submitit.SlurmExecutor(self.folder).submit(functions.add, 1, 2)
        self.assertEqual(self.calls("scancel"), ["12"])

    def test_a_job_that_can_not_be_cancelled_after_a_failed_submission_is_said(self):
        for name in ("scontrol", "scancel"):
            (self.fake / "bin" / name).write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n")
        with self.assertLogs("determined.executor", "ERROR") as logged, self.assertRaises(submitit.FailedSubmissionError):
            submitit.SlurmExecutor(self.folder).submit(functions.add, 1, 2)
        self.assertRegex(logged.output[0], "job 12 may be left, and held.*Unable to contact.*scancel 12")

    def test_after_an_endless_sbatch_a_job_may_be_left(self):
        (self.fake / "bin/sbatch").write_text("#!/bin/sh\nexec sleep 60\n")
        with mock.patch.object(_slurm_commands, "_LIMIT_S", 0.3):
            with self.assertRaisesRegex(submitit.FailedSubmissionError, "may be submitted all the same, and held(.|\n)*squeue --me"):
                submitit.SlurmExecutor(self.folder).submit(functions.add, 1, 2)

    def test_a_folder_for_each_rank_is_refused(self):
        executor = submitit.SlurmExecutor(self.folder / "%j/%t")
        executor.update_parameters(nodes=1)
        with self.assertRaisesRegex(ValueError, "2 tasks: with %t"):
            executor.update_parameters(ntasks_per_node=2)
        local = submitit.LocalExecutor(self.folder / "%t")
        with self.assertRaisesRegex(ValueError, "2 tasks: with %t"):
            local.update_parameters(tasks_per_node=2)

    def test_a_result_of_a_former_job_of_the_same_number_is_removed(self):
        self.folder.mkdir()
        utils.dump_pickle(("success", "old"), self.folder / "12_0_result.pkl")
        job = submitit.SlurmExecutor(self.folder).submit(functions.add, 1, 2)
        self.assertFalse(job.paths.result_pickle.exists())

    def test_variables_of_a_surrounding_job_do_not_reach_sbatch(self):
        cleaned = _slurm_commands.clean_environment(
            {"SLURM_JOB_ID": "1", "SLURM_CONF": "c", "SBATCH_ACCOUNT": "a", "SBATCH_ARRAY_INX": "1", "HOME": "h", "SUBMITIT_EXECUTOR": "slurm"}
        )
        self.assertEqual(cleaned, {"SLURM_CONF": "c", "SBATCH_ACCOUNT": "a", "HOME": "h"})

    # ---- parameters ----

    def test_make_sbatch_string(self):
        script = slurm.make_sbatch_script(
            "blublu bar", "/tmp", partition="learnfair", exclusive=True, additional_parameters={"blublu": 12},
            srun_args=["-vv", "--cpu-bind", "none"],
        )
        self.assertEqual(
            script.splitlines(),
            [
                "#!/bin/bash",
                "",
                "#SBATCH --blublu=12",
                "#SBATCH --error=/tmp/%j_0_log.err",
                "#SBATCH --exclusive",
                "#SBATCH --job-name=submitit",
                "#SBATCH --nodes=1",
                "#SBATCH --open-mode=append",
                "#SBATCH --output=/tmp/%j_0_log.out",
                "#SBATCH --partition=learnfair",
                "#SBATCH --requeue",
                "#SBATCH --signal=USR2@90",
                "#SBATCH --time=5",
                "",
                "",
                "export SUBMITIT_EXECUTOR=slurm",
                "srun --unbuffered --open-mode=append --output=/tmp/%j_%t_log.out --error=/tmp/%j_%t_log.err -vv "
                "--cpu-bind none blublu bar",
            ],
        )

    def test_make_sbatch_string_gpu(self):
        self.assertIn("--gpus-per-node=2", slurm.make_sbatch_script("blublu", "/tmp", gpus_per_node=2))
        with self.assertWarnsRegex(UserWarning, "num_gpus"):
            self.assertIn("--gpus-per-node=2", slurm.make_sbatch_script("blublu", "/tmp", num_gpus=2))

    def test_make_sbatch_stderr(self):
        self.assertNotIn("--error", slurm.make_sbatch_script("blublu", "/tmp", stderr_to_stdout=True))

    def test_the_signal_never_comes_at_the_begin_of_a_short_job(self):
        for time_limit, signal_at in ((60, 90), (5, 90), (1, 10), ("2:00:00", 90), ("1-0", 90), ("2", 30), (0.5, 10), (0, 90)):
            self.assertIn(f"--signal=USR2@{signal_at}", slurm.make_sbatch_script("x", "/tmp", time=time_limit))
        self.assertIn("--time=1\n", slurm.make_sbatch_script("x", "/tmp", time=0.5))
        self.assertEqual([slurm._minutes(text) for text in ("90", "1:30", "2:00:00", "1-2:03:30")], [90, 1.5, 120, 1563.5])

    def test_values_that_sbatch_can_not_be_given_are_errors(self):
        executor = submitit.SlurmExecutor(self.folder)
        for wrong in (
            {"comment": "a\nb"}, {"time": "soon"}, {"use_srun": False, "nodes": 2}, {"use_srun": False, "srun_args": ["-v"]},
        ):
            with self.assertRaises(ValueError, msg=str(wrong)):
                executor.update_parameters(**wrong)
        for folder in ("a\\b", "a\nb", "a%u"):
            with self.assertRaisesRegex(ValueError, "folder is"):
                submitit.SlurmExecutor(folder)
        self.assertEqual(executor.parameters, {})

    def test_update_parameters(self):
        executor = submitit.AutoExecutor(self.folder)
        executor.update_parameters(mem_gb=3.5)
        self.assertEqual(executor._executor.parameters, {"mem": "3584MB"})

    def test_update_parameters_error(self):
        with self.assertRaisesRegex(ValueError, r"blublu(.|\n)*array_parallelism \(default: 256\)"):
            submitit.SlurmExecutor(self.folder).update_parameters(blublu=12)

    def test_a_parameter_that_is_nearly_a_known_one_is_refused_with_the_known_name(self):
        executor = submitit.AutoExecutor(self.folder, cluster="slurm")
        for wrong, message in (
            ("timout_min", "there is no parameter 'timout_min': use 'timeout_min'\n"),
            ("slrum_partition", "there is no parameter 'slrum_partition': use 'slurm_partition'\n"),
            ("slurm_parition", "the executor slurm has no parameter 'parition' ('slurm_parition'): use 'slurm_partition'\n"),
            ("slurm_blublu", "the executor slurm has no parameter 'blublu' ('slurm_blublu')\n"),
            ("blublu", "there is no parameter 'blublu'\n"),
        ):
            with self.assertRaises(NameError) as raised:
                executor.update_parameters(**{wrong: 1})
            self.assertEqual(str(raised.exception).split("Parameters of")[0], message)
        with self.assertRaisesRegex(ValueError, "there is no parameter 'ntask_per_node': use 'ntasks_per_node'\n"):
            submitit.SlurmExecutor(self.folder).update_parameters(ntask_per_node=2)

    def test_get_default_parameters(self):
        self.assertEqual(slurm.default_parameters()["nodes"], 1)

    def test_name(self):
        self.assertEqual(submitit.SlurmExecutor.name(), "slurm")

    def test_slurm_through_auto(self):
        for params in ({}, {"mem_gb": None}):
            executor = submitit.AutoExecutor(self.folder)
            executor.update_parameters(**params, slurm_additional_parameters={"mem_per_gpu": 12})
            text = executor.submit(functions.do_nothing, 1, 2, blublu=3).paths.submission_file.read_text()
            self.assertEqual([line for line in text.splitlines() if "#SBATCH --mem" in line], ["#SBATCH --mem-per-gpu=12"])

    def test_slurm_executor(self):
        executor = submitit.AutoExecutor(self.folder)
        self.assertEqual(executor.cluster, "slurm")
        executor.update_parameters(mem_gb=2, name="machin", local_setup=["true"])
        self.assertEqual(executor._executor.parameters, {"mem": "2GB", "job_name": "machin"})
        for error, wrong in (
            (TypeError, {"mem_gb": "2.0GB"}), (TypeError, {"nodes": True}), (NameError, {"blublu": 2.0}),
            (NameError, {"slurm_host_filter": "blublu"}), (NameError, {"oar_walltime": "1:0:0"}),
        ):
            with self.assertRaises(error, msg=str(wrong)):
                executor.update_parameters(**wrong)
        with self.assertRaisesRegex(NameError, r"debug_blublu(.|\n)*local_num_threads"):
            executor.update_parameters(debug_blublu=2.0, local_num_threads=4)

    def test_deprecated_argument(self):
        executor = submitit.AutoExecutor(self.folder)
        with self.assertWarnsRegex(UserWarning, "'partition' is deprecated. Use 'slurm_partition'"):
            executor.update_parameters(mem_gb=2, partition="p")
        self.assertEqual(executor._executor.parameters, {"mem": "2GB", "partition": "p"})

    def test_fake_job(self):
        self.answer("squeue.answer", "12|RUNNING|n0\n")
        job = submitit.SlurmJob(self.folder, "12")
        self.assertRegex(repr(job), 'job_id=12, task_id=0, state="RUNNING"')
        self.assertFalse(job.done(force_check=True))
        self.assertEqual((job.stdout(), job.stderr()), (None, None))
        self.folder.mkdir()
        job.paths.stderr.write_text("blublu")
        self.assertEqual(job.stderr(), "blublu")
        utils.cloudpickle_dump(("success", 12), job.paths.result_pickle)
        self.assertEqual((job.result(), job.exception()), (12, None))
        utils.cloudpickle_dump(("error", "blublu"), job.paths.result_pickle)
        self.assertIsInstance(job.exception(), submitit.FailedJobError)
        with self.assertRaisesRegex(utils.FailedJobError, "blublu"):
            job.result()

    def test_overriden_arguments(self):
        executor = submitit.AutoExecutor(self.folder, cluster="slurm")
        executor.update_parameters(timeout_min=60, slurm_timeout_min=120, tasks_per_node=2, slurm_ntasks_per_node=3)
        self.assertEqual(executor._executor.parameters, {"time": 120, "ntasks_per_node": 3})
        submitit.AutoExecutor(self.folder, cluster="local").update_parameters(timeout_min=60, slurm_time=120)

    def test_executor_argument(self):
        self.assertEqual(submitit.AutoExecutor(self.folder, slurm_max_num_timeout=22)._executor.max_num_timeout, 22)
        local = submitit.AutoExecutor(self.folder, cluster="local", slurm_max_num_timeout=22)
        self.assertNotEqual(local._executor.max_num_timeout, 22)

    def test_executor_unknown_argument(self):
        with self.assertRaises(TypeError):
            submitit.AutoExecutor(self.folder, slurm_foobar=22)
        with self.assertRaisesRegex(ValueError, "'foobar'"):
            submitit.AutoExecutor(self.folder, foobar=22)

    def test_executor_deprecated_arguments(self):
        with self.assertWarnsRegex(UserWarning, "slurm_max_num_timeout"):
            submitit.AutoExecutor(self.folder, max_num_timeout=22)

    def test_auto_batch_watcher(self):
        self.answer("squeue.answer", "12|PENDING|\n")
        executor = submitit.AutoExecutor(self.folder)
        with executor.batch():
            job = executor.submit(functions.add, 1, 2)
        self.assertFalse(job.done())

    def test_slurm_job_no_stderr(self):
        self.answer("squeue.answer", "12|FAILED|n0\n")
        job = submitit.SlurmExecutor(self.folder).submit(functions.do_nothing)
        job._results_timeout_s = 0
        job.paths.stdout.write_text("job is running ...\n")
        with self.assertRaisesRegex(submitit.UncompletedJobError, r"state: FAILED(.|\n)*job is running \.\.\."):
            job.result()
        job.paths.stdout.unlink()
        with self.assertRaisesRegex(submitit.UncompletedJobError, "No output/error stream produced !"):
            job.result()
        self.assertIsInstance(job.exception(), submitit.UncompletedJobError)

    # ---- interruptions ----

    def handler(self, job, started_minutes_ago=0, state="JobState=RUNNING Restarts=0 EndTime=99 PreemptTime=None", **more):
        self.answer("job.answer", f"JobId=12 {state}\n")
        with self.in_job(job.job_id, **more):
            made = _interruption.SignalHandler(submitit.JobEnvironment(), job.paths, job.submission())
        made._started_at -= 60 * started_minutes_ago
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        return made

    def interrupt(self, handler, number=signal.SIGUSR2):
        before = len(self.calls("scontrol"))
        with self.in_job("12"), contextlib.suppress(SystemExit), self.assertLogs("determined.executor", "INFO"):
            (handler.requeue_if_preempted if number == signal.SIGTERM else handler.checkpoint_and_try_requeue)(number)
        return [call for call in self.calls("scontrol")[before:] if not call.startswith("--oneliner")]

    def submit_for_an_hour(self, function, *args):
        executor = submitit.SlurmExecutor(self.folder, max_num_timeout=1)
        executor.update_parameters(time=60)
        return executor.submit(function, *args)

    REQUEUED = ["requeue Incomplete 12", "update JobId=12 StartTime=now+8"]

    def test_requeuing_checkpointable(self):
        sequence = submitit.helpers.FunctionSequence()
        sequence.add(functions.three_times, 10)
        job = self.submit_for_an_hour(sequence)
        self.assertEqual(self.interrupt(self.handler(job, 30)), self.REQUEUED)
        self.assertEqual(job.submission()._timeout_countdown, 1)
        self.assertEqual(self.interrupt(self.handler(job, 50)), self.REQUEUED)
        self.assertEqual(job.submission()._timeout_countdown, 0)
        with self.assertRaisesRegex(submitit.UncompletedJobError, "timed-out too many times."):
            self.interrupt(self.handler(job, 55))

    def test_requeuing_not_checkpointable(self):
        job = self.submit_for_an_hour(functions.three_times, 10)
        handler = self.handler(job, 30)
        self.assertEqual(self.interrupt(handler, signal.SIGTERM), [])
        self.assertEqual(self.interrupt(handler), self.REQUEUED)
        with self.assertRaisesRegex(submitit.UncompletedJobError, "timed-out and not checkpointable"):
            self.interrupt(self.handler(job, 50))

    def test_a_preemption_is_no_timeout_however_short_the_limit_is(self):
        executor = submitit.SlurmExecutor(self.folder)
        executor.update_parameters(time=2)
        job = executor.submit(functions.three_times, 10)
        in_grace = "JobState=RUNNING Restarts=0 EndTime=99 PreemptTime=50"
        for number in (signal.SIGTERM, signal.SIGUSR2):
            self.assertEqual(self.interrupt(self.handler(job, 1, in_grace), number), self.REQUEUED)

    def test_what_slurm_has_queued_itself_is_not_queued_twice(self):
        for queued in ("Restarts=0 EndTime=Unknown", "Restarts=1 EndTime=99"):
            job = self.submit_for_an_hour(functions.Slacker())
            handler = self.handler(job, 1, f"JobState=COMPLETING {queued}")
            self.assertEqual(self.interrupt(handler, signal.SIGTERM), self.REQUEUED[1:])
            self.assertEqual(job.submission().kwargs, {"slack": False})

    def test_a_job_that_slurm_cancels_for_a_preemption_is_queued(self):
        job = self.submit_for_an_hour(functions.three_times, 1)
        handler = self.handler(job, 1, "JobState=COMPLETING Restarts=0 EndTime=99 PreemptTime=50")
        self.assertEqual(self.interrupt(handler, signal.SIGTERM)[0], "requeue 12")

    def test_a_cancelled_job_is_never_queued_again(self):
        job = self.submit_for_an_hour(functions.Slacker())
        handler = self.handler(job, 1, "JobState=COMPLETING Restarts=0 EndTime=99 PreemptTime=None")
        self.assertEqual(self.interrupt(handler, signal.SIGTERM), [])
        self.assertEqual(job.submission().kwargs, {})

    def test_an_incarnation_that_slurm_has_given_up_changes_nothing(self):
        job = self.submit_for_an_hour(functions.Slacker())
        for state in ("RUNNING Restarts=1", "RUNNING Restarts=0 BatchHost=n7", "COMPLETING Restarts=1 BatchHost=n7", "COMPLETING Restarts=2"):
            for number in (signal.SIGTERM, signal.SIGUSR2):
                handler = self.handler(job, 1, f"JobState={state} EndTime=99 PreemptTime=None", SLURM_JOB_NODELIST="n[0-1]")
                self.assertEqual(self.interrupt(handler, number), [], state)
                self.assertEqual(job.submission().kwargs, {}, state)

    def test_ranks_other_than_0_leave_it_to_rank_0(self):
        job = self.submit_for_an_hour(functions.Slacker())
        handler = self.handler(job)
        for number in (signal.SIGUSR2, signal.SIGTERM):
            with mock.patch.dict(os.environ, SLURM_PROCID="1"):
                self.assertEqual(self.interrupt(handler, number), [])

    def run_rank_1(self, *args):
        """Runs rank 1, which fails, after a run that has left a result. Returns whether there is a result."""
        job = self.submit_for_an_hour(functions.lose_rank_0, *args)
        path = utils.JobPaths(self.folder, "12", 1).result_pickle
        utils.dump_pickle(("error", "old"), path)
        with mock.patch.dict(os.environ, SLURM_PROCID="1", SLURM_NTASKS="2"), self.assertRaises(ConnectionError):
            with self.assertLogs("determined.executor", "INFO"):
                self.run_job(job)
        return utils.load_pickle(path)[1] if path.exists() else None

    def test_an_error_of_another_rank_after_the_announced_end_is_no_result(self):
        self.assertIn("reset by rank 0", self.run_rank_1(None))
        for number in (signal.SIGUSR2, signal.SIGTERM):
            self.assertIsNone(self.run_rank_1(number))

    def test_children_of_rank_0_are_not_rank_0(self):
        handler = self.handler(self.submit_for_an_hour(functions.Slacker()))
        with mock.patch("os.getpid", return_value=os.getpid() + 1):
            for number in (signal.SIGUSR2, signal.SIGTERM):
                self.assertEqual(self.interrupt(handler, number), [])

    def test_the_end_of_a_worker_does_not_interrupt_a_preemption(self):
        self.addCleanup(signal.signal, signal.SIGCHLD, signal.getsignal(signal.SIGCHLD))
        self.answer("job.answer", "JobId=12 JobState=RUNNING Restarts=0 EndTime=99 PreemptTime=50\n")
        (self.fake / "bin/scontrol").write_text(f"#!/bin/sh\nkill $TEST_WORKER 2>/dev/null\n{SCONTROL}")
        job = self.submit_for_an_hour(functions.preempted_with_workers)
        with self.assertRaises(SystemExit), self.assertLogs("determined.executor", "INFO"):
            self.run_job(job)
        self.assertEqual(self.calls("scontrol")[-2:], self.REQUEUED)

    def test_a_signal_during_the_handling_of_another_waits_for_its_end(self):
        job = self.submit_for_an_hour(functions.three_times, 10)
        handler = self.handler(job, 50)
        log = logging.getLogger("determined.executor")

        class Interrupted(io.StringIO):  # its StreamHandler prints an exception of write() and goes on
            def write(self, text):
                if "SIGCONT" in text and handler._acts():
                    handler.checkpoint_and_try_requeue(signal.SIGUSR2)
                return super().write(text)

        target = logging.StreamHandler(Interrupted())
        log.addHandler(target)
        self.addCleanup(log.removeHandler, target)
        self.addCleanup(log.setLevel, log.level)
        log.setLevel(logging.INFO)
        with self.in_job("12"), self.assertRaisesRegex(submitit.UncompletedJobError, "timed-out and not checkpointable"):
            handler.bypass(signal.SIGCONT)

    def test_an_error_that_the_function_catches_is_the_result_until_it_ends(self):
        job = self.submit_for_an_hour(functions.three_times, 10)
        with contextlib.suppress(submitit.UncompletedJobError):
            self.interrupt(self.handler(job, 50))
        self.assertIsInstance(job.exception(), submitit.FailedJobError)
        self.assertRegex(str(job.exception()), "timed-out and not checkpointable")

    def test_a_checkpoint_that_returns_none_ends_the_job(self):
        with self.assertRaisesRegex(submitit.UncompletedJobError, "checkpoint function returned None"):
            self.interrupt(self.handler(self.submit_for_an_hour(functions.Finished())))

    def test_a_refused_requeue_ends_the_job(self):
        self.answer("refusal", "Requested operation is presently disabled")
        with self.assertRaisesRegex(submitit.UncompletedJobError, "presently disabled"):
            self.interrupt(self.handler(self.submit_for_an_hour(functions.Slacker())))

    # ---- nodes ----

    def hostnames(self, nodes):
        with self.in_job("1", SLURM_JOB_NODELIST=nodes):
            return submitit.JobEnvironment().hostnames

    def test_slurm_node_list(self):
        for nodes, names in (
            ("compute-b24", "compute-b24"),
            ("compute-a1,compute-b2", "compute-a1 compute-b2"),
            ("compute-b2[1,2]", "compute-b21 compute-b22"),
            ("compute-b2[011,022]", "compute-b2011 compute-b2022"),
            ("compute-b2[1-3,5-6,8],compute-a1", "compute-b21 compute-b22 compute-b23 compute-b25 compute-b26 compute-b28 compute-a1"),
            ("compute[042-043,045,048-049]", "compute042 compute043 compute045 compute048 compute049"),
            ("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"),
        ):
            self.assertEqual(self.hostnames(nodes), names.split())

    def test_slurm_node_list_online_documentation(self):
        names = [f"compute-b24-{i}" for i in (1, 2, 3, 5, 6, 7, 8, 9)] + [f"compute-b25-{i}" for i in (1, 4, 8)]
        self.assertEqual(self.hostnames("compute-b24-[1-3,5-9],compute-b25-[1,4,8]"), names)

    def test_slurm_invalid_parse(self):
        for wrong in ("compute-b2[1-,4]", "compute-b2[1,2,compute-b3]", "a[1", "a]", "a[[1]]"):
            with self.assertRaises(slurm.SlurmParseException, msg=wrong):
                self.hostnames(wrong)

    def test_slurm_missing_node_list(self):
        self.assertEqual(self.hostnames(""), [os.uname().nodename])

    def test_torch_distrib_env(self):
        with self.assertRaises(RuntimeError):
            submitit.helpers.TorchDistributedEnvironment()
        with self.in_job("7", SLURM_PROCID="3", SLURM_LOCALID="1", SLURM_NTASKS="4", SLURM_JOB_NUM_NODES="2", SLURM_JOB_NODELIST="n[0-1]"):
            found = submitit.helpers.TorchDistributedEnvironment()
            self.assertEqual(found.master_port, submitit.helpers.TorchDistributedEnvironment().master_port)
            found.export()
            self.assertEqual([os.environ[name] for name in ("MASTER_ADDR", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "CUDA_VISIBLE_DEVICES")], ["n0", "3", "4", "1", "2", "1"])
            with self.assertRaisesRegex(RuntimeError, "MASTER_ADDR"):
                found.export()
            found.export(overwrite=True)

    def test_clean_env(self):
        with utils.environment_variables(SLURM_BLUBLU=12, SUBMITIT_BLUBLU=12):
            with submitit.helpers.clean_env():
                self.assertFalse([name for name in os.environ if name.startswith(("SLURM_", "SUBMITIT_"))])
            self.assertEqual(os.environ["SLURM_BLUBLU"], "12")
        self.assertNotIn("SLURM_BLUBLU", os.environ)


class Local(Case):
    """Jobs that are processes of this machine."""

    def setUp(self):
        super().setUp()
        paths = os.pathsep.join([str(TESTS), os.environ["PYTHONPATH"]])
        environment = mock.patch.dict(os.environ, PYTHONPATH=paths, PYTHONDONTWRITEBYTECODE="1")
        environment.start()
        self.addCleanup(environment.stop)
        self.folder = pathlib.Path(self.directory) / "logs"

    def executor(self, max_num_timeout=3, **parameters):
        made = submitit.LocalExecutor(self.folder, max_num_timeout=max_num_timeout)
        made.update_parameters(**parameters)
        return made

    def test_local_job(self):
        executor = self.executor(tasks_per_node=3, nodes=1)
        job1 = executor.submit(functions.rank_times, 1)
        executor.update_parameters(tasks_per_node=1)
        with executor.batch():
            with self.assertRaisesRegex(RuntimeError, "with executor.batch"):
                executor.update_parameters(tasks_per_node=1)
            job2 = executor.submit(functions.rank_times, 2)
            with self.assertRaises(AttributeError):
                job2.job_id
            with self.assertRaises(AttributeError):
                job2.done()
        self.assertEqual(job1.results(), [0, 1, 2])
        self.assertEqual([job1.task(1).result(), job1.task(2).result(), job1.exception()], [1, 2, None])
        self.assertTrue(job1.done())
        with self.assertRaisesRegex(ValueError, "must be between 0 and 2"):
            job1.task(4)
        with self.assertRaisesRegex(RuntimeError, "results"):
            job1.result()
        self.assertEqual(job2.results(), [0])
        self.assertIs(job2.task(0), job2)
        self.assertEqual(pickle.loads(pickle.dumps(job2)).results(), [0])
        with self.assertRaisesRegex(RuntimeError, "Nesting"):
            with executor.batch(), executor.batch():
                pass
        with self.assertWarnsRegex(RuntimeWarning, "No submission"):
            with executor.batch():
                pass
        with executor.batch(allow_implicit_submissions=True):
            job3 = executor.submit(functions.rank_times, 3)
            self.assertEqual(job3.result(), 0)

    def test_a_job_whose_implicit_submission_has_failed_has_no_attributes(self):
        executor = submitit.LocalExecutor(self.folder, max_pickle_size_gb=1e-6)
        with executor.batch(allow_implicit_submissions=True):
            job = executor.submit(len, "x" * 5000)
            with self.assertRaisesRegex(RuntimeError, "max_pickle_size_gb"):
                job.job_id
            with self.assertRaisesRegex(AttributeError, "submission of the job has failed"):
                job.job_id

    def test_children_of_the_function_end_as_without_a_job(self):
        self.assertEqual(self.executor().submit(functions.terminate_children).result(), ["yes", -signal.SIGTERM] * 2)
        job = self.executor().submit(functions.leave_a_daemon)
        self.assertEqual((job._process.wait(60), job.result()), (0, "yes"))

    def test_nothing_of_a_job_survives_its_end(self):
        for seconds in (0, 600):
            path = pathlib.Path(self.directory) / f"number-{seconds}"
            job = self.executor().submit(functions.leave_a_program, str(path), seconds)
            wait_for(path.exists)
            if seconds > 0:
                job.cancel()
            job._process.wait(60)
            wait_for(lambda number=path.read_text(): has_ended(number))

    def test_local_map_array(self):
        jobs = self.executor().map_array(functions.add, range(3), range(10, 13))
        self.assertEqual([job.result() for job in jobs], [10, 12, 14])
        with self.assertWarnsRegex(UserWarning, "empty"):
            self.assertEqual(self.executor().map_array(functions.add, [], []), [])

    def test_local_submit_array(self):
        jobs = self.executor().submit_array([functools.partial(functions.add, 1, y) for y in range(3)])
        self.assertEqual([job.result() for job in jobs], [1, 2, 3])

    def test_local_error(self):
        job = self.executor().submit(functions.do_nothing, error=1)
        self.assertIsInstance(job.exception(), submitit.FailedJobError)
        self.assertRegex(str(job.exception()), r"Traceback(.|\n)*Too bad")

    def test_an_exit_and_an_unpicklable_result_are_errors_with_a_traceback(self):
        for function, text in ((functions.end_with_exit, "out of data"), (functions.unpicklable, "pickle")):
            if utils.cloudpickle is not None and function is functions.unpicklable:
                continue
            self.assertRegex(str(self.executor().submit(function).exception()), f"(?s)Traceback.*{text}")

    def test_get_first_task_error(self):
        job = self.executor(tasks_per_node=3).submit(functions.fail_on_other_ranks)
        self.assertIn("Failed on purpose: 1", str(job.exception()))

    def test_stdout(self):
        job = self.executor(tasks_per_node=2).submit(functions.greet)
        job.wait()
        for text, words in ((job.stdout(), "hello from"), (job.stderr(), "bye from")):
            self.assertIn(f"{words} 0\n", text)
            self.assertIn(f"{words} 1\n", text)

    def test_redirect_stdout_stderr(self):
        job = self.executor(stderr_to_stdout=True).submit(functions.greet)
        job.wait()
        self.assertIsNone(job.stderr())
        self.assertRegex(job.stdout(), "(?s)(hello.*bye|bye.*hello)")

    def test_killed(self):
        job = self.executor().submit(time.sleep, 60)
        self.assertEqual(job.state, "RUNNING")
        job._process.kill()
        job._process.wait()
        self.assertEqual(job.state, "INTERRUPTED")
        job._results_timeout_s = 0
        with self.assertRaises(submitit.UncompletedJobError):
            job.result()
        ranks = subprocess.run(["pgrep", "-s", job.job_id], stdout=subprocess.PIPE, text=True, check=False).stdout.split()
        for rank in ranks:  # they belong to the session that the test has started
            os.kill(int(rank), signal.SIGKILL)

    def test_cancel(self):
        job = self.executor().submit(time.sleep, 60)
        job.cancel()
        job._process.wait(30)
        self.assertEqual(job.state, "INTERRUPTED")
        job = self.executor().submit(time.sleep, 60).cancel_at_deletion()
        process = job._process
        del job
        self.assertEqual(process.wait(30), -signal.SIGINT)

    def test_requeuing(self):
        sequence = submitit.helpers.FunctionSequence(verbose=True)
        for index in range(200):
            sequence.add(functions.sleep_and_return, 0.1, index)
        job = self.executor(max_num_timeout=1, timeout_min=3 / 60, signal_delay_s=1).submit(sequence)
        job.wait()
        out = job.stdout()
        self.assertRegex(out, r"Starting from [1-9]\d*/200")
        self.assertIn("timed-out too many times", out)
        self.assertIn("(0 remaining timeouts)", out)

    def test_custom_checkpoint(self):
        job = self.executor(max_num_timeout=1, timeout_min=3 / 60, signal_delay_s=1).submit(functions.Slacker(), True)
        self.assertEqual(job.result(), "worked hard")
        self.assertIn("I won't slack next time.", job.stdout())

    def test_setup(self):
        executor = submitit.AutoExecutor(self.folder, cluster="local")
        executor.update_parameters(local_setup=[f"touch {self.directory}/setup_done", "export GREETING=hello"])
        self.assertEqual(executor.submit(functions.environment, "GREETING").result(), "hello")
        self.assertTrue(os.path.exists(f"{self.directory}/setup_done"))

    def test_load_submission(self):
        job = self.executor().submit(functions.do_nothing, 67, y=68)
        submission = submitit.LocalJob(self.folder, job.job_id).submission()
        self.assertEqual((submission.function, submission.args, submission.kwargs), (functions.do_nothing, (67,), {"y": 68}))
        self.assertEqual(submitit.LocalJob(self.folder, job.job_id).result(), 12)

    def test_weird_dir(self):
        for name in ("a_0", "a 0", 'a"=0"', "a'; echo foo", "a\\=0", "a\n0"):
            executor = submitit.LocalExecutor(pathlib.Path(self.directory) / name / "%j")
            self.assertEqual(executor.submit(functions.add, 1, 2).result(), 3)

    def test_as_completed(self):
        jobs = self.executor().map_array(functions.sleep_and_return, [3, 0], ["slow", "fast"])
        ended = list(submitit.helpers.as_completed(jobs, poll_frequency=0.05))
        self.assertEqual([job.result() for job in ended], ["fast", "slow"])
        waiting = self.executor().submit(time.sleep, 60)
        with self.assertRaises(TimeoutError):
            list(submitit.helpers.as_completed([waiting], timeout=0.1, poll_frequency=0.05))
        waiting.cancel()
        waiting._process.wait(30)

    def test_a_job_runs_in_the_directory_of_its_submission(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        (pathlib.Path(self.directory) / "module_of_the_directory.py").write_text("name = __file__\n")
        os.chdir(self.directory)
        self.assertEqual(self.executor().submit(os.getcwd).result(), self.directory)
        job = self.executor().submit(functions.file_of_module, "module_of_the_directory")
        self.assertEqual(job.result(), f"{self.directory}/module_of_the_directory.py")

    def test_monitor_jobs(self):
        jobs = self.executor().map_array(functions.sleep_and_return, [0.3, 0])
        with mock.patch("builtins.print") as printed:
            submitit.helpers.monitor_jobs(jobs, 0.02, test_mode=True)
        self.assertEqual(printed.call_args[0], ("All jobs finished, jobs with indices [] failed",))
        self.assertTrue(all(job.done() for job in jobs))
        with self.assertRaises(ValueError):
            submitit.helpers.monitor_jobs(jobs, 1)

    def test_results_can_be_awaited(self):
        async def ask():
            job = self.executor(tasks_per_node=2).submit(functions.rank_times, 5)
            proxy = job.awaitable()
            return await proxy.results(0.05), sorted([await each for each in proxy.results_as_completed(0.05)])

        self.assertEqual(asyncio.run(ask()), ([0, 5], [0, 5]))

    def test_parameters_without_effect_are_said(self):
        with self.assertRaisesRegex(ValueError, "partition, qos: without effect"):
            self.executor(partition="p", qos="q")
        with self.assertRaisesRegex(ValueError, "name: without effect"):
            self.executor(name="n")
        with self.assertRaisesRegex(ValueError, "one node"):
            self.executor(nodes=2)
        executor = submitit.AutoExecutor(self.folder, cluster="local")
        with self.assertWarnsRegex(UserWarning, "mem_gb has no effect with cluster='local'"):
            executor.update_parameters(mem_gb=2, timeout_min=1)
        with self.assertWarnsRegex(UserWarning, "name has no effect"):
            executor.update_parameters(name="n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            executor.update_parameters(slurm_partition="p")  # of another executor, as its name says
        with self.assertRaisesRegex(ValueError, "cpus_per_task: without effect"):
            executor.update_parameters(local_cpus_per_task=2)

    def test_python_executor(self):
        executor = submitit.AutoExecutor(self.folder, cluster="local", local_python=f"env MADE_BY=us {sys.executable}")
        self.assertEqual(executor.submit(functions.environment, "MADE_BY").result(), "us")

    def test_local_executor(self):
        executor = submitit.AutoExecutor(self.folder, cluster="local")
        self.assertEqual(executor.cluster, "local")
        with mock.patch.dict(os.environ, PATH=self.directory):  # without sbatch
            self.assertEqual(submitit.AutoExecutor(self.folder).cluster, "local")
            with self.assertRaisesRegex(RuntimeError, "no sbatch"):
                submitit.SlurmExecutor(self.folder)


def has_ended(number):
    try:
        return pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for(condition, limit_s=60):
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen")
        time.sleep(0.02)


class Debug(Case):
    """Jobs in this process."""

    def test_debug_job(self):
        executor = submitit.AutoExecutor(self.directory, cluster="debug")
        job = executor.submit(lambda p: 2 * p, 4)
        self.assertEqual(job.result(), 8)
        with executor.batch():
            job2 = executor.submit(lambda p: 2 * p, 5)
        self.assertEqual(job2.result(), 10)
        job2.submission().function = None
        self.assertEqual(job2.result(), 10)
        self.assertEqual(executor.submit(lambda: submitit.JobEnvironment().cluster).result(), "debug")

    def test_debug_job_array(self):
        jobs = submitit.DebugExecutor(self.directory).map_array(lambda x, y: x + y, range(5), range(10, 15))
        self.assertEqual([job.result() for job in jobs], [10 + 2 * i for i in range(5)])

    def test_debug_error(self):
        def fail():
            raise Exception("Failed on purpose")

        self.assertEqual(str(submitit.DebugExecutor(self.directory).submit(fail).exception()), "Failed on purpose")

    def test_debug_triggered(self):
        for trigger in ("wait", "done", "exception", "results"):
            job = submitit.DebugExecutor(self.directory).submit(lambda: 42)
            self.assertEqual(job.state, "QUEUED")
            getattr(job, trigger)()
            self.assertEqual((job.state, job.submission()._result), ("DONE", 42))

    def test_debug_cancel(self):
        job = submitit.DebugExecutor(self.directory).submit(lambda: 42)
        job.cancel()
        self.assertEqual(job.state, "CANCELLED")
        with self.assertRaisesRegex(submitit.UncompletedJobError, "was cancelled"):
            job.result()

    def test_parameters_have_no_effect(self):
        with self.assertRaisesRegex(ValueError, "time: without effect"):
            submitit.DebugExecutor(self.directory).update_parameters(time=1)


class Files(Case):
    """Pickles and paths."""

    def test_pickles_of_others_are_not_loaded(self):
        path = pathlib.Path(self.directory) / "p.pkl"
        utils.dump_pickle(1, path)
        self.assertEqual((utils.load_pickle(path), stat.S_IMODE(path.stat().st_mode)), (1, 0o600))
        path.chmod(0o620)
        with self.assertRaisesRegex(PermissionError, "others may write"):
            utils.load_pickle(path)
        path.chmod(0o600)
        (pathlib.Path(self.directory) / "link.pkl").symlink_to(path)
        with self.assertRaises(OSError):
            utils.load_pickle(pathlib.Path(self.directory) / "link.pkl")
        with mock.patch("os.getuid", return_value=os.getuid() + 1), self.assertRaisesRegex(PermissionError, "belongs to user"):
            utils.load_pickle(path)

    def test_without_cloudpickle_what_a_job_can_not_import_is_refused(self):
        program = (
            "import sys; sys.modules['cloudpickle'] = None\n"
            "from determined import executor\n"
            "def add(a, b): return a + b\n"
            "class C: pass\n"
            "for each in (add, lambda: 0, C(), open('/dev/null')):\n"
            "    try: executor.core.utils.dump_pickle(each, 'x.pkl')\n"
            "    except Exception as error: print(type(error).__name__, 'install it' in str(error))\n"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=self.directory, stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout.splitlines(), ["PicklingError True"] * 4)
        self.assertEqual(os.listdir(self.directory), [])

    def test_too_large_calls_are_refused(self):
        executor = submitit.LocalExecutor(self.directory, max_pickle_size_gb=1e-6)
        with self.assertRaisesRegex(RuntimeError, "max_pickle_size_gb"):
            executor.submit(len, "x" * 5000)

    def test_function_sequence_checkpoint(self):
        sequence = submitit.helpers.FunctionSequence(verbose=True)
        sequence.add(functions.three_times, 4)
        sequence.add(functions.three_times, 5)
        self.assertEqual((len(sequence), sum(each.done() for each in sequence)), (2, 0))
        utils.cloudpickle_dump(sequence, f"{self.directory}/s.pkl")
        loaded = utils.pickle_load(f"{self.directory}/s.pkl")
        self.assertEqual(loaded(), [12, 15])
        self.assertEqual(sum(each.done() for each in loaded), 2)

    def test_a_checkpointable_that_can_not_be_called_is_refused(self):
        class NotCallable(submitit.helpers.Checkpointable):
            pass

        with self.assertRaisesRegex(TypeError, "__call__"):
            NotCallable()

    def test_commands_are_functions(self):
        command = submitit.helpers.CommandFunction(["sh", "-c", 'echo "$0 $1 $2"; echo oops >&2'], verbose=False)
        self.assertEqual(command(1, a=2), "1 --a=2")
        failing = submitit.helpers.CommandFunction(["sh", "-c", "echo oops >&2; exit 3"], verbose=False)
        with self.assertRaisesRegex(submitit.FailedJobError, "(?s)exit status 3.*oops"):
            failing()
        with self.assertRaises(TypeError):
            submitit.helpers.CommandFunction("ls")

    @unittest.skipUnless(shutil.which("rsync") and shutil.which("git"), "SKIPPED: no rsync")
    def test_snapshot(self):
        root = pathlib.Path(self.directory) / "root"
        root.mkdir()
        (root / "known").write_text("1")
        (root / "unknown").write_text("1")
        (root / "excluded").write_text("1")
        for words in (["init", "-q"], ["add", "known", "excluded"]):
            subprocess.run(["git", "-C", str(root), *words], check=True)
        before = os.getcwd()
        with submitit.helpers.RsyncSnapshot(f"{self.directory}/copy", root_dir=root, exclude=["excl*"]):
            self.assertEqual(os.listdir("."), ["known"])
        self.assertEqual(os.getcwd(), before)


class Comparison(unittest.TestCase):
    """The list of submitit's own tests."""

    def test_every_test_of_submitit_that_is_said_to_hold_is_here_or_on_the_cluster(self):
        here = pathlib.Path(__file__).read_text()
        cluster = (TESTS / "../cluster/programs/functions_on_slurm.py").read_text()
        rows = [line.split(None, 2) for line in (TESTS / "submitit_tests.txt").read_text().splitlines() if line and line[0] != "#"]
        self.assertEqual({row[1] for row in rows}, {"holds", "differs", "not-here"})
        for name, outcome, rest in rows:
            test = rest.split()[0]
            if outcome != "not-here":
                self.assertTrue(re.search(rf"def {re.escape(test)}\(", here + cluster), f"{name}: there is no {test}")


if __name__ == "__main__":
    unittest.main()
