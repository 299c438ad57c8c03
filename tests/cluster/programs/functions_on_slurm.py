"""Functions as jobs of a real Slurm, by determined.executor. The functions are in this file, as in a user's script, which
needs cloudpickle. Names without a sentence are those of submitit's own tests (tests/python/submitit_tests.txt).

The partition `urgent` preempts `compute`. Jobs of an hour are interrupted by hand, those of a minute by their limit."""

import asyncio
import os
import pathlib
import subprocess
import sys
import time
import unittest
from operator import truediv

from determined import executor as submitit

LIMIT_S = 100


def do_nothing(*args, **kwargs):
    print("my args", args, flush=True)
    print("on stderr", file=sys.stderr)
    if kwargs.get("error"):
        raise ValueError("Too bad")
    return 12


def describe():
    job = submitit.JobEnvironment()
    found = submitit.helpers.TorchDistributedEnvironment()
    return [job.cluster, job.job_id, job.num_tasks, job.num_nodes, job.node, job.global_rank, job.local_rank, found.master_addr, list(job.hostnames)]


class Counter(submitit.helpers.Checkpointable):
    """Counts, and leaves a file when it has begun. Counts on where it was interrupted; the first start leaves the last step to the second
    one, however late it is interrupted."""

    def __init__(self, steps):
        self.count, self.steps, self.starts = 0, steps, 0

    def __call__(self, begun):
        self.starts += 1
        while self.count < self.steps:
            time.sleep(0.1)
            if self.starts > 1 or self.count < self.steps - 1:
                self.count += 1
            pathlib.Path(begun).write_text(str(self.count))
        return self.starts, self.count


class Flag:
    """A function without checkpoint() that waits at its first start alone."""

    def __call__(self, folder):
        first = not os.path.exists(f"{folder}/second")
        pathlib.Path(f"{folder}/second").write_text("")
        pathlib.Path(f"{folder}/begun").write_text("")
        if first:
            time.sleep(600)
        return os.environ.get("SLURM_RESTART_COUNT")


def wait_for(condition, what):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"after {LIMIT_S} s: {what}")
        time.sleep(0.1)


