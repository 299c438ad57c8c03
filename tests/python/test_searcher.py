"""determined.searcher: search methods that answer the questions of a search, each in a new object."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import uuid

from determined import _sampler, searcher
from determined.searcher import _search_runner

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "cluster/programs/custom_search"
sys.path.insert(0, str(PROGRAMS))

from halving import HalvingSearchMethod  # noqa: E402

METRIC = "validation_loss"


def make_halving(trials=8, concurrent=4, rungs=3):
    return HalvingSearchMethod(
        search_space=lambda: {"floor": random.random()},
        max_length=16,
        max_trials=trials,
        num_rungs=rungs,
        divisor=2,
        concurrent=concurrent,
    )


class Trials:
    """A search in memory: the trials and the recorded answers, as supervisors keep them."""

    def __init__(self, make_method, directory, max_trials=20):
        self.make_method, self.directory, self.max_trials = make_method, directory, max_trials
        self.trials = {}
        self.state = None
        self.can_begin, self.stop = 1, None
        self.dropped = 0

    def request(self, question, index):
        first = {
            "sampler": 1,
            "experiment": 7,
            "seed": 1,
            "max_trials": self.max_trials,
            "searcher": {"name": "custom", "metric": METRIC, "smaller_is_better": True, "unit": "batches"},
            "hyperparameters": {},
        }
        if self.state is not None:
            first["state"] = self.state
        trials = [
            {
                "trial": number,
                "state": trial["state"],
                "hyperparameters": trial["hyperparameters"],
                "metric": None,
                "validations": trial["validations"],
                "last_validation": {},
            }
            for number, trial in self.trials.items()
        ]
        return [json.dumps(line) for line in [first, *trials, {"question": question, "trial": index}]]

    def ask(self, question, index, drops=False):
        if drops:  # another process has recorded an answer meanwhile
            self.dropped += 1
            self.answer(question, index)
        answer = self.answer(question, index)
        if answer.get("wait"):
            return
        if question == "begin" and "stop" not in answer:
            self.trials[index] = {
                "state": "running",
                "hyperparameters": answer["hyperparameters"],
                "validations": [],
                "lengths": [],
                "is_closed": False,
            }
        for number, length in answer["lengths"].items():
            self.trials[int(number)]["lengths"].append(length)
            self.trials[int(number)]["state"] = "running"
        for number in answer["close"]:
            self.trials[number]["is_closed"] = True
        self.state, self.can_begin = answer["state"], answer["can_begin"]
        self.stop = answer.get("stop")

    def answer(self, question, index):
        request = _sampler.parse_request(self.request(question, index))
        return json.loads(json.dumps(_search_runner.answer(self.make_method(), request, self.directory)))

    def run(self, loss, drops=lambda: False):
        """Trains until the search stops."""
        for _ in range(1000):
            if self.stop is not None:
                return
            running = [index for index, trial in self.trials.items() if trial["state"] == "running"]
            if len(self.trials) < min(self.can_begin, self.max_trials):
                self.ask("begin", len(self.trials), drops())
            elif running:
                self.train(running[0], loss, drops())
            else:
                raise AssertionError("nothing trains, and the search goes on")
        raise AssertionError("the search does not end")

    def train(self, index, loss, drops):
        trial = self.trials[index]
        value = loss(trial["hyperparameters"], trial["lengths"][-1])
        if value is None:
            trial["state"] = "failed"
            return self.ask("exited", index, drops)
        trial["validations"].append([trial["lengths"][-1], value])
        trial["state"] = "waiting"
        return self.ask("trained", index, drops)


class SearchMethodTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        random.seed(1)

    def test_halving_trains_the_best_trials_to_the_end(self):
        trials = Trials(make_halving, self.directory)
        trials.run(lambda hparams, length: hparams["floor"] + 1 / length)
        self.assertEqual(len(trials.trials), 8)
        self.assertTrue(all(trial["is_closed"] for trial in trials.trials.values()))
        lengths = [trial["lengths"] for trial in trials.trials.values()]
        self.assertTrue(all(each in ([4], [4, 8], [4, 8, 16]) for each in lengths), lengths)
        self.assertGreaterEqual(lengths.count([4, 8, 16]), 1)
        best = min(trials.trials.values(), key=lambda trial: trial["hyperparameters"]["floor"])
        self.assertEqual(best["lengths"], [4, 8, 16])

    def test_an_answer_that_is_dropped_changes_nothing(self):
        chances = random.Random(3)
        trials = Trials(make_halving, self.directory)
        trials.run(lambda hparams, length: hparams["floor"] + 1 / length, lambda: chances.random() < 0.5)
        self.assertGreater(trials.dropped, 3)
        self.assertEqual(len(trials.trials), 8)
        method = make_halving()
        search = _search_runner.Search(method, _sampler.parse_request(trials.request("trained", 0)), self.directory)
        events = method.state.events
        self.assertEqual(events.count("created"), 8)
        self.assertEqual(events.count("closed"), 8)
        self.assertEqual(events.count("validated"), sum(len(trial["lengths"]) for trial in trials.trials.values()))
        self.assertEqual(search._state.trials_closed, search._state.trials_created)

    def test_a_trial_that_fails_is_told_and_never_promoted(self):
        trials = Trials(make_halving, self.directory)
        trials.run(lambda hparams, length: None if hparams["floor"] < 0.3 else hparams["floor"] + 1 / length)
        failed = [trial for trial in trials.trials.values() if trial["state"] == "failed"]
        self.assertTrue(failed)
        self.assertTrue(all(trial["lengths"] == [4] for trial in failed))

    def test_random_numbers_go_on_in_the_next_process(self):
        def make_method():
            random.seed(5)  # at the begin of the script, in each process
            return make_halving()

        trials = Trials(make_method, self.directory)
        trials.run(lambda hparams, length: hparams["floor"] + 1 / length)
        floors = {trial["hyperparameters"]["floor"] for trial in trials.trials.values()}
        self.assertEqual(len(floors), 8)

    def test_more_trials_than_the_experiment_has_are_refused(self):
        trials = Trials(make_halving, self.directory, max_trials=3)
        with self.assertRaisesRegex(ValueError, "more than searcher.max_trials, 3"):
            trials.run(lambda hparams, length: 1.0)

    def test_a_damaged_state_is_refused(self):
        trials = Trials(make_halving, self.directory)
        trials.ask("begin", 0)
        file = self.directory / "method" / trials.state["file"]
        file.write_bytes(file.read_bytes()[:-1])
        with self.assertRaisesRegex(ValueError, "is damaged"):
            trials.ask("begin", 1)

    def test_files_of_answers_that_were_not_recorded_are_removed_later(self):
        trials = Trials(make_halving, self.directory)
        trials.ask("begin", 0, drops=True)
        dropped = [file for file in (self.directory / "method").iterdir() if file.name != trials.state["file"]]
        self.assertEqual(len(dropped), 1)
        os.utime(dropped[0], (0, 0))
        trials.ask("begin", 1)
        self.assertFalse(dropped[0].exists())


class Grid(searcher.SearchMethod):
    """Two lengths for each of three trials, said when they are created; without saving anything by itself."""

    def __init__(self):
        self.validated = []

    def initial_operations(self, searcher_state):
        return [searcher.Create(uuid.uuid4(), {"x": x}) for x in (1, 2, 3)]

    def on_trial_created(self, searcher_state, request_id):
        return [searcher.ValidateAfter(request_id, length) for length in (5, 10)]

    def on_validation_completed(self, searcher_state, request_id, metric, train_length):
        self.validated.append((metric, train_length))
        return [searcher.Close(request_id)] if train_length == 10 else []

    def on_trial_closed(self, searcher_state, request_id):
        return [searcher.Shutdown()] if len(searcher_state.trials_closed) == 3 else []

    def on_trial_exited_early(self, searcher_state, request_id, exited_reason):
        return []

    def progress(self, searcher_state):
        return len(searcher_state.trials_closed) / 3


class OtherMethodsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def test_a_method_that_saves_nothing_is_kept_whole_and_lengths_come_one_after_another(self):
        trials = Trials(Grid, self.directory)
        trials.run(lambda hparams, length: hparams["x"] * 1.0)
        self.assertEqual([trial["lengths"] for trial in trials.trials.values()], [[5, 10]] * 3)
        self.assertEqual([trial["hyperparameters"]["x"] for trial in trials.trials.values()], [1, 2, 3])

    def test_a_method_that_can_not_be_kept_says_what_to_do(self):
        class WithFunction(Grid):
            def __init__(self):
                super().__init__()
                self.function = lambda: 1

        with self.assertRaisesRegex(ValueError, "implement save_method_state"):
            Trials(WithFunction, self.directory).ask("begin", 0)

    def test_wrong_operations_are_refused(self):
        wrong = {
            "no trial was created": lambda: searcher.ValidateAfter(uuid.uuid4(), 5),
            "is no operation": lambda: "Shutdown",
        }
        for message, make in wrong.items():

            class Wrong(Grid):
                def initial_operations(self, searcher_state):
                    return [make()]  # noqa: B023

            with self.assertRaisesRegex((ValueError, TypeError), message):
                Trials(Wrong, self.directory).ask("begin", 0)
        with self.assertRaisesRegex(ValueError, "source_checkpoint_uuid"):
            searcher.Create(uuid.uuid4(), {}, checkpoint=object())

    def test_the_script_that_creates_the_experiment_answers_when_it_is_asked(self):
        lines = Trials(Grid, self.directory).request("begin", 0)
        done = subprocess.run(
            [sys.executable, "run_experiment.py"],
            cwd=PROGRAMS,
            input="\n".join(lines) + "\n",
            env={**os.environ, "DET_SAMPLER_DIR": str(self.directory), "DET_ROOT": "/nonexistent"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        (PROGRAMS / "searcher_dir").rmdir()
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["lengths"], {"0": 4})
        self.assertEqual(answer["can_begin"], 4)
        self.assertIn("the search begins", done.stderr)


if __name__ == "__main__":
    unittest.main()
