"""Tests that the runner gives every row a result, whatever a check does."""

import os
import sys
import tempfile
import time
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_checks  # noqa: E402
from checks import CHECKS, UNTRIED, Check  # noqa: E402

GOOD = """print('{"row": "first", "result": "ok", "figure": 1.5, "unit": "x", "mark": 1.1}', flush=True)\n"""


class Runner(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="det-gpu-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        # The seam: a machine with a device and without torch, whose checks are scripts of this test.
        self.machine = types.SimpleNamespace(
            layout=types.SimpleNamespace(checks=self.directory, tests=self.directory),
            lacking={"torch": "there is no torch"},
            is_rehearsal=False,
            environment=lambda name, is_python: dict(os.environ),
            remove_storage=lambda name: None,
        )

    def run_script(self, script, needs=("device",), limit_s=20, left_s=100):
        with open(f"{self.directory}/script.py", "w") as file:
            file.write(script)
        check = Check("check", ("script.py",), needs, limit_s, ("first", "second"))
        rows = run_checks.run_all(self.machine, [check], time.monotonic() + left_s, self.directory)
        self.assertEqual([row["row"] for row in rows.all], ["first", "second", *UNTRIED])
        return rows.all[:2]

    def test_rows_are_taken_from_the_output(self):
        self.machine.is_rehearsal = True
        first, second = self.run_script("print('a warning')\n" + GOOD + GOOD.replace("first", "second"))
        self.assertEqual((first["result"], first["figure"], second["result"]), ("ok", 1.5, "ok"))

    def test_a_figure_above_its_mark_is_a_failure_on_a_device(self):
        first, _ = self.run_script(GOOD)
        self.assertEqual((first["result"], first["reason"]), ("failed", "the figure is above the mark"))

    def test_a_figure_below_its_mark_is_right(self):
        first, _ = self.run_script(GOOD.replace("1.5", "1.05"))
        self.assertEqual(first["result"], "ok")

    def test_a_crash_fails_the_rows_that_are_not_printed(self):
        first, second = self.run_script(GOOD.replace("1.5", "1.0") + "import os; os.abort()")
        self.assertEqual(first["result"], "ok")
        self.assertEqual((second["result"], second["reason"]), ("failed", "ended by signal 6; see check.log"))

    def test_an_exit_without_rows_is_a_failure(self):
        for row in self.run_script("raise SystemExit(3)"):
            self.assertEqual(row["reason"], "ended with exit code 3 and without this row; see check.log")

    def test_a_check_that_hangs_is_ended_with_its_children(self):
        script = (
            "import subprocess, time\n"
            f"child = subprocess.Popen(['sleep', '1000'])\nopen('{self.directory}/child', 'w').write(str(child.pid))\n"
            "time.sleep(1000)"
        )
        _, second = self.run_script(script, limit_s=2)
        self.assertEqual(second["reason"], "not over after 2 s; see check.log")
        with open(f"{self.directory}/child") as file:
            child = int(file.read())
        deadline = time.monotonic() + 10
        while os.path.exists(f"/proc/{child}") and self.state_of(child) != "Z":
            self.assertLess(time.monotonic(), deadline, "the child goes on")
            time.sleep(0.05)

    def state_of(self, process):
        try:
            with open(f"/proc/{process}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            return "Z"

    def test_what_the_machine_lacks_is_skipped_with_the_reason(self):
        for row in self.run_script("raise SystemExit(3)", needs=("device", "torch")):
            self.assertEqual((row["result"], row["reason"]), ("skipped", "there is no torch"))

    def test_without_time_the_rest_is_skipped(self):
        for row in self.run_script("raise SystemExit(3)", left_s=5):
            self.assertEqual((row["result"], row["reason"]), ("skipped", "no time was left"))

    def test_the_table_has_all_rows(self):
        rows = [
            {"row": "a", "result": "ok", "figure": 1.04, "unit": "x", "mark": 1.1, "note": "8 GiB"},
            {"row": "b", "result": "failed", "reason": "it is\nwrong"},
        ]
        table = run_checks.render_table({"date": "2026-01-02", "card": "A", "driver": ""}, rows)
        self.assertEqual(
            table.splitlines(),
            [
                "date 2026-01-02 | card A",
                "",
                "| row | result | figure | mark | details |",
                "|---|---|---|---|---|",
                "| a | ok | 1.04 x | 1.1 | 8 GiB |",
                "| b | failed |  |  | it is wrong |",
            ],
        )


class Table(unittest.TestCase):
    def test_the_names_of_rows_are_unique(self):
        names = [name for check in CHECKS for name in check.rows] + list(UNTRIED)
        self.assertEqual(len(names), len(set(names)))

    def test_each_check_has_its_program(self):
        here = os.path.dirname(os.path.abspath(__file__))
        for check in CHECKS:
            self.assertTrue(check.command[0] == "gpu-checks" or os.path.exists(f"{here}/{check.command[0]}"), check.name)


if __name__ == "__main__":
    unittest.main()