def make_executor(folder, **parameters):
    made = submitit.AutoExecutor(f"logs/{folder}/%j", slurm_max_num_timeout=parameters.pop("max_num_timeout", 3))
    made.update_parameters(**{"timeout_min": 5, "slurm_partition": "compute", "mem_gb": 0.2, **parameters})
    return made


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # These jobs wait for Slurm while the other tests run.
        cls.folder = pathlib.Path.cwd()
        cls.too_long = make_executor("too-long", timeout_min=1, slurm_nodelist="n0").submit(time.sleep, 300)
        cls.too_often = make_executor("too-often", timeout_min=1, slurm_nodelist="n0", max_num_timeout=0).submit(
            Counter(10**6), str(cls.folder / "too-often")
        )
        cls.counter = make_executor("counter", timeout_min=60, slurm_nodelist="n0").submit(Counter(60), str(cls.folder / "counter"))
        cls.flag = make_executor("flag", timeout_min=60, slurm_nodelist="n0").submit(Flag(), str(cls.folder))
        cls.preempted = make_executor("preempted", slurm_nodelist="n1").submit(Counter(60), str(cls.folder / "preempted"))
        for name in ("counter", "begun", "preempted"):
            wait_for((cls.folder / name).exists, f"{name} begins")
        cls.counter._interrupt(timeout=False)
        cls.flag._interrupt()
        urgent = ["srun", "--quiet", "--partition=urgent", "--nodelist=n1", "--exclusive", "true"]
        subprocess.run(urgent, check=True, timeout=LIMIT_S)

    @staticmethod
    def executor(folder, **parameters):
        return make_executor(folder, **parameters)

    def test_slurm_job_mocked(self):
        job = self.executor("job").submit(do_nothing, 1, 2, blublu=3)
        self.assertRegex(job.job_id, r"^\d+$")
        self.assertEqual(job.result(), 12)
        self.assertIn("my args (1, 2)", job.stdout())
        self.assertIn("on stderr", job.stderr())
        self.assertEqual(job.submission().kwargs, {"blublu": 3})
        wait_for(lambda: job.get_info()["State"] == "COMPLETED", job.state)
        self.assertRegex(job.get_info()["NodeList"], r"^n\d$")

    def test_slurm_job_array_mocked(self):
        executor = self.executor("array", slurm_array_parallelism=4)
        jobs = executor.map_array(lambda x, y: x * y, range(20), range(10, 30))
        array = jobs[0].job_id.split("_")[0]
        self.assertEqual([job.job_id for job in jobs], [f"{array}_{index}" for index in range(20)])
        with executor.batch():
            others = [executor.submit(pow, 2, exponent) for exponent in range(3)]
        self.assertEqual([job.result() for job in jobs], [x * (x + 10) for x in range(20)])
        self.assertEqual([job.result() for job in others], [1, 2, 4])

    def test_read_info_array(self):
        # Those that wait are known one by one.
        executor = self.executor("waiting", slurm_additional_parameters={"hold": True})
        jobs = executor.map_array(abs, [-1, -2, -3])
        self.assertEqual([job.state for job in jobs], ["PENDING"] * 3)
        jobs[1].cancel()
        wait_for(lambda: jobs[1].done(force_check=True), "cancelled")
        self.assertEqual(jobs[0].get_info()["State"], "PENDING")
        subprocess.run(["scontrol", "release", jobs[0].job_id.split("_")[0]], check=True)
        self.assertEqual([jobs[0].result(), jobs[2].result()], [1, 3])
        jobs[1]._results_timeout_s = 0  # Slurm forgets a task that was cancelled before its start
        self.assertIsInstance(jobs[1].exception(), submitit.UncompletedJobError)

    def test_slurm_error_mocked(self):
        job = self.executor("error").submit(truediv, 1, 0)
        with self.assertRaisesRegex(submitit.FailedJobError, "(?s)Traceback.*ZeroDivisionError"):
            job.result()
        self.assertIsInstance(job.exception(), submitit.core.utils.UncompletedJobError)
        self.assertIn("ZeroDivisionError", job.stderr())

    def test_ranks_on_two_nodes_know_their_place(self):
        job = self.executor("ranks", nodes=2, tasks_per_node=2).submit(describe)
        results = job.results()
        self.assertEqual([each[5] for each in results], [0, 1, 2, 3])
        self.assertEqual([each[4] for each in results], [0, 0, 1, 1])
        self.assertEqual([each[6] for each in results], [0, 1, 0, 1])
        for each in results:
            self.assertEqual(each[:4], ["slurm", job.job_id, 4, 2])
            self.assertEqual(each[8], ["n0", "n1"])
            self.assertEqual(each[7], "n0")
        self.assertEqual(job.task(2).result()[5], 2)
        awaited = asyncio.run(job.awaitable().results(0.1))
        self.assertEqual(awaited, results)

    def test_update_parameters(self):
        executor = self.executor(
            "parameters", name="named", cpus_per_task=1, slurm_comment="a 'b' \"c\" $d", slurm_setup=["export GREETING=hello"],
            slurm_srun_args=["--export=ALL,ADDED=1"], stderr_to_stdout=True, slurm_additional_parameters={"nice": 5},
        )
        job = executor.submit(lambda: [os.environ.get(name) for name in ("SLURM_JOB_NAME", "GREETING", "ADDED", "SLURM_CPUS_PER_TASK")])
        self.assertEqual(job.result(), ["named", "hello", "1", "1"])
        shown = subprocess.run(["scontrol", "show", "job", job.job_id], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn("Comment=a 'b' \"c\" $d", shown)
        self.assertIn("Nice=5", shown)
        self.assertIsNone(job.stderr())

    def test_slurm_weird_dir(self):
        jobs = {}
        for name in ("a_0", "a 0", 'a"=0"', "a'; echo foo", "ä&b", "a#b$HOME"):
            jobs[name] = self.executor(f"weird/{name}").submit(do_nothing)
        for name, job in jobs.items():
            self.assertEqual(job.result(), 12, name)
            self.assertIn("my args", job.stdout(), name)

    def test_as_completed(self):
        jobs = self.executor("completed").map_array(lambda s: time.sleep(s) or s, [2, 0])
        self.assertEqual([job.result() for job in submitit.helpers.as_completed(jobs, poll_frequency=0.1)], [0, 2])

    def test_a_job_can_submit_jobs(self):
        def submit():
            inner = submitit.AutoExecutor("logs/inner/%j")
            inner.update_parameters(timeout_min=5, slurm_partition="compute", mem_gb=0.2)
            return inner.submit(describe).result()

        self.assertEqual(self.executor("outer").submit(submit).result()[0], "slurm")

    def test_commands(self):
        job = self.executor("command").submit(submitit.helpers.CommandFunction(["hostname"]))
        self.assertRegex(job.result(), r"^n\d$")

    def test_refused_submissions_say_why(self):
        with self.assertRaisesRegex(submitit.FailedSubmissionError, "(?i)partition"):
            self.executor("refused", slurm_partition="none").submit(do_nothing)

    def test_watcher(self):
        job = submitit.SlurmJob("logs", "999999")
        self.assertEqual(job.state, "UNKNOWN")
        job._results_timeout_s = 0
        with self.assertRaisesRegex(submitit.UncompletedJobError, "no result"):
            job.result()

    def test_a_cancelled_job_has_no_result_and_stays_cancelled(self):
        begun = pathlib.Path("cancelled")
        job = self.executor("cancelled", timeout_min=60).submit(Counter(10**6), str(begun.absolute()))
        wait_for(begun.exists, "it counts")
        job.cancel()
        wait_for(lambda: job.done(force_check=True), "it is over")
        job._results_timeout_s = 0
        with self.assertRaisesRegex(submitit.UncompletedJobError, "CANCELLED"):
            job.result()

    def test_zz_interrupted_jobs_go_on(self):
        self.assertEqual(self.counter.result(), (2, 60))
        self.assertIn("Requeued job", self.counter.stdout())
        self.assertEqual(self.flag.result(), "1")  # the second start

    def test_zz_slurm_preempts_a_callable_and_it_goes_on(self):
        self.assertEqual(self.preempted.result(), (2, 60))
        self.assertIn("this job is preempted", self.preempted.stdout())

    def test_zz_slurm_tells_of_time_limits(self):
        self.assertRegex(str(self.too_long.exception()), "timed-out and not checkpointable")
        self.assertIsInstance(self.too_long.exception(), submitit.FailedJobError)
        self.assertRegex(str(self.too_often.exception()), "timed-out too many times")


class WithoutGrace(unittest.TestCase):
    """Run on a site whose preemptions have no grace period."""

    def test_slurm_queues_a_preempted_job_itself_and_it_goes_on(self):
        begun = pathlib.Path("begun").absolute()
        job = make_executor("without-grace", slurm_nodelist="n1").submit(Counter(60), str(begun))
        wait_for(begun.exists, "it counts")
        urgent = ["srun", "--quiet", "--partition=urgent", "--nodelist=n1", "--exclusive", "true"]
        subprocess.run(urgent, check=True, timeout=LIMIT_S)
        self.assertEqual(job.result(), (2, 60))


if __name__ == "__main__":
    unittest.main()
